package events

// ReportKind is the kind of an agent's report.
type ReportKind string

// The five kinds of report (docs/spec/003-manifest-schema.md, "Report Commands").
const (
	ReportProgress   ReportKind = "progress"
	ReportComplete   ReportKind = "complete"
	ReportBlocked    ReportKind = "blocked"
	ReportError      ReportKind = "error"
	ReportNeedsInput ReportKind = "needs-input"
)

// TaskSessionStatus is an agent's report on a task; it never changes the task's own status.
type TaskSessionStatus string

// The session statuses (docs/spec/003-manifest-schema.md, "Status Types").
const (
	SaysWorking    TaskSessionStatus = "working"
	SaysBlocked    TaskSessionStatus = "blocked"
	SaysNeedsInput TaskSessionStatus = "needs_input"
	SaysCompleted  TaskSessionStatus = "completed"
	SaysFailed     TaskSessionStatus = "failed"
)

// SessionStatus returns what a report of this kind says about its tasks; "" for an unknown kind.
func (k ReportKind) SessionStatus() TaskSessionStatus {
	switch k {
	case ReportProgress:
		return SaysWorking
	case ReportComplete:
		return SaysCompleted
	case ReportBlocked:
		return SaysBlocked
	case ReportError:
		return SaysFailed
	case ReportNeedsInput:
		return SaysNeedsInput
	}
	return ""
}

// SessionReported: an agent reported on its work.
type SessionReported struct {
	SessionID        string     `json:"sessionId" doc:"the session that reports"`
	Kind             ReportKind `json:"kind" doc:"progress, complete, blocked, error or needs-input"`
	Message          string     `json:"message,omitempty" doc:"its words; absent: only sessionStatus changes, no timeline"`
	TaskIDs          []string   `json:"taskIds,omitempty" doc:"the tasks it is about; absent: the session as a whole"`
	SessionCompleted bool       `json:"sessionCompleted,omitempty" doc:"complete without tasks: the session is also done"`
	Late             bool       `json:"late,omitempty" doc:"it came after the session's end and touches no status"`
	AfterDone        bool       `json:"afterDone,omitempty" doc:"progress of a session that had reported that it was done: it touches no status"`
	InputID          string     `json:"inputId,omitempty" doc:"needs-input: the question that it opens"`
	Options          []string   `json:"options,omitempty" doc:"needs-input: the answers to choose from"`
	Blobs            Blobs      `json:"blobs,omitempty" doc:"digests of the long texts in MAESTRO_BLOBS, by field"`
}

var reportEvents = []Entry{
	entry[SessionReported]("An agent said how its work goes; sessionStatus of the named tasks follows."),
}

// EventType implements Data.
func (*SessionReported) EventType() string { return "maestro.session.reported.v1" }

// Aggregate implements Data.
func (d *SessionReported) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Describe implements Data.
func (d *SessionReported) Describe() Description {
	return describe("reported", "report",
		text(" "+string(d.Kind)), listed(" on ", d.TaskIDs, ""), prefixed(": ", d.Message),
		prefixed(" (question ", closed(d.InputID)), when(d.SessionCompleted, " (the session is completed)"),
		when(d.Late, " (late)"))
}

func (*SessionReported) sealed() {}
