package home

import (
	"os"
	"path/filepath"
	"testing"
)

// The end of a command of a session says whether another one still runs, and no link leads its lock elsewhere.
func TestRunningCommands(t *testing.T) {
	h, err := Create(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	run := func(session string) *RunningCommand {
		t.Helper()
		running, err := h.MarkRunning(session)
		if err != nil {
			t.Fatal(err)
		}
		return running
	}
	first, second, other := run("sess_a"), run("sess_a"), run("sess_b")
	if !first.Release() {
		t.Error("the first one ended as the last one, while the second ran")
	}
	if second.Release() || other.Release() {
		t.Error("the last one ended while another one ran")
	}
	if err := os.Symlink("sess_a", filepath.Join(h.dir, sessionsDir, "sess_link")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.MarkRunning("sess_link"); err == nil {
		t.Error("a link to another session's directory is followed")
	}
}
