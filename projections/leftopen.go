package projections

import (
	"maestro/events"
)

// MostNamed bounds the tasks that an answer names.
const MostNamed = 20

// LeftOpen names at most so many of a session's tasks that are open and that it did not report as done, and counts the
// others.
func (s *State) LeftOpen(x *Session, most int) (ids []string, more int) {
	if x == nil {
		return nil, 0
	}
	s.work(uint64(len(x.TaskIDs)))
	for _, id := range x.TaskIDs {
		t := s.Task(id)
		if t != nil {
			s.lookedThrough(t.Speakers())
		}
		switch {
		case t == nil || t.Over():
		case t.SaidBy(x.ID).Status == events.SaysCompleted:
		case len(ids) < most:
			ids = append(ids, id)
		default:
			more++
		}
	}
	return ids, more
}
