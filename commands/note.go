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
	session, err := x.session(s, c)
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
	if err := x.mayBeOfType(s, c, session, kind); err != nil {
		return nil, err
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

// session returns the session that the note is about: the caller's own, or one that it spawned and whose command ended.
func (x *NoteSession) session(s *projections.State, c Call) (*projections.Session, error) {
	ofAnother := c.By.Kind == ActorSession && x.SessionID != "" && x.SessionID != c.By.Name
	if ofAnother && x.Type == projections.TypeExited && thirdOn(c.Rules) {
		return spawnedSession(s, c, x.ProjectRef, x.SessionID, x.ID())
	}
	return ownSession(s, c, x.ProjectRef, x.SessionID, x.ID())
}

// mayBeOfType refuses to a session the types that others write: a reader could not tell its note from what they say.
// Older clients note what their reports write, and name no credential.
func (x *NoteSession) mayBeOfType(
	s *projections.State, c Call, session *projections.Session, kind string,
) error {
	if c.By.Kind != ActorSession || !thirdOn(c.Rules) {
		return nil
	}
	refused := func(why, next string) error {
		return notAllowed(x.ID(), why, next, "Session '%s' may not write a note of type '%s'", session.ID, kind)
	}
	const another = "use another type, such as milestone"
	report := projections.ReportOfType(kind)
	switch {
	case report != "" && c.By.Authn == AuthnNone:
		return nil
	case report != "":
		return refused("a report writes this type, and says what it means for the task or the session",
			"use `"+spelled["report:"+string(report)]+"`")
	case kind == projections.TypeExited && session.ID == c.By.Name && !mayNoteOwnExit(s, c, session):
		return refused("whoever runs a session's command notes how it ended", another)
	}
	if projections.IsReserved(kind) {
		return refused("types that begin with session_, task_ or input_ record decisions", another)
	}
	return nil
}

// mayNoteOwnExit reports whether a session may note how its own command ended: the orchestrator that ran the command
// may have ended meanwhile, and nobody else could.
func mayNoteOwnExit(s *projections.State, c Call, session *projections.Session) bool {
	above := s.SessionEver(session.SpawnedBy)
	return fifthOn(c.Rules) && above != nil && (above.Ended() || above.Deleted)
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
