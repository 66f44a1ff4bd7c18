//go:build !linux

package cli

import (
	"os"
	"os/exec"
)

// supervised is the command that this process runs.
var supervised *exec.Cmd

// bindTo records the command, the only process that endAll can reach here.
func bindTo(cmd *exec.Cmd) { supervised = cmd }

// endAll sends a signal to the command.
func endAll(s os.Signal) {
	if supervised != nil && supervised.Process != nil {
		_ = supervised.Process.Signal(s) // it may have ended
	}
}

// noneBelow reports whether no process is below this one, as far as this system tells.
func noneBelow() bool { return true }
