package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/clock"
	"maestro/projections"
)

// leaseWorld is a world whose leases are checked when the test asks for it, on a monotonic clock that the test moves.
type leaseWorld struct {
	*world
	l       *Leases
	elapsed atomic.Int64
	// onClock, when set, is called with each reading of the monotonic clock, before it is answered.
	onClock func()
	// beats, if set, survives a restart of the leases.
	beats HeartbeatStore
}

// fakeBeats remembers in memory which sessions send heartbeats.
type fakeBeats struct {
	known []string
	added int
	err   error
}

func (b *fakeBeats) Load() ([]string, error) { return b.known, b.err }

func (b *fakeBeats) Add(session string) error {
	b.added++
	b.known = append(b.known, session)
	return b.err
}

func (b *fakeBeats) Keep(sessions []string) error {
	b.known = slices.Clone(sessions)
	return b.err
}

func newLeaseWorld(t *testing.T, given ...step) *leaseWorld {
	t.Helper()
	w := &leaseWorld{world: newWorld(t)}
	for _, s := range given {
		w.take(s)
	}
	w.elapsed.Store(int64(1000 * time.Hour)) // as on a machine that has been running for a while
	w.l = w.leases(w.h)
	return w
}

// leases creates leases that only the test checks.
func (w *leaseWorld) leases(h *Handler) *Leases {
	w.t.Helper()
	l, err := NewLeases(LeasesConfig{
		Handler: h,
		Elapsed: func() time.Duration {
			if w.onClock != nil {
				w.onClock()
			}
			return time.Duration(w.elapsed.Load())
		},
		After: func(time.Duration) <-chan time.Time { return nil },
		Beats: w.beats,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// restart closes the Handler, as after a crash, and opens another on the same log, with new leases.
func (w *leaseWorld) restart() {
	w.t.Helper()
	w.h.Close()
	w.h = open(w.t, Config{Log: w.log, Now: w.now})
	w.l = w.leases(w.h)
}

// jump moves both clocks without a check of the leases.
func (w *leaseWorld) jump(d time.Duration) {
	w.elapsed.Add(int64(d))
	w.pass(d)
}

// run lets time pass as Run does: it checks the leases at every interval, and returns items when a session ends.
func (w *leaseWorld) run(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= w.l.every {
		w.jump(min(d, w.l.every))
		w.l.look(w.t.Context())
		for len(w.h.gone) > 0 {
			<-w.h.gone
			w.l.giveBack(w.t.Context())
		}
	}
}

// beat sends a heartbeat of each of these sessions.
func (w *leaseWorld) beat(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if err := w.l.Heartbeat(w.t.Context(), w.ids[name]); err != nil {
			w.t.Errorf("heartbeat of %s: %v", name, err)
		}
	}
}

// hear makes a call of each of these sessions that requests nothing.
func (w *leaseWorld) hear(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if err := w.l.Heard(w.t.Context(), w.ids[name]); err != nil {
			w.t.Errorf("%s was heard: %v", name, err)
		}
	}
}

// happened returns the events after a sequence: "session.lost w", "queue.item_returned t1".
func (w *leaseWorld) happened(since uint64) []string {
	w.t.Helper()
	var happened []string
	for _, m := range w.log.messages[since:w.log.head()] {
		var e struct {
			Type string
			Data struct{ TaskID, SessionID string }
		}
		if err := json.Unmarshal(m.Body, &e); err != nil {
			w.t.Fatal(err)
		}
		about := e.Data.TaskID
		if about == "" {
			about = e.Data.SessionID
		}
		for name, id := range w.ids {
			if id == about {
				about = name
			}
		}
		happened = append(happened, strings.TrimSuffix(strings.TrimPrefix(e.Type, "maestro."), ".v1")+" "+about)
	}
	return happened
}

// expect compares the events since a sequence with a list, and returns the current sequence.
func (w *leaseWorld) expect(when string, since uint64, want ...string) uint64 {
	w.t.Helper()
	if got := w.happened(since); !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q", when, got, want)
	}
	return w.log.head()
}

