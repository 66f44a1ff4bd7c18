package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// event is the part of an exported event that the judge reads.
type event struct {
	ID string `json:"id"`
	// Type is the type without "maestro." and the version.
	Type     string `json:"type"`
	Source   string `json:"source"`
	Occurred string `json:"occurredat"`
	Data     data   `json:"data"`
}

// data has the payload fields that the judge reads.
type data struct {
	TaskID    string   `json:"taskId"`
	TaskIDs   []string `json:"taskIds"`
	Title     string   `json:"title"`
	SessionID string   `json:"sessionId"`
	Name      string   `json:"name"`
	Role      string   `json:"role"`
	Queue     string   `json:"queue"`
	Kind      string   `json:"kind"`
	Message   string   `json:"message"`
	InputID   string   `json:"inputId"`
	Answer    string   `json:"answer"`
	MessageID string   `json:"messageId"`
	Text      string   `json:"text"`
	Reason    string   `json:"reason"`
	From      string   `json:"from"`
	To        string   `json:"to"`
	Late      bool     `json:"late"`
	Notice    struct {
		MailID     string   `json:"mailId"`
		SessionIDs []string `json:"sessionIds"`
	} `json:"notice"`
	// Of the run of an agent.
	Layers []string `json:"layers"`
	Signal string   `json:"signal"`
	Status string   `json:"status"`
}

// by reports whether a session did it.
func (e *event) by(session string) bool { return strings.HasSuffix(e.Source, "/sessions/"+session) }

// byUser reports whether a person did it.
func (e *event) byUser() bool { return strings.HasPrefix(e.Source, "/users/") }

// about reports whether a report names a task.
func (e *event) about(task string) bool {
	for _, id := range e.Data.TaskIDs {
		if id == task {
			return true
		}
	}
	return false
}

// history is an exported log, in order.
type history []event

// readHistory parses an export.
func readHistory(log []byte) (history, error) {
	var h history
	for n, line := range bytes.Split(bytes.TrimSpace(log), []byte("\n")) {
		var exported struct {
			Event event `json:"event"`
		}
		if err := json.Unmarshal(line, &exported); err != nil {
			return nil, fmt.Errorf("line %d of the export: %w", n+1, err)
		}
		e := exported.Event
		e.Type = strings.TrimSuffix(strings.TrimPrefix(e.Type, "maestro."), ".v1")
		h = append(h, e)
	}
	return h, nil
}

// after returns the index of the first matching event of a type after an index; -1 if there is none. The index before
// the first is -1.
func (h history) after(place int, kind string, match func(*event) bool) int {
	for i := place + 1; i < len(h); i++ {
		if h[i].Type == kind && match(&h[i]) {
			return i
		}
	}
	return -1
}

// each returns the indexes of all events of a type.
func (h history) each(kind string) (places []int) {
	for i := range h {
		if h[i].Type == kind {
			places = append(places, i)
		}
	}
	return places
}

// nameOf returns the name of a session for people.
func (h history) nameOf(session string) string {
	if i := h.after(-1, "session.spawned", func(e *event) bool { return e.Data.SessionID == session }); i >= 0 {
		return h[i].Data.Name
	}
	return session
}

// reportedDone returns the index of the first report after an index that a task is done, with a text in it.
func (h history) reportedDone(place int, session, task, text string) int {
	return h.after(place, "session.reported", func(e *event) bool {
		return e.by(session) && e.Data.Kind == "complete" && e.about(task) && strings.Contains(e.Data.Message, text)
	})
}

// delivered returns the index of the delivery of mail to a session, after an index.
func (h history) delivered(place int, mail, session string) int {
	return h.after(place, "input.delivered", func(e *event) bool {
		return e.Data.InputID == mail && e.Data.SessionID == session && e.by(session)
	})
}

// saidBefore reports whether a session said a text before an index.
func (h history) saidBefore(place int, session, text string) bool {
	i := h.after(-1, "session.reported", func(e *event) bool {
		return e.by(session) && strings.Contains(e.Data.Message, text)
	})
	return i >= 0 && i < place
}
