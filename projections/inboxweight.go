package projections

import (
	"slices"

	"maestro/events"
)

// InboxHolds says who is blocked until somebody handles an item.
type InboxHolds string

// What an item may block.
const (
	HoldsSession InboxHolds = "session" // a working session waits for it
	HoldsWork    InboxHolds = "work"    // nobody can continue a task, or a queue
)

// weigh determines whom the item blocks.
func (b *inbox) weigh(item *InboxItem) {
	waits := item.SessionID != "" && b.Gone(item.SessionID) == ""
	switch item.Kind {
	case InboxQuestion: // nobody waits for an answer to a session that has ended
		if waits {
			item.Holds = HoldsSession
		}
	case InboxBlocked:
		if item.Holds = HoldsWork; waits {
			item.Holds = HoldsSession
		}
	case InboxFailed, InboxQuarantined, InboxStuck, InboxStranded, InboxUnattended, InboxUnstarted, InboxExited,
		InboxLost:
		item.Holds = HoldsWork
	case InboxUnconfirmed, InboxLate, InboxRefused, InboxUnread:
	}
	t := b.Task(item.TaskID)
	if t == nil {
		return
	}
	item.Priority = t.Priority
	if t.Status == events.TaskCompleted {
		return
	}
	b.add(each(b.dependents.get(t.ID), func(id string) {
		if b.done(id) {
			return
		}
		item.HoldsUp++
		if item.Holds == "" {
			item.Holds = HoldsWork // its dependents start once it is confirmed
		}
	}))
}

// Urgency orders the items of an inbox, lowest first: those that block a session, then those that block work; among
// these the highest priority, and among equals the longest wait.
func (item *InboxItem) Urgency() int64 {
	rank := int64(2)
	switch item.Holds {
	case HoldsSession:
		rank = 0
	case HoldsWork:
		rank = 1
	}
	weight := slices.Index(events.Priorities(), item.Priority)
	if weight < 0 {
		weight = slices.Index(events.Priorities(), "medium")
	}
	below := int64(len(events.Priorities()) - weight)
	return rank<<60 | below<<56 | int64(item.Since) // milliseconds leave room for both
}