// audited runs the audit on the whole log.
func (w *leaseWorld) audited() {
	w.t.Helper()
	if verdict := verify(w.t, w.log.messages); len(verdict.Faults) != 0 {
		w.t.Errorf("%+v", verdict.Faults)
	}
}

// all are the living sessions of a world.
var all = []string{"o", "w", "v", "r", "k"}

// A session that sends heartbeats is lost after the short lease, one that never has after the long one; each exactly
// once.
func TestSilentSessionsAreLost(t *testing.T) {
	w := newLeaseWorld(t)
	at := w.log.head()
	w.l.look(t.Context())
	w.run(30 * time.Second)
	w.beat("w", "v")
	for range 6 { // v continues
		w.run(9 * time.Second)
		w.beat("v")
	}
	at = w.expect("within the lease", at)
	w.run(10 * time.Second)
	w.beat("v")
	at = w.expect("after the lease", at, "session.lost w")
	lost := dataOf(t, w.log.messages[at-1]).(*events.SessionLost)
	if silent := w.now().UnixMilli() - lost.LastHeard; lost.Lease != 60_000 || silent < 60_000 || silent > 66_000 {
		t.Errorf("lost with a lease of %d ms, last heard %d ms ago", lost.Lease, silent)
	}
	for range 12*60/9 + 1 {
		w.run(9 * time.Second)
		w.beat("v")
	}
	w.hear("o") // and has sent no heartbeat
	at = w.expect("within the long lease", at)
	for range 20 {
		w.run(9 * time.Second)
		w.beat("v")
	}
	at = w.expect("after the long lease", at, "session.lost r", "session.lost k")
	if lost := dataOf(t, w.log.messages[at-1]).(*events.SessionLost); lost.Lease != QuietLease.Milliseconds() {
		t.Errorf("lost with a lease of %d ms", lost.Lease)
	}
	w.run(time.Hour)
	w.expect("in the end", at, "session.lost v", "session.lost o")
	w.audited()
}

// A session spawned later has its lease from then on, and one that has ended is not lost.
func TestLeasesOfNewAndOldSessions(t *testing.T) {
	w := newLeaseWorld(t)
	w.l.look(t.Context())
	w.run(14 * time.Minute)
	w.hear(all...)
	w.take(step{"admin>n", "session:spawn", `{"project":"{p}","taskIds":["{t2}"]}`})
	at := w.log.head()
	w.run(14 * time.Minute)
	w.hear(all...)
	at = w.expect("within its own lease", at)
	w.run(2 * time.Minute)
	at = w.expect("after it", at, "session.lost n")
	for _, name := range all {
		w.take(kill(name))
	}
	at += uint64(len(all))
	w.run(time.Hour)
	w.expect("of those that were killed", at)
	if n := len(w.l.heard); n != 1 {
		t.Errorf("%d sessions are remembered, but only one exists", n)
	}
}

// The item of a lost session returns to the front; after the last attempt it is quarantined.
func TestItemsOfTheLost(t *testing.T) {
	w := newLeaseWorld(t, named, puller("a"), puller("b"), puller("c"), pushTo("t1"), pushTo("t2"), starts("a"))
	w.l.look(t.Context())
	at := w.log.head()
	holder := []string{"a", "b", "c"}
	for i, name := range holder {
		w.beat(holder[i:]...)
		for range 7 {
			w.run(9 * time.Second)
			w.beat(holder[i+1:]...)
		}
		if i == 2 {
			w.expect("after the last attempt", at, "session.lost c", "queue.item_quarantined t1")
			break
		}
		at = w.expect("after attempt "+name, at, "session.lost "+name, "queue.item_returned t1")
		w.h.View(func(s *projections.State) {
			if top, _ := s.Top(s.Queue(w.ids["p"], "main")); top == nil || top.TaskID != w.ids["t1"] ||
				top.Attempts != i+1 {
				t.Errorf("first in line after attempt %d: %+v", i+1, top)
			}
		})
		w.take(starts(holder[i+1]))
		at++
	}
	w.run(time.Minute)
	w.h.View(func(s *projections.State) {
		if item := s.Item(w.ids["p"], "main", w.ids["t1"]); item.Status != events.ItemQuarantined ||
			item.Attempts != 3 {
			t.Errorf("%+v", item)
		}
	})
	w.audited()
}

