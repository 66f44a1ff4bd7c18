package files

import (
	"errors"
	"syscall"
)

// Full reports whether an error says that there is no room: on the disk, in the user's quota, or within the maximum
// size of a file.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
