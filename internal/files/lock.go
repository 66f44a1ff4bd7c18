package files

import "errors"

// ErrHeld says that another process has locked a file.
var ErrHeld = errors.New("another process has the lock")