// The time of a session's last call depends only on its calls: it is unknown before the first, and a pause of the
// process does not change it.
func TestLastHeard(t *testing.T) {
	w := newLeaseWorld(t, step{"admin>a", "session:spawn", `{"project":"{p}","taskIds":["{t1}"]}`})
	w.run(time.Second)
	if ago, ok := w.l.LastHeard(w.ids["a"]); ok {
		t.Errorf("it never called, but was last heard %s ago", ago)
	}
	for name, call := range map[string]func(...string){"a call": w.hear, "a heartbeat": w.beat} {
		call("a")
		w.run(10 * time.Second)
		w.jump(time.Hour) // a pause of the process
		if ago, ok := w.l.LastHeard(w.ids["a"]); !ok || ago != time.Hour+10*time.Second {
			t.Errorf("after %s it was heard %s ago: %t", name, ago, ok)
		}
		w.l.look(t.Context())
		if ago, _ := w.l.LastHeard(w.ids["a"]); ago != time.Hour+10*time.Second {
			t.Errorf("after %s and a pause it was heard %s ago", name, ago)
		}
	}
}

// A session that is heard again is recovered before its command is decided. By then, another session may hold its item,
// or it may still hold the item itself.
func TestRecovery(t *testing.T) {
	w := newLeaseWorld(t, named, puller("a"), pushTo("t1"), pushTo("t2"), starts("a"))
	w.l.look(t.Context())
	w.beat("a")
	at := w.log.head()
	w.run(70 * time.Second)
	at = w.expect("silent", at, "session.lost a", "queue.item_returned t1")
	if _, err := w.do("a", "queue:start", `{}`); code(err) != commands.CodeConflict {
		t.Errorf("a start by a lost session that was not heard: %v", err)
	}
	var together sync.WaitGroup
	for range 20 {
		together.Go(func() { w.hear("a") })
	}
	together.Wait()
	at = w.expect("heard, twenty times at once", at, "session.recovered a")
	if _, err := w.do("a", "queue:complete", `{}`); code(err) != commands.CodeConflict {
		t.Errorf("completing an item that it no longer holds gives: %v", err)
	}
	w.take(starts("a"))
	at = w.expect("it starts again", at, "queue.item_started t1")
	w.run(70 * time.Second)
	at = w.expect("silent again", at, "session.lost a", "queue.item_returned t1")
	w.beat("a")
	at = w.expect("and heard again", at, "session.recovered a")
	w.hear("a", "e", "w")
	if err := w.l.Heard(t.Context(), "nobody"); err != nil {
		t.Error(err)
	}
	w.expect("who is there, who has ended, and who never was", at)
	w.audited()
}

// Heard fails if the recovery cannot be written: then the session's command must not be decided.
func TestUnwritableRecovery(t *testing.T) {
	w := newLeaseWorld(t, lose("w"))
	w.log.when(func(uint64, []events.Message, func() error) error { return events.ErrFull })
	var unavailable *UnavailableError
	if err := w.l.Heard(t.Context(), w.ids["w"]); !errors.As(err, &unavailable) {
		t.Errorf("heard: %v", err)
	}
}

