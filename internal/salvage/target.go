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

// What Home refuses before it begins.
var (
	// ErrTarget: the new home cannot be made at that place.
	ErrTarget = errors.New("the new home cannot be made there")
	// ErrRunning: another salvage makes a home at that place now. It is an ErrTarget.
	ErrRunning = fmt.Errorf("%w: another salvage is writing it", ErrTarget)
	// ErrNoFile: one of the named files is not there.
	ErrNoFile = errors.New("there is no such file")
)

const (
	// storeName is where a home has its log: with it, a directory is a home.
	storeName = "store"
	// lockName is what a server leaves in a directory that is not its to take.
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

// hold keeps others out of an existing directory that becomes the new home; there is nothing to hold where none is.
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

// readable fails when a file that the user named is not there or cannot be read.
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

// Leftovers lists the directories beside a home that salvages left which were to make it, and were killed.
func Leftovers(dir string) ([]string, error) {
	path, err := files.Resolve(dir)
	if err != nil {
		return nil, err
	}
	return files.Leftovers(path, ScratchPurpose)
}

// Unfinished names the directory in a home that a salvage left which was to fill that, and was killed; "" if the home
// is whole, or none did. A home whose store is there is whole: that is moved last.
func Unfinished(h *home.Home) string {
	if _, err := disk.Lstat(h.Store()); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	path, err := files.Resolve(h.Dir())
	if err != nil {
		return ""
	}
	left, _ := files.Leftovers(path, ScratchPurpose) // what cannot be listed is not known
	for _, dir := range left {
		if filepath.Dir(dir) == path {
			return dir
		}
	}
	return ""
}
