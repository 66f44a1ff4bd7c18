package logtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"maestro/engine"
	"maestro/events"
)

// strangerBetween: a message between decision and append makes the whole append fail.
func strangerBetween(t *testing.T, f Fixture) {
	if !f.can(t, "Stranger", f.Stranger != nil) {
		return
	}
	mustAppend(t, f.Log, 0, batch("a", 2, 10))
	head := uint64(2)
	for i, n := range []int{1, 5, 100} {
		if err := f.Stranger(t.Context(), batch(fmt.Sprintf("stranger-%d", i), 1, 10)[0]); err != nil {
			t.Fatal(err)
		}
		ours := batch(fmt.Sprintf("ours-%d", n), n, 10)
		if err := f.Log.Append(t.Context(), head, ours); !errors.Is(err, events.ErrConflict) {
			t.Fatalf("append %d after a stranger: %v, expected a conflict", n, err)
		}
		if got := mustSync(t, f.Log); got != head+1 {
			t.Fatalf("the head is %d, expected %d: the stranger's message and nothing of ours", got, head+1)
		}
		head++
		mustAppend(t, f.Log, head, ours)
		head += uint64(n)
	}
	contents(t, f.Log, mustSync(t, f.Log), false)
}

// strangerInThePipeline: a stranger writes at any moment during many appends. Each append is stored completely or not
// at all.
func strangerInThePipeline(t *testing.T, f Fixture) {
	if !f.can(t, "Stranger", f.Stranger != nil) {
		return
	}
	now := make(chan struct{}, 1)
	var stranger sync.WaitGroup
	stranger.Go(func() {
		i := 0
		for range now {
			i++
			// Refused while the log is reopened; an answer that the reopening interrupted never comes.
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_ = f.Stranger(ctx, batch(fmt.Sprintf("stranger-%d", i), 1, 10)[0])
			cancel()
		}
	})
	stored := map[string]uint64{}
	head := settle(t, f.Log)
	conflicts := 0
	for i := range 100 {
		if i%2 == 0 {
			select {
			case now <- struct{}{}:
			default: // still running
			}
		}
		name := fmt.Sprintf("ours-%d", i)
		messages := batch(name, 1+i%40, 200)
		switch err := f.Log.Append(t.Context(), head, messages); {
		case err == nil:
			stored[name] = head + 1
			head += uint64(len(messages))
		case errors.Is(err, events.ErrConflict):
			conflicts++
			stored[name] = 0
			head = settle(t, f.Log)
		case errors.Is(err, events.ErrUnknown):
			head = settle(t, f.Log)
		default:
			t.Errorf("append: %v", err)
		}
	}
	close(now)
	stranger.Wait()
	begins := contents(t, f.Log, settle(t, f.Log), false)
	expectAcked(t, stored, begins)
	t.Logf("%d of the appends were conflicts", conflicts)
}

// secondWriter: two writers on one log that obey the guard lose nothing and duplicate nothing.
func secondWriter(t *testing.T, f Fixture) {
	if !f.can(t, "Second", f.Second != nil) {
		return
	}
	var acked [2]map[string]uint64
	var errs [2]error
	var writers sync.WaitGroup
	for w, log := range []engine.Log{f.Log, f.Second} {
		var batches [][]events.Message
		for i := range 30 {
			batches = append(batches, batch(fmt.Sprintf("writer-%d-%d", w, i), 1+i%5, 50))
		}
		writers.Go(func() { acked[w], errs[w] = writeAll(t.Context(), t, log, batches) })
	}
	writers.Wait()
	for w := range acked {
		if errs[w] != nil {
			t.Fatalf("writer %d: %v", w, errs[w])
		}
	}
	begins := contents(t, f.Log, settle(t, f.Log), false)
	for w := range acked {
		if len(acked[w]) != 30 {
			t.Errorf("writer %d stored %d of 30 batches", w, len(acked[w]))
		}
		expectAcked(t, acked[w], begins)
	}
}

// timeOutAfterCommitting: the caller gets no answer, and the log has the append, once.
func timeOutAfterCommitting(t *testing.T, f Fixture) {
	if !f.can(t, "LoseAck", f.LoseAck != nil) {
		return
	}
	head := uint64(0)
	for i, n := range []int{1, 3} {
		messages := batch(string(rune('a'+i)), n, 10)
		found := f.LoseAck(t)
		err := f.Log.Append(t.Context(), head, messages)
		found()
		if !errors.Is(err, events.ErrUnknown) {
			t.Fatalf("an append of %d whose acknowledgement was lost: %v, expected ErrUnknown", n, err)
		}
		if got := settle(t, f.Log); got != head+uint64(n) {
			t.Fatalf("after Sync the head is %d, expected %d", got, head+uint64(n))
		}
		if err := f.Log.Append(t.Context(), head, messages); !errors.Is(err, events.ErrConflict) {
			t.Fatalf("the same again: %v, expected a conflict", err)
		}
		head += uint64(n)
		contents(t, f.Log, head, false)
	}
	mustAppend(t, f.Log, head, batch("next", 2, 10))
}

// leaderStepsDown: the leader changes during appends. What was acknowledged is there; everything else is there
// completely or not at all.
func leaderStepsDown(t *testing.T, f Fixture) {
	if !f.can(t, "StepDown", f.StepDown != nil) {
		return
	}
	var batches [][]events.Message
	for i := range 60 {
		batches = append(batches, batch(fmt.Sprintf("ours-%d", i), 1+(i%3)*20, 200))
	}
	stop := make(chan struct{})
	var usurper sync.WaitGroup
	usurper.Go(func() {
		for range 3 {
			select {
			case <-stop:
				return
			default:
				f.StepDown(t)
			}
		}
	})
	acked, err := writeAll(t.Context(), t, f.Log, batches)
	close(stop)
	usurper.Wait()
	if err != nil {
		t.Fatal(err)
	}
	begins := contents(t, f.Log, settle(t, f.Log), false)
	expectAcked(t, acked, begins)
	if len(acked) != len(batches) {
		t.Errorf("%d of %d batches were stored", len(acked), len(batches))
	}
}

// readWhileSyncing: readers continue while the log is looked up after a lost acknowledgement, which may reopen it.
func readWhileSyncing(t *testing.T, f Fixture) {
	acked, err := writeAll(t.Context(), t, f.Log, [][]events.Message{batch("a", 700, 50), batch("b", 700, 50)})
	if err != nil || acked["b"] != 701 {
		t.Fatalf("1,400 messages: %v, %v", acked, err)
	}
	stop := make(chan struct{})
	failed := make(chan error, 2)
	var reading sync.WaitGroup
	for range 2 {
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				next := uint64(1)
				err := f.Log.Read(t.Context(), 1, 1400, func(m events.Message) error {
					if m.Sequence != next {
						return fmt.Errorf("read %d where %d was due", m.Sequence, next)
					}
					next++
					return nil
				})
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for i := range 5 {
		if f.LoseAck != nil {
			found := f.LoseAck(t)
			_ = f.Log.Append(t.Context(), 1400+uint64(i), batch(fmt.Sprintf("c%d", i), 1, 10))
			found()
		}
		settle(t, f.Log)
	}
	close(stop)
	reading.Wait()
	select {
	case err := <-failed:
		t.Fatalf("a reader failed while the log was synced: %v", err)
	default:
	}
}