// A session that is heard while its loss is being written keeps its item.
func TestHeardJustInTime(t *testing.T) {
	for name, which := range map[string]string{"before its turn": "b", "while it is written": "a"} {
		t.Run(name, func(t *testing.T) {
			w := newLeaseWorld(t, named, puller("a"), puller("b"), pushTo("t1"), pushTo("t2"), starts("a"), starts("b"))
			w.l.look(t.Context())
			w.beat("a", "b")
			w.run(55 * time.Second)
			at := w.log.head()
			first := true
			w.log.when(func(_ uint64, _ []events.Message, append func() error) error {
				if first {
					first = false
					w.beat(which)
				}
				return append()
			})
			w.run(10 * time.Second)
			w.log.when(nil)
			if which == "b" {
				w.expect("b was heard", at, "session.lost a", "queue.item_returned t1")
			} else {
				w.expect("a was heard", at, "session.lost a", "session.recovered a", "session.lost b",
					"queue.item_returned t2")
			}
			w.audited()
		})
	}
}

// running runs the leases until the test ends, without a timer: they check only when poked.
func (w *leaseWorld) running() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { w.l.Run(ctx) })
	return func() { cancel(); done.Wait() }
}

// The item of a session that ended is returned at once, without waiting for the next check.
func TestItemsOfTheEnded(t *testing.T) {
	for name, c := range map[string]struct {
		end    step
		reason string
	}{
		"killed":           {kill("a"), "stopped"},
		"failed":           {step{"admin", "session:kill", `{"sessionId":"{a}","failed":true}`}, "failed"},
		"deleted":          {step{"admin", "session:delete", `{"sessionId":"{a}"}`}, "deleted"},
		"marked elsewhere": {lose("a"), "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newLeaseWorld(t, named, puller("a"), pushTo("t1"), starts("a"))
				defer w.h.Close()
				defer w.running()()
				synctest.Wait()
				at := w.log.head()
				begun := time.Now()
				w.take(c.end)
				synctest.Wait()
				if happened := w.happened(at); len(happened) != 2 || happened[1] != "queue.item_returned t1" ||
					time.Since(begun) != 0 {
					t.Fatalf("%q after %s", happened, time.Since(begun))
				}
				if d := dataOf(t, w.log.messages[at+1]).(*events.QueueItemReturned); d.Reason != c.reason {
					t.Errorf("because its session is %s", d.Reason)
				}
			})
		})
	}
}

// After a crash between a session's end and the return of its item, the next process that opens the log returns the
// item.
func TestCrashBetweenAnEndAndItsConsequence(t *testing.T) {
	for name, end := range map[string]step{"killed": kill("a"), "lost": lose("a"), "deleted": {
		"admin",
		"session:delete", `{"sessionId":"{a}"}`,
	}} {
		t.Run(name, func(t *testing.T) {
			w := newLeaseWorld(t, named, puller("a"), pushTo("t1"), starts("a"), end)
			w.restart()
			at := w.log.head()
			w.l.look(t.Context())
			at = w.expect("after the restart", at, "queue.item_returned t1")
			w.l.look(t.Context())
			w.restart()
			w.l.look(t.Context())
			w.expect("and once only", at)
			w.audited()
		})
	}
}

// A session with a timeout ends when the timeout has passed, whether it is heard or not.
func TestTimeouts(t *testing.T) {
	w := newLeaseWorld(
		t,
		step{"admin>a", "session:spawn", `{"project":"{p}","strategy":"queue","taskIds":["{t1}"],"timeout":60000}`},
		starts("a"),
	)
	w.l.look(t.Context())
	at := w.log.head()
	for range 6 {
		w.beat("a")
		w.run(9 * time.Second)
	}
	at = w.expect("in time", at)
	w.beat("a")
	w.run(15 * time.Second)
	at = w.expect("out of time", at, "session.timed_out a", "queue.item_returned t1")
	w.run(time.Minute)
	w.expect("once", at)
	w.audited()
}

