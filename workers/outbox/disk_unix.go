//go:build unix

package outbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// owned says whose a file is when it is not this user's.
func owned(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int64(stat.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("belongs to user %d, and this is user %d", stat.Uid, os.Geteuid())
	}
	return nil
}

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
