//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"maestro/bus"
	"maestro/internal/cli"
)

// process starts a server on a home in a process of its own.
func (s *inside) process() *exec.Cmd {
	s.t.Helper()
	binary, err := exec.LookPath("maestro")
	if err != nil {
		s.t.Fatal(err)
	}
	process := exec.Command(binary, "serve", "--no-runner", "--listen", "127.0.0.1:0", "--backup-every", "off")
	process.Env = append(os.Environ(), "MAESTRO_HOME="+s.home)
	return process
}

// terminated tells a process to stop and returns its exit code.
func terminated(t *testing.T, process *exec.Cmd) int {
	t.Helper()
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(longestWait, func() { _ = process.Process.Kill() })
	_ = process.Wait()
	if !late.Stop() {
		t.Fatalf("the process does not end within %s", longestWait)
	}
	return process.ProcessState.ExitCode()
}

// pipe returns a pipe; full fills it.
func pipe(t *testing.T, full bool) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for full && err == nil {
		writeErr := raw.Write(func(fd uintptr) bool {
			_, err = unix.Write(int(fd), []byte("x")) //nolint:gosec // a descriptor
			return true
		})
		err = errors.Join(err, writeErr)
	}
	if full && !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	return r, w
}

// A server whose log output nobody reads executes commands, stops writing when its log is damaged, reports the damage,
// and stops on request.
func TestUnreadServerOutput(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	process := s.process()
	_, process.Stderr = pipe(t, true)
	s.listen(process)
	s.do("project:create", map[string]any{"name": "P"})
	block := filepath.Join(s.home, "store", "jetstream", "$G", "streams", bus.StreamName, "msgs", "1.blk")
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	s.unready()
	s.client.Close()
	if code := terminated(t, process); code != cli.ExitFailed {
		t.Errorf("it ends with %d", code)
	}
}

// A server continues when the reader of its output ends, as in `maestro serve 2>&1 | head -1`.
func TestServerOutputReaderEnds(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	process := s.process()
	r, w := pipe(t, false)
	process.Stdout, process.Stderr = w, w
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill() })
	s.reached(r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s.do("project:create", map[string]any{"name": "P"})
	s.client.Close()
	if code := terminated(t, process); code != cli.ExitDone {
		t.Errorf("it ends with %d, %v", code, process.ProcessState)
	}
}
