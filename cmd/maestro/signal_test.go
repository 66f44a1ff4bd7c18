package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"maestro/internal/cli"
	"maestro/internal/testing/standin"
)

// halfway is a real `maestro backup FILE` whose server has sent half of the backup. wrap is a prefix of the command.
type halfway struct {
	t       *testing.T
	dir     string
	process *exec.Cmd
	stderr  shared
	rest    chan struct{}
}

func newHalfway(t *testing.T, wrap ...string) *halfway {
	h := &halfway{t: t, dir: t.TempDir(), rest: make(chan struct{})}
	server := httptest.NewServer(standin.Identified(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-h.rest:
		case <-r.Context().Done():
		}
	}, "msu_someone"))
	t.Cleanup(server.Close)
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(wrap), binary, "backup", "b.tar")
	h.process = exec.Command(args[0], args[1:]...)
	h.process.Dir = h.dir
	h.process.Stderr = &h.stderr
	h.process.Env = append(os.Environ(), "MAESTRO_HOME="+filepath.Join(h.dir, "home"), "MAESTRO_API_URL="+server.URL,
		"MAESTRO_TOKEN=msu_someone")
	if err := h.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.process.Process.Kill() })
	if !comes(func() bool { return len(h.files()) > 0 }) { // it appears with the server's answer
		t.Fatalf("it makes no file: %s", h.stderr.String())
	}
	return h
}

func (h *halfway) files() []string {
	files, err := filepath.Glob(filepath.Join(h.dir, "*b.tar*")) // a leading dot matches too
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}

// A command that is ended by a signal that it can handle leaves nothing unfinished behind.
func TestSignalsLeaveNothingBehind(t *testing.T) {
	for _, ending := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		t.Run(ending.String(), func(t *testing.T) {
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, ending) // a program that this process starts does not ignore it, even under nohup
			defer signal.Stop(caught)
			h := newHalfway(t)
			if err := h.process.Process.Signal(ending); err != nil {
				t.Fatal(err)
			}
			if err := h.process.Wait(); h.process.ProcessState.ExitCode() != cli.ExitInterrupted || len(h.files()) > 0 {
				t.Errorf("it ended with %v and left %v\n%s", err, h.files(), h.stderr.String())
			}
		})
	}
}

// A command under nohup continues when its terminal goes away.
func TestNohupStays(t *testing.T) {
	h := newHalfway(t, "sh", "-c", `trap "" HUP; exec "$@"`, "sh")
	if err := h.process.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	close(h.rest)
	_ = h.process.Wait() // it fails: what the server sent is not a backup
	if content, err := os.ReadFile(filepath.Join(h.dir, "b.tar")); err != nil || string(content) != "half" {
		t.Errorf("it wrote %q, %v\n%s", content, err, h.stderr.String())
	}
}
