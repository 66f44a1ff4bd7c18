package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOrchestratorDirectory: every agent may read the orchestrator's directory, and only the one that works on it may
// change it.
func TestOrchestratorDirectory(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	if err := os.WriteFile(filepath.Join(shared, "rules.txt"), []byte("be kind\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newAgents(t, `#!/bin/bash
cat >/dev/null
read -r rules <"`+shared+`/rules.txt" || exit 8
changed=no; echo "changed" 2>/dev/null >>"`+shared+`/rules.txt" && changed=yes
maestro report progress "step $rules, changed: $changed"
maestro report complete "looked"
`, "--orchestrator-dir", shared)
	for want, more := range map[string]map[string]any{
		"step be kind, changed: no":  nil,
		"step be kind, changed: yes": {"workingDirectory": shared},
	} {
		session := h.spawn(more)
		h.until("the agent has looked", func() bool {
			x, err := h.admin().Session(t.Context(), session)
			return err == nil && x.EndedAt != nil
		})
		if steps := h.steps(session); steps[want] != 1 {
			t.Errorf("reported %v, want %s", steps, want)
		}
	}
	h.nothingLeft()
}
