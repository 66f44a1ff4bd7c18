package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"maestro/events"
	"maestro/internal/testing/logtest"
	"maestro/internal/testing/race"
)

// fill appends n messages of a size and returns the head.
func fill(t *testing.T, b *Bus, n, size int) uint64 {
	t.Helper()
	var head uint64
	for head < uint64(n) {
		messages := make([]events.Message, 0, 128)
		for i := range cap(messages) {
			body := fmt.Sprintf("%d %s", head+uint64(i)+1, strings.Repeat("x", size))
			messages = append(messages, events.Message{Subject: "maestro.ev.p.task.t", Body: []byte(body)})
		}
		if err := b.Append(t.Context(), head, messages); err != nil {
			t.Fatal(err)
		}
		head += uint64(len(messages))
	}
	return head
}

// inOrder fails at the first message that is out of order.
func inOrder(next *uint64) func(events.Message) error {
	return func(m events.Message) error {
		*next++
		if !strings.HasPrefix(string(m.Body), fmt.Sprintf("%d ", *next)) || m.Sequence != *next ||
			m.Subject != "maestro.ev.p.task.t" {
			return fmt.Errorf("sequence %d came, expected %d", m.Sequence, *next)
		}
		return nil
	}
}

// TestLongReadAcrossAReopen reads more than a page while the server is restarted, which forgets the consumer.
func TestLongReadAcrossAReopen(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	head := fill(t, b, 4*pullMessages, 100)
	var next uint64
	check := inOrder(&next)
	err := b.Read(t.Context(), 1, head, func(m events.Message) error {
		if m.Sequence == pullMessages/2 {
			b.doubtful.Store(true)
			if got, err := b.Sync(t.Context()); err != nil || got != head {
				return fmt.Errorf("sync: %d, %w", got, err)
			}
		}
		return check(m)
	})
	if err != nil || next != head {
		t.Errorf("read %d of %d: %v", next, head, err)
	}
}

// A long read takes memory for many messages at once.
func TestLongReadTakesFewAllocations(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	head := fill(t, b, 2*aheadFrom, 100)
	allocations := testing.AllocsPerRun(3, func() {
		if err := b.Read(t.Context(), 1, head, func(events.Message) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > float64(head/8) {
		t.Errorf("%d messages take %v allocations", head, allocations)
	}
}

// If the caller of a long read leaves, the read returns its error, and nothing is left running.
func TestLongReadEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	b := mustOpen(t, t.TempDir(), Interval)
	head := fill(t, b, 2*aheadFrom, 100)
	ctx, leave := context.WithCancel(t.Context())
	var next uint64
	check := inOrder(&next)
	err := b.Read(ctx, 1, head, func(m events.Message) error {
		if m.Sequence == 10 {
			leave()
		}
		return check(m)
	})
	if !errors.Is(err, context.Canceled) || next == head {
		t.Errorf("read %d of %d: %v", next, head, err)
	}
}

// TestLongReadStops ends a long read in the middle: the caller's error is returned unchanged, and nothing is left
// running, as the leak check of the package verifies.
func TestLongReadStops(t *testing.T) {
	t.Parallel()
	b := mustOpen(t, t.TempDir(), Interval)
	head := fill(t, b, 2*pullMessages, 100)
	enough := errors.New("enough")
	err := b.Read(t.Context(), 1, head, func(m events.Message) error {
		if m.Sequence == 10 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

// TestLongReadNamesWhatIsMissing reads a long log with a flipped bit in an old block, which the server leaves out
// silently.
func TestLongReadNamesWhatIsMissing(t *testing.T) {
	race.Without(t)
	t.Parallel()
	b := mustOpen(t, t.TempDir(), Interval)
	head := fill(t, b, 4*pullMessages, 4000)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	damageStore(t, b.embedded.messagesDir(StreamName), logtest.FlipOldBit)
	again, err := openAt(t, b.embedded.dir, Interval)
	if err != nil {
		t.Fatal(err)
	}
	var next uint64
	err = again.Read(t.Context(), 1, head, inOrder(&next))
	var damage *events.DamageError
	if !errors.As(err, &damage) || damage.Sequence != next+1 || next == head {
		t.Errorf("read %d of %d: %v", next, head, err)
	}
}
