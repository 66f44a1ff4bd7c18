//go:build !unix

package files

import (
	"errors"
	"os"
)

// lockDir cannot tell whether another process uses a directory.
func lockDir(string) (*os.File, error) { return nil, errors.ErrUnsupported }
