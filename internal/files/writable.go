package files

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Writable returns why nothing can be created in a directory, or nil. It creates nothing.
func Writable(dir string) error {
	err := mayCreate(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return Explain(filepath.Join(dir, "file"), ToChange, &fs.PathError{Op: "create a file in", Path: dir, Err: err})
}
