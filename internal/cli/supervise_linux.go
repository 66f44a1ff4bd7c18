package cli

import (
	"os"
	"os/exec"
	"syscall"

	"maestro/workers/processes"
)

// bindTo makes the kernel end the command when this process is killed: without heartbeats its session would be lost,
// and its work given to another one while the command continues.
func bindTo(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

// endAll sends a signal to all processes below this one.
func endAll(s os.Signal) {
	if s, ok := s.(syscall.Signal); ok { // as all are on this system
		processes.Signal(processes.Below(os.Getpid()), s)
	}
}

// noneBelow reports whether no process is below this one.
func noneBelow() bool { return len(processes.Below(os.Getpid())) == 0 }
