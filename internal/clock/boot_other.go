//go:build !linux

package clock

import "time"

// CountsSleep says that Boot counts the time in which the machine sleeps. Here it does not, so a long sleep looks like
// a wall clock that was set.
const CountsSleep = false

var started = time.Now()

// Boot is the time since the process was started.
func Boot() time.Duration { return time.Since(started) }
