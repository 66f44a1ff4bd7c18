//go:build unix

package bus

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockStore takes the store for this process until the file is closed, or the process ends however it ends.
func lockStore(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another process holds %s: one store has one server; stop the other, or use another directory", path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// shareLock takes an open lock file for a reader. Several may read; none while a server holds the store. It closes the
// file if it fails.
func shareLock(f *os.File, path string) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("%w: another process holds %s: stop the server, then try again", ErrStoreInUse, path)
		}
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}
