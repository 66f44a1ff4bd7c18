package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A failed start removes what it created, and nothing else.
func TestAbandon(t *testing.T) {
	for name, c := range map[string]struct {
		// before is done to the directory before the start, during while it runs.
		before, during func(dir string) error
		// left are the names that stay; nil means that the directory is removed.
		left []string
	}{
		"no home": {},
		"an empty directory": {
			before: func(dir string) error { return os.Mkdir(dir, 0o700) },
			left:   []string{},
		},
		"a home": {
			before: func(dir string) error {
				return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, usesFile), nil, 0o600))
			},
			left: []string{adminTokenFile, lockFile, serverKeyFile, usesFile},
		},
		"kept meanwhile": {
			during: func(dir string) error { return os.Mkdir(filepath.Join(dir, "outbox"), 0o700) },
			left:   []string{lockFile, "outbox"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "home")
			do := func(f func(string) error) {
				t.Helper()
				if f == nil {
					return
				}
				if err := f(dir); err != nil {
					t.Fatal(err)
				}
			}
			do(c.before)
			h, err := Create(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close() }()
			lock, err := h.Lock()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := lock.NewSecrets(); err != nil {
				t.Fatal(err)
			}
			do(c.during)
			if err := lock.Abandon(); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if errors.Is(err, fs.ErrNotExist) != (c.left == nil) || len(entries) != len(c.left) {
				t.Fatalf("left: %v, %v", entries, err)
			}
			for i, entry := range entries {
				if entry.Name() != c.left[i] {
					t.Errorf("%s is left, not %s", entry.Name(), c.left[i])
				}
			}
		})
	}
}
