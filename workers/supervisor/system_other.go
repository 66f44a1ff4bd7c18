//go:build !unix

package supervisor

import (
	"strconv"
	"syscall"
)

// ownGroup has no meaning here.
func ownGroup() *syscall.SysProcAttr { return nil }

// signalName returns the name of a signal.
func signalName(number int) string { return strconv.Itoa(number) }
