package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// Gone reports whether the error of a look at a path says that what was there is gone: the name is missing, a part of
// the path is not a directory, a link leads in a circle, or another machine deleted it. Any other error tells nothing.
func Gone(err error) bool {
	for _, gone := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ESTALE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}
