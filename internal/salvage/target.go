package salvage

import (
	"errors"
	"fmt"
	"io/fs"

	"maestro/internal/disk"
	"maestro/internal/files"
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

// target gives where the new home comes to be, with all symbolic links resolved. It must be vacant, and outside the
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
	entries, err := disk.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrTarget, err)
	case len(entries) > 0:
		return "", fmt.Errorf("%w: %s is not empty", ErrTarget, to)
	}
	return path, nil
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
