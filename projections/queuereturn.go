package projections

import "maestro/events"

// Claim is the report that a task is done, of a session that lost the task's item before it completed it. It is no
// longer among the statements on the task, because the item is to be done again. Immutable.
type Claim struct {
	SessionID string
	At        int64
	// Sequence is the event of the report.
	Sequence uint64
	// Text is what it said, or the beginning of that.
	Text string `json:",omitempty"`
}

// claimOf returns the holder's report that the task of its item is done; nil if it did not say so last.
func (s *State) claimOf(item *Item) *Claim {
	t := s.Task(item.TaskID)
	if t == nil {
		return nil
	}
	s.lookedThrough(t.Speakers())
	said := t.SaidBy(item.SessionID)
	if said.Status != events.SaysCompleted {
		return nil
	}
	claim := &Claim{SessionID: said.SessionID, At: int64(said.At), Sequence: said.Sequence}
	if said.Words != nil {
		claim.Text = said.Words.Text
	}
	return claim
}

// letGo releases an item from its holder.
func (s *State) letGo(session string) {
	if x := s.sessions.get(session); x != nil && x.LastItem != nil && x.LastItem.Held {
		s.changeSession(session, func(x *Session) {
			x.LastItem = &HeldItem{x.LastItem.Queue, x.LastItem.TaskID, false}
		})
	}
}

func (s *State) itemReturned(f fact, d *events.QueueItemReturned) error {
	item, err := s.item(f, d.Queue, d.TaskID, events.ItemProcessing)
	if err != nil {
		return err
	}
	claim := s.claimOf(item)
	s.changeItem(f, item, func(i *Item) {
		i.Status, i.StartedAt, i.Cause, i.Claim = events.ItemQueued, 0, f.cause(), claim
		i.Place &^= notReturned
	})
	if s.Task(d.TaskID) == nil {
		s.drop(f, s.Item(f.Project, d.Queue, d.TaskID))
	}
	s.letGo(d.SessionID)
	s.retract(f, d.TaskID, d.SessionID)
	s.note(f, 0)
	return nil
}

func (s *State) itemQuarantined(f fact, d *events.QueueItemQuarantined) error {
	item, err := s.item(f, d.Queue, d.TaskID, events.ItemProcessing)
	if err != nil {
		return err
	}
	s.finish(f, item, d.SessionID, events.ItemQuarantined, "", "its session is "+d.Reason)
	s.note(f, 0)
	return nil
}

// dropItems skips the queued items of a deleted task; held ones stay held.
func (s *State) dropItems(f fact, task string) {
	for _, id := range s.openOf.get(task) {
		if item := s.items.get(id); item.Status == events.ItemQueued {
			s.drop(f, item)
		}
	}
}

func (s *State) drop(f fact, item *Item) {
	s.changeItem(f, item, func(i *Item) {
		i.Status, i.CompletedAt, i.FailReason, i.Cause = events.ItemSkipped, f.at, "its task was deleted", f.cause()
	})
}
