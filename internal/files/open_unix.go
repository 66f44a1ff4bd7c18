//go:build unix

package files

import "golang.org/x/sys/unix"

// nonBlocking keeps the opening of a pipe from waiting for the process at its other end.
const nonBlocking = unix.O_NONBLOCK
