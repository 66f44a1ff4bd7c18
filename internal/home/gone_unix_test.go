//go:build unix

package home

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A home counts as gone if anything else takes the place of it, of its lock, or of a directory above it.
func TestHomeBelowIrregularPaths(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"nothing":          func(string) error { return nil },
		"a plain file":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link to itself": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	} {
		for _, part := range []string{"", "home", "home/store", "home/lock"} {
			above := filepath.Join(t.TempDir(), "above")
			dir := filepath.Join(above, "home")
			h, err := Create(dir)
			if err != nil {
				t.Fatal(err)
			}
			lock, err := h.Lock()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = errors.Join(lock.Release(), h.Close()) })
			if err := os.Mkdir(lock.Store(), 0o700); err != nil {
				t.Fatal(err)
			}
			store, err := IdentityOf(lock.Store())
			if err = errors.Join(err, lock.Here(), store.Here()); err != nil {
				t.Fatal(err)
			}
			replaced := filepath.Join(above, part)
			if err := errors.Join(os.RemoveAll(replaced), put(replaced)); err != nil {
				t.Fatal(err)
			}
			var gone *GoneError
			if part != "home/store" && !errors.As(lock.Here(), &gone) {
				t.Errorf("%s for %q: the home: %v", name, part, lock.Here())
			}
			if part != "home/lock" && !errors.As(store.Here(), &gone) {
				t.Errorf("%s for %q: the store: %v", name, part, store.Here())
			}
		}
	}
}
