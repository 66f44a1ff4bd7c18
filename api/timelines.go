package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"maestro/commands"
	"maestro/projections"
)

// newEvent is the body of older clients' POST …/events.
type newEvent struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

// newEntry is the body of older clients' POST …/timeline.
type newEntry struct {
	Type     string          `json:"type,omitempty"`
	Message  string          `json:"message"`
	TaskID   string          `json:"taskId,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// newTaskEntry is the body of older clients' POST /api/tasks/:id/timeline.
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

// timelineOf asks for the timeline of a session or a task.
type timelineOf struct {
	ID    string `path:"id" doc:"whose"`
	Limit string `query:"limit" doc:"only so many, the newest; with a cursor, the length of a page"`
}

func (s *server) timelineRoutes() {
	readThen(s, op{
		path:    "/api/sessions/{id}/timeline",
		name:    "session-timeline",
		summary: "All that a session did, oldest first",
	}, sessionTimeline)
	readThen(s, op{
		path:    "/api/tasks/{id}/timeline",
		name:    "task-timeline",
		summary: "All that happened to a task, oldest first",
	}, taskTimeline)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/timeline",
		name:    "session-timeline-add",
		summary: "Put an entry on a session's timeline",
		body:    newEntry{},
		row:     "session:note",
	}, s.addEntry)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/sessions/{id}/events",
		name:    "session-event-add",
		summary: "Put an entry without words on a session's timeline",
		body:    newEvent{},
	}, s.addEvent)
	write(s, op{
		method:  http.MethodPost,
		path:    "/api/tasks/{id}/timeline",
		name:    "task-timeline-add",
		summary: "Put an entry about a task on a session's timeline",
		body:    newTaskEntry{},
		row:     "session:note",
	}, s.addTaskEntry)
}

// newest gives how many of the newest are asked for, 0 for all: with a cursor, limit is the length of a page.
func (v view) newest(limit string) (int, error) {
	if limit == "" || v.call.request.URL.Query().Has("cursor") {
		return 0, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 {
		return 0, routeInvalid("", "limit must be a number above 0, not '"+printable(limit)+"'")
	}
	return n, nil
}

// entries shows the newest entries that are to be kept, all if limit is 0, oldest first.
func entries(timeline projections.Timeline, limit int, keep func(*projections.Entry) bool) lazy[projections.EntryView] {
	from := 0
	if limit > 0 {
		from = len(timeline)
		for n := 0; from > 0 && n < limit; from-- {
			if keep == nil || keep(timeline[from-1]) {
				n++
			}
		}
	}
	return lazy[projections.EntryView]{func(yield func(projections.EntryView) bool) {
		for _, e := range timeline[from:] {
			if (keep == nil || keep(e)) && !yield(e.View()) {
				return
			}
		}
	}}
}

func sessionTimeline(v view, in *timelineOf) (func() lazy[projections.EntryView], error) {
	limit, err := v.newest(in.Limit)
	if err != nil {
		return nil, err
	}
	x, err := v.session("session:info", in.ID)
	if err != nil {
		return nil, err
	}
	timeline := v.SessionTimeline(x.ID)
	return func() lazy[projections.EntryView] { return entries(timeline, limit, nil) }, nil
}

func taskTimeline(v view, in *timelineOf) (func() lazy[projections.EntryView], error) {
	limit, err := v.newest(in.Limit)
	if err != nil {
		return nil, err
	}
	t, err := v.task("task:get", in.ID)
	if err != nil {
		return nil, err
	}
	timeline := v.TaskTimeline(t.ID)
	return func() lazy[projections.EntryView] { return entries(timeline, limit, nil) }, nil
}

// command gives the note that an entry is.
func (e newEntry) command(session string) (commands.Command, error) {
	if e.Message == "" {
		return nil, routeInvalid("/message", "message is required")
	}
	return &commands.NoteSession{
		SessionID: session,
		Type:      e.Type,
		Message:   e.Message,
		TaskID:    e.TaskID,
		Data:      given(e.Metadata),
	}, nil
}

// command gives what an event is: a file that was changed, or a note without words. A file's event may say when it
// was.
func (e newEvent) command(session string) (commands.Command, time.Time, error) {
	if e.Type == "" {
		return nil, time.Time{}, routeInvalid("/type", "type is required")
	}
	if e.Type == "file_modified" {
		var file struct {
			File      string `json:"file"`
			Timestamp string `json:"timestamp"`
		}
		// Whatever else the data is, it is noted as it came.
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

func (s *server) addEntry(ctx context.Context, c *call, in *sessionID) (sessionBody, error) {
	var body newEntry
	if err := c.decode(&body); err != nil {
		return sessionBody{}, err
	}
	note, err := body.command(in.ID)
	if err != nil {
		return sessionBody{}, err
	}
	if _, err := s.do(ctx, c, c.by, note, ""); err != nil {
		return sessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

func (s *server) addEvent(ctx context.Context, c *call, in *sessionID) (sessionBody, error) {
	var body newEvent
	if err := c.decode(&body); err != nil {
		return sessionBody{}, err
	}
	command, at, err := body.command(in.ID)
	if err != nil {
		return sessionBody{}, err
	}
	if c.meta.occurredAt.IsZero() {
		c.meta.occurredAt = at
	}
	if _, err := s.do(ctx, c, c.by, command, ""); err != nil {
		return sessionBody{}, err
	}
	return s.showSession(c, in.ID)
}

func (s *server) addTaskEntry(ctx context.Context, c *call, in *taskID) (taskEntryAnswer, error) {
	body := newTaskEntry{Type: "progress"}
	if err := c.decode(&body); err != nil {
		return taskEntryAnswer{}, err
	}
	switch {
	case body.Message == "":
		return taskEntryAnswer{}, routeInvalid("/message", "message is required")
	case body.SessionID == "":
		return taskEntryAnswer{}, routeInvalid("/sessionId", "sessionId is required")
	case body.Type == "":
		body.Type = "progress"
	}
	var err error
	s.Handler.View(func(state *projections.State) {
		_, err = view{state, s, c}.task("session:note", in.ID)
	})
	if err != nil {
		return taskEntryAnswer{}, err
	}
	note := &commands.NoteSession{SessionID: body.SessionID, Type: body.Type, Message: body.Message, TaskID: in.ID}
	if _, err := s.do(ctx, c, c.by, note, ""); err != nil {
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
