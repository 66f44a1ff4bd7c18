//go:build unix

package outbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func lockExclusive(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		}
		return err
	}
}

func syncDir(dir *os.File) error { return dir.Sync() }
