package demo

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"maestro/service/wire"
	"maestro/workers/processes"
)

// serverLog is where all servers of the demonstration log.
func (d *demonstration) serverLog() string { return filepath.Join(d.Dir, "server.log") }

// logged is the end of that log.
func (d *demonstration) logged() string {
	const most = 8192
	log, err := os.ReadFile(d.serverLog())
	if err != nil {
		return "" // no server was started
	}
	return fmt.Sprintf("\n(the end of %s)\n%s", d.serverLog(), log[max(0, len(log)-most):])
}

// serve starts the server and waits until it says that it listens. A restart uses the same port.
func (d *demonstration) serve() error {
	cmd := exec.Command(d.Binary, "serve", "--listen", "127.0.0.1:0", "--lease", d.Lease.String(),
		"--workspaces", d.workspaces, "--agents", strconv.Itoa(workers+1+helpers))
	if d.Confine != "" {
		cmd.Args = append(cmd.Args, "--confine", d.Confine)
	}
	cmd.Env = d.you.env
	log, err := os.OpenFile(d.serverLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has a copy
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "listening on") {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its log says why, which a failure quotes
		return fmt.Errorf("the server does not start: %s", line)
	}
	d.server = cmd
	d.output.Go(func() { _, _ = io.Copy(io.Discard, lines) }) // until it ends
	return nil
}

// stop ends the server as an operator does.
func (d *demonstration) stop() error {
	if d.server == nil || d.server.ProcessState != nil {
		return nil
	}
	if err := d.server.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return d.server.Wait()
}

// killServerProcess ends the server with SIGKILL.
func (d *demonstration) killServerProcess() error {
	if err := d.server.Process.Kill(); err != nil {
		return err
	}
	_ = d.server.Wait() // it says that the process was killed
	return nil
}

// endsWithin is how long the agents may take to end after the demonstration; then they are killed.
const endsWithin = 2 * time.Second

// endAgents waits until nothing of the agents runs any more. Those of a demonstration that has failed are killed at
// once: they would outlive the server, as they are meant to.
func (d *demonstration) endAgents(failed bool) {
	for looked := time.Duration(0); ; looked += looks {
		left := append(processes.With("MAESTRO_HOME="+d.home), processes.With(wire.EnvWorkspace+"="+d.workspaces)...)
		if len(left) == 0 {
			return
		}
		if failed || looked > endsWithin {
			processes.Kill(left)
		}
		if looked > 2*endsWithin {
			return // the system does not end them
		}
		<-time.After(looks)
	}
}
