package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/home"
)

// A run whose agent cannot be launched says what is wrong with agents.json, and what to do about that.
func TestUndrivenSaysHow(t *testing.T) {
	h, err := home.Create(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for name, c := range map[string]struct {
		content       string
		mode          os.FileMode
		message, fix  string
		aboutThisFile bool
	}{
		"not configured": {
			`{}`, 0o600, `there is no agent "notes"; there are claude, codex, gemini`, "another --agent", false,
		},
		"no command": {
			`{"agents": {"notes": {}}}`, 0o600, "cannot be used: at /agents/notes/command, the agent has no command",
			`"command": [`, true,
		},
		"open to others": {`{}`, 0o644, "is open to others (mode 0644)", "chmod 600", false},
	} {
		if err := os.WriteFile(h.AgentsPath(), []byte(c.content), c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(h.AgentsPath(), c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Drivers(h.Dir())("notes")
		failed := undriven("notes", err)
		if !strings.Contains(failed.Message, c.message) || !strings.Contains(failed.Fix, c.fix) ||
			(failed.Path == h.AgentsPath()) != c.aboutThisFile {
			t.Errorf("%s: %+v", name, failed)
		}
	}
}
