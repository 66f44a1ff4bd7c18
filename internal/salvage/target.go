package salvage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"maestro/internal/files"
)

// What Home refuses before it begins.
var (
	// ErrTarget: the new home cannot be made at that place.
	ErrTarget = errors.New("the new home cannot be made there")
	// ErrNoFile: one of the named files is not there.
	ErrNoFile = errors.New("there is no such file")
)

// target gives where the new home comes to be, with all symbolic links resolved. It must be vacant, and outside the
// damaged home, which is only read.
func target(to, damaged string) (string, error) {
	path, err := resolve(to)
	if err != nil {
		return "", err
	}
	home, err := os.Stat(damaged)
	if err != nil {
		return "", err
	}
	for above := path; ; above = filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil && os.SameFile(info, home) {
			return "", fmt.Errorf("%w: %s is inside the damaged home %s, which stays as it is", ErrTarget, to, damaged)
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	entries, err := os.ReadDir(path)
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

// resolve follows the symbolic links of the part of a path that exists.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return "", fmt.Errorf("%w: %w", ErrTarget, err)
		}
		if _, err := os.Lstat(path); err == nil {
			return "", fmt.Errorf("%w: %s is a symbolic link to nothing", ErrTarget, path)
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
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
