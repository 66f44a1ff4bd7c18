package projections

import (
	"fmt"
	"math"
	"slices"

	"maestro/events"
)

// TerminalRunner is the name of the runner that launches an agent by hand, in a terminal: any machine is one.
const TerminalRunner = "terminal"

const (
	// mostOutput bounds the bytes that are kept of the last output of a run. The event has all of it.
	mostOutput = 1 << 10
	// mostModels bounds the models whose use is counted apart, and otherModels is the name of the others together.
	mostModels  = 16
	otherModels = "other"
	// mostUsed bounds every sum of what a session used: a larger number is no exact number of JSON.
	mostUsed = 1 << 53
)

// Runs is what is known of the runs of a session, nil before the first one. Immutable.
type Runs struct {
	Last *Run
	// Used sums up what all runs used, Models the same by model; Blocked counts the commands that were not allowed.
	Used    events.Usage
	Models  []events.Usage `json:",omitempty"`
	Blocked int            `json:",omitempty"`
	// Stuck says why the last run looks stuck; nil if it does not.
	Stuck *Stuck `json:",omitempty"`
}

// Run is one launch of a session's agent. Times are milliseconds since 1970, 0 for never. Immutable.
type Run struct {
	Number    int
	Runner    string
	Host      string   `json:",omitempty"`
	Agent     string   `json:",omitempty"`
	Layers    []string `json:",omitempty"`
	Resumes   bool     `json:",omitempty"`
	ClaimedAt int64
	// Claim is the event that began it.
	Claim    Cause
	ExitedAt int64  `json:",omitempty"`
	ExitCode *int   `json:",omitempty"`
	Signal   string `json:",omitempty"`
	// Status is how its exit ended the session, "" if it did not.
	Status events.SessionStatus `json:",omitempty"`
	Reason string               `json:",omitempty"`
	// LastOutput is the end of its output.
	LastOutput string `json:",omitempty"`
	// Conversation is the agent's id of its conversation, of this run or of an earlier one.
	Conversation string `json:",omitempty"`
	// Resumed is the event after which the next run may begin; zero if there is none.
	Resumed Cause
}

// Stuck says why a run looks stuck, and since when. Immutable.
type Stuck struct {
	Kind   events.StuckKind
	Detail string `json:",omitempty"`
	Since  int64
}

// LastRun returns the session's last run, nil if there was none.
func (x *Session) LastRun() *Run {
	if x.Runs == nil {
		return nil
	}
	return x.Runs.Last
}

// NextRun returns the number of the session's next run.
func (x *Session) NextRun() int {
	if run := x.LastRun(); run != nil {
		return run.Number + 1
	}
	return 1
}

// isBeyond reports whether a later run of the session has begun, or may begin since the session was resumed.
func (x *Session) isBeyond(run int) bool {
	last := x.LastRun()
	return last != nil && (last.Number != run || last.IsResumed())
}

// Exited reports whether the agent of the run ended.
func (r *Run) Exited() bool { return r != nil && r.ExitedAt != 0 }

// IsResumed reports whether the session was resumed after the run.
func (r *Run) IsResumed() bool { return r != nil && r.Resumed != Cause{} }

// Claimed reports whether a runner has the session: it began a run, and no other may begin.
func (x *Session) Claimed() bool {
	run := x.LastRun()
	return run != nil && !run.IsResumed() && !x.Waits()
}

// Waits reports whether the session's agent ended while the session waits for an answer. Its next run brings the
// answer.
func (x *Session) Waits() bool { return !x.Ended() && x.LastRun().Exited() && !x.LastRun().IsResumed() }

// AwaitsRunner reports whether the session waits for a runner that begins its next run.
func (x *Session) AwaitsRunner() bool {
	return !x.Ended() && !x.Claimed() && (x.Runner != "" || x.Runs != nil)
}

// IsAssigned reports whether a runner runs the session: it claimed the last run, or before that it is the one that the
// spawn names.
func (x *Session) IsAssigned(runner string) bool {
	if run := x.LastRun(); run != nil && !run.IsResumed() {
		return run.Runner == runner
	}
	return x.Runner == runner && runner != ""
}

// MayClaim reports whether a runner may begin the session's next run, once nobody has it: the one that the spawn names,
// the one that had it before, or one in a terminal.
func (x *Session) MayClaim(runner string) bool {
	run := x.LastRun()
	return runner == TerminalRunner || runner != "" && (x.Runner == runner || run != nil && run.Runner == runner)
}

// WaitsForAnswer reports whether a session has an open question, or the answer to one that it was not shown yet.
func (s *State) WaitsForAnswer(x *Session) bool {
	if s.OpenQuestionsOf(x.ID) > 0 {
		return true
	}
	mail := s.Undelivered(x.ID)
	s.lookedThrough(len(mail))
	for _, id := range mail { // it is bounded: limits mail and session-questions
		if s.Input(id) != nil {
			return true
		}
	}
	return false
}

