package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"maestro/internal/home"
	"maestro/service/wire"
	"maestro/workers/supervisor"
)

// Detached returns the function that starts supervisors as processes of their own, which outlive this one: in a session
// of their own, with their own log. What to run, with its secrets, goes through a pipe.
func Detached(h *home.Home, environ []string) func(c supervisor.Config, ended func(error)) (pid int, err error) {
	return func(c supervisor.Config, ended func(error)) (int, error) {
		content, err := json.Marshal(c)
		if err != nil {
			return 0, err
		}
		log, err := h.SupervisorLog(c.SessionID)
		if err != nil {
			return 0, fmt.Errorf("open the log of a supervisor: %w", err)
		}
		defer func() { _ = log.Close() }() // the process has its own
		cmd := exec.Command(c.Program, wire.ProgramSupervisor, c.SessionID)
		cmd.Env, cmd.Dir = environ, h.Dir()
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = detached()
		read, write, err := os.Pipe()
		if err != nil {
			return 0, err
		}
		cmd.Stdin = read
		if err := cmd.Start(); err != nil {
			_, _ = read.Close(), write.Close()
			return 0, fmt.Errorf("start a supervisor: %w", err)
		}
		_ = read.Close() // the process has its own
		go func() {
			_, _ = bytes.NewReader(content).WriteTo(write) // a process that ends early says why in its log
			_ = write.Close()
			ended(cmd.Wait())
		}()
		return cmd.Process.Pid, nil
	}
}
