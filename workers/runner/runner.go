package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/confine"
	"maestro/workers/supervisor"
)

const (
	// asks is how long one question for work waits on the server.
	asks = 25 * time.Second
	// looks is how often the runner looks whether the supervisors that it did not start itself still run.
	looks = 2 * time.Second
	// again is the wait after an error.
	again = time.Second
	// leavesWithin is how long a killed agent's remains may take to end.
	leavesWithin = 5 * time.Second
	// leavesEvery is how often the runner looks whether they have.
	leavesEvery = 10 * time.Millisecond
	// mostStarts is how often a supervisor is started for a run that never begins.
	mostStarts = 3
)

// Server is what the runner asks of the server: requests and answers, each of which may be repeated.
type Server interface {
	// Work returns what there is to do, once that is something else than before.
	Work(ctx context.Context, of wire.RunnerWorkOf, wait time.Duration) (wire.RunnerWork, error)
	// Do executes a command; a repeated key is the same command.
	Do(ctx context.Context, id string, body any, o client.Options) (client.Answer, error)
	// Credential returns the secret of a session, RunnerCredential one with which its supervisor speaks as the runner.
	Credential(ctx context.Context, session string) (wire.Credential, error)
	RunnerCredential(ctx context.Context, session string) (wire.RunnerCredential, error)
	// SessionManifest returns the manifest of a session.
	SessionManifest(ctx context.Context, session string) (json.RawMessage, error)
	// Base is the address of the server.
	Base() string
}

// Config is how a runner works.
type Config struct {
	// Name is the runner's, Host that of its machine.
	Name, Host string
	// Limit is how many workers run at once, and how many orchestrators beside them.
	Limit  int
	Server Server
	Home   *home.Home
	// Start starts a supervisor; it returns once the process exists, with its id, and calls ended when it has ended.
	Start func(c supervisor.Config, ended func(error)) (pid int, err error)
	// Layers are the layers of confinement that this machine has for a run.
	Layers []confine.Layer
	// SearchPath is the PATH of the supervisors, in which they look for the programs of agents.
	SearchPath string
	// Supervisor is what every supervisor is told, besides its session and its secrets.
	Supervisor supervisor.Config
	Logger     *slog.Logger
	After      func(time.Duration) <-chan time.Time
}

// Runner launches agents. Make it with New, and call Run.
type Runner struct {
	Config

	mu sync.Mutex
	// started are the supervisors that this process started and that have not ended, by session.
	started map[string]child
	// running is how many workers ran when it was compared last, asking how many runs waited for the answer to a failed
	// check.
	running, asking int
	// failed counts, by run, the supervisors that ended before they had begun.
	failed  map[string]int
	changed chan struct{}
	digest  string
	// again ends the present question for work, because what the runner says about itself has changed.
	again func()

	// leaving are the supervisors whose run is over, with the time since when that is known, and forced says why the
	// runner killed some, by run. Only compare uses them.
	leaving map[child]time.Time
	forced  map[string]string
	// unheard are the runs whose supervisor runs although nothing is heard of it. Only compare uses them.
	unheard map[string]bool
}

// New returns a runner.
func New(c Config) *Runner {
	return &Runner{
		Config:  c,
		started: map[string]child{},
		failed:  map[string]int{},
		changed: make(chan struct{}, 1),
		again:   func() {},
		forced:  map[string]string{},
	}
}

// Run works until ctx ends. The supervisors that it started go on.
func (r *Runner) Run(ctx context.Context) {
	works := make(chan wire.RunnerWork)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { r.ask(ctx, works) })
	var work wire.RunnerWork
	for {
		select {
		case work = <-works:
		case <-r.changed:
		case <-r.After(looks):
		case <-ctx.Done():
			return
		}
		r.compare(ctx, work)
	}
}

