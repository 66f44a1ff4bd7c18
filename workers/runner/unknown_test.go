package runner

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/home"
	"maestro/service/wire"
)

// A run whose state cannot be read has begun: it is ended, said once, and never launched again.
func TestRunWhoseStateCannotBeRead(t *testing.T) {
	for name, makes := range map[string]func(path string) error{
		"no JSON":   func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"too large": func(path string) error { return os.WriteFile(path, make([]byte, home.MaxRun+1), 0o600) },
		"directory": func(path string) error { return os.MkdirAll(filepath.Join(path, "in"), 0o700) },
	} {
		m := newMachine(t, 1)
		var log strings.Builder
		m.runner.Logger = slog.New(slog.NewTextHandler(&log, nil))
		path := m.home.RunPath("a")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), makes(path)); err != nil {
			t.Fatal(err)
		}
		x := []wire.RunnerSession{session("a", wire.WorkRunning, 1)}
		m.away = true
		m.sees(x)
		m.away, m.runner = false, New(m.runner.Config)
		for range 3 {
			m.did = nil
			m.runner.compare(t.Context(), wire.RunnerWork{Sessions: x})
			if len(m.did) != 2 || m.did[0] != "blocked a/1/git/0" || !strings.HasPrefix(m.did[1],
				"exited a/1/exited: its supervisor is gone, and what it saved cannot be read: ") {
				t.Errorf("%s: it did %q", name, m.did)
			}
		}
		if said := strings.Count(log.String(), "cannot be read; the run is ended"); said != 1 {
			t.Errorf("%s: said %d times", name, said)
		}
		if _, err := os.Lstat(path + ".unreadable"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The server has claimed the next run of a session for this runner, and its supervisor finds what it cannot read.
func TestClaimBesideStateThatCannotBeRead(t *testing.T) {
	m := newMachine(t, 1)
	path := m.home.RunPath("a")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	m.sees([]wire.RunnerSession{session("a", wire.WorkClaim, 2)},
		"claim a/2/claim", "start a run 2 secret-of-a speaks-for-a")
	m.ends["a"](nil)
	m.did = nil
	m.runner.compare(t.Context(), wire.RunnerWork{Sessions: []wire.RunnerSession{session("a", wire.WorkRunning, 2)}})
	if len(m.did) != 2 || !strings.HasPrefix(m.did[1], "exited a/2/exited: ") {
		t.Errorf("it did %q", m.did)
	}
}
