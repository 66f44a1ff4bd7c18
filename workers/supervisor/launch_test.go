package supervisor

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"

	"maestro/internal/home"
	"maestro/workers/agent"
	"maestro/workers/blank"
	"maestro/workers/confine"
)

// silent is a driver whose program says nothing.
type silent struct{ driven }

func (silent) Reader(agent.Used) agent.Reader { return nil }

// Before an agent starts, the home says in which repository the runner has to look if the supervisor is killed.
func TestLaunchSavesWhoseGitIsKept(t *testing.T) {
	for _, kept := range []bool{true, false} {
		h, err := home.Create(filepath.Join(t.TempDir(), "home"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = h.Close() }()
		s := &supervisor{
			Config: Config{Program: filepath.Join(t.TempDir(), "none")},
			home:   h,
			driver: silent{},
			logger: slog.New(slog.DiscardHandler),
		}
		s.secrets.Store(blank.Of())
		if s.files, err = h.TakeRun("sess_1"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.files.Close() }()
		s.dirs.Workspace, s.dirs.Target = t.TempDir(), t.TempDir()
		if kept {
			if err := s.holdTarget(rootOf(t, s.dirs.Target)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.launch(t.Context(), &agent.Start{Output: "mine.jsonl"}, confine.Policy{}); err == nil {
			t.Fatal("an agent was started without a program")
		}
		var saved Saved
		content, err := h.ReadRun("sess_1")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, &saved); err != nil || saved.GitIs != s.targetIs ||
			saved.Git != map[bool]string{true: s.dirs.Target}[kept] {
			t.Errorf("kept from the agent: %t, and saved %s, %v", kept, content, err)
		}
	}
}
