package projections

import "maestro/events"

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
	s.changeItem(f, item, func(i *Item) {
		i.Status, i.StartedAt, i.Cause = events.ItemQueued, 0, f.cause()
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
