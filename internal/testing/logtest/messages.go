package logtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"maestro/engine"
	"maestro/events"
)

// batch returns n messages whose bodies name the batch and the index in it, each of about size bytes.
func batch(name string, n, size int) []events.Message {
	messages := make([]events.Message, n)
	for i := range messages {
		messages[i] = events.Message{
			Subject: events.Subject("p", "session", name),
			Body: fmt.Appendf(nil, `{"batch":%q,"place":%d,"of":%d,"pad":%q}`, name, i, n, strings.Repeat("x",
				size)),
		}
	}
	return messages
}

type body struct {
	Batch string `json:"batch"`
	Place int    `json:"place"`
	Of    int    `json:"of"`
}

// read returns the log from 1 to head, and fails the test if a message is missing or out of order.
func read(t *testing.T, log engine.Log, head uint64) []events.Message {
	t.Helper()
	var got []events.Message
	err := log.Read(t.Context(), 1, head, func(m events.Message) error {
		if want := uint64(len(got) + 1); m.Sequence != want {
			return fmt.Errorf("sequence %d was read where %d was due", m.Sequence, want)
		}
		got = append(got, m)
		return nil
	})
	if err != nil {
		t.Fatalf("read to %d: %v", head, err)
	}
	if uint64(len(got)) != head {
		t.Fatalf("read to %d gave %d messages and no error", head, len(got))
	}
	return got
}

// contents reads the log and returns where each batch begins. It fails the test if a batch is duplicated, incomplete or
// out of order; with parts, it accepts a first part.
func contents(t *testing.T, log engine.Log, head uint64, parts bool) map[string]uint64 {
	t.Helper()
	messages := read(t, log, head)
	begins := map[string]uint64{}
	for i := 0; i < len(messages); {
		var first body
		if err := json.Unmarshal(messages[i].Body, &first); err != nil {
			t.Fatalf("sequence %d: %v", i+1, err)
		}
		if first.Place != 0 {
			t.Fatalf("sequence %d is place %d of the batch %q: a later part without what precedes it", i+1, first.Place,
				first.Batch)
		}
		if at, twice := begins[first.Batch]; twice {
			t.Fatalf("the batch %q is in the log twice, at %d and %d", first.Batch, at, i+1)
		}
		begins[first.Batch] = messages[i].Sequence
		place := 0
		for ; place < first.Of && i < len(messages); place, i = place+1, i+1 {
			var next body
			if err := json.Unmarshal(messages[i].Body, &next); err != nil {
				t.Fatalf("sequence %d: %v", i+1, err)
			}
			if next.Batch != first.Batch {
				break
			}
			if next.Place != place {
				t.Fatalf("sequence %d is place %d of the batch %q, expected %d", i+1, next.Place, next.Batch, place)
			}
		}
		if place < first.Of && !parts {
			t.Fatalf("the batch %q has %d messages, the log holds %d of them", first.Batch, first.Of, place)
		}
	}
	return begins
}

func mustAppend(t *testing.T, log engine.Log, after uint64, messages []events.Message) {
	t.Helper()
	if err := log.Append(t.Context(), after, messages); err != nil {
		t.Fatalf("append %d messages after %d: %v", len(messages), after, err)
	}
}

func mustSync(t *testing.T, log engine.Log) uint64 {
	t.Helper()
	head, err := log.Sync(t.Context())
	if err != nil {
		t.Fatalf("sync: %v", err)
	}
	return head
}

// settle syncs until the log answers: a cluster without a leader has to elect one first.
func settle(t *testing.T, log engine.Log) uint64 {
	t.Helper()
	for {
		head, err := log.Sync(t.Context())
		if err == nil {
			return head
		}
		if t.Context().Err() != nil {
			t.Fatalf("sync: %v", err)
		}
	}
}

// writeAll appends batches one after another, as the Handler does: after a conflict or an unknown outcome it reads the
// log and continues from there. It returns which batches were acknowledged, and at which sequence each begins.
func writeAll(
	ctx context.Context, t *testing.T, log engine.Log, batches [][]events.Message,
) (map[string]uint64, error) {
	acked := map[string]uint64{}
	head := settle(t, log)
	for _, messages := range batches {
		var b body
		if err := json.Unmarshal(messages[0].Body, &b); err != nil {
			return nil, err
		}
		doubtful := false // an earlier attempt for the batch may still be executed
		for {
			err := log.Append(ctx, head, messages)
			if err == nil {
				acked[b.Batch] = head + 1
				head += uint64(len(messages))
				break
			}
			if !errors.Is(err, events.ErrConflict) && !errors.Is(err, events.ErrUnknown) {
				return nil, err
			}
			doubtful = doubtful || errors.Is(err, events.ErrUnknown)
			before := head
			head = settle(t, log)
			found, readErr := find(ctx, log, before+1, head, b.Batch)
			if readErr != nil {
				return nil, readErr
			}
			if found != 0 {
				if !doubtful {
					return nil, fmt.Errorf("the append of %q was a conflict, and yet it is at %d", b.Batch, found)
				}
				acked[b.Batch] = found
				break
			}
		}
	}
	return acked, nil
}

// find returns the first sequence of a batch, or 0.
func find(ctx context.Context, log engine.Log, from, to uint64, name string) (uint64, error) {
	var found uint64
	err := log.Read(ctx, from, to, func(m events.Message) error {
		var b body
		if err := json.Unmarshal(m.Body, &b); err != nil {
			return err
		}
		if b.Batch == name && found == 0 {
			found = m.Sequence
		}
		return nil
	})
	return found, err
}

// expectAcked fails the test unless every acknowledged batch is where it was acknowledged.
func expectAcked(t *testing.T, acked, begins map[string]uint64) {
	t.Helper()
	for name, at := range acked {
		if begins[name] != at {
			t.Errorf("the batch %q was acknowledged at %d, the log has it at %d (0: not at all)", name, at,
				begins[name])
		}
	}
}
