package prompt

import (
	"bytes"
	"strings"
	"testing"

	"maestro/events"
	"maestro/workers/manifest"
)

// TestReadOnly: a worker that may only read is told so, and no step asks it to change or to record a file.
func TestReadOnly(t *testing.T) {
	for _, kind := range kinds {
		if kind.role != events.RoleWorker {
			continue
		}
		for _, mode := range []manifest.PermissionMode{manifest.AcceptEdits, manifest.ReadOnly} {
			m := full(kind.role, kind.strategy)
			m.Session.PermissionMode = mode
			system, _ := prompts(t, m, session)
			workflow, _, ok := strings.Cut(string(system), "</workflow>")
			if !ok {
				t.Fatalf("%s", system)
			}
			if reads := mode == manifest.ReadOnly; strings.Contains(workflow, "You may change nothing") != reads ||
				strings.Contains(workflow, "track-file") == reads {
				t.Errorf("%s, %s: %s", kind.name, mode, workflow)
			}
			if !bytes.Contains(system, []byte("<workflow>")) {
				t.Errorf("%s has no workflow", kind.name)
			}
		}
	}
}