// A session times out within a second of its deadline, also one that was spawned since the last check of the leases.
func TestTimeoutsArePunctual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := newLeaseWorld(t), time.Now()
		l, err := NewLeases(LeasesConfig{
			Handler: w.h,
			Elapsed: func() time.Duration { return time.Since(began) },
			After:   time.After,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		pass(500 * time.Millisecond)
		for name, timeout := range map[string]time.Duration{"a": 2 * time.Second, "b": 11 * time.Second} {
			w.make(name, "admin", "session:spawn",
				`{"project":"{p}","taskIds":["{t1}"],"timeout":`+strconv.FormatInt(timeout.Milliseconds(), 10)+`}`)
		}
		at := w.log.head()
		for _, next := range []struct {
			name  string
			after time.Duration
		}{{"a", 2 * time.Second}, {"b", 8 * time.Second}} {
			pass(next.after - 200*time.Millisecond)
			at = w.expect("before the deadline", at)
			pass(lookAtDeadlines + 200*time.Millisecond)
			at = w.expect("a second after it", at, "session.timed_out "+next.name)
		}
		stop()
		running.Wait()
	})
}

// Setting a wall clock forward does not shorten a session's timeout.
func TestTimeoutsOnASetClock(t *testing.T) {
	w := newLeaseWorld(t, step{"admin>a", "session:spawn", `{"project":"{p}","taskIds":["{t1}"],"timeout":60000}`})
	w.l.look(t.Context())
	at := w.log.head()
	w.pass(59 * time.Minute) // the wall clock alone
	w.run(50 * time.Second)
	at = w.expect("in time", at)
	w.run(15 * time.Second)
	w.expect("out of time", at, "session.timed_out a")
	w.audited()
}

// A session's timeout is right even on a log whose newest event is decades ahead of the wall clock.
func TestTimeoutsOnALogFromTheFuture(t *testing.T) {
	w := newLeaseWorld(t)
	w.pass(30 * 365 * 24 * time.Hour)
	w.must("admin", "task:create", `{"project":"{p}","title":"Later"}`)
	w.h.Close()
	w.pass(-30 * 365 * 24 * time.Hour)
	trusted := clock.New(w.now, func() time.Duration { return time.Duration(w.elapsed.Load()) })
	w.h = open(t, Config{Log: w.log, Now: trusted.Now, Follow: trusted.Follow})
	w.l = w.leases(w.h)
	w.make("a", "admin", "session:spawn", `{"project":"{p}","taskIds":["{t1}"],"timeout":2000}`)
	at := w.log.head()
	w.l.look(t.Context())
	at = w.expect("in time", at)
	w.jump(3 * time.Second)
	w.l.look(t.Context())
	w.expect("out of time", at, "session.timed_out a")
	w.h.View(func(s *projections.State) {
		if ahead := s.At().Sub(w.now()); ahead > 30*365*24*time.Hour+time.Minute {
			t.Errorf("the newest event is %s ahead", ahead)
		}
	})
	w.audited()
}

// A laptop's sleep stops the monotonic clock but not the wall clock: no session is lost when it wakes.
func TestSleepOfTheMachine(t *testing.T) {
	w := newLeaseWorld(t, push("t1"), start)
	w.l.look(t.Context())
	w.beat(all...)
	w.run(30 * time.Second)
	at := w.log.head()
	w.pass(8 * time.Hour)
	w.l.look(t.Context())
	w.run(20 * time.Second)
	at = w.expect("after eight hours of sleep", at)
	w.run(20 * time.Second)
	if happened := w.happened(at); len(happened) != 6 {
		t.Errorf("and a lease later: %q", happened)
	}
	w.audited()
}

