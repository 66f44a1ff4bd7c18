package events

import (
	"fmt"
	"strings"
)

// A run is one launch of a session's agent, numbered from 1 (docs/decisions/0111-runs-of-a-session.md).

// SessionClaimed: a runner began a run of the session. Nobody else launches its agent meanwhile.
type SessionClaimed struct {
	SessionID string   `json:"sessionId" doc:"the session"`
	Runner    string   `json:"runner" doc:"the runner that launches its agent"`
	Run       int      `json:"run" doc:"the number of the run, 1 for the first"`
	Host      string   `json:"host,omitempty" doc:"the machine on which the agent runs"`
	Agent     string   `json:"agent,omitempty" doc:"the driver that launches the agent"`
	Layers    []string `json:"layers,omitempty" doc:"the layers of confinement that are active"`
	Resumes   bool     `json:"resumes,omitempty" doc:"the agent continues the conversation of an earlier run"`
}

// SessionExited: the agent of a run ended. Unless the session had ended before, or waits for an answer, this ends it.
type SessionExited struct {
	SessionID string        `json:"sessionId" doc:"the session"`
	Run       int           `json:"run" doc:"the run that ended"`
	ExitCode  *int          `json:"exitCode,omitempty" doc:"exit code of the agent; absent if it has none"`
	Signal    string        `json:"signal,omitempty" doc:"the signal that ended the agent"`
	Status    SessionStatus `json:"status,omitempty" doc:"how this ends the session: completed or failed; absent if it does not"`
	Reason    string        `json:"reason,omitempty" doc:"why it ended, as far as the runner knows"`
	// The caller cuts it.
	LastOutput string `json:"lastOutput,omitempty" doc:"the end of its output"`
	// The agent's CLI chose it.
	Conversation string `json:"conversation,omitempty" doc:"the agent's own id of its conversation, to continue it"`
}

// SessionUsed: what a run used since the event before it. The numbers are differences, not sums.
type SessionUsed struct {
	SessionID       string `json:"sessionId" doc:"the session"`
	Run             int    `json:"run" doc:"the run that used it"`
	Model           string `json:"model,omitempty" doc:"the model; absent if the agent does not say"`
	Turns           int64  `json:"turns,omitempty" doc:"turns of the agent"`
	InputTokens     int64  `json:"inputTokens,omitempty" doc:"tokens that the model read, without cached ones"`
	CachedTokens    int64  `json:"cachedTokens,omitempty" doc:"tokens that the model read from its cache"`
	OutputTokens    int64  `json:"outputTokens,omitempty" doc:"tokens that the model wrote, without reasoning"`
	ReasoningTokens int64  `json:"reasoningTokens,omitempty" doc:"tokens that the model wrote as reasoning"`
	CostMicros      int64  `json:"costMicros,omitempty" doc:"the cost, in millionths of a US dollar; absent if it is not known"`
}

// Usage returns what was used.
func (d *SessionUsed) Usage() Usage {
	return Usage{
		Model:           d.Model,
		Turns:           d.Turns,
		InputTokens:     d.InputTokens,
		CachedTokens:    d.CachedTokens,
		OutputTokens:    d.OutputTokens,
		ReasoningTokens: d.ReasoningTokens,
		CostMicros:      d.CostMicros,
	}
}

// Used returns the event that says what was used.
func (u Usage) Used(session string, run int) *SessionUsed {
	return &SessionUsed{
		SessionID:       session,
		Run:             run,
		Model:           u.Model,
		Turns:           u.Turns,
		InputTokens:     u.InputTokens,
		CachedTokens:    u.CachedTokens,
		OutputTokens:    u.OutputTokens,
		ReasoningTokens: u.ReasoningTokens,
		CostMicros:      u.CostMicros,
	}
}

// Usage is what an agent used of a model: a part of the event, of its command, and of what sums them up.
type Usage struct {
	Model           string `json:"model,omitempty" doc:"the model; absent if the agent does not say"`
	Turns           int64  `json:"turns,omitempty" absent:"none" doc:"turns of the agent"`
	InputTokens     int64  `json:"inputTokens,omitempty" absent:"none" doc:"tokens that the model read, without cached ones"`
	CachedTokens    int64  `json:"cachedTokens,omitempty" absent:"none" doc:"tokens that the model read from its cache"`
	OutputTokens    int64  `json:"outputTokens,omitempty" absent:"none" doc:"tokens that the model wrote, without reasoning"`
	ReasoningTokens int64  `json:"reasoningTokens,omitempty" absent:"none" doc:"tokens that the model wrote as reasoning"`
	CostMicros      int64  `json:"costMicros,omitempty" absent:"not known" doc:"the cost, in millionths of a US dollar"`
}

