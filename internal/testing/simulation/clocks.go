package simulation

import (
	"math/rand/v2"
	"time"

	"maestro/internal/clock"
)

// year is the unit of a wall clock's jumps.
const year = 365 * 24 * time.Hour

// wall is the server's wall clock, which the run sets.
func (s *server) wall() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

// boot is the time since its machine was started. It includes pauses and sleep, and does not depend on the wall clock.
func (s *server) boot() time.Duration { return s.elapsed() + time.Duration(s.slept.Load()) }

// now is the Handler's clock.
func (s *server) now() time.Time {
	if s.clock == nil {
		return s.wall()
	}
	return s.clock.Now()
}

// setClockUp gives a process its clock, which starts by trusting the wall clock.
func (s *server) setClockUp() {
	if s.w.plan.Leaps {
		s.clock = clock.New(s.wall, s.boot)
		s.w.trust(s)
	}
}

// trust records that a process trusts its wall clock as it is now.
func (w *world) trust(s *server) {
	if ahead := s.wall().Sub(w.began) - s.boot(); !w.trusting || ahead > w.ahead {
		w.ahead, w.trusting = ahead, true
	}
}

// latest is the latest time that an event may have now. A wall clock that no process trusted does not make it later. A
// clock continues from the newest event, so the time that one machine sleeps is added to what the others slept before.
func (w *world) latest() time.Time {
	passed := w.lived()
	for _, s := range w.servers {
		passed += time.Duration(s.paused.Load() + s.slept.Load())
	}
	return w.began.Add(passed + w.ahead + clock.Tolerance)
}

// judgeTime checks that an event's time is not after latest.
func (w *world) judgeTime(at time.Time) *Failure {
	if latest := w.latest(); w.plan.Leaps && at.After(latest) {
		return failure("times do not run ahead", "an event has the time %s, and it is at most %s", at, latest)
	}
	return nil
}

// leap moves a wall clock by years, or by about the tolerated difference. Half of the clocks that jumped before return.
func (w *world) leap(s *server, rng *rand.Rand) {
	offset := time.Duration(rng.Int64N(int64(58*year))) - 29*year
	switch rng.IntN(4) {
	case 0:
		offset = 0
	case 1:
		offset = time.Duration(rng.Int64N(int64(4*time.Hour))) - 2*time.Hour
	}
	w.tracef("the clock of %s leaps to %s", s.name, clock.Span(offset))
	w.setClock(s, offset)
}

// confirm lets the operator confirm a server's wall clock.
func (w *world) confirm(s *server) {
	if s.clock == nil {
		return
	}
	for _, c := range w.waiting {
		c.clock()
	}
	_, changed, _ := s.clock.Confirm(func(time.Time) error { return nil }) // always succeeds, so Confirm cannot fail
	w.tracef("the clock of %s is confirmed: %t", s.name, changed)
	if changed {
		w.trust(s)
	}
	for _, c := range w.waiting {
		c.clock()
	}
}

// sleepAll lets every machine sleep.
func (w *world) sleepAll(d time.Duration) {
	w.tracef("every machine sleeps for %s", d)
	for _, s := range w.servers {
		w.skip(s, &s.slept, d)
	}
}

// outlive checks that every session with a timeout has timed out, whatever the clocks did.
func (w *world) outlive() *Failure {
	w.sleepAll(5 * time.Hour)
	if f := w.rest(30 * time.Second); f != nil {
		return f
	}
	m := w.oracle.model()
	for _, id := range m.sessionIDs {
		if x := m.sessions[id]; x.Deadline > 0 && !x.Ended && !x.Deleted {
			return failure("3 each deadline takes effect once", "session %s is past its deadline by every clock", id)
		}
	}
	return nil
}
