package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"maestro/internal/cli"
)

// A command ends when its supervisor is killed: without heartbeats, its session would be lost and its work given to
// another. The kernel may signal it twice, once for each thread of the supervisor that it belonged to.
func TestExecTakesItsCommandAlong(t *testing.T) {
	const script = `trap "trap '' TERM; echo ended; exit" TERM; echo ready; while :; do :; done`
	e := newExecuted(t, script, "--unconfined")
	if err := e.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if said := e.rest(t); said != "ended\n" {
		t.Errorf("the command says %q", said)
	}
	_ = e.Wait()
	// Behind the boundary, the command cannot even put its end off.
	e = newExecuted(t, `trap '' TERM; echo ready; while :; do :; done`)
	if err := e.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if said := e.rest(t); said != "" {
		t.Errorf("the command says %q", said)
	}
	_ = e.Wait()
}

// Processes that a command leaves behind do not become zombies when they end.
func TestExecLeavesNoZombies(t *testing.T) {
	e := newExecuted(t, `sh -c 'true & true & true & exec true'; echo ready; exec cat /dev/zero >/dev/null`)
	left := func() bool {
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		return slices.ContainsFunc(stats, func(path string) bool {
			stat, _ := os.ReadFile(path) // it may have ended
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			return len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(e.Process.Pid)
		})
	}
	if !comes(func() bool { return !left() }) {
		t.Fatal("zombies are left")
	}
	if err := e.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = e.Wait()
}

// Below a process that was started as a session, a command does not act as the user, even if its environment names no
// session.
func TestNoUserCommandsBelowASession(t *testing.T) {
	k := &killed{t: t, home: filepath.Join(t.TempDir(), "home")}
	k.start()
	t.Cleanup(func() { _ = k.process.Process.Kill(); _ = k.process.Wait() })
	for _, c := range []struct {
		env  string
		code int
	}{
		{"MAESTRO_SESSION_ID=sess_x", cli.ExitNotAllowed},
		{"MAESTRO_TOKEN=mss_sess_x.1.y", cli.ExitNotAllowed},
		{"MAESTRO_TOKEN=msu_x", cli.ExitDone},
		{"MAESTRO_SESSION_ID=", cli.ExitDone},
		{"MAESTRO_PROJECT_ID=proj_x", cli.ExitDone},
	} {
		cmd := exec.Command("sh", "-c", "unset MAESTRO_SESSION_ID MAESTRO_TOKEN; maestro whoami; exit $?")
		cmd.Env = append(os.Environ(), "MAESTRO_HOME="+k.home, c.env)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("below %s: exit code %d\n%s", c.env, code, out)
		}
		if strings.Contains(string(out), "sess_x") != (c.code == cli.ExitNotAllowed) {
			t.Errorf("below %s: %s", c.env, out)
		}
	}
}
