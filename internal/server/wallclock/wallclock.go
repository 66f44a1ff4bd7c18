package wallclock

import (
	"fmt"
	"net/http"
	"time"

	"maestro/events"
	"maestro/internal/clock"
	"maestro/internal/failure"
	"maestro/service/wire"
)

// Shown is the server's clock as the API shows it.
type Shown struct{ *clock.Clock }

// Status implements service.Clock.
func (c Shown) Status() wire.ClockStatus { return status(c.Clock.Status()) }

// Confirm implements service.Clock.
func (c Shown) Confirm() (wire.ClockStatus, bool, error) {
	_, changed, err := c.Clock.Confirm(events.CheckClock)
	return c.Status(), changed, err
}

// Check refuses to start while the machine's clock shows a time that no event can have.
func Check(wall time.Time) error {
	err := events.CheckClock(wall)
	if err == nil {
		return nil
	}
	return &failure.Error{
		Status:  http.StatusInternalServerError,
		Code:    wire.CodeClock,
		Message: "The server does not start: the machine's clock shows " + wall.UTC().Format(time.RFC3339),
		Why:     fmt.Sprintf("events have times of the years %d to %d", events.FirstYear, events.LastYear),
		Next:    "correct the machine's clock, and start the server again",
		Err:     err,
	}
}

func status(s clock.Status) wire.ClockStatus {
	what, next := s.Explain()
	if what != "" && events.CheckClock(s.Wall) != nil {
		next = "correct the machine's clock: events cannot have the time that it shows, and go on at the earlier pace"
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

// written returns the nearest time that an answer can contain: a clock may show a year with five digits.
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
