package commands

import (
	"cmp"
	"strconv"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// ClaimSession begins a run of a session: its runner launches the agent, and nobody else does. A retry with the same
// key gets the same event. Who claims a run that it has already gets no event, and must not launch the agent again.
// docs/contract.md, "Runs".
type ClaimSession struct {
	noTexts
	ProjectRef
	SessionID string   `json:"sessionId" doc:"the session"`
	Runner    string   `json:"runner,omitempty" doc:"the runner; your own if absent"`
	Run       int      `json:"run,omitempty" absent:"the next run" doc:"the number of the run; refused if another one is next"`
	Host      string   `json:"host,omitempty" doc:"the machine on which the agent runs"`
	Agent     string   `json:"agent,omitempty" doc:"the driver that launches the agent"`
	Layers    []string `json:"layers,omitempty" doc:"the layers of confinement that are active"`
}

// ExitSession records that the agent of a run ended. Whether that ends the session follows from what the session said
// before: docs/contract.md, "Runs".
type ExitSession struct {
	noTexts
	ProjectRef
	SessionID    string `json:"sessionId" doc:"the session"`
	Run          int    `json:"run" doc:"the run that ended"`
	ExitCode     *int   `json:"exitCode,omitempty" doc:"exit code of the agent; absent if it has none"`
	Signal       string `json:"signal,omitempty" doc:"the signal that ended the agent"`
	Reason       string `json:"reason,omitempty" doc:"why it ended, if that is known"`
	LastOutput   string `json:"lastOutput,omitempty" doc:"the end of its output"`
	Conversation string `json:"conversation,omitempty" doc:"the agent's own id of its conversation"`
}

// ID implements Command.
func (*ClaimSession) ID() string { return "session:claim" }

// ID implements Command.
func (*ExitSession) ID() string { return "session:exited" }

func (x *ClaimSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *ExitSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// spokenFor is session for a runner: one whose credential speaks for a single session may name no other.
func spokenFor(s *projections.State, c Call, in ProjectRef, id, rule string) (*projections.Session, error) {
	x, err := session(s, c, in, id)
	if err != nil {
		return nil, err
	}
	if c.By.Speaks != "" && c.By.Speaks != x.ID {
		return nil, notAllowed(rule, "the credential of a supervisor speaks for one session",
			"use the credential for this session",
			"This credential speaks for session '%s', not for '%s'", c.By.Speaks, x.ID)
	}
	return x, nil
}

// whyAssigned is the rule of every command of a runner but the claim.
const whyAssigned = "a runner acts for the sessions that are assigned to it"

// runOf returns the session of a runner's command, and the run that it names: the last one, which the runner claimed.
func runOf(
	s *projections.State, c Call, in ProjectRef, id string, number int, rule string,
) (*projections.Session, *projections.Run, error) {
	x, err := spokenFor(s, c, in, id, rule)
	if err != nil {
		return nil, nil, err
	}
	run := x.LastRun()
	switch {
	case run == nil && x.IsAssigned(c.By.Name):
		return nil, nil, &Refusal{
			Code:    CodeConflict,
			Message: "Session '" + x.ID + "' has no run " + strconv.Itoa(number),
			Why:     "no runner has claimed it",
			Next:    "claim it first: session:claim",
		}
	case run == nil || run.Runner != c.By.Name:
		return nil, nil, notAllowed(rule, whyAssigned, seeInfo(x),
			"Session '%s' is not assigned to runner '%s'%s", x.ID, c.By.Name, claimedBy(x))
	case run.Number != number:
		return nil, nil, &Refusal{
			Code:    CodeConflict,
			Message: "Run " + strconv.Itoa(number) + " is not the last run of session '" + x.ID + "'",
			Why:     "its last run is " + strconv.Itoa(run.Number),
			Next:    "end the agent of run " + strconv.Itoa(number) + ": another one may be at work",
		}
	}
	return x, run, nil
}

// seeInfo is the next step of a runner that does not have a session.
func seeInfo(x *projections.Session) string {
	return "see who has it with `maestro session info " + x.ID + "`"
}

// claimedBy says, after a comma, which runner has a session; "" if none does.
func claimedBy(x *projections.Session) string {
	switch run := x.LastRun(); {
	case x.Claimed():
		return ": runner '" + run.Runner + "' has it" + onHost(run)
	case x.Runner != "":
		return ": it waits for runner '" + x.Runner + "'"
	}
	return ""
}

func onHost(run *projections.Run) string {
	if run.Host == "" {
		return ""
	}
	return " on " + safetext.OneLine(run.Host)
}

// Decide implements Command.
func (x *ClaimSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := spokenFor(s, c, x.ProjectRef, x.SessionID, x.ID())
	if err != nil {
		return nil, err
	}
	runner := cmp.Or(x.Runner, c.By.Name)
	if err := cmp.Or(ValidID("/runner", runner), x.valid()); err != nil {
		return nil, err
	}
	run, next := session.LastRun(), session.NextRun()
	switch {
	case runner != c.By.Name:
		refusal := notAllowed(x.ID(), "a runner claims for itself only", "leave the runner out",
			"Runner '%s' may not claim for runner '%s'", c.By.Name, runner)
		refusal.Pointer = "/runner"
		return nil, refusal
	case session.Ended():
		return nil, ended(s, x.ID(), session)
	case session.Claimed():
		if run.Runner == runner && run.Host == x.Host && (x.Run == 0 || x.Run == run.Number) && !run.Exited() {
			return nil, nil
		}
		return nil, &Refusal{
			Code: CodeConflict,
			Message: "Session '" + session.ID + "' is claimed already: runner '" + run.Runner + "' has run " +
				strconv.Itoa(run.Number) + onHost(run),
			Why:  "one run at a time, so that no two agents work in one session",
			Next: "see how it goes with `maestro session info " + session.ID + "`",
		}
	case !session.Active():
		return nil, notAllowed(x.ID(), "the session has reported that its work is done",
			"spawn another: `"+s.Successor(session)+"`", "Session '%s' has nothing left to do", session.ID)
	case !session.MayClaim(runner):
		return nil, notAllowed(x.ID(), "a session is claimed by the runner that its spawn names, or in a terminal",
			seeInfo(session), "Session '%s' is not assigned to runner '%s'%s", session.ID, runner, claimedBy(session))
	case x.Run != 0 && x.Run != next:
		return nil, &Refusal{
			Code:    CodeConflict,
			Message: "Run " + strconv.Itoa(x.Run) + " of session '" + session.ID + "' cannot begin",
			Why:     "its next run is " + strconv.Itoa(next),
			Next:    seeInfo(session),
		}
	}
	return &events.SessionClaimed{
		SessionID: session.ID,
		Runner:    runner,
		Run:       next,
		Host:      x.Host,
		Agent:     x.Agent,
		Layers:    x.Layers,
		Resumes:   run != nil && run.Conversation != "",
	}, nil
}

func (x *ClaimSession) valid() error {
	if err := cmp.Or(ValidLine("/host", x.Host, MaxName), ValidLine("/agent", x.Agent, MaxName)); err != nil {
		return err
	}
	return validTexts("/layers", x.Layers)
}

func (x *ClaimSession) from(e *events.Event, d *events.SessionClaimed) bool {
	*x = ClaimSession{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		Runner:     d.Runner,
		Run:        d.Run,
		Host:       d.Host,
		Agent:      d.Agent,
		Layers:     d.Layers,
	}
	return true
}

// Decide implements Command.
func (x *ExitSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, run, err := runOf(s, c, x.ProjectRef, x.SessionID, x.Run, x.ID())
	switch {
	case err != nil:
		return nil, err
	case run.Exited():
		return nil, nil
	case run.IsResumed():
		return nil, resumedSince(session, run)
	}
	if err := x.valid(); err != nil {
		return nil, err
	}
	return &events.SessionExited{
		SessionID:    session.ID,
		Run:          run.Number,
		ExitCode:     x.ExitCode,
		Signal:       x.Signal,
		Status:       x.status(s, session),
		Reason:       x.Reason,
		LastOutput:   x.LastOutput,
		Conversation: x.Conversation,
	}, nil
}

// status returns how the exit ends the session, "" if it does not. An agent that ends without having said that it is
// done has failed, unless it waits for an answer and ended as it should.
func (x *ExitSession) status(s *projections.State, session *projections.Session) events.SessionStatus {
	switch {
	case session.Ended():
		return ""
	case session.Status == events.SessionSaidDone:
		return events.SessionSaidDone
	case x.ExitCode != nil && *x.ExitCode == 0 && x.Signal == "" && s.WaitsForAnswer(session):
		return ""
	}
	return events.SessionEndFailed
}

func (x *ExitSession) valid() error {
	return cmp.Or(
		ValidLine("/signal", x.Signal, MaxName),
		validReason(x.Reason),
		validOutput("/lastOutput", x.LastOutput),
		ValidLine("/conversation", x.Conversation, MaxName),
	)
}

func (x *ExitSession) from(e *events.Event, d *events.SessionExited) bool {
	*x = ExitSession{
		ProjectRef:   inProject(e),
		SessionID:    d.SessionID,
		Run:          d.Run,
		ExitCode:     d.ExitCode,
		Signal:       d.Signal,
		Reason:       d.Reason,
		LastOutput:   d.LastOutput,
		Conversation: d.Conversation,
	}
	return true
}

// resumedSince refuses what a run says after its session was resumed: it was given up.
func resumedSince(x *projections.Session, run *projections.Run) *Refusal {
	return &Refusal{
		Code:    CodeConflict,
		Message: "Run " + strconv.Itoa(run.Number) + " of session '" + x.ID + "' was given up",
		Why:     "the session was resumed, and its next run may begin",
		Next:    "end the agent of run " + strconv.Itoa(run.Number),
	}
}

// validOutput checks what an agent wrote or was to run.
func validOutput(pointer, text string) error {
	if n := int64(len(text)); n > LimitOutput.Value {
		return invalid(pointer, "%s has at most %d bytes, this has %d", nameOf(pointer), LimitOutput.Value, n)
	}
	return ValidText(pointer, text)
}
