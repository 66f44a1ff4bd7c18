//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"maestro/service/wire"
)

// executed is a command that a real `maestro session exec` runs, and that has reported that it is ready.
type executed struct {
	*exec.Cmd
	out *bufio.Reader
}

func newExecuted(t *testing.T, script string, flags ...string) executed {
	t.Helper()
	k := &killed{t: t, home: filepath.Join(t.TempDir(), "home")}
	k.start()
	t.Cleanup(func() { _ = k.process.Process.Kill(); _ = k.process.Wait() })
	project, _ := k.made(k.admin(), "project:create", map[string]any{"name": "P"})
	task, _ := k.made(k.admin(), "task:create", map[string]any{"project": project["projectId"], "title": "T"})
	session, _ := k.made(k.admin(), "session:spawn", map[string]any{
		"project": project["projectId"], "taskIds": []any{task["taskId"]},
	})
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	line := append([]string{"session", "exec", session["sessionId"].(string)}, flags...)
	e := executed{Cmd: exec.Command(binary, append(line, "--", "sh", "-c", script)...)}
	e.Dir = t.TempDir()
	e.Env = append(os.Environ(), "MAESTRO_HOME="+k.home, wire.EnvWorkspace+"="+filepath.Join(e.Dir, "workspaces"))
	e.Stderr = os.Stderr
	// Without a terminal: what a key there signals reaches the command without being passed on.
	e.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// If a shell runs the tests in the background, they ignore some signals, and so would the processes that they
	// start.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	t.Cleanup(func() { signal.Stop(caught) })
	out, err := e.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Process.Kill() })
	e.out = bufio.NewReader(out)
	if line, err := e.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the command says %q, %v", line, err)
	}
	return e
}

// rest returns what the command prints until it and everything that it started have ended.
func (e executed) rest(t *testing.T) string {
	t.Helper()
	text, err := io.ReadAll(e.out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestExecPassesSignalsOn(t *testing.T) {
	for signal, name := range map[syscall.Signal]string{
		syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP", syscall.SIGUSR1: "USR1",
	} {
		t.Run(name, func(t *testing.T) {
			e := newExecuted(t, `trap "echo got `+name+`; exit 9" `+name+`; echo ready; while :; do :; done`)
			if err := e.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			said := e.rest(t)
			_ = e.Wait() // its exit code is checked instead
			if code := e.ProcessState.ExitCode(); code != 9 || !strings.Contains(said, "got "+name) {
				t.Errorf("exit code %d, and the command says %q", code, said)
			}
		})
	}
}
