package offline

import (
	"context"
	"math"
	"time"

	"maestro/internal/failure"
)

// longestPause bounds the pause before an event: nobody waits for hours in which nothing happened.
const longestPause = 5 * time.Second

// pace spaces events as they were in time.
type pace struct {
	// speed divides the time between them; 0 for no pauses.
	speed float64
	// say names a pause that is cut.
	say func(gap time.Duration)
	// last is the time of the event before.
	last time.Time
}

// checkSpeed refuses an invalid --speed.
func checkSpeed(speed float64) error {
	if speed > 0 && !math.IsInf(speed, 0) {
		return nil
	}
	return failure.Usage("--speed must be above 0, not %v", speed).
		WithNext("1 is as fast as it was, 60 shows a minute in a second; without --speed, everything is shown at once")
}

// until pauses before an event of this time. It fails with the error of ctx.
func (p *pace) until(ctx context.Context, at time.Time) error {
	gap := at.Sub(p.last)
	first := p.last.IsZero()
	if at.After(p.last) {
		p.last = at
	}
	if p.speed == 0 || first || gap <= 0 {
		return ctx.Err()
	}
	pause := longestPause
	if scaled := float64(gap) / p.speed; scaled <= float64(longestPause) {
		pause = time.Duration(scaled)
	} else {
		p.say(gap)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
