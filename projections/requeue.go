package projections

import (
	"maestro/events"
)

// Requeueable reports whether an item may be queued again: it ended without success, or its task was reopened since.
func (s *State) Requeueable(item *Item) bool {
	switch item.Status {
	case events.ItemQuarantined, events.ItemFailed, events.ItemSkipped:
		return true
	case events.ItemCompleted:
		t := s.Task(item.TaskID)
		return t != nil && !s.done(t)
	case events.ItemQueued, events.ItemProcessing:
	}
	return false
}

// done reports whether a task is completed, or any session says so. That another session works on it makes no
// difference: only a reopen takes such statements back.
func (s *State) done(t *Task) bool {
	if t.Status == events.TaskCompleted {
		return true
	}
	s.lookedThrough(t.Speakers())
	said := t.newest(func(said StatusReport) bool { return said.Status == events.SaysCompleted })
	return said.SessionID != ""
}