// A process that was suspended for minutes heard no session meanwhile: all leases restart, whatever it was doing when
// it was suspended.
func TestPauseOfTheProcess(t *testing.T) {
	for name, pause := range map[string]func(w *leaseWorld){
		"between two checks": func(w *leaseWorld) {
			w.jump(5 * time.Minute)
			w.l.look(w.t.Context())
		},
		"during a check": func(w *leaseWorld) {
			readings := 0
			w.onClock = func() {
				if readings++; readings == 2 {
					w.jump(5 * time.Minute)
				}
			}
			w.run(5 * time.Second)
			w.onClock = nil
			w.run(5 * time.Second)
		},
		"while something is written": func(w *leaseWorld) {
			w.take(kill("e2"))
			w.log.when(func(_ uint64, _ []events.Message, append func() error) error {
				w.log.when(nil)
				w.jump(5 * time.Minute)
				return append()
			})
			w.run(10 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLeaseWorld(t, named, puller("e2"), pushTo("t2"), starts("e2"), push("t1"), start)
			w.l.look(t.Context())
			w.beat(append(all, "e2")...)
			w.run(30 * time.Second)
			pause(w)
			at := w.log.head()
			w.run(40 * time.Second)
			w.h.View(func(s *projections.State) {
				for _, name := range all {
					if gone := s.Gone(w.ids[name]); gone != "" {
						t.Errorf("%s is %s", name, gone)
					}
				}
				if s.Holds(s.Session(w.ids["k"])) == nil {
					t.Error("an item in progress was returned")
				}
			})
			w.beat(all...)
			w.run(55 * time.Second)
			for _, what := range w.happened(at) {
				if strings.HasPrefix(what, "session.lost") && what != "session.lost e2" {
					t.Errorf("heard after the pause, but: %s", what)
				}
			}
			w.run(10 * time.Second)
			if happened := strings.Join(w.happened(at), ", "); !strings.Contains(happened, "session.lost k") {
				t.Errorf("silent after the pause: %s", happened)
			}
			w.audited()
		})
	}
}

// Silence is measured on the monotonic clock: setting back the wall clock does not extend a lease.
func TestClockSetBack(t *testing.T) {
	w := newLeaseWorld(t, push("t1"), start)
	w.l.look(t.Context())
	w.beat("k")
	w.run(30 * time.Second)
	at := w.log.head()
	w.pass(-time.Hour)
	w.run(40 * time.Second)
	w.expect("an hour back", at, "session.lost k", "queue.item_returned t1")
	w.audited()
}

// A server that starts does not know how long sessions have been silent: every lease starts then.
func TestFreshLeasesAfterARestart(t *testing.T) {
	w := newLeaseWorld(t, push("t1"), start)
	w.l.look(t.Context())
	w.beat("k", "w")
	w.run(55 * time.Second)
	at := w.log.head()
	w.restart()
	w.l.look(t.Context())
	w.run(30 * time.Second)
	at = w.expect("after the restart", at)
	w.beat("k")
	w.run(70 * time.Second)
	at = w.expect("a heartbeat, and silence", at, "session.lost k", "queue.item_returned t1")
	w.restart()
	w.beat("k")
	at = w.expect("heard after another restart", at, "session.recovered k")
	w.run(14 * time.Minute) // in the same quiet lease for w
	w.expect("and silent", at, "session.lost k")
}

// A session that sends heartbeats still has the short lease after a restart, and is forgotten when it ends.
func TestHeartbeatsOutliveARestart(t *testing.T) {
	w := newLeaseWorld(t, push("t1"), start)
	beats := &fakeBeats{}
	w.beats = beats
	w.restart()
	w.l.look(t.Context())
	w.beat("k", "w", "k", "w")
	w.hear("v")
	if beats.added != 2 {
		t.Errorf("%d were recorded, want each once", beats.added)
	}
	w.take(kill("w"))
	beats.known = append(beats.known, "nobody", w.ids["k"])
	at := w.log.head()
	w.run(30 * time.Second)
	w.restart()
	if !slices.Equal(beats.known, []string{w.ids["k"]}) {
		t.Errorf("known after the restart: %q", beats.known)
	}
	w.l.look(t.Context())
	w.run(55 * time.Second)
	at = w.expect("within its new lease", at)
	w.run(10 * time.Second)
	at = w.expect("after it", at, "session.lost k", "queue.item_returned t1")

	beats.err = errors.New("the disk is full")
	w.restart()
	w.l.look(t.Context())
	w.beat("k", "r")
	at = w.expect("what cannot be noted is heard all the same", at, "session.recovered k")
	w.run(70 * time.Second)
	w.expect("and its lease is the short one", at, "session.lost r", "session.lost k")
}

