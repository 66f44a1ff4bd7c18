package projections

import "maestro/events"

// finish ends the work on an item with its holder's statement.
func (s *State) finish(f fact, item *Item, session string, status events.QueueItemStatus, says events.TaskSessionStatus,
	reason string,
) {
	s.changeItem(f, item, func(i *Item) {
		i.Status, i.SessionID, i.CompletedAt, i.FailReason, i.Cause = status, session, f.at, reason, f.cause()
	})
	s.letGo(session)
	if says == "" {
		s.retract(f, item.TaskID, session)
	} else {
		s.say(f, item.TaskID, session, says, 0)
	}
}

func (s *State) itemCompleted(f fact, d *events.QueueItemCompleted) error {
	item, err := s.item(f, d.Queue, d.TaskID, events.ItemProcessing)
	if err != nil {
		return err
	}
	s.finish(f, item, d.SessionID, events.ItemCompleted, events.SaysCompleted, "")
	s.note(f, 0)
	return nil
}

func (s *State) itemFailed(f fact, d *events.QueueItemFailed) error {
	item, err := s.item(f, d.Queue, d.TaskID, events.ItemProcessing)
	if err != nil {
		return err
	}
	s.finish(f, item, d.SessionID, events.ItemFailed, events.SaysFailed, d.Reason)
	s.note(f, 0)
	return nil
}

func (s *State) itemSkipped(f fact, d *events.QueueItemSkipped) error {
	stands := events.ItemQueued
	if d.Held {
		stands = events.ItemProcessing
	}
	item, err := s.item(f, d.Queue, d.TaskID, stands)
	if err != nil {
		return err
	}
	if d.Held {
		s.finish(f, item, d.SessionID, events.ItemSkipped, "", "")
	} else {
		s.changeItem(f, item, func(i *Item) {
			i.Status, i.SessionID, i.CompletedAt, i.Cause = events.ItemSkipped, d.SessionID, f.at, f.cause()
		})
	}
	s.note(f, 0)
	return nil
}
