package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// workListed bounds the sessions that a runner is told of at once; what it does makes room for the others.
	workListed = 1000
	// runnersKept bounds the runners that are remembered, layersShown the length of what each says of its layers, and
	// pathShown that of its paths.
	runnersKept = 1000
	layersShown = 500
	pathShown   = 8 << 10
	// lineShown is how many sessions of a line are named.
	lineShown = 100
	// runnerGone is when a runner that has not asked is no longer shown.
	runnerGone = 5 * time.Minute
)

// runners remembers what each runner said about itself last. The log does not have it: it is about the present.
type runners struct {
	mu    sync.Mutex
	known map[string]wire.Runner
}

// AwaitWork notes what the runner says about itself, and waits until there is something else to do than before.
func (s *Service) AwaitWork(ctx context.Context, c *Caller, in *wire.RunnerWorkOf) error {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return err
	}
	defer leave()
	wait, err := ParseWait(in.Wait)
	if err != nil || asksAsRunner(c, in) != nil {
		return err // GetWork refuses
	}
	s.seen(in)
	if wait == 0 {
		return nil
	}
	if err := s.beginWait(ctx, c); err != nil {
		return err
	}
	return s.Await(ctx, c, wait, func(state *projections.State) bool {
		return workOf(state, in.Name).Digest != in.After
	}, engine.AnyRunner)
}

// GetWork returns what there is for a runner to do.
func (v View) GetWork(in *wire.RunnerWorkOf) (wire.RunnerWork, error) {
	if err := asksAsRunner(v.Caller, in); err != nil {
		return wire.RunnerWork{}, err
	}
	return workOf(v.State, in.Name), nil
}

// asksAsRunner refuses everybody but the runner itself, and protocols that this server does not speak.
func asksAsRunner(c *Caller, in *wire.RunnerWorkOf) error {
	if c.By.Kind != commands.ActorRunner || c.By.Name != in.Name || c.By.Speaks != "" {
		return &commands.Refusal{
			Code:    commands.CodeNotAllowed,
			Rule:    "session:claim",
			Message: "Only the runner '" + safetext.Printable(in.Name) + "' is told what it has to do",
			Why:     "each runner has a credential of its own",
			Next:    "see `maestro session list` for the sessions",
		}
	}
	if in.Protocol != strconv.Itoa(wire.RunnerProtocol) {
		return Invalid("/protocol", "this server speaks version %d of the protocol of runners, not '%s'; run the same "+
			"version of maestro", wire.RunnerProtocol, safetext.Printable(in.Protocol))
	}
	return nil
}

// workOf lists the sessions of a runner.
func workOf(state *projections.State, runner string) wire.RunnerWork {
	work := wire.RunnerWork{Protocol: wire.RunnerProtocol, Sessions: []wire.RunnerSession{}}
	for x := range state.Employed() {
		state.Worked(1)
		one, concerns := workFor(state, x, runner)
		if !concerns {
			continue
		}
		if len(work.Sessions) == workListed {
			work.More++
			continue
		}
		work.Sessions = append(work.Sessions, one)
	}
	content, _ := json.Marshal(work.Sessions) // texts and numbers
	sum := sha256.Sum256(content)
	work.Digest = hex.EncodeToString(sum[:8])
	return work
}

// workFor returns what a runner has to do with a session.
func workFor(state *projections.State, x *projections.Session, runner string) (one wire.RunnerSession, concerns bool) {
	one = wire.RunnerSession{
		ID:        x.ID,
		ProjectID: x.ProjectID,
		Run:       x.NextRun(),
		Agent:     x.Agent,
		Role:      x.Role,
	}
	if x.Options != nil {
		one.Network = x.Options.Network
	}
	if p := state.Project(x.ProjectID); p != nil {
		one.Directory = p.WorkingDir
	}
	run := x.LastRun()
	if run != nil {
		one.Conversation, one.Resumes = run.Conversation, true
	}
	switch {
	case run != nil && !run.Exited() && !run.IsResumed():
		one.State, one.Run, one.Resumes = wire.WorkRunning, run.Number, run.Resumes
		one.Lost = x.LostAt > 0 && !x.Ended()
		if x.Ended() || x.Deleted {
			one.State = wire.WorkEnded
		}
		return one, run.Runner == runner
	case x.MayClaim(runner) && runner != projections.TerminalRunner && state.AwaitsRun(x):
		one.State = wire.WorkClaim
		return one, true
	}
	return one, false
}

// seen notes what a runner says about itself. That of terminals launches nothing: it only asks which runs it has.
func (s *Service) seen(in *wire.RunnerWorkOf) {
	if in.Name == wire.TerminalRunner {
		return
	}
	said := wire.Runner{
		Name:    in.Name,
		Host:    clippedTo(in.Host, layersShown),
		Version: clippedTo(in.Version, layersShown),
		Layers:  []string{},
		SeenAt:  events.Millis(s.Now().UnixMilli()),

		Workspaces: clippedTo(in.Workspaces, pathShown),
		SearchPath: clippedTo(in.SearchPath, pathShown),
	}
	said.Limit, _ = strconv.Atoi(in.Limit)
	said.Running, _ = strconv.Atoi(in.Running)
	said.Asking, _ = strconv.Atoi(in.Asking)
	if in.Layers != "" {
		said.Layers = strings.Split(clippedTo(in.Layers, layersShown), ",")
	}
	s.runners.mu.Lock()
	defer s.runners.mu.Unlock()
	if s.runners.known == nil {
		s.runners.known = map[string]wire.Runner{}
	}
	if len(s.runners.known) < runnersKept || s.runners.known[in.Name].Name != "" {
		s.runners.known[in.Name] = said
	}
}

// away reports whether a runner that a spawn names has not asked for work lately. The one inside this server does so,
// or is about to.
func (s *Service) away(runner string) bool {
	if runner == "" || runner == s.LocalRunner || runner == wire.TerminalRunner {
		return false
	}
	s.runners.mu.Lock()
	defer s.runners.mu.Unlock()
	said, known := s.runners.known[runner]
	return !known || s.gone(said)
}

// gone reports whether a runner has not asked for so long that it is no longer shown.
func (s *Service) gone(said wire.Runner) bool {
	return s.Now().UnixMilli()-int64(said.SeenAt) >= runnerGone.Milliseconds()
}

// clippedTo cuts what a runner says.
func clippedTo(text string, most int) string {
	text = safetext.Printable(text)
	return text[:min(len(text), most)]
}

// ListRunners returns the runners that have asked for work lately, by name.
func (v View) ListRunners(_ *struct{}) (wire.Runners, error) {
	if err := v.Permit("runner:list", ""); err != nil {
		return wire.Runners{}, err
	}
	s := v.Service
	s.runners.mu.Lock()
	list := make([]wire.Runner, 0, len(s.runners.known))
	for _, runner := range s.runners.known {
		if !s.gone(runner) {
			list = append(list, runner)
		}
	}
	s.runners.mu.Unlock()
	slices.SortFunc(list, func(a, b wire.Runner) int { return strings.Compare(a.Name, b.Name) })
	for i := range list {
		for _, one := range workOf(v.State, list[i].Name).Sessions {
			if one.State != wire.WorkClaim {
				continue
			}
			list[i].Waiting++
			line := &list[i].Workers
			if one.Role == events.RoleOrchestrator {
				line = &list[i].Orchestrators
			}
			if len(*line) < lineShown {
				*line = append(*line, one.ID)
			}
		}
	}
	return wire.Runners{Runners: list}, nil
}
