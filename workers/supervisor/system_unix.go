//go:build unix

package supervisor

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts the agent into a process group of its own: a key on the supervisor's terminal reaches the supervisor
// alone, which then ends the agent.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalName returns the name of a signal, such as SIGKILL.
func signalName(number int) string {
	if name := unix.SignalName(syscall.Signal(number)); name != "" {
		return name
	}
	return strconv.Itoa(number)
}