// ask asks the server for work until ctx ends.
func (r *Runner) ask(ctx context.Context, works chan<- wire.RunnerWork) {
	wait := time.Duration(0) // the first answer says what is there
	away := false
	for ctx.Err() == nil {
		asking, cancel := context.WithCancel(ctx)
		r.mu.Lock()
		r.again = cancel
		r.mu.Unlock()
		work, err := r.Server.Work(asking, r.said(), wait)
		changed := asking.Err() != nil
		cancel()
		if err != nil {
			if changed && ctx.Err() == nil {
				continue
			}
			if ctx.Err() == nil && !away {
				r.Logger.Warn("the runner does not reach its server", "why", err)
			}
			away = true
			select {
			case <-r.After(again):
			case <-ctx.Done():
			}
			continue
		}
		away, wait = false, asks
		r.mu.Lock()
		r.digest = work.Digest
		r.mu.Unlock()
		select {
		case works <- work:
		case <-ctx.Done():
		}
	}
}

// said is what the runner says about itself.
func (r *Runner) said() wire.RunnerWorkOf {
	r.mu.Lock()
	defer r.mu.Unlock()
	return wire.RunnerWorkOf{
		Name:     r.Name,
		Protocol: strconv.Itoa(wire.RunnerProtocol),
		After:    r.digest,
		Host:     r.Host,
		Version:  r.Supervisor.Version,
		Limit:    strconv.Itoa(r.Limit),
		Running:  strconv.Itoa(r.running),
		Asking:   strconv.Itoa(r.asking),
		Layers:   strings.Join(confine.Names(confine.Policy{}.Layers(r.Layers)), ","),

		Workspaces: r.Supervisor.Workspaces,
		SearchPath: r.SearchPath,
	}
}

// compare does what follows from the difference between what is to run and what runs.
func (r *Runner) compare(ctx context.Context, work wire.RunnerWork) {
	if r.Name == wire.TerminalRunner { // a person launches its agents
		for _, x := range work.Sessions {
			r.RecordLeft(ctx, x)
		}
		return
	}
	r.end(work)
	r.watch(work)
	at := places{
		limit:   r.Limit,
		running: map[events.Role]int{},
		asking:  map[events.Role]int{},
	}
	var claims, line []wire.RunnerSession
	for _, x := range work.Sessions {
		switch {
		case x.State == wire.WorkClaim && r.hasStarted(x): // the answer is older than the claim
			at.running[x.Role]++
		case x.State == wire.WorkClaim:
			claims = append(claims, x)
		case r.runs(x.ID):
			if !r.counts(&at, x) {
				line = append(line, x)
			}
		case x.State == wire.WorkRunning && !r.began(x):
			if r.unstarted(x) >= mostStarts {
				r.exited(ctx, x, supervisor.Exit{
					Reason: fmt.Sprintf("its supervisor ended %d times before it began: see `maestro session logs %s "+
						"--of supervisor`", mostStarts, x.ID),
				})
				continue
			}
			at.running[x.Role]++
			r.start(ctx, x)
		default:
			r.recover(ctx, x)
		}
	}
	defer r.note(&at)
	r.giveBack(&at, line)
	for _, x := range claims {
		if ctx.Err() != nil {
			return
		}
		if !at.free(x.Role) || r.runs(x.ID) { // the supervisor of the run before is about to end
			continue
		}
		if r.claim(ctx, x) {
			at.running[x.Role]++
		}
	}
}

// runs reports whether a supervisor of a session runs.
func (r *Runner) runs(session string) bool {
	r.mu.Lock()
	_, started := r.started[session]
	r.mu.Unlock()
	return started || r.Home.Supervised(session)
}

// hasStarted reports whether a supervisor of the session's run was started by this process, and has not ended.
func (r *Runner) hasStarted(x wire.RunnerSession) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, started := r.started[x.ID]
	return started && c.run == x.Run
}

// saved is what the supervisor of a session saved last.
func (r *Runner) saved(session string) (saved supervisor.Saved, known bool) {
	saved, err := supervisor.ReadSaved(r.Home, session)
	return saved, err == nil
}

// began reports whether a supervisor of the session's run has run. If what it saved cannot be read, it has: its agent
// may have done something, or run still.
func (r *Runner) began(x wire.RunnerSession) bool {
	saved, err := supervisor.ReadSaved(r.Home, x.ID)
	return err == nil && saved.Run == x.Run || errors.Is(err, supervisor.ErrUnknown)
}

