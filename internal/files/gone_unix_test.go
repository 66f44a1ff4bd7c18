//go:build unix

package files

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestGone: if anything else takes the place of a part of a path, the file counts as gone; a temporary error does not
// count as that.
func TestGone(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"nothing":           func(string) error { return nil },
		"a plain file":      func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link to itself":  func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"a link to nothing": func(path string) error { return os.Symlink("nowhere", path) },
		"a pipe":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		for _, part := range []string{"a", "a/b"} {
			dir := t.TempDir()
			path := filepath.Join(dir, "a", "b", "c")
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			replaced := filepath.Join(dir, part)
			if err := errors.Join(os.RemoveAll(replaced), put(replaced)); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); !Gone(err) {
				t.Errorf("%s for %s: %v does not count as gone", name, part, err)
			}
			if _, err := os.ReadDir(path); !Gone(err) {
				t.Errorf("%s for %s: %v does not count as gone", name, part, err)
			}
		}
	}
	for _, err := range []error{nil, syscall.EIO, syscall.EMFILE, syscall.EINTR, syscall.EACCES, syscall.ENOMEM} {
		if Gone(err) {
			t.Errorf("%v counts as gone", err)
		}
	}
}