// On a shared log, a check reads what another server wrote.
func TestLeasesOfASharedLog(t *testing.T) {
	w := newLeaseWorld(t)
	other := w.h
	w.h = open(t, Config{Log: w.log, Now: w.now, Shared: true})
	w.l = w.leases(w.h)
	w.l.look(t.Context())
	ours := w.h
	w.h = other
	w.take(step{"admin>n", "session:spawn", `{"project":"{p}","strategy":"queue","taskIds":["{t1}"]}`})
	w.take(starts("n"))
	w.take(kill("n"))
	w.h = ours
	at := w.log.head()
	w.l.look(t.Context())
	at = w.expect("what another server's session held", at, "queue.item_returned t1")
	w.log.whenSynced(func() error { return events.ErrUnknown })
	w.run(time.Hour)
	w.expect("while the log cannot be read", at)
	w.log.whenSynced(nil)
	w.audited()
}

// A session that said it is done is not lost, unless it holds an item.
func TestCompletedSessionsAreNotLost(t *testing.T) {
	done := func(name string) step { return step{name, "session:complete", `{}`} }
	w := newLeaseWorld(t, push("t1"), start, done("k"), done("w"))
	w.l.look(t.Context())
	w.beat("k", "w")
	at := w.log.head()
	w.run(5 * time.Minute)
	w.expect("silent", at, "session.lost k", "queue.item_returned t1")
}

// While the log accepts no writes, the leases do nothing, and no session is lost because of that; afterwards they do
// what is due.
func TestLeasesInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLeaseWorld(
			t, named, puller("a"), puller("b"), pushTo("t1"), pushTo("t2"), starts("a"), starts("b"), kill("a"),
		)
		defer w.h.Close()
		at := w.log.head()
		w.log.when(func(uint64, []events.Message, func() error) error { return events.ErrFull })
		w.log.whenSynced(func() error { return events.ErrFull })
		w.beat("b")
		w.l.look(t.Context()) // discovers that the log accepts writes
		appends := len(w.log.appended())
		w.run(10 * time.Minute)
		if n := len(w.log.appended()) - appends; n != 0 {
			t.Errorf("%d appends were tried while the log's state was unknown", n)
		}
		w.log.when(nil)
		w.log.whenSynced(nil)
		time.Sleep(doubtEvery + time.Millisecond) // of the bubble's clock
		synctest.Wait()
		w.l.look(t.Context())
		at = w.expect("there is room again", at, "queue.item_returned t1")
		w.run(70 * time.Second)
		w.expect("and a lease later", at, "session.lost b", "queue.item_returned t2")
		w.audited()
	})
}

// The leases write nothing to a damaged log.
func TestLeasesOfADamagedLog(t *testing.T) {
	w := newLeaseWorld(t, push("t1"), start, kill("k"))
	w.log.when(func(uint64, []events.Message, func() error) error { return events.ErrReadOnly })
	if _, err := w.note("n"); !errors.Is(err, events.ErrReadOnly) {
		t.Fatal(err)
	}
	w.log.when(nil)
	at, appends := w.log.head(), len(w.log.appended())
	w.run(time.Hour)
	w.expect("read-only", at)
	if n := len(w.log.appended()) - appends; n != 0 {
		t.Errorf("%d appends were tried", n)
	}
}

// Nothing happens twice because of an unknown outcome, or because two servers find the same thing due.
func TestSessionIsLostOnce(t *testing.T) {
	w := newLeaseWorld(t, push("t1"), start)
	w.l.look(t.Context())
	w.beat("k")
	first := true
	w.log.when(func(_ uint64, _ []events.Message, append func() error) error {
		err := append()
		if first {
			first = false
			return events.ErrUnknown
		}
		return err
	})
	at := w.log.head()
	w.run(70 * time.Second)
	at = w.expect("with an unknown outcome", at, "session.lost k", "queue.item_returned t1")
	w.log.when(nil)

	second := open(t, Config{Log: w.log, Now: w.now, Shared: true})
	other := w.leases(second)
	ours := w.l
	w.beat("w")
	if err := other.Heartbeat(t.Context(), w.ids["w"]); err != nil {
		t.Fatal(err)
	}
	for range 14 {
		w.jump(5 * time.Second)
		ours.look(t.Context())
		w.jump(time.Millisecond) // so that the two differ
		other.look(t.Context())
	}
	w.expect("by two servers", at, "session.lost w")
	w.audited()
}

