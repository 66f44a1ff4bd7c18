//go:build unix

package bus

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A closed store can be opened at once, even while a process that was forked from this one still has copies of its
// files: it has them until it runs its program.
func TestClosedStoreIsFree(t *testing.T) {
	dir := t.TempDir()
	b := mustOpen(t, dir, Always)
	for _, file := range []uintptr{b.embedded.held.dir.Fd(), b.embedded.lock.file.Fd()} {
		inherited, err := unix.Dup(int(file))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(inherited) }()
	}
	must(t, b.Close())
	again, err := Open(t.Context(), Options{Dir: dir, Logger: testLogger(t)})
	if err != nil {
		t.Fatalf("the store is not free: %v", err)
	}
	must(t, again.Close())
}
