package home

import (
	"os"
	"path/filepath"
	"testing"
)

// A home shows that a server has had a log there by what only a server writes. What a command keeps there shows
// nothing.
func TestUsed(t *testing.T) {
	for name, used := range map[string]bool{
		"outbox/s1/1.json":          false,
		configFile:                  false,
		lockFile:                    false,
		"store/boot":                false,
		"sessions/s1/manifest.json": true,
		usesFile:                    true,
		beatsFile:                   true,
		versionFile:                 true,
		keyMarkFile:                 true,
		restoredFile:                true,
		earlierFile:                 true,
	} {
		h := made(t)
		if got := h.Used(); got != "" {
			t.Fatalf("an empty home shows %s", got)
		}
		path := filepath.Join(h.Dir(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := h.Used(); (got != "") != used {
			t.Errorf("with %s, the home shows %q", name, got)
		}
	}
}
