package engine

import (
	"testing"
	"time"
)

// quiet keeps the other sessions of a world out of the way for a while.
func (w *leaseWorld) quiet(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= 5 * time.Minute {
		w.run(min(d, 5*time.Minute))
		w.hear(all...)
	}
}

// The time limit of a resumed session starts again, and takes effect again; so does its lease.
func TestLeasesOfAResumedSession(t *testing.T) {
	w := newLeaseWorld(t, step{
		"admin>a", "session:spawn",
		`{"project":"{p}","taskIds":["{t2}"],"runner":"runner","timeout":1200000}`,
	}, claimA)
	w.l.look(t.Context())
	at := w.log.head()
	w.beat("a")
	w.quiet(time.Minute)
	at = w.expect("after its lease", at, "session.lost a")
	w.take(resume)
	at++
	w.quiet(14*time.Minute + 30*time.Second)
	at = w.expect("while it waits for its runner", at)
	w.take(claimA)
	at++
	w.hear("a")
	for range 5 {
		w.beat("a")
		w.run(50 * time.Second)
		w.hear(all...)
	}
	at = w.expect("while it runs", at)
	w.beat("a")
	w.hear("a")
	w.run(50 * time.Second)
	w.beat("a")
	w.run(50 * time.Second)
	w.beat("a")
	w.run(50 * time.Second)
	at = w.expect("at its second deadline", at, "session.timed_out a")
	w.take(resume)
	at++
	w.hear(all...)
	w.quiet(10 * time.Minute)
	w.take(claimA)
	at = w.expect("after the second end", at, "session.claimed a")
	for range 14 {
		w.beat("a")
		w.run(50 * time.Second)
		w.hear(all...)
	}
	w.expect("at its third deadline", at, "session.timed_out a")
	w.audited()
}

// A session whose agent ended while it waits for an answer is not lost, however long that takes.
func TestWaitingSessionsAreNotLost(t *testing.T) {
	w := newLeaseWorld(t, spawnA, claimA, asksA, waitA)
	w.l.look(t.Context())
	at := w.log.head()
	w.quiet(50 * time.Minute)
	at = w.expect("while it waits", at)
	w.take(step{"admin", "input:answer", `{"inputId":"{i}","answer":"main"}`})
	w.take(claimA)
	at += 2
	w.quiet(2 * time.Minute)
	w.expect("in its next run", at)
	w.audited()
}
