package wire

import (
	"time"
)

// ClockStatus compares the time of events with the machine's wall clock.
type ClockStatus struct {
	// Time is the time of the next event, Wall that of the machine's wall clock.
	Time time.Time `json:"time"`
	Wall time.Time `json:"wall"`
	// Jumped says that the wall clock moved too far, by MovedMs, and is not followed.
	Jumped  bool  `json:"jumped"`
	MovedMs int64 `json:"movedMs"`
	// AheadMs is how far the time of events is ahead of a wall clock that is followed.
	AheadMs int64 `json:"aheadMs"`
	// Warning says what is wrong, Next what to do; both are "" if nothing is.
	Warning string `json:"warning,omitempty"`
	Next    string `json:"next,omitempty"`
}

// ConfirmedClock is the answer to a confirmation.
type ConfirmedClock struct {
	ClockStatus
	// Changed is false if the clock was not in doubt.
	Changed bool `json:"changed"`
}
