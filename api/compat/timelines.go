package compat

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"maestro/api/route"
	"maestro/commands"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

func (s *compat) timelineRoutes() {
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/timeline",
		Name:    "session-timeline-add",
		Summary: "Add an entry to a session's timeline",
		Body:    newEntry{},
	}, row: "session:note"}, s.addEntry)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/sessions/{id}/events",
		Name:    "session-event-add",
		Summary: "Add an entry without words to a session's timeline",
		Row:     "session:note", // or track-file, which every session may use too
		Body:    newEvent{},
	}}, s.addEvent)
	write(s, op{Route: route.Route{
		Method:  http.MethodPost,
		Path:    "/api/tasks/{id}/timeline",
		Name:    "task-timeline-add",
		Summary: "Add an entry about a task to a session's timeline",
		Body:    newTaskEntry{},
	}, row: "session:note"}, s.addTaskEntry)
}

// newEvent is the body of POST …/events.
type newEvent struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

// newEntry is the body of POST …/timeline.
type newEntry struct {
	Type     string          `json:"type,omitempty"`
	Message  string          `json:"message"`
	TaskID   string          `json:"taskId,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// newTaskEntry is the body of POST /api/tasks/:id/timeline.
type newTaskEntry struct {
	Type      string `json:"type,omitempty"`
	Message   string `json:"message"`
	SessionID string `json:"sessionId"`
}

type taskEntryAnswer struct {
	Success   bool   `json:"success"`
	TaskID    string `json:"taskId"`
	SessionID string `json:"sessionId"`
	Message   string `json:"message"`
	Type      string `json:"type"`
}

// command returns the command for an entry. An older client reports in two calls: a PATCH of the task without words,
// and an entry with them. Only a report may write an entry of that type, so the words are a report of their own:
// whoever reads the entry sees what the session was permitted to say.
func (e newEntry) command(by commands.Actor, session string) (commands.Command, error) {
	if e.Message == "" {
		return nil, service.InvalidRequest("/message", "message is required")
	}
	kind := projections.ReportOfType(e.Type)
	if kind == "" || by.Kind != commands.ActorSession || by.Name != session || by.Authn == commands.AuthnNone {
		return &commands.NoteSession{
			SessionID: session,
			Type:      e.Type,
			Message:   e.Message,
			TaskID:    e.TaskID,
			Data:      given(e.Metadata),
		}, nil
	}
	report := &commands.Report{Kind: kind, Message: e.Message}
	if e.TaskID != "" {
		report.TaskIDs = []string{e.TaskID}
	}
	return report, nil
}

// command returns the command for an event: a changed file, or a note without text. A file's event may say when it
// was.
func (e newEvent) command(session string) (commands.Command, time.Time, error) {
	if e.Type == "" {
		return nil, time.Time{}, service.InvalidRequest("/type", "type is required")
	}
	if e.Type == "file_modified" {
		var file struct {
			File      string `json:"file"`
			Timestamp string `json:"timestamp"`
		}
		// Any other data is noted unchanged.
		if err := json.Unmarshal(e.Data, &file); err == nil && file.File != "" {
			at, err := time.Parse(time.RFC3339Nano, file.Timestamp)
			if err != nil || at.UTC().Year() < 1970 || at.UTC().Year() > 9999 {
				at = time.Time{}
			}
			return &commands.TrackFile{SessionID: session, File: file.File}, at, nil
		}
	}
	data := e.Data
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	return &commands.NoteSession{SessionID: session, Type: e.Type, Data: data}, time.Time{}, nil
}

func (s *compat) addEntry(ctx context.Context, c *call, in *wire.SessionID) (SessionBody, error) {
	var body newEntry
	if err := c.decode(ctx, &body); err != nil {
		return SessionBody{}, err
	}
	command, err := body.command(c.By, in.ID)
	if err != nil {
		return SessionBody{}, err
	}
	if _, err := s.do(ctx, c, c.By, command, ""); err != nil {
		return SessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

func (s *compat) addEvent(ctx context.Context, c *call, in *wire.SessionID) (SessionBody, error) {
	var body newEvent
	if err := c.decode(ctx, &body); err != nil {
		return SessionBody{}, err
	}
	command, at, err := body.command(in.ID)
	if err != nil {
		return SessionBody{}, err
	}
	if c.Meta.OccurredAt.IsZero() {
		c.Meta.OccurredAt = at
	}
	if _, err := s.do(ctx, c, c.By, command, ""); err != nil {
		return SessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

func (s *compat) addTaskEntry(ctx context.Context, c *call, in *wire.TaskID) (taskEntryAnswer, error) {
	body := newTaskEntry{Type: "progress"}
	if err := c.decode(ctx, &body); err != nil {
		return taskEntryAnswer{}, err
	}
	switch {
	case body.Message == "":
		return taskEntryAnswer{}, service.InvalidRequest("/message", "message is required")
	case body.SessionID == "":
		return taskEntryAnswer{}, service.InvalidRequest("/sessionId", "sessionId is required")
	case body.Type == "":
		body.Type = "progress"
	}
	var err error
	s.Handler.View(func(state *projections.State) {
		_, err = s.At(state, c.Caller).PermitTask("session:note", in.ID)
	})
	if err != nil {
		return taskEntryAnswer{}, err
	}
	entry := newEntry{Type: body.Type, Message: body.Message, TaskID: in.ID}
	command, err := entry.command(c.By, body.SessionID)
	if err != nil {
		return taskEntryAnswer{}, err
	}
	if _, err := s.do(ctx, c, c.By, command, ""); err != nil {
		return taskEntryAnswer{}, err
	}
	return taskEntryAnswer{
		Success:   true,
		TaskID:    in.ID,
		SessionID: body.SessionID,
		Message:   body.Message,
		Type:      body.Type,
	}, nil
}
