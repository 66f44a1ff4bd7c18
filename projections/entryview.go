package projections

import (
	"encoding/json"

	"maestro/events"
)

// EntryView shows an entry of a timeline.
type EntryView struct {
	ID         string        `json:"id"`
	Sequence   uint64        `json:"sequence"`
	Type       string        `json:"type"`
	Timestamp  events.Millis `json:"timestamp"`
	OccurredAt events.Millis `json:"occurredAt,omitempty"`
	Message    string        `json:"message,omitempty"`
	TaskID     string        `json:"taskId,omitempty"`
	SessionID  string        `json:"sessionId,omitempty"`
	Source     string        `json:"source"`
	// SourceName is the name of the session that the source is. The service sets it.
	SourceName string `json:"sourceName,omitempty"`
	// Blob is the digest of the whole text, if Message has only its beginning; Redacted says that it was removed for
	// good.
	Blob     string          `json:"blob,omitempty"`
	Redacted *RedactionView  `json:"redacted,omitempty"`
	Late     bool            `json:"late,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// EntryView shows an entry, and whether its text was redacted.
func (s *State) EntryView(e *Entry) EntryView {
	view := e.View()
	view.Redacted = s.RedactionView(e.Blob)
	return view
}

// View shows the entry. A client's data is shown as metadata if the entry has text, otherwise as data.
func (e *Entry) View() EntryView {
	v := EntryView{
		ID:         e.ID(),
		Sequence:   e.Sequence,
		Type:       e.Type,
		Timestamp:  events.Millis(e.At),
		OccurredAt: events.Millis(e.OccurredAt),
		Message:    e.Text(),
		TaskID:     e.TaskID,
		SessionID:  e.SessionID,
		Source:     e.Source,
		Blob:       e.Blob,
		Late:       e.Late,
	}
	if e.Bare {
		v.Data = e.Data
	} else {
		v.Metadata = e.Data
	}
	return v
}
