package salvage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/home"
)

// The errors of Home's checks.
var (
	// ErrTarget: the new home cannot be created at that place.
	ErrTarget = errors.New("the new home cannot be made there")
	// ErrRunning: another salvage is creating a home at that place. It is an ErrTarget.
	ErrRunning = fmt.Errorf("%w: another salvage is writing it", ErrTarget)
	// ErrNoFile: one of the named files does not exist.
	ErrNoFile = errors.New("there is no such file")
)

const (
	// storeName is the directory of a home's log: a directory that has it is a home.
	storeName = "store"
	// lockName is the file that a server leaves in a directory that it uses.
	lockName = "lock"
)

// target returns where the new home is created, with all symbolic links resolved. It must be vacant, and outside the
// damaged home, which is only read.
func target(to, damaged string) (string, error) {
	path, err := files.Resolve(to)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrTarget, err)
	}
	if _, err := disk.Stat(damaged); err != nil {
		return "", err
	}
	if files.Within(path, damaged) {
		return "", fmt.Errorf("%w: %s is inside the damaged home %s, which stays as it is", ErrTarget, to, damaged)
	}
	name, err := files.Occupied(path, ScratchPurpose, lockName)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrTarget, err)
	case name != "":
		return "", fmt.Errorf("%w: %s is not empty: it has %s", ErrTarget, to, name)
	}
	return path, nil
}

// hold locks an existing directory that becomes the new home; without one there is nothing to lock.
func hold(to string) (release func(), err error) {
	dir, err := files.LockDir(to, false)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errors.ErrUnsupported):
		return func() {}, nil
	case errors.Is(err, files.ErrHeld):
		return nil, fmt.Errorf("%w: another process has %s", ErrTarget, to)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	return func() { _ = dir.Close() }, nil
}

// readable fails when a file that the user named does not exist or cannot be read.
func readable(path string) error {
	f, err := files.OpenNamed(path)
	var irregular *files.IrregularError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrNoFile, path)
	case errors.As(err, &irregular):
		return fmt.Errorf("%w: %w", ErrNoFile, err)
	case err != nil:
		return err
	}
	return f.Close()
}

// Leftovers lists the directories beside a home that were left by interrupted salvages that were to create it.
func Leftovers(dir string) ([]string, error) {
	path, err := files.Resolve(dir)
	if err != nil {
		return nil, err
	}
	return files.Leftovers(path, ScratchPurpose)
}

// Unfinished returns the directory in a home that an interrupted salvage left; "" if the home is complete, or there is
// none. A home with its store is complete: the store is moved last.
func Unfinished(h *home.Home) string {
	if _, err := disk.Lstat(h.Store()); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	path, err := files.Resolve(h.Dir())
	if err != nil {
		return ""
	}
	left, _ := files.Leftovers(path, ScratchPurpose) // what cannot be listed is unknown
	for _, dir := range left {
		if filepath.Dir(dir) == path {
			return dir
		}
	}
	return ""
}
