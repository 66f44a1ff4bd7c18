package files

import "errors"

// ErrHeld says that another process has the lock of a file.
var ErrHeld = errors.New("another process has the lock")
