//go:build !linux

package cli

import (
	"os"
	"syscall"
)

// bound has no meaning here: only Linux ends a command with the process that started it.
func bound() *syscall.SysProcAttr { return nil }

// endAll sends a signal to the command, the only process that is known here.
func endAll(c child, s os.Signal) { _ = c.Signal(s) } // it may have ended

// noneBelow reports that no further process is known here.
func noneBelow() bool { return true }
