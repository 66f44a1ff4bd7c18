package simulation

import (
	"encoding/json"
	"slices"
	"strings"
)

// told is the part of an event's data that promise 3 needs.
type told struct {
	SessionID string `json:"sessionId"`
	TaskID    string `json:"taskId"`
	Queue     string `json:"queue"`
	Late      bool   `json:"late"`
	Held      bool   `json:"held"`
	LastHeard int64  `json:"lastheard"`
	Lease     int64  `json:"lease"`
	Deadline  int64  `json:"deadline"`
	Status    string `json:"status"`
}

// holders tracks from the events alone which session holds which item, and which sessions have ended or are lost. It
// checks promise 3.
type holders struct {
	holder map[string]string // by item
	held   map[string]string // by session
	lost   map[string]bool
	ended  map[string]bool
}

func newHolders() *holders {
	return &holders{
		holder: map[string]string{},
		held:   map[string]string{},
		lost:   map[string]bool{},
		ended:  map[string]bool{},
	}
}

// follow checks promise 3 for an event.
func (h *holders) follow(sequence uint64, e envelope) *Failure {
	var d told
	_ = json.Unmarshal(e.Data, &d) // members that have another type in other events are not needed here
	item := queueID(e.Project, d.Queue) + "/" + d.TaskID
	kind := strings.TrimSuffix(strings.TrimPrefix(e.Type, "maestro."), ".v1")
	if _, by, ok := strings.Cut(e.Source, "/sessions/"); ok && h.ended[by] && (kind != "session.reported" || !d.Late) {
		return failure(
			"3 after its end a session only reports, late",
			"sequence %d is %s of session %s, which has ended",
			sequence,
			e.Type,
			by,
		)
	}
	gone := h.ended[d.SessionID] || h.lost[d.SessionID]
	switch kind {
	case "queue.item_started":
		switch {
		case h.holder[item] != "":
			return failure(
				"3 one holder per item",
				"sequence %d puts %s into the hand of %s, and %s holds it",
				sequence,
				item,
				d.SessionID,
				h.holder[item],
			)
		case h.held[d.SessionID] != "":
			return failure(
				"3 a session holds one item",
				"sequence %d puts %s into the hand of %s, which holds %s",
				sequence,
				item,
				d.SessionID,
				h.held[d.SessionID],
			)
		case gone:
			return failure(
				"3 a dead holder's item is returned",
				"sequence %d puts %s into the hand of %s, which is gone",
				sequence,
				item,
				d.SessionID,
			)
		}
		h.holder[item], h.held[d.SessionID] = d.SessionID, item
	case "queue.item_completed",
		"queue.item_failed",
		"queue.item_returned",
		"queue.item_quarantined",
		"queue.item_skipped":
		if kind == "queue.item_skipped" && !d.Held {
			if h.holder[item] != "" {
				return failure(
					"3 one holder per item",
					"sequence %d skips %s, which %s holds",
					sequence,
					item,
					h.holder[item],
				)
			}
			break
		}
		if h.holder[item] != d.SessionID || h.held[d.SessionID] != item {
			return failure(
				"3 one holder per item",
				"sequence %d is %s of %s by %s, and %q holds it",
				sequence,
				e.Type,
				item,
				d.SessionID,
				h.holder[item],
			)
		}
		if back := kind == "queue.item_returned" || kind == "queue.item_quarantined"; back && !gone {
			return failure(
				"3 a live holder keeps its item",
				"sequence %d takes %s from %s, which is there",
				sequence,
				item,
				d.SessionID,
			)
		}
		delete(h.holder, item)
		delete(h.held, d.SessionID)
	case "session.lost":
		if h.lost[d.SessionID] || h.ended[d.SessionID] {
			return failure(
				"3 each deadline takes effect once",
				"sequence %d marks %s as lost, which is already lost or has ended",
				sequence,
				d.SessionID,
			)
		}
		h.lost[d.SessionID] = true
	case "session.recovered":
		delete(h.lost, d.SessionID)
	case "session.timed_out":
		if h.ended[d.SessionID] {
			return failure(
				"3 each deadline takes effect once",
				"sequence %d ends %s, which has already ended",
				sequence,
				d.SessionID,
			)
		}
		h.ended[d.SessionID] = true
	case "session.killed", "session.deleted":
		h.ended[d.SessionID] = true
	case "session.exited":
		if d.Status != "" {
			h.ended[d.SessionID] = true
		}
	case "session.resumed":
		delete(h.ended, d.SessionID)
		delete(h.lost, d.SessionID)
	}
	return nil
}

// left returns the items that are still held by sessions that have ended or are lost.
func (h *holders) left() []string {
	var left []string
	for session, item := range h.held {
		if h.lost[session] || h.ended[session] {
			left = append(left, item+" held by "+session)
		}
	}
	slices.Sort(left)
	return left
}
