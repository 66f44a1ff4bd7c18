package commands

import (
	"encoding/json"

	"maestro/events"
	"maestro/projections"
)

// NoteSession adds an entry to a session's timeline without changing a status. Compat: POST …/timeline and …/events.
type NoteSession struct {
	ProjectRef
	SessionID string          `json:"sessionId,omitempty" flag:"session <sessionId>" doc:"the session; yours if absent"`
	Type      string          `json:"type,omitempty" doc:"the kind of entry, such as milestone; progress if absent"`
	Message   string          `json:"message,omitempty" doc:"the text of the entry; required without data"`
	TaskID    string          `json:"taskId,omitempty" flag:"task <taskId>" doc:"the task that the entry is about"`
	Data      json.RawMessage `json:"data,omitempty" doc:"more data about the entry"`

	blobs events.Blobs
}

// ID implements Command.
func (*NoteSession) ID() string { return "session:note" }

func (x *NoteSession) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

func (x *NoteSession) texts() (map[string]*string, *events.Blobs) {
	return map[string]*string{"message": &x.Message}, &x.blobs
}

// Decide implements Command.
func (x *NoteSession) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := ownSession(s, c, x.ProjectRef, x.SessionID, x.ID())
	if err != nil {
		return nil, err
	}
	kind := x.Type
	if kind == "" {
		kind = "progress"
	}
	if err := ValidLine("/type", kind, maxType); err != nil {
		return nil, err
	}
	if c.By.Kind == ActorSession && thirdOn(c.Rules) && projections.IsReserved(kind) {
		return nil, notAllowed(x.ID(),
			"types that begin with session_, task_ or input_ record decisions; of these, a session may use only "+
				"task_completed and task_blocked",
			"use another type, such as milestone", "Session '%s' may not write a note of type '%s'", session.ID, kind)
	}
	if x.Message == "" && len(x.Data) == 0 {
		return nil, invalid("/message", "message is required")
	}
	if err := ValidText("/message", x.Message); err != nil {
		return nil, err
	}
	if x.TaskID != "" {
		if err := ValidID("/taskId", x.TaskID); err != nil {
			return nil, err
		}
		if project := s.TaskProject(x.TaskID); project != "" && project != session.ProjectID {
			return nil, notAllowed(x.ID(), "a session works in its own project only",
				"its project is "+session.ProjectID,
				"Session '%s' may not touch task '%s'", session.ID, x.TaskID)
		}
	}
	return &events.SessionNoted{
		SessionID: session.ID,
		Type:      kind,
		Message:   x.Message,
		TaskID:    x.TaskID,
		Data:      x.Data,
		Blobs:     x.blobs,
	}, nil
}

func (x *NoteSession) from(e *events.Event, d *events.SessionNoted) bool {
	*x = NoteSession{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		Type:       d.Type,
		Message:    d.Message,
		TaskID:     d.TaskID,
		Data:       d.Data,
		blobs:      d.Blobs,
	}
	return true
}
