package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"maestro/internal/disk"
)

// Resolve resolves the symbolic links in the existing part of a path.
func Resolve(path string) (string, error) {
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
			return "", err
		}
		if _, err := disk.Lstat(path); err == nil {
			return "", fmt.Errorf("%s is a symbolic link to nothing", path)
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

// Within reports whether a resolved path is a directory or lies below it, by any of its names. It is false if there is
// no such directory.
func Within(path, dir string) bool {
	info, err := disk.Stat(dir)
	if err != nil {
		return false
	}
	for above := path; ; above = filepath.Dir(above) {
		if there, err := disk.Stat(above); err == nil && os.SameFile(there, info) {
			return true
		}
		if above == filepath.Dir(above) {
			return false
		}
	}
}
