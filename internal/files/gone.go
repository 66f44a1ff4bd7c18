package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// Gone reports whether an error for a path says that its target is gone: the name is missing, a part of the path is not
// a directory, a link leads in a circle, or another machine deleted it. Any other error is inconclusive.
func Gone(err error) bool {
	for _, gone := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ESTALE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}
