package demo

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// serve starts the server and waits until it says that it listens. A restart uses the same port.
func (d *demonstration) serve() error {
	cmd := exec.Command(d.Binary, "serve", "--listen", "127.0.0.1:0", "--lease", d.Lease.String())
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

// kill ends the server with SIGKILL.
func (d *demonstration) kill() error {
	if err := d.server.Process.Kill(); err != nil {
		return err
	}
	_ = d.server.Wait() // it says that the process was killed
	return nil
}