// claim begins a session's next run. Somebody else may have been faster, or the session may have ended meanwhile.
func (r *Runner) claim(ctx context.Context, x wire.RunnerSession) bool {
	name, err := r.agentOf(ctx, x)
	if err != nil {
		r.Logger.Warn("a session was not claimed", "session", x.ID, "run", x.Run, "why", err)
		return false
	}
	answer, err := r.Server.Do(ctx, "session:claim", &commands.ClaimSession{
		SessionID: x.ID,
		Run:       x.Run,
		Host:      r.Host,
		Agent:     name,
		Layers:    r.layersOf(x),
	}, client.Options{Key: fmt.Sprintf("%s/%d/claim", x.ID, x.Run)})
	if err != nil {
		r.Logger.Warn("a session was not claimed", "session", x.ID, "run", x.Run, "why", err)
		return false
	}
	if answer.Event == nil || answer.Retried { // the run had begun; the next answer says so
		return true
	}
	r.start(ctx, x)
	return true
}

// layersOf returns the layers that the agent of a session gets. The supervisor refuses to launch it without one that
// its network needs.
func (r *Runner) layersOf(x wire.RunnerSession) []string {
	network, _, err := confine.ParseNetwork(x.Network)
	if err != nil {
		network = confine.Open // the supervisor says what is wrong
	}
	return confine.Names(confine.Policy{Network: network}.Layers(r.Layers))
}

// start starts the supervisor of a run that has begun.
func (r *Runner) start(ctx context.Context, x wire.RunnerSession) {
	err := r.supervise(ctx, x)
	if err == nil {
		r.Logger.Info("a run begins; its agent is launched once the checks pass", "session", x.ID, "run", x.Run)
		return
	}
	r.Logger.Error("an agent could not be launched", "session", x.ID, "run", x.Run, "why", err)
	if ctx.Err() == nil && !client.NotNow(err) {
		r.exited(ctx, x, supervisor.Exit{Reason: "its supervisor could not be started: " + err.Error()})
	}
}

func (r *Runner) supervise(ctx context.Context, x wire.RunnerSession) error {
	own, err := r.Server.Credential(ctx, x.ID)
	if err != nil {
		return err
	}
	speaks, err := r.Server.RunnerCredential(ctx, x.ID)
	if err != nil {
		return err
	}
	c := r.Supervisor
	c.Protocol, c.SessionID, c.ProjectID, c.Runner, c.Run = supervisor.Protocol, x.ID, x.ProjectID, r.Name, x.Run
	c.Conversation, c.Resumes, c.Directory = x.Conversation, x.Resumes, x.Directory
	c.Home, c.Server = r.Home.Dir(), r.Server.Base()
	c.SessionToken, c.RunnerToken, c.Layers = own.Token, speaks.Token, r.layersOf(x)
	c.Within = own.Within
	r.mu.Lock()
	r.started[x.ID] = child{run: x.Run}
	r.again()
	r.mu.Unlock()
	pid, err := r.Start(c, func(err error) {
		if err != nil {
			r.Logger.Warn("a supervisor ended with an error", "session", x.ID, "run", x.Run, "why", err,
				"log", r.Home.SupervisorLogPath(x.ID))
		}
		if err != nil && !r.began(x) {
			r.mu.Lock()
			r.failed[runOf(x)]++
			r.mu.Unlock()
		}
		r.ended(x.ID)
	})
	if err != nil {
		r.ended(x.ID)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, runs := r.started[x.ID]; runs {
		r.started[x.ID] = childOf(x.Run, pid)
	}
	return nil
}

// unstarted returns how often a supervisor of the run ended before it had begun.
func (r *Runner) unstarted(x wire.RunnerSession) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed[runOf(x)]
}

func runOf(x wire.RunnerSession) string { return runKey(x.ID, x.Run) }

func runKey(session string, run int) string { return fmt.Sprintf("%s/%d", session, run) }

// ended notes that a supervisor ended.
func (r *Runner) ended(session string) {
	r.mu.Lock()
	delete(r.started, session)
	r.again()
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default: // it is told already
	}
}
