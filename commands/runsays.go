package commands

import (
	"cmp"
	"strconv"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// UseSession adds to what a session used: tokens, turns, money.
type UseSession struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId" doc:"the session"`
	Run       int    `json:"run" doc:"the run that used it"`
	events.Usage
}

// BlockCommand records that a command of a session's agent was not allowed to run.
type BlockCommand struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId" doc:"the session"`
	Run       int    `json:"run" doc:"the run"`
	Tool      string `json:"tool,omitempty" doc:"the tool that the agent called"`
	Command   string `json:"command" doc:"what was to run, or the beginning of that"`
	Reason    string `json:"reason" doc:"why it was blocked"`
	Killed    bool   `json:"killed,omitempty" doc:"it ran without a decision, so the agent was killed"`
}

// FailPreflight records that a check before the launch of an agent failed, and asks the user, and the session that
// spawned this one, what to do.
type FailPreflight struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId" doc:"the session"`
	Run       int    `json:"run" doc:"the run"`
	Check     string `json:"check" doc:"the check that failed, such as target_dir or login"`
	Path      string `json:"path,omitempty" doc:"the path that it is about"`
	Message   string `json:"message" doc:"what is wrong"`
	Fix       string `json:"fix,omitempty" doc:"what repairs it"`
}

// MarkStuck records that a run looks stuck, or does not any more.
type MarkStuck struct {
	noTexts
	ProjectRef
	SessionID string           `json:"sessionId" doc:"the session"`
	Run       int              `json:"run" doc:"the run"`
	Kind      events.StuckKind `json:"kind,omitempty" flag:"silent|loop" doc:"what it looks like; absent if it is not stuck any more"`
	Detail    string           `json:"detail,omitempty" doc:"what it does"`
	Since     int64            `json:"since,omitempty" absent:"now" doc:"since when, in milliseconds since 1970"`
}

// ID implements Command.
func (*UseSession) ID() string { return "session:usage" }

// ID implements Command.
func (*BlockCommand) ID() string { return "sandbox:blocked" }

// ID implements Command.
func (*FailPreflight) ID() string { return "preflight:failed" }

// ID implements Command.
func (*MarkStuck) ID() string { return "session:stuck" }

func (x *UseSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *BlockCommand) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *FailPreflight) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *MarkStuck) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// Decide implements Command.
func (x *UseSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, run, err := runOf(s, c, x.ProjectRef, x.SessionID, x.Run, x.ID())
	if err != nil {
		return nil, err
	}
	if err := ValidLine("/model", x.Model, MaxName); err != nil {
		return nil, err
	}
	none := true
	for _, number := range []struct {
		pointer string
		value   int64
	}{
		{"/turns", x.Turns},
		{"/inputTokens", x.InputTokens},
		{"/cachedTokens", x.CachedTokens},
		{"/outputTokens", x.OutputTokens},
		{"/reasoningTokens", x.ReasoningTokens},
		{"/costMicros", x.CostMicros},
	} {
		if number.value < 0 || number.value > mostUsed {
			return nil, invalid(number.pointer, "%s is a number from 0 to %d, not %d", nameOf(number.pointer),
				int64(mostUsed), number.value)
		}
		none = none && number.value == 0
	}
	if none {
		return nil, invalid("/inputTokens", "it says of nothing that it was used")
	}
	return x.Used(session.ID, run.Number), nil
}

// mostUsed bounds what one command says was used: more than any agent uses at once.
const mostUsed = 1_000_000_000_000

func (x *UseSession) from(e *events.Event, d *events.SessionUsed) bool {
	*x = UseSession{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		Run:        d.Run,
		Usage:      d.Usage(),
	}
	return true
}

// Decide implements Command.
func (x *BlockCommand) Decide(s *projections.State, c Call) (events.Data, error) {
	session, run, err := runOf(s, c, x.ProjectRef, x.SessionID, x.Run, x.ID())
	if err != nil {
		return nil, err
	}
	switch {
	case x.Command == "":
		return nil, invalid("/command", "command is required")
	case x.Reason == "":
		return nil, invalid("/reason", "reason is required")
	}
	if err := cmp.Or(ValidLine("/tool", x.Tool, MaxName), validOutput("/command", x.Command),
		validOutput("/reason", x.Reason)); err != nil {
		return nil, err
	}
	return &events.SandboxBlocked{
		SessionID: session.ID,
		Run:       run.Number,
		Tool:      x.Tool,
		Command:   x.Command,
		Reason:    x.Reason,
		Killed:    x.Killed,
	}, nil
}

