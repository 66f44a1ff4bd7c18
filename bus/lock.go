package bus

import (
	"errors"
	"fmt"
	"os"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// lockStore takes the store for this process until the file is closed, or the process ends however it ends.
func lockStore(path string) (*os.File, error) {
	f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, files.Explain(path, files.ToWrite, err)
	}
	switch err := files.Lock(f); {
	case errors.Is(err, files.ErrHeld):
		return nil, errors.Join(fmt.Errorf(
			"another process holds %s: one store has one server; stop the other, or use another directory", path),
			f.Close())
	case locked(err) != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// shareLock takes an open lock file for a reader. Several may read; none while a server holds the store. It closes the
// file if it fails.
func shareLock(f *os.File, path string) error {
	switch err := files.LockShared(f); {
	case errors.Is(err, files.ErrHeld):
		return errors.Join(fmt.Errorf("%w: another process holds %s: stop the server, then try again", ErrStoreInUse,
			path),
			f.Close())
	case locked(err) != nil:
		return errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return nil
}

// lockDir takes a store's open directory too: the lock file can be deleted under the one who holds it. Where no
// directory can be locked, as on some network file systems, the lock file is all there is.
func lockDir(dir *os.File, lock func(*os.File) error) error {
	if !errors.Is(lock(dir), files.ErrHeld) {
		return nil
	}
	return fmt.Errorf("%w: another process holds %s: one store has one server; stop the other, then try again",
		ErrStoreInUse, dir.Name())
}

// locked ignores that a system has no locks: run one server on a store there.
func locked(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
