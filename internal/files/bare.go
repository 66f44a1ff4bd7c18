package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"maestro/internal/disk"
)

// Bare removes the operation and the path from an error, for a message that has them already.
func Bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	var irregular *IrregularError
	switch {
	case errors.As(err, &irregular):
		return errors.New("it " + irregular.Why)
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Existing returns the existing part of a path.
func Existing(path string) string {
	for {
		if _, err := disk.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
