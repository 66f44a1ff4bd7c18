package commands

import (
	"maestro/events"
	"maestro/projections"
)

// TrackFile records that an agent changed a file. docs/spec/000-command-permissions.md,
// "Default Command Sets"; compat: POST /api/sessions/:id/events with
// file_modified.
type TrackFile struct {
	noTexts
	ProjectRef
	SessionID string `json:"sessionId,omitempty" flag:"session <sessionId>" doc:"the session; your own if absent"`
	File      string `json:"file" arg:"path" doc:"the path of the file, as the agent gives it"`
	TaskID    string `json:"taskId,omitempty" flag:"task <taskId>" doc:"the task that the file was changed for"`
}

// ID implements Command.
func (*TrackFile) ID() string { return "track-file" }

func (x *TrackFile) project(s *projections.State, by Actor) string {
	return projectOfSession(s, by, x.ProjectRef, x.SessionID)
}

// Decide implements Command.
func (x *TrackFile) Decide(s *projections.State, c Call) (events.Data, error) {
	session, err := ownSession(s, c, x.ProjectRef, x.SessionID, "track-file")
	if err != nil {
		return nil, err
	}
	if session.Ended() {
		return nil, ended(s, "track-file", session)
	}
	if err := x.checkForm(); err != nil {
		return nil, err
	}
	if x.TaskID != "" {
		if t := s.Task(x.TaskID); t == nil || t.ProjectID != session.ProjectID {
			return nil, notFound("Task", x.TaskID)
		}
	}
	return &events.SessionFileTracked{SessionID: session.ID, File: x.File, TaskID: x.TaskID}, nil
}

// checkForm implements formed.
func (x *TrackFile) checkForm() error {
	if x.File == "" {
		return invalid("/file", "file is required")
	}
	if err := ValidLine("/file", x.File, maxPath); err != nil || x.TaskID == "" {
		return err
	}
	return ValidID("/taskId", x.TaskID)
}

func (x *TrackFile) from(e *events.Event, d *events.SessionFileTracked) bool {
	*x = TrackFile{
		ProjectRef: inProject(e),
		SessionID:  d.SessionID,
		File:       d.File,
		TaskID:     d.TaskID,
	}
	return true
}