func (x *BlockCommand) from(e *events.Event, d *events.SandboxBlocked) bool {
	*x = BlockCommand{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		Run:        d.Run,
		Tool:       d.Tool,
		Command:    d.Command,
		Reason:     d.Reason,
		Killed:     d.Killed,
	}
	return true
}

// Decide implements Command. The same failure is asked about once, until there is an answer.
func (x *FailPreflight) Decide(s *projections.State, c Call) (events.Data, error) {
	session, run, err := liveRunOf(s, c, x.ProjectRef, x.SessionID, x.Run, x.ID())
	if err != nil {
		return nil, err
	}
	if x.Message == "" {
		return nil, invalid("/message", "message is required")
	}
	if err := cmp.Or(ValidID("/check", x.Check), ValidText("/path", x.Path), validOutput("/message", x.Message),
		validOutput("/fix", x.Fix)); err != nil {
		return nil, err
	}
	if len(x.Path) > maxPath {
		return nil, invalid("/path", "path has at most %d characters, this has %d", maxPath, len(x.Path))
	}
	failed := &events.PreflightFailed{
		SessionID: session.ID,
		Run:       run.Number,
		Check:     x.Check,
		Path:      x.Path,
		Message:   x.Message,
		Fix:       x.Fix,
	}
	question := failed.Question()
	for open := range s.OpenQuestionsFrom(session.ID) {
		s.Worked(1)
		if open.Question == question {
			return nil, nil
		}
	}
	failed.InputID = newID("input", c, func(id string) bool { return s.Input(id) != nil })
	return failed, nil
}

func (x *FailPreflight) from(e *events.Event, d *events.PreflightFailed) bool {
	*x = FailPreflight{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		Run:        d.Run,
		Check:      d.Check,
		Path:       d.Path,
		Message:    d.Message,
		Fix:        d.Fix,
	}
	return true
}

// liveRunOf is runOf for a run that goes on.
func liveRunOf(
	s *projections.State, c Call, in ProjectRef, id string, number int, rule string,
) (*projections.Session, *projections.Run, error) {
	x, run, err := runOf(s, c, in, id, number, rule)
	switch {
	case err != nil:
		return nil, nil, err
	case x.Ended():
		return nil, nil, ended(s, rule, x)
	case run.IsResumed():
		return nil, nil, resumedSince(x, run)
	case run.Exited():
		return nil, nil, &Refusal{
			Code:    CodeConflict,
			Message: "Run " + strconv.Itoa(run.Number) + " of session '" + x.ID + "' is over",
			Why:     "its agent ended",
			Next:    "claim the next run first",
		}
	}
	return x, run, nil
}

// Decide implements Command.
func (x *MarkStuck) Decide(s *projections.State, c Call) (events.Data, error) {
	session, run, err := liveRunOf(s, c, x.ProjectRef, x.SessionID, x.Run, x.ID())
	if err != nil {
		return nil, err
	}
	since := x.Since
	switch x.Kind {
	case events.StuckSilent, events.StuckLoop:
		since = cmp.Or(since, c.At.UnixMilli())
	case "":
		since = 0
	default:
		return nil, invalid("/kind", "kind is silent or loop, or absent, not '%s'",
			safetext.Printable(string(x.Kind)))
	}
	if since < 0 || since > c.At.UnixMilli() {
		return nil, invalid("/since", "since is a time that has passed, in milliseconds since 1970, not %d", since)
	}
	if err := validOutput("/detail", x.Detail); err != nil {
		return nil, err
	}
	if was := session.Runs.Stuck; was == nil && x.Kind == "" ||
		was != nil && was.Kind == x.Kind && (x.Since == 0 || was.Since == x.Since) && was.Detail == x.Detail {
		return nil, nil
	}
	return &events.SessionStuck{
		SessionID: session.ID,
		Run:       run.Number,
		Kind:      x.Kind,
		Detail:    x.Detail,
		Since:     since,
	}, nil
}

func (x *MarkStuck) from(e *events.Event, d *events.SessionStuck) bool {
	*x = MarkStuck{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		Run:        d.Run,
		Kind:       d.Kind,
		Detail:     d.Detail,
		Since:      d.Since,
	}
	return true
}
