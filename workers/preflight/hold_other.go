//go:build !linux

package preflight

import (
	"errors"
	"io/fs"
	"os"
)

// held is the path of a directory. Nothing confines an agent on these systems, so it gains nothing by changing what the
// path means.
type held struct{ name string }

// hold checks that a path is that of a directory.
func hold(path string) (*held, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a directory")}
	}
	return &held{path}, nil
}

func (h *held) path() string { return h.name }

func (h *held) close() {}
