package projections

import (
	"errors"
	"testing"

	"maestro/events"
)

// A state goes past an event that it does not have only where the chain does, and then on with the next one.
func TestWithheldEventIsOneOfTheChain(t *testing.T) {
	s, whole := New(), New()
	for _, g := range goldenStory()[:3] {
		e, text := stored(t, g.event(whole))
		body := events.BodyHash(text)
		if _, err := whole.Apply(whole.Head().Sequence+1, e, body); err != nil {
			t.Fatal(err)
		}
		next := s.Head().Sequence + 1
		for _, err := range []error{
			s.Withheld(next+1, e.PrevHash, body), s.Withheld(next, events.Hash{9}, body),
		} {
			if damaged := (*events.DamageError)(nil); !errors.As(err, &damaged) {
				t.Fatalf("it goes past an event of another chain: %v", err)
			}
		}
		if next == 2 {
			if err := s.Withheld(next, e.PrevHash, body); err != nil {
				t.Fatal(err)
			}
		} else if _, err := s.Apply(next, e, body); err != nil {
			t.Fatal(err)
		}
		if s.Head() != whole.Head() || s.Genesis() != whole.Genesis() {
			t.Errorf("the head is %s, not %s", s.Head(), whole.Head())
		}
		if id, ok := s.EventID(next); !ok || (next != 2) != (id == e.ID) {
			t.Errorf("event %d has the id %s", next, id)
		}
	}
}
