package cli

import (
	"os"
	"syscall"

	"maestro/workers/processes"
)

// bound makes the kernel end a command when this process is killed: without heartbeats its session would be lost, and
// its work given to another one while the command continues.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

// endAll sends a signal to all processes below this one.
func endAll(_ child, s os.Signal) {
	if s, ok := s.(syscall.Signal); ok { // as all are on this system
		processes.Signal(processes.Below(os.Getpid()), s)
	}
}

// noneBelow reports whether no process is below this one.
func noneBelow() bool { return len(processes.Below(os.Getpid())) == 0 }
