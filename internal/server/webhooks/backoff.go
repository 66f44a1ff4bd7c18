package webhooks

import (
	"math/rand/v2"
	"strconv"
	"time"

	"maestro/projections"
)

const (
	// firstPause is the pause after the first failure; each later one is twice as long, at most longestPause.
	firstPause   = 500 * time.Millisecond
	longestPause = time.Hour
	// longestProbe is the longest pause between two events for a receiver that accepts nothing.
	longestProbe = 5 * time.Minute
	// longestParking is the longest pause between two tries to park a webhook.
	longestParking = 30 * time.Second
	// spread is the part of a pause that is random, so that many events that failed together are not sent together.
	spread = 0.2
	// awayAfter is in how many subjects sending must have failed since it last succeeded, before the receiver counts as
	// away: it then gets one event at a time.
	awayAfter = 5
)

// pauseAfter returns the pause after so many failures.
func pauseAfter(failures int, longest time.Duration) time.Duration {
	pause := longest
	if shift := failures - 1; shift < 20 {
		pause = min(firstPause<<max(shift, 0), longest)
	}
	return pause - time.Duration(spread*rand.Float64()*float64(pause)) //nolint:gosec // nobody has to guess it
}

// parkKey is the same for all tries to park a webhook that did not change meanwhile.
func parkKey(x *projections.Webhook) string { return "park/" + strconv.FormatUint(x.Changed, 10) }
