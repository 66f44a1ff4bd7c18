package simulation

import (
	"math/rand/v2"
	"time"

	"maestro/internal/clock"
)

// year is how far a wall clock leaps, times some.
const year = 365 * 24 * time.Hour

// wall is the server's wall clock, which the run sets.
func (s *server) wall() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

// boot is the time since its machine was started: it counts pauses and sleep, and knows nothing of the wall clock.
func (s *server) boot() time.Duration { return s.elapsed() + time.Duration(s.slept.Load()) }

// now is what the Handler has for a clock.
func (s *server) now() time.Time {
	if s.clock == nil {
		return s.wall()
	}
	return s.clock.Now()
}

// setClockUp gives a process its clock, which takes the wall clock to be right.
func (s *server) setClockUp() {
	if s.w.plan.Leaps {
		s.clock = clock.New(s.wall, s.boot)
		s.w.trust(s)
	}
}

// trust notes that a process has taken its wall clock to be right.
func (w *world) trust(s *server) {
	if ahead := s.wall().Sub(w.began) - s.boot(); !w.trusting || ahead > w.ahead {
		w.ahead, w.trusting = ahead, true
	}
}

// latest is the latest time that an event may have now: no wall clock that nobody took to be right makes it later. A
// clock continues from the newest event, so what one machine sleeps is added to what the others slept before.
func (w *world) latest() time.Time {
	passed := w.lived()
	for _, s := range w.servers {
		passed += time.Duration(s.paused.Load() + s.slept.Load())
	}
	return w.began.Add(passed + w.ahead + clock.Tolerance)
}

// judgeTime expects a time not to run away.
func (w *world) judgeTime(at time.Time) *Failure {
	if latest := w.latest(); w.plan.Leaps && at.After(latest) {
		return failure("times do not run away", "an event has the time %s, and it is at most %s", at, latest)
	}
	return nil
}

// leap sets a wall clock by years, or by about as much as is tolerated; half of those who leapt before come back.
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

// confirm lets the operator take a server's wall clock to be right.
func (w *world) confirm(s *server) {
	if s.clock == nil {
		return
	}
	for _, c := range w.waiting {
		c.clock()
	}
	_, changed, _ := s.clock.Confirm(func(time.Time) error { return nil }) // so it cannot fail
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

// outlive expects every session that was given a time to have had it, whatever became of the clocks.
func (w *world) outlive() *Failure {
	w.sleepAll(5 * time.Hour)
	if f := w.rest(30 * time.Second); f != nil {
		return f
	}
	m := w.oracle.model()
	for _, id := range m.sessionIDs {
		if x := m.sessions[id]; x.Deadline > 0 && !x.Ended && !x.Deleted {
			return failure("3 a deadline comes once", "session %s has had its time by any clock, and goes on", id)
		}
	}
	return nil
}
