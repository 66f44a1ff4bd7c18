package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/files"
)

// storeLock is the lock file of a store that this process has locked.
type storeLock struct {
	path string

	mu   sync.Mutex
	file *os.File
	told string // why it could not be recreated, as last logged
}

// lockStore locks the store for this process until the lock is closed or the process ends.
func lockStore(path string) (*storeLock, error) {
	f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, files.Explain(path, files.ToWrite, err)
	}
	switch err := files.Lock(f); {
	case errors.Is(err, files.ErrHeld):
		return nil, errors.Join(
			fmt.Errorf(
				"%w: another process holds %s: one store has one server; stop the other, or use another directory",
				ErrStoreInUse,
				path,
			),
			f.Close(),
		)
	case locked(err) != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return &storeLock{path: path, file: f}, nil
}

// keep recreates the file when it was deleted or replaced. It fails with *events.StoppedError when another process
// locked the file in its place. It ignores anything but a plain file, which the home warns about. It logs any other
// error once and tries again, because the lock on the store's directory still holds.
func (l *storeLock) keep(logger *slog.Logger) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	held, err := disk.FileStat(l.file)
	if err != nil {
		return nil //nolint:nilerr // it cannot tell now
	}
	now, err := disk.Lstat(l.path)
	switch {
	case err == nil && (os.SameFile(now, held) || !now.Mode().IsRegular()):
		l.told = ""
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil
	}
	taken, err := lockStore(l.path)
	switch {
	case errors.Is(err, ErrStoreInUse):
		return &events.StoppedError{
			Why: fmt.Sprintf(
				"the lock %s was replaced while this server was using it, and another process has it",
				l.path,
			),
			Next: "stop this server, find out what else uses the store, and start one server again",
		}
	case err != nil:
		if why := err.Error(); why != l.told {
			l.told = why
			logger.Error("the lock of the store was deleted, and cannot be recreated", "path", l.path, "why", err)
		}
		return nil
	}
	_ = l.file.Close() // it has no name any more
	l.file, l.told = taken.file, ""
	logger.Warn("the lock of the store was deleted or replaced while the server was using it; it is there again",
		"path", l.path)
	return nil
}

func (l *storeLock) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(locked(files.Unlock(l.file)), l.file.Close())
}

// shareLock locks an open lock file for a reader. Several readers may share it, but none while a server holds the
// store. It closes the file if it fails.
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

// lockDir locks a store's open directory too, because the lock file can be deleted while it is locked. Where
// directories cannot be locked, as on some network file systems, the lock file is the only protection.
func lockDir(dir *os.File, lock func(*os.File) error) error {
	if !errors.Is(lock(dir), files.ErrHeld) {
		return nil
	}
	return fmt.Errorf("%w: another process holds %s: one store has one server; stop the other, then try again",
		ErrStoreInUse, dir.Name())
}

// locked ignores the error of a system without locks: run only one server on a store there.
func locked(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