// editRuns changes what is known of a session's runs.
func (x *Session) editRuns(edit func(*Runs)) {
	runs := Runs{}
	if x.Runs != nil {
		runs = *x.Runs
	}
	edit(&runs)
	x.Runs = &runs
}

// editRun changes the last run.
func (x *Session) editRun(edit func(*Run)) {
	x.editRuns(func(runs *Runs) {
		run := *runs.Last
		edit(&run)
		runs.Last = &run
	})
}

// runOf returns the session of an event, and its last run, which the event has to be about.
func (s *State) runOf(session string, number int) (*Session, *Run, error) {
	x := s.Session(session)
	if x == nil {
		return nil, nil, missing("session", session)
	}
	run := x.LastRun()
	if run == nil || run.Number != number {
		return nil, nil, fmt.Errorf("it speaks of run %d of session %q, which is not its last one", number, session)
	}
	return x, run, nil
}

func (s *State) sessionClaimed(f fact, d *events.SessionClaimed) error {
	x := s.Session(d.SessionID)
	switch {
	case x == nil:
		return missing("session", d.SessionID)
	case d.Run != x.NextRun() || x.Claimed():
		return fmt.Errorf("it begins run %d of session %q, which is not the next one", d.Run, d.SessionID)
	}
	conversation := ""
	if last := x.LastRun(); last != nil {
		conversation = last.Conversation
	}
	s.changeSession(d.SessionID, func(x *Session) {
		x.LastActivity = f.at
		x.editRuns(func(runs *Runs) {
			runs.Stuck = nil
			runs.Last = &Run{
				Number:       d.Run,
				Runner:       d.Runner,
				Host:         d.Host,
				Agent:        d.Agent,
				Layers:       d.Layers,
				Resumes:      d.Resumes,
				ClaimedAt:    f.at,
				Claim:        f.cause(),
				Conversation: conversation,
			}
		})
	})
	s.closesPast(d.SessionID)
	s.note(f, 0)
	return nil
}

// closesPast closes the questions of a session about starts of runs that are over.
func (s *State) closesPast(session string) {
	var past []*Input
	for x := range s.OpenQuestionsFrom(session) {
		if s.work(1); s.InputStatus(x) == InputVoid {
			past = append(past, x)
		}
	}
	for _, x := range past {
		s.closes(x)
	}
}

func (s *State) sessionExited(f fact, d *events.SessionExited) error {
	x, run, err := s.runOf(d.SessionID, d.Run)
	switch {
	case err != nil:
		return err
	case run.Exited() || run.IsResumed():
		return fmt.Errorf("it ends run %d of session %q, which is over", d.Run, d.SessionID)
	case d.Status != "" && d.Status != events.SessionSaidDone && d.Status != events.SessionEndFailed:
		return fmt.Errorf("it ends session %q as %q", d.SessionID, d.Status)
	}
	exits := func(x *Session) {
		x.LastActivity = f.at
		x.editRuns(func(runs *Runs) { runs.Stuck = nil })
		x.editRun(func(run *Run) {
			run.ExitedAt, run.ExitCode, run.Signal, run.Status = f.at, d.ExitCode, d.Signal, d.Status
			run.Reason, run.LastOutput = d.Reason, events.Ending(d.LastOutput, mostOutput)
			if d.Conversation != "" {
				run.Conversation = d.Conversation
			}
		})
	}
	if d.Status == "" || x.Ended() {
		s.changeSession(d.SessionID, exits)
	} else {
		s.gone(f, d.SessionID, func(x *Session) {
			exits(x)
			x.EndReason = endOf(d)
			x.Status, x.EndedAt = d.Status, f.at
			if d.Status != events.SessionSaidDone || x.CompletedAt == 0 {
				x.CompletedAt = f.at
			}
		})
	}
	s.note(f, 0)
	return nil
}

// endOf says how a run ended the session: "" if its agent ended as it should.
func endOf(d *events.SessionExited) string {
	how, after := d.How(), " without reporting completion"
	if d.Status == events.SessionSaidDone {
		if d.Signal == "" && (d.ExitCode == nil || *d.ExitCode == 0) {
			return d.Reason
		}
		after = " after it reported completion"
	}
	return textOf("its agent ended"+how+after, d.Reason)
}

func (s *State) sessionUsed(f fact, d *events.SessionUsed) error {
	if _, _, err := s.runOf(d.SessionID, d.Run); err != nil {
		return err
	}
	s.changeSession(d.SessionID, func(x *Session) {
		x.editRuns(func(runs *Runs) {
			runs.Used = sum(runs.Used, d.Usage(), "")
			runs.Models = byModel(runs.Models, d.Usage())
		})
	})
	return nil
}

