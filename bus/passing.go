package bus

import (
	"errors"
	"syscall"
)

// passing reports whether an error says that this process lacks something for now, and nothing about a file.
func passing(err error) bool {
	for _, lack := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR, syscall.ETIMEDOUT,
	} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
}
