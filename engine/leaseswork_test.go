package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/projections"
)

// reads counts the look-ups in the committed state from now on.
func (w *world) reads() (reads *uint64) {
	w.h.View(func(s *projections.State) { reads = s.CountReads() })
	return reads
}

// crowd spawns n sessions and returns their names.
func (w *world) crowd(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("x", i)
		w.take(step{"admin>" + names[i], "session:spawn", `{"project":"{p}","taskIds":["{t2}"]}`})
	}
	return names
}

// The cost of checking the leases depends on what is alive, not on all sessions and projects that ever existed.
func TestLeasesCheckLivingSessionsOnly(t *testing.T) {
	w := newLeaseWorld(t)
	const ended = 300
	for _, name := range w.crowd(ended) {
		w.take(kill(name))
	}
	for i := range ended {
		w.take(step{"admin>project" + fmt.Sprint(i), "project:create", `{"name":"P"}`})
	}
	reads := w.reads()
	w.l.look(t.Context())
	if most := uint64(len(all) * 10); *reads > most {
		t.Errorf("%d look-ups with %d living sessions, at most %d are allowed", *reads, len(all), most)
	}
}

// running runs leases with a second's lease in the time of a bubble, and returns what ends them.
func (w *world) running() (stop func()) {
	w.t.Helper()
	begun := time.Now()
	l, err := NewLeases(LeasesConfig{
		Handler: w.h,
		Elapsed: func() time.Duration { return time.Since(begun) },
		After:   time.After,
		Lease:   time.Second,
		Quiet:   time.Second,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	synctest.Wait()
	return func() { cancel(); running.Wait() }
}

// The end of a session makes the leases look for its item, not at all other sessions.
func TestSessionEndLooksForItemsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		names := w.crowd(200)
		kills := func(name string) uint64 {
			reads := w.reads()
			w.take(kill(name))
			synctest.Wait()
			return *reads
		}
		alone := kills(names[0])
		defer w.running()()
		if with := kills(names[1]); with > alone+20 {
			t.Errorf("%d look-ups for an end among %d sessions, and %d without leases", with, len(names), alone)
		}
	})
}

// Sessions that end one after another do not delay the check for silent sessions.
func TestEndsDoNotDelayTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		names := w.crowd(40)
		defer w.running()()
		for _, name := range names[:30] {
			w.take(kill(name))
			time.Sleep(50 * time.Millisecond) // of the bubble's clock
		}
		lost := 0
		for _, m := range w.log.messages {
			if strings.Contains(string(m.Body), "maestro.session.lost.v1") {
				lost++
			}
		}
		if lost == 0 {
			t.Error("no silent session was lost in a lease and a half")
		}
	})
}
