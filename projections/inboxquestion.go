package projections

import (
	"cmp"

	"maestro/events"
)

// NeedsAnswer reports whether somebody still has to answer a question: nobody has, once all tasks that it is about are
// over. If they all were over when it was asked, it is about them all the same: its asker knows that, and asks. Once a
// task is reopened, the question is asked again only if its asker still waits for the answer.
func (s *State) NeedsAnswer(x *Input) bool {
	s.lookedThrough(len(x.TaskIDs))
	asked, since := s.sequenceOf(x.Asked), false
	for _, id := range x.TaskIDs {
		t := s.Task(id)
		if t != nil && !t.Over() && !s.movedOn(x, asked, t) {
			return true
		}
		since = since || t == nil || t.StatusSequence > asked
	}
	return !since
}

// movedOn reports whether a task was opened again after a question about it, and the asker has no use for the answer:
// it is not at work, or the task was completed meanwhile and the asker has said something else of it than that it asks.
func (s *State) movedOn(x *Input, asked uint64, t *Task) bool {
	completed := t.CompletedAt > 0 && t.CompletedAt >= x.AskedAt
	if t.StatusSequence <= asked || !t.Reopened && !completed {
		return false
	}
	asker := s.Session(x.SessionID)
	if asker == nil || !asker.Active() {
		return true
	}
	if !completed {
		return false
	}
	s.lookedThrough(t.Speakers())
	said := t.SaidBy(x.SessionID)
	return said.Status != "" && said.Status != events.SaysNeedsInput
}

func (b *inbox) question(x *Input) {
	if !b.NeedsAnswer(x) {
		return
	}
	b.find(InboxQuestion, x.SessionID, "", "", x.AskedAt, func() InboxItem {
		next := []string{"maestro input answer " + x.ID + ` "…"`}
		session := b.Session(x.SessionID)
		done := session != nil && session.Status == events.SessionSaidDone
		if done {
			next = append(next, "maestro session kill "+x.SessionID)
		}
		return InboxItem{
			SessionID: x.SessionID,
			TaskID:    cmp.Or(first(x.TaskIDs), b.heldUp(session, x)),
			InputID:   x.ID,
			Run:       x.Run,
			What:      b.nameOf(x.SessionID),
			SaidDone:  done,
			Message:   x.Question,
			Options:   x.Options,
			Next:      next,
		}
	})
}

// heldUp returns the task at which a session worked that asked without naming one, "" if it has finished that item
// since.
func (b *inbox) heldUp(session *Session, x *Input) string {
	if session == nil {
		return ""
	}
	if item := b.Holds(session); session.LastItem != nil && (item == nil || item.TaskID != x.OnTask) {
		return ""
	}
	return x.OnTask
}
