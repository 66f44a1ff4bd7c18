package wallclock

import (
	"errors"
	"strings"
	"testing"
	"time"

	"maestro/events"
	"maestro/internal/clock"
	"maestro/internal/failure"
)

// No server starts with a clock whose time no event can have. Such a time is shown as the nearest one that JSON can
// express.
func TestClockBeyondEventTimes(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := Check(now); err != nil {
		t.Error(err)
	}
	var refused *failure.Error
	if err := Check(now.AddDate(9000, 0, 0)); !errors.As(err, &refused) || refused.Code != "CLOCK" {
		t.Errorf("got %v", err)
	}
	wall := now
	shown := Shown{clock.New(func() time.Time { return wall }, func() time.Duration { return 0 })}
	for _, at := range []time.Time{now.AddDate(9000, 0, 0), now.AddDate(-9000, 0, 0)} {
		wall = at
		status := shown.Status()
		if year := status.Wall.Year(); year != 9999 && year != 1 || !status.Jumped ||
			!strings.Contains(status.Next, "events cannot have the time that it shows") {
			t.Errorf("at %s the status is %+v", at, status)
		}
		var wrong *events.ClockError
		if _, _, err := shown.Confirm(); !errors.As(err, &wrong) {
			t.Errorf("at %s the clock was confirmed: %v", at, err)
		}
	}
}
