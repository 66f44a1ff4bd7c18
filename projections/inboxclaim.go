package projections

import (
	"strconv"

	"maestro/events"
)

// claimed adds a task that waits in a queue again although the last holder of its item reported it as done: somebody
// may confirm that before another session does the work again. Once a session starts the item, it is told of the claim.
func (b *inbox) claimed(t *Task, says events.TaskSessionStatus) {
	if t.Status == events.TaskBlocked || says == events.SaysCompleted {
		return
	}
	for _, item := range b.QueuesOf(t.ID) {
		b.work(1)
		if item.Status != events.ItemQueued || !b.claimStands(item) {
			continue
		}
		b.find(InboxUnconfirmed, item.Claim.SessionID, t.ID, "", item.Claim.At, func() InboxItem {
			return InboxItem{
				TaskID:    t.ID,
				SessionID: item.Claim.SessionID,
				What:      t.Title,
				Message:   b.afterClaim(item, "its item is back in queue "+item.Queue),
				Next:      b.unlessClaimed(item, "maestro task update "+t.ID+` --description "…"`),
			}
		})
		return
	}
}

// claimStands reports whether the last holder of an item reported its task as done, and nobody has decided on the task
// since.
func (s *State) claimStands(item *Item) bool {
	t := s.Task(item.TaskID)
	return item.Claim != nil && t != nil && item.Claim.Sequence > t.StatusSequence
}

// afterClaim adds to what became of an item what its last holder reported before that, if it said that it is done.
func (s *State) afterClaim(item *Item, what string) string {
	if !s.claimStands(item) {
		return what
	}
	return textOf(what+"; before that, it was reported as done", item.Claim.Text)
}

// unlessClaimed returns the step after an item was lost or skipped: first the one that confirms the task, if its last
// holder reported it as done.
func (b *inbox) unlessClaimed(item *Item, step string) []string {
	if !b.claimStands(item) {
		return []string{step}
	}
	return []string{b.complete(b.Task(item.TaskID)), step}
}

// startedInVain says how often a quarantined item was started.
func startedInVain(item *Item) string {
	if item.Attempts == 1 {
		return "it was started once, and not finished"
	}
	return "it was started " + strconv.Itoa(item.Attempts) + " times, and never finished"
}

// doubted puts before a session's words that a task is done what it said of an error just before.
func (item *InboxItem) doubted(said StatusReport) {
	if said.Doubt == nil {
		return
	}
	before, _ := events.Preview(said.Doubt.Text, InboxText/2) // both are shown
	item.Message = textOf(item.Message, textOf("it reported an error before that", before))
}

// contested changes the item of a task that a session reported as done while the task's item in a queue is another
// session's, or waits for one: who confirms it should know, and the holder may have more to say.
func (b *inbox) contested(item *InboxItem, t *Task) {
	const done = "it was reported as done, but "
	for _, i := range b.QueuesOf(t.ID) {
		b.work(1)
		switch {
		case i.Status == events.ItemProcessing && i.SessionID != item.SessionID:
			item.Message = textOf(done+"session "+i.SessionID+" now holds its item in queue "+i.Queue, item.Message)
			item.Next = []string{"maestro session message " + i.SessionID + ` "…" --about ` + t.ID, b.complete(t)}
			return
		case i.Status == events.ItemQueued:
			item.Message = textOf(done+"its item waits in queue "+i.Queue+" for the next session", item.Message)
			return
		}
	}
}

// unreadMail says how many messages to a session that is done nobody has read: it may have ended while the server was
// away.
func (b *inbox) unreadMail(item *InboxItem, session string) {
	x := b.SessionEver(session)
	if x == nil || x.Active() {
		return
	}
	b.work(uint64(len(x.Mail)))
	n := 0
	for _, m := range x.Mail {
		if m.Notice == "" {
			n++
		}
	}
	switch n {
	case 0:
	case 1:
		item.Message += " (it has not read the last message to it)"
	default:
		item.Message += " (it has not read the last " + strconv.Itoa(n) + " messages to it)"
	}
}
