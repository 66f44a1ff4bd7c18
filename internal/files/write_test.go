package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/disk"
)

// A write replaces the whole file, and leaves no other file behind, even if it fails.
func TestWriteIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "name")
	for _, content := range []string{"first", "second, and longer"} {
		if err := WritePath(path, []byte(content[:3]), []byte(content[3:])); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || Shared(info) {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WritePath(filepath.Join(dir, "taken"), []byte("x")); err == nil {
		t.Error("the file replaced a directory")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := WritePath(filepath.Join(dir, "missing", "name"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	// A link in the place of the temporary name is not followed.
	root, err := disk.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := os.Symlink("name", filepath.Join(dir, ".new")); err != nil {
		t.Fatal(err)
	}
	if err := Write(root, ".new", "other", []byte("other")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(got), "second") {
		t.Errorf("the write followed a link: %q, %v", got, err)
	}
}

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	one, two := open(), open()
	if err := Lock(one); errors.Is(err, errors.ErrUnsupported) {
		return // nothing relies on locks here
	} else if err != nil {
		t.Fatal(err)
	}
	if err := Lock(two); !errors.Is(err, ErrHeld) {
		t.Errorf("a second lock: %v", err)
	}
	if err := LockShared(two); !errors.Is(err, ErrHeld) {
		t.Errorf("a shared lock beside it: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if err := LockShared(two); err != nil {
		t.Fatal(err)
	}
	if err := LockShared(open()); err != nil {
		t.Errorf("two shared locks: %v", err)
	}
}
