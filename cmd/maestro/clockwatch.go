package main

import (
	"context"
	"log/slog"
	"time"

	"maestro/internal/clock"
	"maestro/service/wire"
)

// clockLook is how often a running server looks whether the wall clock was set.
const clockLook = time.Second

// wallClock shows the server's clock to the API.
type wallClock struct{ *clock.Clock }

// Status implements service.Clock.
func (c wallClock) Status() wire.ClockStatus { return clockStatus(c.Clock.Status()) }

// Confirm implements service.Clock.
func (c wallClock) Confirm() (wire.ClockStatus, bool) {
	_, changed := c.Clock.Confirm()
	return c.Status(), changed
}

func clockStatus(s clock.Status) wire.ClockStatus {
	what, next := s.Explain()
	return wire.ClockStatus{
		Time:    s.Now,
		Wall:    s.Wall,
		Jumped:  s.Jumped,
		MovedMs: s.Moved.Milliseconds(),
		AheadMs: s.Ahead().Milliseconds(),
		Warning: what,
		Next:    next,
	}
}

// clockWatch notes in the server's log when the wall clock goes wrong, and when it is right again.
type clockWatch struct {
	clock  *clock.Clock
	logger *slog.Logger
	wrong  bool
}

// run looks at every tick until its context ends, and once at the start.
func (w *clockWatch) run(tick <-chan time.Time) func(context.Context) {
	return func(ctx context.Context) {
		for {
			w.look()
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (w *clockWatch) look() {
	what, next := w.clock.Status().Explain()
	switch {
	case what != "" && !w.wrong:
		w.logger.Error("CLOCK: "+what, "next", next)
	case what == "" && w.wrong:
		w.logger.Info("the wall clock and the time of events agree")
	}
	w.wrong = what != ""
}
