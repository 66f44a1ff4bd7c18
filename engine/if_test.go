package engine

import (
	"errors"
	"testing"

	"maestro/commands"
	"maestro/projections"
)

// The writer asks the condition of a request with the state that it decides on, and refuses the command if it fails.
func TestIfIsAskedByTheWriter(t *testing.T) {
	w := newWorld(t)
	head, refused := w.log.head(), errors.New("not now")
	asked := uint64(0)
	request := Request{
		By:      commands.Admin(commands.AuthnToken),
		Command: &commands.CreateProject{Name: "P"},
		Key:     "k",
		If: func(s *projections.State) error {
			asked = s.Head().Sequence
			return refused
		},
	}
	if _, err := w.h.Do(t.Context(), request); !errors.Is(err, refused) || w.log.head() != head {
		t.Errorf("%v, the head is %d and was %d", err, w.log.head(), head)
	}
	if asked != head {
		t.Errorf("it was asked about event %d, the head is %d", asked, head)
	}
	request.If = func(*projections.State) error { return nil }
	if _, err := w.h.Do(t.Context(), request); err != nil || w.log.head() != head+1 {
		t.Errorf("%v, the head is %d and was %d", err, w.log.head(), head)
	}
}
