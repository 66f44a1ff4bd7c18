package runner

import (
	"os"
	"path/filepath"
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
		m.sees(x, exited)
	}
}
