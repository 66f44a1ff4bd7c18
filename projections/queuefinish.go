package projections

import (
	"cmp"

	"maestro/events"
)

// finish ends the work on an item with its holder's statement.
func (s *State) finish(f fact, item *Item, session string, status events.QueueItemStatus, says events.TaskSessionStatus,
	reason string,
) {
	var claim *Claim
	if says == "" {
		claim = s.claimOf(item)
	}
	by := f.Source
	if by == SessionSource(item.ProjectID, session) {
		by = ""
	}
	s.changeItem(f, item, func(i *Item) {
		i.Status, i.SessionID, i.CompletedAt, i.FailReason, i.Cause = status, session, f.at, reason, f.cause()
		i.Claim, i.FinishedBy = claim, by
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
	reason := d.Reason
	if t := s.Task(item.TaskID); t != nil && reason == "" {
		s.lookedThrough(t.Speakers())
		if said := s.reportedError(t, d.SessionID); said != nil {
			reason = said.Text
		}
	}
	s.finish(f, item, d.SessionID, events.ItemFailed, events.SaysFailed, reason)
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
		s.finish(f, item, d.SessionID, events.ItemSkipped, "", cmp.Or(d.Reason, s.saidOf(item.TaskID, d.SessionID)))
	} else {
		s.changeItem(f, item, func(i *Item) {
			i.Status, i.SessionID, i.CompletedAt, i.Cause = events.ItemSkipped, d.SessionID, f.at, f.cause()
			i.FailReason = d.Reason
		})
	}
	if item = s.Item(f.Project, d.Queue, d.TaskID); item.Skipped != d.Reason {
		s.changeItem(f, item, func(i *Item) { i.Skipped = d.Reason })
	}
	s.note(f, 0)
	return nil
}

// saidOf returns why a session said that it cannot go on with a task, "" if it did not: skipping the task's item takes
// that statement back, and the next one who works on it needs it.
func (s *State) saidOf(task, session string) string {
	t := s.Task(task)
	if t == nil {
		return ""
	}
	s.lookedThrough(t.Speakers())
	said := t.SaidBy(session)
	if said.Words == nil || said.Status != events.SaysBlocked && said.Status != events.SaysFailed {
		return ""
	}
	return said.Words.Text
}
