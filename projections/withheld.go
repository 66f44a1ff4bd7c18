package projections

import (
	"fmt"

	"github.com/google/uuid"

	"maestro/events"
)

// Withheld goes past an event whose body was withheld, as in the export of one project: of it, only the hash before it
// and that of its body are known. What the event changed stays as it was. An event that is not the next one of the
// chain gives *events.DamageError.
func (s *State) Withheld(sequence uint64, prev, body events.Hash) error {
	if err := s.follows(sequence, prev); err != nil {
		return err
	}
	s.changes, s.linesMoved = s.changes[:0], s.linesMoved[:0]
	s.advance(sequence, prev, body)
	// Nobody can name the event by its id, and nothing is looked for in it.
	s.ids, s.tape = s.ids.with(uuid.UUID{}), s.tape.with(s.at.UnixMilli(), 0, MarkNone)
	return nil
}

// follows returns an error if an event is not the next one of the chain.
func (s *State) follows(sequence uint64, prev events.Hash) error {
	if sequence != s.head.Sequence+1 {
		return &events.DamageError{
			Sequence: s.head.Sequence + 1,
			Why:      fmt.Sprintf("the event at sequence %d came instead", sequence),
		}
	}
	if prev != s.head.Hash {
		return &events.DamageError{
			Sequence: sequence,
			Why:      fmt.Sprintf("it follows an event with hash %s, and the one before it has %s", prev, s.head.Hash),
		}
	}
	return nil
}

// advance moves the head of the chain.
func (s *State) advance(sequence uint64, prev, body events.Hash) {
	s.head = events.Head{Sequence: sequence, Hash: events.Next(prev, body)}
	if sequence == 1 {
		s.genesis = s.head.Hash
	}
}
