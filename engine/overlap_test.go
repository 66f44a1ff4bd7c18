package engine

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
	"maestro/projections"
)

// heldWorld returns a world whose appends wait for release, which says whether the next one fails.
func heldWorld(t *testing.T) (w *world, release func(err error)) {
	t.Helper()
	w = newWorld(t)
	w.h.Close()
	w.h = open(t, Config{Log: w.log, OverlapFrom: 1})
	outcome := make(chan error)
	w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
		if err := <-outcome; err != nil {
			return err
		}
		return store()
	})
	return w, func(err error) { outcome <- err; synctest.Wait() }
}

// sent sends a command and returns where its outcome will be, once the writer has decided it.
func (w *world) sent(by, id, body string) chan error {
	done := make(chan error, 1)
	go func() {
		_, err := w.do(by, id, body)
		done <- err
	}()
	synctest.Wait()
	return done
}

func title(n int) string { return fmt.Sprintf(`{"project":"{p}","title":"T%d"}`, n) }

// While a batch is appended, the next one is decided on it. It is appended at once when the first is acknowledged, and
// everything in it, a refusal too, is answered only after that.
func TestNextBatchIsDecidedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, release := heldWorld(t)
		defer w.h.Close()
		before := len(w.log.appended())
		first := w.sent("admin", "session:spawn", `{"project":"{p}","name":"first","taskIds":["{t1}"]}`)
		second := w.sent("admin", "task:create", title(2))
		refused := w.sent("w", "task:complete", `{"taskId":"{t1}"}`)
		if len(first)+len(second)+len(refused) > 0 {
			t.Fatal("a command was answered before the log acknowledged anything")
		}
		release(nil)
		if len(first) != 1 || len(second)+len(refused) > 0 {
			t.Fatalf("after the first append: %d, %d, %d answers", len(first), len(second), len(refused))
		}
		if n := len(w.log.appended()) - before; n != 2 {
			t.Fatalf("%d appends have begun", n)
		}
		w.h.View(func(s *projections.State) {
			if s.Head().Sequence != w.log.head() {
				t.Errorf("the views are at event %d, the log at %d", s.Head().Sequence, w.log.head())
			}
		})
		release(nil)
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		if err := <-refused; code(err) == "" {
			t.Fatalf("a worker that completes a task gets %v", err)
		}
	})
}

// If an append fails, what was decided on it is dropped too. Both are decided again, in their order, and happen once.
func TestFailedAppendDropsWhatWasDecidedOnIt(t *testing.T) {
	for _, failure := range []error{events.ErrConflict, events.ErrUnknown} {
		synctest.Test(t, func(t *testing.T) {
			w, release := heldWorld(t)
			defer w.h.Close()
			head := w.log.head()
			first := w.sent("admin", "task:create", title(1))
			second := w.sent("admin", "task:create", title(2))
			release(failure)
			if len(first)+len(second) > 0 {
				t.Fatal("a command was answered after a failed append")
			}
			release(nil)
			if err := errors.Join(<-first, <-second); err != nil {
				t.Fatal(err)
			}
			if n := w.log.head() - head; n != 2 {
				t.Errorf("two commands became %d events", n)
			}
		})
	}
}

// If the log takes no writes any more, both batches are refused.
func TestBothBatchesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, release := heldWorld(t)
		defer w.h.Close()
		first := w.sent("admin", "task:create", title(1))
		second := w.sent("admin", "task:create", title(2))
		release(&events.DamageError{Sequence: 3, Why: "a test says so"})
		for _, done := range []chan error{first, second} {
			var unavailable *UnavailableError
			if err := <-done; !errors.As(err, &unavailable) {
				t.Errorf("a command on a damaged log gets %v", err)
			}
		}
	})
}

// A server that stops answers the batch that is being appended, and whoever waits behind it.
func TestStopWhileBatchesOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, release := heldWorld(t)
		first := w.sent("admin", "task:create", title(1))
		second := w.sent("admin", "task:create", title(2))
		closed := make(chan struct{})
		go func() {
			w.h.Close()
			close(closed)
		}()
		synctest.Wait()
		release(nil)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		select {
		case <-closed:
		case <-time.After(time.Minute):
			release(nil) // the second one was appended too
			<-closed
		}
		if err := <-second; err != nil {
			t.Fatal(err)
		}
	})
}

// What stops the writes from outside stops the next batch too.
func TestNextBatchIsNotAppendedAfterDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, release := heldWorld(t)
		defer w.h.Close()
		first := w.sent("admin", "task:create", title(1))
		second := w.sent("admin", "task:create", title(2))
		w.h.StopWrites(&events.DamageError{Sequence: 1, Why: "a test says so"})
		before := len(w.log.appended())
		release(nil)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		var unavailable *UnavailableError
		if err := <-second; !errors.As(err, &unavailable) {
			t.Errorf("a command on a damaged log gets %v", err)
		}
		if n := len(w.log.appended()) - before; n != 0 {
			t.Errorf("%d appends began after the damage", n)
		}
	})
}