// byModel adds a use to the sums by model.
func byModel(models []events.Usage, used events.Usage) []events.Usage {
	named := func(name string) int {
		return slices.IndexFunc(models, func(u events.Usage) bool { return u.Model == name })
	}
	name := used.Model
	if name == "" {
		name = otherModels
	}
	models = slices.Clone(models)
	at := named(name)
	if at < 0 && len(models) >= mostModels-1 {
		name = otherModels
		at = named(name)
	}
	if at < 0 {
		return append(models, sum(events.Usage{}, used, name))
	}
	models[at] = sum(models[at], used, name)
	return models
}

// sum adds two uses, and gives the result the name of a model.
func sum(a, b events.Usage, model string) events.Usage {
	plus := func(x, y int64) int64 { return min(max(x, 0)+min(max(y, 0), math.MaxInt64-mostUsed), mostUsed) }
	return events.Usage{
		Model:           model,
		Turns:           plus(a.Turns, b.Turns),
		InputTokens:     plus(a.InputTokens, b.InputTokens),
		CachedTokens:    plus(a.CachedTokens, b.CachedTokens),
		OutputTokens:    plus(a.OutputTokens, b.OutputTokens),
		ReasoningTokens: plus(a.ReasoningTokens, b.ReasoningTokens),
		CostMicros:      plus(a.CostMicros, b.CostMicros),
	}
}

func (s *State) sandboxBlocked(f fact, d *events.SandboxBlocked) error {
	if _, _, err := s.runOf(d.SessionID, d.Run); err != nil {
		return err
	}
	s.changeSession(d.SessionID, func(x *Session) { x.editRuns(func(runs *Runs) { runs.Blocked++ }) })
	s.note(f, 0)
	return nil
}

func (s *State) preflightFailed(f fact, d *events.PreflightFailed) error {
	if _, _, err := s.runOf(d.SessionID, d.Run); err != nil {
		return err
	}
	if s.Input(d.InputID) != nil {
		return exists("question", d.InputID)
	}
	s.inputOpened(f, &Input{
		ID:        d.InputID,
		SessionID: d.SessionID,
		Run:       d.Run,
		OnTask:    s.askedAt(d.SessionID, nil),
		Question:  d.Question(),
		Options:   d.Options(),
	})
	s.note(f, 0)
	return nil
}

func (s *State) sessionStuck(f fact, d *events.SessionStuck) error {
	if _, _, err := s.runOf(d.SessionID, d.Run); err != nil {
		return err
	}
	s.changeSession(d.SessionID, func(x *Session) {
		x.editRuns(func(runs *Runs) {
			runs.Stuck = nil
			if d.Kind != "" {
				runs.Stuck = &Stuck{d.Kind, d.Detail, d.Since}
			}
		})
	})
	s.note(f, 0)
	return nil
}

func (s *State) sessionResumed(f fact, d *events.SessionResumed) error {
	x := s.Session(d.SessionID)
	switch {
	case x == nil:
		return missing("session", d.SessionID)
	case x.Runs == nil || d.Run != x.NextRun():
		return fmt.Errorf("it resumes session %q for run %d, which is not the next one", d.SessionID, d.Run)
	}
	s.changeSession(d.SessionID, func(x *Session) {
		fields := x.ownFields()
		fields.Generation, fields.Deadline = d.Generation, d.Deadline
		fields.EndReason, fields.Gone, fields.GoneBy = "", Cause{}, ""
		x.Status, x.EndedAt, x.CompletedAt, x.LostAt = events.SessionSpawning, 0, 0, 0
		x.LastActivity = f.at
		x.editRuns(func(runs *Runs) { runs.Stuck = nil })
		x.editRun(func(run *Run) { run.Resumed = f.cause() })
	})
	s.closesPast(d.SessionID)
	if at, limited := s.sequenceOf(x.Cause), d.Deadline > 0; s.timed.has(at) != limited {
		s.timed = s.timed.set(at, x.ID, limited)
	}
	for _, entries := range []*table[*Entry]{&s.lastWords, &s.exits} { // what it was before
		if entries.get(d.SessionID) != nil {
			entries.put(d.SessionID, nil)
		}
	}
	if s.losses.get(d.SessionID) != nil {
		s.losses.put(d.SessionID, nil)
	}
	s.note(f, 0)
	return nil
}

// NothingLeft says why there is nothing to resume a session for: its tasks are over, or its queue is gone; "" if there
// is something.
func (s *State) NothingLeft(x *Session) string {
	if x.Strategy == events.StrategyQueue {
		if s.Queue(x.ProjectID, x.Queue) == nil {
			return "its queue is gone"
		}
		return ""
	}
	s.lookedThrough(len(x.TaskIDs))
	if slices.ContainsFunc(x.TaskIDs, func(id string) bool {
		t := s.Task(id)
		return t != nil && !t.Over()
	}) {
		return ""
	}
	return "none of its tasks is open"
}
