package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The orchestrator's directory must exist, and may neither hold the workspaces nor be one: agents read it.
func TestOrchestratorDirectoryOfTheServer(t *testing.T) {
	dir := t.TempDir()
	workspaces, file := filepath.Join(dir, "w"), filepath.Join(dir, "file")
	if err := os.MkdirAll(filepath.Join(workspaces, "sess_1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	for named, refused := range map[string]string{
		"":                                  "",
		other:                               "",
		filepath.Join(dir, "gone"):          "no such file",
		file:                                "not a directory",
		dir:                                 "workspaces",
		filepath.Join(workspaces, "sess_1"): "workspaces",
	} {
		o := Options{shared: named}
		got, err := o.sharedDir(workspaces)
		switch {
		case refused == "" && (err != nil || got != named):
			t.Errorf("%q: %q, %v", named, got, err)
		case refused != "" && (err == nil || !strings.Contains(err.Error(), refused)):
			t.Errorf("%q: %v, want %s", named, err, refused)
		}
	}
}
