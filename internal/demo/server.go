package demo

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"maestro/workers/processes"
)

// serve starts the server and waits until it says that it listens. A restart uses the same port.
func (d *demonstration) serve() error {
	cmd := exec.Command(d.Binary, "serve", "--listen", "127.0.0.1:0", "--lease", d.Lease.String(),
		"--workspaces", d.workspaces, "--agents", strconv.Itoa(workers+1+helpers))
	if d.Confine != "" {
		cmd.Args = append(cmd.Args, "--confine", d.Confine)
	}
	cmd.Env = d.you.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
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
		_ = cmd.Wait() // its output says why
		return fmt.Errorf("the server does not start: %s%s", line, stderr.String())
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

// endAgents waits until nothing of the agents runs any more. Those of a demonstration that has failed are killed at once:
// they would outlive the server, as they are meant to.
func (d *demonstration) endAgents(failed bool) {
	for looked := time.Duration(0); ; looked += looks {
		left := append(processes.With("MAESTRO_HOME="+d.home), processes.With("MAESTRO_WORKSPACE="+d.workspaces)...)
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
