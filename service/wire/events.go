package wire

import (
	"encoding/json"

	"maestro/events"
	"maestro/projections"
)

// EventsQuery selects events of the log.
type EventsQuery struct {
	ProjectID string `query:"projectId" doc:"only this project"`
	Type      string `query:"type" flag:"type <types>" doc:"of these types, such as task.created, or task for all events of tasks"`
	Actor     string `query:"actor" flag:"actor <actor>" doc:"of this actor: a session's id, a token's name, or system"`
	Aggregate string `query:"aggregate" flag:"aggregate <aggregate>" doc:"whose subject is this task, session, queue and so on: its id, or task/<id>"`
	Text      string `query:"text" flag:"text <text>" doc:"in which somebody wrote this, in upper or lower case"`
	From      string `query:"from" doc:"the first event: a sequence, or an RFC 3339 time"`
	To        string `query:"to" doc:"the last event: a sequence, or an RFC 3339 time"`
	Before    string `query:"before" doc:"the newest events before this sequence"`
	After     string `query:"after" doc:"the oldest events after this sequence"`
	Limit     string `query:"limit" doc:"at most so many events: 50 if absent, and never more than 500"`
}

// HistogramQuery selects a part of the log, and says in how many slices it is counted.
type HistogramQuery struct {
	ProjectID string `query:"projectId" doc:"only this project"`
	From      string `query:"from" doc:"the first event: a sequence, or an RFC 3339 time"`
	To        string `query:"to" doc:"the last event: a sequence, or an RFC 3339 time"`
	Slices    string `query:"slices" doc:"into so many slices: 100 if absent, and never more than 1000; no slice is empty"`
}

// EventHistogram counts the events of a part of the log.
type EventHistogram struct {
	// Slices follow each other, and each is as long as the others, or one event longer.
	Slices []EventSlice `json:"slices"`
}

// EventSlice counts the events from one sequence to another that the reader may see.
type EventSlice struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// At and Until are the times of the first and the last event.
	At    events.Millis `json:"at"`
	Until events.Millis `json:"until"`
	Count uint64        `json:"count"`
	// Marks counts the events that people look for, the most serious first. Absent if there are none.
	Marks []EventMark `json:"marks,omitempty"`
}

// EventMark is how many events of a slice have a mark: asks, blocked, failed, says_done, lost, quarantined, completed,
// answered, messaged or killed.
type EventMark struct {
	Mark  string `json:"mark"`
	Count uint32 `json:"count"`
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
	// Redacted are the long texts of the event that were removed for good since. Absent if there are none.
	Redacted []RedactedText `json:"redacted,omitempty"`
}

// RedactedText is a long text that an event names and that was removed for good. The event has its beginning.
type RedactedText struct {
	// Field is the event's field with the beginning of the text, Text the digest of the text.
	Field string `json:"field"`
	Text  string `json:"text"`
	projections.RedactionView
}

// RedactedTexts returns those of the texts of an event that were redacted; find returns how one was, nil for others.
func RedactedTexts(texts []events.Digest, find func(digest string) *Redaction) (redacted []RedactedText) {
	for _, named := range texts {
		if of := find(named.Digest); of != nil {
			redacted = append(redacted, RedactedText{Field: named.Field, Text: named.Digest, RedactionView: *of})
		}
	}
	return redacted
}
