//go:build unix

package home

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errHeld: somebody else has the lock.
var errHeld = errors.New("held")

func lockExclusive(f *os.File) error { return flock(f, unix.LOCK_EX) }

func lockShared(f *os.File) error { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		}
		return err
	}
}
