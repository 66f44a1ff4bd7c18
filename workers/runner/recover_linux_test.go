package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/disk"
	"maestro/service/wire"
	"maestro/workers/supervisor"
)

// keptIn is what a supervisor saved of a target before the launch.
func keptIn(t *testing.T, target string, repositories ...string) (saved supervisor.Saved) {
	t.Helper()
	is := func(path string) disk.Identity {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return disk.IdentityOf(info)
	}
	type described struct {
		Dir  string          `json:"dir"`
		Head string          `json:"head"`
		Way  []disk.Identity `json:"way"`
	}
	var all []described
	for _, dir := range repositories {
		one := described{Dir: dir, Head: "ref: refs/heads/main\n"}
		path := target
		for part := range strings.SplitSeq(dir, "/") {
			path = filepath.Join(path, part)
			one.Way = append(one.Way, is(path))
		}
		if err := os.WriteFile(filepath.Join(path, "HEAD"), []byte(one.Head), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	content, err := json.Marshal(map[string]any{"run": 1, "git": target, "gitIs": is(target), "repositories": all})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &saved); err != nil {
		t.Fatal(err)
	}
	return saved
}

// The target whose supervisor was killed, or a repository in it, was replaced before the runner found that: it touches
// nothing, and says so.
func TestRunnerDoesNotFollowReplacedTarget(t *testing.T) {
	for _, moved := range []string{"sub", "sub/victim"} {
		m := newMachine(t, 1)
		above, users := t.TempDir(), t.TempDir()
		target, at := filepath.Join(above, "sub"), users
		if err := os.MkdirAll(filepath.Join(target, "victim"), 0o755); err != nil {
			t.Fatal(err)
		}
		saved := keptIn(t, target, "victim")
		if moved == "sub" {
			at = filepath.Join(users, "victim")
		}
		mine := filepath.Join(at, "commondir/mine")
		if err := errors.Join(os.MkdirAll(mine, 0o755), os.Rename(filepath.Join(above, moved),
			filepath.Join(above, "old")), os.Symlink(users, filepath.Join(above, moved))); err != nil {
			t.Fatal(err)
		}
		m.supervised("a", saved)
		m.sees([]wire.RunnerSession{session("a", wire.WorkRunning, 1)}, "blocked a/1/git/0",
			"exited a/1/exited: its supervisor ended without a record: it was killed, or the machine was restarted")
		entries, err := os.ReadDir(at)
		if _, gone := os.Lstat(mine); err != nil || gone != nil || len(entries) != 1 {
			t.Errorf("%s: the user's directory has %v: %v, %v", moved, entries, err, gone)
		}
		after, _ := m.runner.saved("a")
		if len(after.Undone) != 1 || !strings.Contains(after.Undone[0].Why,
			"was not restored because the directory was replaced") {
			t.Errorf("%s: said %+v", moved, after.Undone)
		}
	}
}

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
			saved = keptIn(t, target, ".git")
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
	m.supervised("a", keptIn(t, target, ".git"))
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
	var all []string
	for i := range mostUndone + 2 {
		all = append(all, fmt.Sprintf("r%02d/.git", i))
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
	m.supervised("a", keptIn(t, target, all...))
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
