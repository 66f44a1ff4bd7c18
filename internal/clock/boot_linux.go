package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boot is the time since the machine was started.
func Boot() time.Duration {
	var at unix.Timespec
	// It fails only for a clock that the kernel does not have; Linux has had this one since 2.6.39.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &at)
	return time.Duration(at.Nano())
}
