//go:build !linux

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// OpenRootItself opens a directory by its absolute path, no part of which may be a link.
func OpenRootItself(dir string) (*Root, error) {
	real, err := given(filepath.EvalSymlinks(dir))
	if err != nil {
		return nil, err
	}
	if real != filepath.Clean(dir) {
		return nil, fmt.Errorf("a link leads to %s", dir)
	}
	return OpenRoot(dir)
}

// IdentityOf returns none: agents are kept from git's files on Linux only.
func IdentityOf(fs.FileInfo) Identity { return Identity{} }

// ChmodDir changes nothing: no identity is known.
func (r *Root) ChmodDir(string, Identity, fs.FileMode) error { return errors.ErrUnsupported }

// Path returns the path by which the directory was opened.
func (r *Root) Path() string { return r.name }
