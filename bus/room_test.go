package bus

import (
	"errors"
	"strings"
	"testing"

	"maestro/events"
)

// A disk without inodes takes no writes, and says what it lacks; the log continues once there are some.
func TestADiskWithoutInodesSaysSo(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	filled(t, b, 10)
	before := freeFiles
	t.Cleanup(func() { freeFiles = before })
	freeFiles = func(string) (uint64, bool) { return 3, true }
	message := []events.Message{{Subject: "maestro.ev.p.task.1", Body: []byte("a")}}
	if err := b.room.again(); !errors.Is(err, events.ErrFull) {
		t.Fatalf("it has room: %v", err)
	}
	for _, err := range []error{b.Append(t.Context(), 10, message), b.Ready()} {
		if !errors.Is(err, events.ErrFull) || !strings.Contains(err.Error(), "no more inodes (`df -i`)") {
			t.Errorf("it says %v", err)
		}
	}
	freeFiles = func(string) (uint64, bool) { return 0, false } // a file system that has no limit
	_, err := b.Sync(t.Context())
	must(t, err, b.Append(t.Context(), 10, message), b.Ready())
}
