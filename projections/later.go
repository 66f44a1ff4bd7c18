package projections

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"maestro/events"
)

// What only grows is the same in a state and in every later state of its log, up to the event at which the state is.
// So a past state does not restore it from segments, which would cost more the longer the log is: it shares the ids,
// the tape and the timelines of the present state.

// Later shows a committed state of the same log which is at least as far. The state does not change while see runs.
// see must not retain it.
type Later func(see func(*State))

// timelinesAtOnce is how many timelines of the later state are looked up while it is shown, because its writer waits
// meanwhile.
const timelinesAtOnce = 500

// Before returns the state of the empty log, for events that a later state has.
func Before(later Later) *State {
	s := New()
	s.accepted, s.later = nil, later
	return s
}

// DecodeBefore is [Decode] for a state that a later one shares what only grows with. b may lack the segments.
func DecodeBefore(b []byte, later Later) (*State, error) {
	s := Before(later)
	h, r, err := s.restoreHeader(b)
	if err != nil {
		return nil, err
	}
	if r.bad {
		return nil, errors.New("decode a state: its words are cut")
	}
	if err := s.shareUpTo(h.Head.Sequence); err != nil {
		return nil, fmt.Errorf("decode a state: %w", err)
	}
	s.shareTimelines(h)
	s.restoreLiving(h)
	s.restoreAttention(h)
	return s, nil
}

// shareUpTo shares the ids and the tape of the later state, up to a sequence.
func (s *State) shareUpTo(sequence uint64) error {
	var ids idList
	var tape Tape
	s.later(func(later *State) { ids, tape = later.ids, later.tape })
	if sequence > ids.n {
		return fmt.Errorf("event %d is not in the later state, which ends at %d", sequence, ids.n)
	}
	s.reach = ids.n
	ids.n, tape.n = sequence, sequence
	s.ids, s.tape = ids, tape
	return nil
}

// shareTimelines shares the timelines of the later state, up to the last event of this one.
func (s *State) shareTimelines(h *header) {
	named := make([]namedTimeline, 0, len(h.Tasks)+len(h.Sessions)+len(h.Unowned))
	for _, t := range h.Tasks {
		named = append(named, namedTimeline{of: ofTask, id: t.ID})
	}
	for _, x := range h.Sessions {
		named = append(named, namedTimeline{of: ofSession, id: x.ID})
	}
	for _, x := range h.Unowned {
		named = append(named, namedTimeline{of: x.Of, id: x.ID})
	}
	for len(named) > 0 {
		part := named[:min(len(named), timelinesAtOnce)]
		named = named[len(part):]
		s.later(func(later *State) {
			for i, x := range part {
				part[i].timeline = later.timelinesOf(x.of).get(x.id)
			}
		})
		for _, x := range part {
			if shared := x.timeline.between(0, s.head.Sequence); len(shared) > 0 {
				s.timelinesOf(x.of).put(x.id, shared[:len(shared):len(x.timeline)])
			}
		}
	}
}

// extended returns a timeline with one more place. A past state shares the array of the later one for as long as that
// has the place already, and then continues in an array of its own, which is filled with zeros behind its length.
func (s *State) extended(t Timeline, place Place) Timeline {
	n := len(t)
	if s.later == nil {
		return append(t, place)
	}
	if n < cap(t) {
		next := t[: n+1 : n+1][n]
		if next == place {
			return t[:n+1]
		}
		if next == 0 { // in its own array
			return append(t, place)
		}
	}
	own := make(Timeline, n, n+n/4+4)
	copy(own, t)
	return append(own, place)
}

// timelinesOf returns the timelines of tasks or of sessions.
func (s *State) timelinesOf(of timelineOf) *table[Timeline] {
	if of == ofSession {
		return &s.sessionTimelines
	}
	return &s.taskTimelines
}

// find returns the sequence of an event of a committed state, 0 if it has no event with this id.
func (s *State) find(id uuid.UUID) (sequence uint64) {
	if s.later == nil {
		return s.accepted.find(&s.ids, id)
	}
	s.later(func(later *State) { sequence = later.accepted.find(&later.ids, id) })
	if sequence > s.ids.n {
		return 0
	}
	return sequence
}

// checkShared returns an error unless the event at a sequence, which is the next one, is that of the later state.
func (s *State) checkShared(sequence uint64, id uuid.UUID) error {
	if sequence > s.reach {
		if err := s.shareUpTo(sequence); err != nil {
			return err
		}
		s.ids.n, s.tape.n = sequence-1, sequence-1
	}
	if at := *s.ids.at(sequence); at != id {
		return &events.DamageError{Sequence: sequence, Why: fmt.Sprintf("event %s stood there before, and now %s does",
			at, id)}
	}
	return nil
}
