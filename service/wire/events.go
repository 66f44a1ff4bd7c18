package wire

import "encoding/json"

// EventsQuery selects events of the log.
type EventsQuery struct {
	ProjectID string `query:"projectId" doc:"only this project"`
	Type      string `query:"type" flag:"type <types>" doc:"of these types, such as task.created, or task for all events of tasks"`
	Actor     string `query:"actor" flag:"actor <actor>" doc:"of this actor: a session's id, a token's name, or system"`
	Aggregate string `query:"aggregate" flag:"aggregate <aggregate>" doc:"about this task, session, queue and so on: its id, or task/<id>"`
	Text      string `query:"text" flag:"text <text>" doc:"in which somebody wrote this, in upper or lower case"`
	From      string `query:"from" doc:"the first event: a sequence, or an RFC 3339 time"`
	To        string `query:"to" doc:"the last event: a sequence, or an RFC 3339 time"`
	Before    string `query:"before" doc:"the newest events before this sequence"`
	After     string `query:"after" doc:"the oldest events after this sequence"`
	Limit     string `query:"limit" doc:"at most so many events: 50 if absent, and never more than 500"`
}

// LogEvents are events of the log, the oldest first.
type LogEvents struct {
	Events []LogEvent `json:"events"`
	// Before continues with older events: it is the query's next Before. Absent if there are none.
	Before uint64 `json:"before,omitempty"`
	// After continues with newer events: it is the query's next After. There may be none yet.
	After uint64 `json:"after"`
	// Names are the names of the sessions and the titles of the tasks that the events mention, by id.
	Names map[string]string `json:"names,omitempty"`
}

// LogEvent is an event as its reader sees it.
type LogEvent struct {
	Seq uint64 `json:"seq"`
	// What says in words what happened.
	What string `json:"what"`
	// Event is the CloudEvent as it is stored, without mail, variables and contexts that the reader may not read.
	Event json.RawMessage `json:"event"`
}
