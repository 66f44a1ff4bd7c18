//go:build unix

package process

import (
	"math"

	"golang.org/x/sys/unix"
)

// OpenFiles returns how many files the process may open, 0 if unknown. Go has raised the soft limit to the hard one.
func OpenFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt64 {
		return 0
	}
	return uint64(limit.Cur)
}
