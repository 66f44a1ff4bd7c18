package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"maestro/events"
	"maestro/internal/clock"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// clockLook is how often a running server looks whether the wall clock was set.
const clockLook = time.Second

// wallClock shows the server's clock to the API.
type wallClock struct{ *clock.Clock }

// Status implements service.Clock.
func (c wallClock) Status() wire.ClockStatus { return clockStatus(c.Clock.Status()) }

// Confirm implements service.Clock.
func (c wallClock) Confirm() (wire.ClockStatus, bool, error) {
	_, changed, err := c.Clock.Confirm(events.CheckClock)
	return c.Status(), changed, err
}

// checkClock refuses to begin where the machine's clock shows what no event can say.
func checkClock(wall time.Time) error {
	err := events.CheckClock(wall)
	if err == nil {
		return nil
	}
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    "CLOCK",
		Message: "The server does not start: the machine's clock shows " + wall.UTC().Format(time.RFC3339),
		Why:     fmt.Sprintf("events have times of the years %d to %d", events.FirstYear, events.LastYear),
		Next:    "set the machine's clock right, and start the server again",
		Err:     err,
	}
}

func clockStatus(s clock.Status) wire.ClockStatus {
	what, next := s.Explain()
	if what != "" && events.CheckClock(s.Wall) != nil {
		next = "set the machine's clock right: events cannot have the time that it shows, and go on at the earlier pace"
	}
	return wire.ClockStatus{
		Time:    s.Now,
		Wall:    written(s.Wall),
		Jumped:  s.Jumped,
		MovedMs: s.Moved.Milliseconds(),
		AheadMs: s.Ahead().Milliseconds(),
		Warning: what,
		Next:    next,
	}
}

// written gives the nearest time that an answer can have: a clock may show a year with five digits.
func written(at time.Time) time.Time {
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	switch {
	case at.Before(first):
		return first
	case at.After(last):
		return last
	}
	return at
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
