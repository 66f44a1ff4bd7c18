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

// done reports whether a task is completed, or said to be.
func (s *State) done(t *Task) bool {
	says, _ := s.SessionStatus(t)
	return t.Status == events.TaskCompleted || says == events.SaysCompleted
}
