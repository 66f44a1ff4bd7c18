package bus

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"maestro/events"
)

// A server that is killed leaves its staging in memory; the next start of any store of the same user removes it, and
// leaves those alone whose servers live.
func TestStagingOfTheKilledIsSwept(t *testing.T) {
	memory, err := os.MkdirTemp("/dev/shm", "maestro-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	var at unix.Statfs_t
	if err := unix.Statfs(memory, &at); err != nil || at.Type != unix.TMPFS_MAGIC {
		t.Fatalf("/dev/shm is no tmpfs: %v", err)
	}
	t.Setenv("XDG_RUNTIME_DIR", memory)
	living := mustOpen(t, t.TempDir(), Interval)
	killed := mustOpen(t, t.TempDir(), Interval)
	// What a kill leaves: the directory and a batch in it, and nobody who holds it.
	left := killed.embedded.staging.dir
	if err := os.WriteFile(filepath.Join(left, "1.blk"), []byte("half a batch"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killed.embedded.staging.lock.Close(); err != nil {
		t.Fatal(err)
	}
	third := mustOpen(t, t.TempDir(), Interval)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what the killed server left is there still: %v", err)
	}
	message := events.Message{Subject: "maestro.ev.a.b.c", Body: []byte("1")}
	for _, b := range []*Bus{living, third} {
		if err := b.Append(t.Context(), 0, []events.Message{message, message}); err != nil {
			t.Errorf("a batch of a server that lives: %v", err)
		}
	}
	for _, b := range []*Bus{living, killed, third} {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(memory); err != nil || len(entries) > 0 {
		t.Errorf("servers that were stopped leave %v, %v", entries, err)
	}
}
