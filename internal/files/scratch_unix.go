//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockDir opens a directory of this user and locks it; it fails with errHeld when somebody else has.
func lockDir(path string) (*os.File, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
			err = os.ErrPermission
		}
	}
	if err == nil {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errHeld
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}
