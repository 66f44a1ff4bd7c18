package projections

import (
	"cmp"
	"slices"

	"maestro/events"
)

// InboxHolds says who cannot go on until somebody deals with an item.
type InboxHolds string

// What may be held up.
const (
	HoldsSession InboxHolds = "session" // a session at work waits for it
	HoldsWork    InboxHolds = "work"    // nobody can go on with a task, or with a queue
)

// weigh says whom the item holds up.
func (b *inbox) weigh(item *InboxItem) {
	waits := item.SessionID != "" && b.Gone(item.SessionID) == ""
	switch item.Kind {
	case InboxQuestion, InboxBlocked:
		if item.Holds = HoldsWork; waits {
			item.Holds = HoldsSession
		}
	case InboxFailed, InboxQuarantined, InboxStuck, InboxStranded, InboxLost:
		item.Holds = HoldsWork
	case InboxUnconfirmed, InboxLate, InboxRefused, InboxUnread:
	}
	t := b.Task(item.TaskID)
	if t == nil {
		return
	}
	item.Priority = t.Priority
	for _, id := range b.dependents.get(t.ID) {
		if !b.done(id) && t.Status != events.TaskCompleted {
			item.HoldsUp++
		}
	}
	if item.Holds == "" && item.HoldsUp > 0 {
		item.Holds = HoldsWork // what depends on it starts once it is confirmed
	}
}

// ByUrgency orders the items of an inbox: first those that hold up a session, then those that hold up work; among
// these the highest priority, and among equals the longest wait.
func ByUrgency(items []InboxItem) {
	rank := func(item *InboxItem) int {
		switch item.Holds {
		case HoldsSession:
			return 0
		case HoldsWork:
			return 1
		}
		return 2
	}
	weight := func(item *InboxItem) int {
		if i := slices.Index(events.Priorities(), item.Priority); i >= 0 {
			return i
		}
		return slices.Index(events.Priorities(), "medium")
	}
	slices.SortStableFunc(items, func(a, b InboxItem) int {
		return cmp.Or(
			cmp.Compare(rank(&a), rank(&b)), cmp.Compare(weight(&b), weight(&a)), cmp.Compare(a.Since, b.Since),
		)
	})
}