func TestNewLeases(t *testing.T) {
	w := newWorld(t)
	elapsed := func() time.Duration { return 0 }
	for _, config := range []LeasesConfig{{}, {Handler: w.h}, {Handler: w.h, Elapsed: elapsed}, {
		Elapsed: elapsed,
		After:   time.After,
	}} {
		if _, err := NewLeases(config); err == nil {
			t.Errorf("leases were created from %+v", config)
		}
	}
	for _, c := range []struct{ lease, quiet, wantLease, wantQuiet, every time.Duration }{
		{0, 0, DefaultLease, QuietLease, 5 * time.Second},
		{time.Hour, 0, time.Hour, time.Hour, 5 * time.Second},
		{6 * time.Second, time.Minute, 6 * time.Second, time.Minute, time.Second},
		{time.Millisecond, 0, time.Millisecond, QuietLease, 20 * time.Millisecond},
	} {
		l, err := NewLeases(
			LeasesConfig{
				Handler: w.h,
				Elapsed: elapsed,
				After:   time.After,
				Lease:   c.lease,
				Quiet:   c.quiet,
			},
		)
		if err != nil || l.Lease() != c.wantLease || l.config.Quiet != c.wantQuiet || l.every != c.every {
			t.Errorf("%+v: %s, %s, every %s, %v", c, l.Lease(), l.config.Quiet, l.every, err)
		}
	}
}

// Run with its timer, in the time of a bubble: a lease of a second, and many sessions that are heard concurrently.
func TestLeasesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		begun := time.Now()
		l, err := NewLeases(
			LeasesConfig{
				Handler: w.h,
				Elapsed: func() time.Duration { return time.Since(begun) },
				After:   time.After,
				Lease:   time.Second,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		var beating sync.WaitGroup
		for _, name := range all {
			id := w.ids[name]
			beating.Go(func() {
				for range 30 {
					if err := l.Heartbeat(ctx, id); err != nil {
						t.Error(err)
					}
					time.Sleep(500 * time.Millisecond) // of the bubble's clock
				}
			})
		}
		at := w.log.head()
		beating.Wait()
		if w.log.head() != at {
			t.Errorf("%d events while all were heard", w.log.head()-at)
		}
		time.Sleep(time.Second) // of the bubble's clock
		synctest.Wait()
		if n := w.log.head() - at; n != uint64(len(all)) {
			t.Errorf("%d of %d were lost", n, len(all))
		}
		cancel()
		running.Wait()
	})
}

// A server that was delayed while its process ran is not a machine that slept: a silent session stays silent, and the
// delay counts for no lease.
func TestDelayedServerIsNotASleep(t *testing.T) {
	w := newLeaseWorld(t, named)
	w.l.look(t.Context())
	w.beat(all...)
	w.run(30 * time.Second)
	w.beat("w")
	w.l.pulse.beat()
	for range 24 { // two minutes in which the process runs without a check
		w.jump(w.l.every)
		w.l.pulse.beat()
	}
	at := w.log.head()
	w.l.look(t.Context())
	if happened := w.happened(at); len(happened) != 0 {
		t.Errorf("the time in which the server was delayed counts: %v", happened)
	}
	w.run(35 * time.Second)
	happened := strings.Join(w.happened(at), ", ")
	if !strings.Contains(happened, "session.lost k") || strings.Contains(happened, "session.lost w") {
		t.Errorf("%s; want the loss of the session silent for 30 s before, not of the one just heard", happened)
	}
	w.run(30 * time.Second)
	if happened := strings.Join(w.happened(at), ", "); !strings.Contains(happened, "session.lost w") {
		t.Errorf("%s; want the loss of the silent session", happened)
	}
}