// SandboxBlocked: a command of the session's agent was not allowed to run.
type SandboxBlocked struct {
	SessionID string `json:"sessionId" doc:"the session"`
	Run       int    `json:"run" doc:"the run"`
	Tool      string `json:"tool,omitempty" doc:"the tool that the agent called"`
	Command   string `json:"command" doc:"what was to run, or the beginning of that"`
	Reason    string `json:"reason" doc:"why it was blocked"`
	Killed    bool   `json:"killed,omitempty" doc:"it ran without a decision, so the agent was killed"`
}

// PreflightFailed: a check before the launch of the agent failed. It opens a question: to try again, or to give up.
type PreflightFailed struct {
	SessionID string `json:"sessionId" doc:"the session"`
	Run       int    `json:"run" doc:"the run"`
	Check     string `json:"check" doc:"the check that failed, such as target_dir or login"`
	Path      string `json:"path,omitempty" doc:"the path that it is about"`
	Message   string `json:"message" doc:"what is wrong"`
	Fix       string `json:"fix,omitempty" doc:"what repairs it"`
	InputID   string `json:"inputId" doc:"the question that this opens"`
}

// The answers to the question of a failed check.
const (
	PreflightRetry  = "retry"
	PreflightGiveUp = "give up"
)

// Question returns the question that the event opens: what is wrong, with which path unless that says it already, and
// what repairs it. Each is a sentence, because the inbox and the timelines show them on one line.
func (d *PreflightFailed) Question() string {
	text := sentence(d.Message)
	if d.Path != "" && !strings.Contains(d.Message, d.Path) {
		text += askedPath + sentence(d.Path)
	}
	if d.Fix != "" {
		text += askedFix + sentence(d.Fix)
	}
	return text
}

// The beginnings of the lines of a question that follow what is wrong.
const (
	askedPath = "\nThe path is "
	askedFix  = "\nWhat to do: "
)

// PreflightWrong returns what is wrong of a question that Question made. A path in it may contain any line.
func PreflightWrong(question string) string {
	for _, after := range []string{askedFix, askedPath} {
		if i := strings.LastIndex(question, after); i >= 0 {
			question = question[:i]
		}
	}
	return question
}

// sentence ends a text as a sentence, unless it does.
func sentence(text string) string {
	text = strings.TrimRight(text, " \n")
	if text == "" || strings.ContainsRune(".!?", rune(text[len(text)-1])) {
		return text
	}
	return text + "."
}

// Options returns the answers to choose from.
func (*PreflightFailed) Options() []string { return []string{PreflightRetry, PreflightGiveUp} }

// StuckKind is what makes a run look stuck.
type StuckKind string

// The kinds of being stuck; "" means that the run is not stuck any more.
const (
	StuckSilent StuckKind = "silent" // its agent writes no output
	StuckLoop   StuckKind = "loop"   // its agent does the same again and again
)

// SessionStuck: a run looks stuck, or does not any more. It goes on, and nothing else changes.
type SessionStuck struct {
	SessionID string    `json:"sessionId" doc:"the session"`
	Run       int       `json:"run" doc:"the run"`
	Kind      StuckKind `json:"kind,omitempty" doc:"silent or loop; absent: it is not stuck any more"`
	Detail    string    `json:"detail,omitempty" doc:"what it does"`
	Since     int64     `json:"since,omitempty" doc:"since when, in milliseconds since 1970"`
}

// SessionResumed: another run may begin, also if the session had ended. The secret of the runs before is revoked.
type SessionResumed struct {
	SessionID  string `json:"sessionId" doc:"the session"`
	Run        int    `json:"run" doc:"the next run"`
	Generation int    `json:"generation" doc:"generation of the session's new secret"`
	Deadline   int64  `json:"deadline,omitempty" doc:"when it runs out of time now, in milliseconds since 1970"`
}

var runEvents = []Entry{
	entry[SessionClaimed]("A runner began a run of a session: it launches the agent."),
	entry[SessionExited]("The agent of a run ended."),
	entry[SessionUsed]("A run used tokens and turns."),
	entry[SandboxBlocked]("A command of an agent was not allowed to run."),
	entry[PreflightFailed]("A check before the launch of an agent failed, which opened a question."),
	entry[SessionStuck]("A run looks stuck, or does not any more."),
	entry[SessionResumed]("Another run of a session may begin."),
}

