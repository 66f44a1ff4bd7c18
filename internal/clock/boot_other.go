//go:build !linux

package clock

import "time"

var started = time.Now()

// Boot returns the time since the process was started. It does not count the machine's sleep, so a long sleep looks
// like a wall clock that was set.
func Boot() time.Duration { return time.Since(started) }
