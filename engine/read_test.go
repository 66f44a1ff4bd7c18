package engine

import (
	"context"
	"errors"
	"testing"

	"maestro/projections"
)

func TestReadEnds(t *testing.T) {
	w := newWorld(t)
	defer w.h.Close()
	read := func(ctx context.Context, look func(reader *projections.State, n int)) (looked int, err error) {
		_, err = w.h.Read(ctx, func(reader *projections.State) error {
			for ; looked < 2*ReadMost; looked++ {
				look(reader, looked)
			}
			return nil
		})
		return looked, err
	}
	task := func(reader *projections.State, _ int) { reader.Task("x") }
	if looked, err := read(t.Context(), task); !errors.Is(err, ErrReadTooLong) || looked > ReadMost+readCheck {
		t.Errorf("a long read ended after %d look-ups: %v", looked, err)
	}
	steps := func(reader *projections.State, _ int) { reader.Worked(1) }
	if looked, err := read(t.Context(), steps); !errors.Is(err, ErrReadTooLong) || looked > ReadMost+readCheck {
		t.Errorf("a long scan ended after %d steps: %v", looked, err)
	}
	ctx, leave := context.WithCancel(t.Context())
	looked, err := read(ctx, func(reader *projections.State, n int) {
		if n == 5000 {
			leave()
		}
		reader.Task("x")
	})
	if !errors.Is(err, context.Canceled) || looked > 5000+readCheck {
		t.Errorf("the read of a caller that left ended after %d look-ups: %v", looked, err)
	}
	if _, err := read(ctx, task); !errors.Is(err, context.Canceled) {
		t.Errorf("the read of a caller that has left: %v", err)
	}
	if _, err := w.note("after"); err != nil { // no lock is left behind
		t.Error(err)
	}
}

func TestReadCountsItsSteps(t *testing.T) {
	w := newWorld(t)
	defer w.h.Close()
	for range 2 {
		steps, err := w.h.Read(t.Context(), func(reader *projections.State) error {
			reader.Task("x")
			reader.Worked(10)
			return errors.New("refused")
		})
		if steps != 11 || err == nil || err.Error() != "refused" {
			t.Errorf("%d steps, %v", steps, err)
		}
	}
	if panicked := func() (what any) {
		defer func() { what = recover() }()
		_, _ = w.h.Read(t.Context(), func(*projections.State) error { panic("a bug") })
		return nil
	}(); panicked != "a bug" {
		t.Errorf("another panic came out as %v", panicked)
	}
}

// Readers continue while an image of a large state is taken, because that does not take their lock. If it did, this
// test would hang.
func TestImageDoesNotBlockReaders(t *testing.T) {
	w := newWorld(t)
	defer w.h.Close()
	w.h.mu.Lock()
	head := w.h.Image().Head()
	w.h.mu.Unlock()
	if head.Sequence == 0 {
		t.Error("the image is empty")
	}
}