// EventType implements Data.
func (*SessionClaimed) EventType() string { return "maestro.session.claimed.v1" }

// EventType implements Data.
func (*SessionExited) EventType() string { return "maestro.session.exited.v1" }

// EventType implements Data.
func (*SessionUsed) EventType() string { return "maestro.session.used.v1" }

// EventType implements Data.
func (*SandboxBlocked) EventType() string { return "maestro.sandbox.blocked.v1" }

// EventType implements Data.
func (*PreflightFailed) EventType() string { return "maestro.preflight.failed.v1" }

// EventType implements Data.
func (*SessionStuck) EventType() string { return "maestro.session.stuck.v1" }

// EventType implements Data.
func (*SessionResumed) EventType() string { return "maestro.session.resumed.v1" }

// Aggregate implements Data.
func (d *SessionClaimed) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionExited) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionUsed) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SandboxBlocked) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *PreflightFailed) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionStuck) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionResumed) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Describe implements Data.
func (d *SessionClaimed) Describe() Description {
	return describe("claimed", "claim", named(" session ", d.SessionID, ""), text(fmt.Sprintf(" for run %d", d.Run)),
		prefixed(" on ", d.Host))
}

// Describe implements Data.
func (d *SessionExited) Describe() Description {
	ended := "its agent ended" + d.How()
	switch {
	case d.Reason != "" && d.How() == "": // there may have been no agent: the reason says it
		ended = d.Reason
	case d.Reason != "":
		ended += ", " + d.Reason
	}
	return describe("recorded", "record", text(fmt.Sprintf(" the end of run %d", d.Run)),
		named(" of session ", d.SessionID, ""), text(": "+ended))
}

// How says with what the agent ended: " with exit code 1", " by signal killed"; "" if that is not known.
func (d *SessionExited) How() string { return HowExited(d.ExitCode, d.Signal) }

// HowExited says with what a process ended, with a space before; "" if that is not known.
func HowExited(code *int, signal string) string {
	switch {
	case signal != "":
		return " by signal " + signal
	case code != nil:
		return fmt.Sprintf(" with exit code %d", *code)
	}
	return ""
}

// Describe implements Data.
func (d *SessionUsed) Describe() Description {
	return describe("counted", "count", text(fmt.Sprintf(" %d tokens", d.Usage().Tokens())),
		named(" of session ", d.SessionID, ""), prefixed(" with model ", d.Model))
}

// Tokens returns the tokens of all kinds.
func (u Usage) Tokens() int64 {
	return u.InputTokens + u.CachedTokens + u.OutputTokens + u.ReasoningTokens
}

// Describe implements Data.
func (d *SandboxBlocked) Describe() Description {
	return describe("blocked", "block", text(" a command"), named(" of session ", d.SessionID, ""),
		when(d.Killed, ", which ran without a decision"), text(": "+d.Command), prefixed(" (", closed(d.Reason)))
}

// Describe implements Data.
func (d *PreflightFailed) Describe() Description {
	return describe("failed", "fail", text(" check "+d.Check), named(" before the launch of session ", d.SessionID, ""),
		prefixed(": ", d.Message))
}

// Describe implements Data.
func (d *SessionStuck) Describe() Description {
	what := " as stuck (" + string(d.Kind) + ")"
	if d.Kind == "" {
		what = " as not stuck any more"
	}
	return describe("marked", "mark", named(" session ", d.SessionID, ""), text(what), prefixed(": ", d.Detail))
}

// Describe implements Data.
func (d *SessionResumed) Describe() Description {
	return describe("resumed", "resume", named(" session ", d.SessionID, ""), text(fmt.Sprintf(" for run %d", d.Run)))
}

func (*SessionClaimed) sealed()  {}
func (*SessionExited) sealed()   {}
func (*SessionUsed) sealed()     {}
func (*SandboxBlocked) sealed()  {}
func (*PreflightFailed) sealed() {}
func (*SessionStuck) sealed()    {}
func (*SessionResumed) sealed()  {}

func (*SessionExited) silent()   {} // its agent runs no longer
func (*PreflightFailed) silent() {} // nor has it begun
func (*SessionStuck) silent()    {}
func (*SessionResumed) silent()  {}
