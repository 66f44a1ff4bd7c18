package runner

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/service/wire"
	"maestro/workers/supervisor"
)

// An agent whose supervisor was killed has led git to other hooks. The runner undoes that before it records the exit,
// unless the server lets agents do it.
func TestKilledSupervisorLeavesNoRedirect(t *testing.T) {
	for _, kept := range []bool{true, false} {
		m := newMachine(t, 1)
		target := t.TempDir()
		redirect := filepath.Join(target, ".git", "commondir")
		if err := os.Mkdir(filepath.Dir(redirect), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(redirect, []byte("../mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		saved := supervisor.Saved{Run: 1}
		if kept {
			saved.Git = target
		}
		m.supervised("a", saved)
		exited := "exited a/1/exited: its supervisor ended without a record: " +
			"it was killed, or the machine was restarted"
		want := []string{exited}
		if kept {
			want = []string{"blocked a/1/git/0", exited}
		}
		x := []wire.RunnerSession{session("a", wire.WorkRunning, 1)}
		m.sees(x, want...)
		if _, err := os.Lstat(redirect); (err != nil) != kept {
			t.Errorf("kept from agents: %t, and then the redirect: %v", kept, err)
		}
		m.sees(x, want...) // an answer that is older: the same commands, with the same keys
	}
}

// What was undone is told once the server can be reached, also by another runner, and before the exit.
func TestUndoneIsToldLater(t *testing.T) {
	m := newMachine(t, 1)
	target := t.TempDir()
	if err := os.Mkdir(filepath.Join(target, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(target, ".git", "commondir"), []byte("../mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.supervised("a", supervisor.Saved{Run: 1, Git: target})
	x := []wire.RunnerSession{session("a", wire.WorkRunning, 1)}
	m.away = true
	for range 2 {
		m.sees(x)
	}
	m.away, m.runner = false, New(m.runner.Config)
	m.sees(x, "blocked a/1/git/0", "exited a/1/exited: its supervisor ended without a record: "+
		"it was killed, or the machine was restarted")
}

// More was undone than the home keeps: each is in the log, and the timeline says how many are only there.
func TestWhatIsUndoneBeyondTheBoundIsCounted(t *testing.T) {
	m := newMachine(t, 1)
	target := t.TempDir()
	for i := range mostUndone + 2 {
		repository := filepath.Join(target, fmt.Sprintf("r%02d", i), ".git")
		if err := os.MkdirAll(repository, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repository, "commondir"), []byte("../mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	m.runner.Logger = slog.New(slog.NewTextHandler(&log, nil))
	m.supervised("a", supervisor.Saved{Run: 1, Git: target})
	m.away = true
	x := []wire.RunnerSession{session("a", wire.WorkRunning, 1)}
	m.sees(x)
	if logged := strings.Count(log.String(), "an agent led git elsewhere"); logged != mostUndone+2 {
		t.Errorf("%d are in the log", logged)
	}
	saved, _ := m.runner.saved("a")
	last := supervisor.Undone{Path: target, Why: "3 more: see the server's log"}
	if len(saved.Undone) != mostUndone || saved.Undone[mostUndone-1] != last {
		t.Errorf("%d are kept, the last of them %+v", len(saved.Undone), saved.Undone[len(saved.Undone)-1])
	}
}

// Of the runs in terminals, only those are recorded that ended on this machine and whose supervisor is gone.
func TestRunsInTerminalsAreRecordedOnceTheirSupervisorIsGone(t *testing.T) {
	m := newMachine(t, 1)
	m.runner.Name = wire.TerminalRunner
	exit := &supervisor.Exit{Reason: "it was interrupted in its terminal"}
	m.supervised("ended", supervisor.Saved{Run: 2, Runner: wire.TerminalRunner, Exit: exit})
	m.supervised("killed", supervisor.Saved{Run: 1, Runner: wire.TerminalRunner})
	m.supervised("earlier", supervisor.Saved{Run: 1, Runner: wire.TerminalRunner})
	m.supervised("another's", supervisor.Saved{Run: 1, Runner: "local"})
	m.supervised("goes on", supervisor.Saved{Run: 1, Runner: wire.TerminalRunner})
	held, err := m.home.TakeRun("goes on")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	m.sees([]wire.RunnerSession{
		session("ended", wire.WorkRunning, 2), session("killed", wire.WorkEnded, 1),
		session("earlier", wire.WorkRunning, 2), session("another's", wire.WorkRunning, 1),
		session("goes on", wire.WorkRunning, 1), session("elsewhere", wire.WorkRunning, 1),
	}, "exited ended/2/exited: it was interrupted in its terminal",
		"exited killed/1/exited: its supervisor ended without a record: it was killed, or the machine was restarted")
}
