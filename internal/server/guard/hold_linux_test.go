package guard

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"maestro/internal/home"
)

// If another process holds a home, no file of it stays open.
func TestHeldHomeIsClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	lock, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(lock.Release(), lock.Close()) })
	before := openIn(t, dir)
	var held *home.HeldError
	if _, err := Hold(dir); !errors.As(err, &held) {
		t.Fatalf("got %v", err)
	}
	if after := openIn(t, dir); after != before {
		t.Errorf("%d files of the home are open, %d were before", after, before)
	}
}

// openIn counts the open files of this process that are a directory or in it.
func openIn(t *testing.T, dir string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("the open files of this process: %q, %v", files, err)
	}
	for _, file := range files {
		to, err := os.Readlink(file) // the one of the listing itself is closed
		if err == nil && (to == dir || filepath.Dir(to) == dir) {
			n++
		}
	}
	return n
}
