package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
)

// stallAfter is the time after which a request to the log that starts now is recognised as stalled.
const stallAfter = stallTicks * stallTick

// A log that does not answer does not block callers: after two seconds all waiting callers get an error, later callers
// get it at once, and each command becomes one event however often it was tried.
func TestSilentLogDoesNotBlockCallers(t *testing.T) {
	for name, hold := range map[string]func(*fakeLog, <-chan struct{}){
		"while it appends": func(l *fakeLog, answers <-chan struct{}) {
			l.when(func(_ uint64, _ []events.Message, store func() error) error {
				<-answers
				return store()
			})
		},
		"while it stores events without an answer": func(l *fakeLog, answers <-chan struct{}) {
			l.when(func(_ uint64, _ []events.Message, store func() error) error {
				if err := store(); err != nil {
					return err
				}
				return events.ErrUnknown
			})
			l.whenSynced(func() error {
				<-answers
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.h.Close()
				time.Sleep(stallTick) // the watch of earlier requests ends
				synctest.Wait()
				before := w.log.head()
				answers := make(chan struct{})
				hold(w.log, answers)
				begun := time.Now()
				const body = `{"project":"{p}","title":"Build"}`
				create := func(key string) (time.Duration, error) {
					begun := time.Now()
					_, err := w.withKey("admin", "task:create", body, key)
					return time.Since(begun), err
				}
				first := make(chan error, 1)
				go func() {
					_, err := create("first")
					first <- err
				}()
				synctest.Wait()
				// The first check may have seen the request before the one that does not return.
				late := func(took time.Duration) bool { return took < stallAfter || took > stallAfter+stallTick }
				if took, err := create("second"); late(took) || !errors.Is(err, errStalled) {
					t.Errorf("the caller that waited with it is answered after %s: %v", took, err)
				}
				if err := <-first; !errors.As(err, new(*UnavailableError)) || late(time.Since(begun)) {
					t.Errorf("the caller is answered after %s: %v", time.Since(begun), err)
				}
				if err := w.h.Health(); !errors.Is(err, errStalled) {
					t.Errorf("Health is %v", err)
				}
				if took, err := create("third"); took != 0 || !errors.Is(err, errStalled) {
					t.Errorf("a later caller is answered after %s: %v", took, err)
				}
				if err := w.h.barrier(t.Context()); !errors.Is(err, errStalled) || late(time.Since(begun)) {
					t.Errorf("the caller that waits for the batch is answered after %s: %v", time.Since(begun), err)
				}
				time.Sleep(time.Minute)
				w.log.when(nil)
				close(answers)
				synctest.Wait()
				if err := w.h.Health(); err != nil {
					t.Errorf("after the log has answered, Health is %v", err)
				}
				if n := w.log.head() - before; n != 2 {
					t.Errorf("the two waiting commands became %d events; the third was refused", n)
				}
				for _, key := range []string{"first", "second", "third"} {
					if took, err := create(key); err != nil || took != 0 {
						t.Errorf("%s, again with its key, is answered after %s: %v", key, took, err)
					}
				}
				if n := w.log.head() - before; n != 3 {
					t.Errorf("three commands became %d events", n)
				}
			})
		})
	}
}

// A slow log that answers is not reported.
func TestSlowLogIsNotAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
			time.Sleep(stallAfter - time.Millisecond) // each check sees another request
			return store()
		})
		for i := range 5 {
			if _, err := w.do("admin", "task:create", `{"project":"{p}","title":"Build"}`); err != nil {
				t.Errorf("command %d: %v", i, err)
			}
			if err := w.h.Health(); err != nil {
				t.Errorf("command %d: Health is %v", i, err)
			}
		}
	})
}

// A request that does not return is noticed after many that did.
func TestStallIsNoticedDuringTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
			time.Sleep(stallTick / 3)
			return store()
		})
		for range 10 {
			w.must("admin", "task:create", `{"project":"{p}","title":"Build"}`)
		}
		answers := make(chan struct{})
		defer close(answers)
		w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
			<-answers
			return store()
		})
		begun := time.Now()
		_, err := w.do("admin", "task:create", `{"project":"{p}","title":"Build"}`)
		if took := time.Since(begun); !errors.Is(err, errStalled) || took > stallAfter+stallTick {
			t.Errorf("the caller is answered after %s: %v", took, err)
		}
	})
}

// The answer of a late append ends the stall by itself.
func TestLateAnswerEndsStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
			time.Sleep(2 * stallAfter)
			return store()
		})
		if _, err := w.do("admin", "task:create", `{"project":"{p}","title":"Build"}`); !errors.Is(err, errStalled) {
			t.Fatal(err)
		}
		syncs := w.log.syncs
		for w.h.Health() != nil {
			time.Sleep(time.Millisecond)
		}
		if w.log.syncs != syncs {
			t.Error("Health waited for the log to be read again")
		}
	})
}

// A stall of one request is never reported for the next.
func TestOnlyObservedRequestExpires(t *testing.T) {
	s := newStall()
	s.begin()
	seen := s.current()
	s.end()
	s.begin()
	s.expire(seen, func() { t.Error("the next request is taken for the previous one") })
	s.expire(s.current(), func() {})
	select {
	case <-s.waited():
	default:
		t.Error("the stall was not reported")
	}
}
