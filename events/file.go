package events

// SessionFileTracked: an agent changed a file.
type SessionFileTracked struct {
	SessionID string `json:"sessionId" doc:"the session"`
	File      string `json:"file" doc:"path as the agent gave it"`
	TaskID    string `json:"taskId,omitempty" doc:"the task it was for"`
}

var fileEvents = []Entry{
	entry[SessionFileTracked]("An agent changed a file."),
}

// EventType implements Data.
func (*SessionFileTracked) EventType() string { return "maestro.session.file_tracked.v1" }

// Aggregate implements Data.
func (d *SessionFileTracked) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Describe implements Data.
func (d *SessionFileTracked) Describe() Description {
	if d.TaskID == "" {
		return describe("changed", "change", text(" file "+d.File))
	}
	return describe("changed", "change", text(" file "+d.File), named(" for ", d.TaskID, " for it"))
}

func (*SessionFileTracked) sealed() {}
