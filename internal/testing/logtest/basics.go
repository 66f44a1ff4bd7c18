package logtest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"maestro/events"
)

// guardAtZero: an empty log is at 0, and its guard accepts that.
func guardAtZero(t *testing.T, f Fixture) {
	if head := mustSync(t, f.Log); head != 0 {
		t.Fatalf("an empty log has the head %d", head)
	}
	if got := read(t, f.Log, 0); len(got) != 0 {
		t.Fatalf("an empty log has %d messages", len(got))
	}
	for _, n := range []int{1, 3} {
		if err := f.Log.Append(t.Context(), 5, batch("early", n, 10)); !errors.Is(err, events.ErrConflict) {
			t.Fatalf("append %d after 5 to an empty log: %v, expected a conflict", n, err)
		}
	}
	mustAppend(t, f.Log, 0, batch("first", 1, 10))
	for _, n := range []int{1, 3} {
		if err := f.Log.Append(t.Context(), 0, batch("again", n, 10)); !errors.Is(err, events.ErrConflict) {
			t.Fatalf("append %d after 0 to a log at 1: %v, expected a conflict", n, err)
		}
	}
	if head := mustSync(t, f.Log); head != 1 {
		t.Fatalf("the head is %d, expected 1", head)
	}
}

// appendsAreRead: appended messages are read byte for byte, with their subjects, in any range.
func appendsAreRead(t *testing.T, f Fixture) {
	var all []events.Message
	for i, n := range []int{1, 2, 3, 1, 17, 1000, 1, 600} {
		messages := batch(string(rune('a'+i)), n, 100*i)
		mustAppend(t, f.Log, uint64(len(all)), messages)
		all = append(all, messages...)
	}
	large := batch("large", 2, 760<<10)
	mustAppend(t, f.Log, uint64(len(all)), large)
	all = append(all, large...)
	head := uint64(len(all))
	if got := mustSync(t, f.Log); got != head {
		t.Fatalf("the head is %d, expected %d", got, head)
	}
	for _, span := range [][2]uint64{{1, head}, {1, 1}, {head, head}, {2, 5}, {20, 1010}, {7, 6}} {
		next := span[0]
		err := f.Log.Read(t.Context(), span[0], span[1], func(m events.Message) error {
			want := all[next-1]
			if m.Sequence != next || m.Subject != want.Subject || !bytes.Equal(m.Body, want.Body) {
				t.Fatalf("sequence %d: read %d %q %.80s, expected %q %.80s", next, m.Sequence, m.Subject, m.Body,
					want.Subject, want.Body)
			}
			next++
			return nil
		})
		if err != nil || next != span[1]+1 && span[0] <= span[1] {
			t.Fatalf("read %d to %d ended before %d: %v", span[0], span[1], next, err)
		}
	}
}

// bodiesBelongToTheCaller: a caller that writes to a body changes nobody else's.
func bodiesBelongToTheCaller(t *testing.T, f Fixture) {
	messages := batch("a", 3, 100)
	mustAppend(t, f.Log, 0, messages)
	for range 2 {
		for i, m := range read(t, f.Log, 3) {
			if !bytes.Equal(m.Body, messages[i].Body) {
				t.Fatalf("sequence %d was changed by a reader: %s", m.Sequence, m.Body)
			}
			clear(m.Body)
			_ = append(m.Body, "more"...)
		}
	}
}

// yieldEndsTheReading: an error from yield is returned unchanged, and nothing is yielded after it.
func yieldEndsTheReading(t *testing.T, f Fixture) {
	mustAppend(t, f.Log, 0, batch("a", 10, 10))
	enough := errors.New("enough")
	calls := 0
	err := f.Log.Read(t.Context(), 1, 10, func(events.Message) error {
		if calls++; calls == 4 {
			return enough
		}
		return nil
	})
	if err != enough || calls != 4 { //nolint:errorlint // unwrapped
		t.Fatalf("after %d calls: %v", calls, err)
	}
}

// readBeyondTheHead: a missing message is reported as damage, with its sequence.
func readBeyondTheHead(t *testing.T, f Fixture) {
	mustAppend(t, f.Log, 0, batch("a", 3, 10))
	for _, span := range [][2]uint64{{1, 4}, {4, 4}, {4, 9}} {
		err := f.Log.Read(t.Context(), span[0], span[1], func(events.Message) error { return nil })
		var damage *events.DamageError
		if !errors.As(err, &damage) || damage.Sequence != 4 {
			t.Fatalf("read %d to %d of a log at 3: %v, expected damage at 4", span[0], span[1], err)
		}
	}
}

// conflict: an append with a stale guard stores nothing.
func conflict(t *testing.T, f Fixture) {
	mustAppend(t, f.Log, 0, batch("a", 3, 10))
	for _, after := range []uint64{0, 1, 2, 4, 100} {
		for _, n := range []int{1, 2, 50} {
			if err := f.Log.Append(t.Context(), after, batch("stale", n, 10)); !errors.Is(err, events.ErrConflict) {
				t.Fatalf("append %d after %d to a log at 3: %v, expected a conflict", n, after, err)
			}
		}
	}
	if head := mustSync(t, f.Log); head != 3 {
		t.Fatalf("after conflicts the head is %d, expected 3", head)
	}
	mustAppend(t, f.Log, 3, batch("b", 2, 10))
	contents(t, f.Log, mustSync(t, f.Log), false)
}

// duplicate: repeating an append is a conflict, and stores nothing twice.
func duplicate(t *testing.T, f Fixture) {
	head := uint64(0)
	for i, n := range []int{1, 4} {
		messages := batch(string(rune('a'+i)), n, 10)
		mustAppend(t, f.Log, head, messages)
		if err := f.Log.Append(t.Context(), head, messages); !errors.Is(err, events.ErrConflict) {
			t.Fatalf("the same %d again: %v, expected a conflict", n, err)
		}
		head += uint64(n)
	}
	if got := mustSync(t, f.Log); got != head {
		t.Fatalf("the head is %d, expected %d", got, head)
	}
	contents(t, f.Log, head, false)
}

// cancelledBeforeSending: nothing is sent for a caller that has left.
func cancelledBeforeSending(t *testing.T, f Fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range []int{1, 3} {
		if err := f.Log.Append(ctx, 0, batch("gone", n, 10)); err == nil {
			t.Fatal("an append for a cancelled caller was acknowledged")
		}
	}
	head := mustSync(t, f.Log)
	contents(t, f.Log, head, false)
	mustAppend(t, f.Log, head, batch("next", 1, 10))
}
