package bus

import (
	"errors"
	"strings"
	"testing"

	"maestro/events"
)

// On a disk without free inodes nothing is written, and the error says so; the log continues once there are some.
func TestDiskWithoutInodes(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Always)
	filled(t, b, 10)
	before := freeFiles
	t.Cleanup(func() { freeFiles = before })
	freeFiles = func(string) (uint64, bool) { return 3, true }
	message := []events.Message{{Subject: "maestro.ev.p.task.1", Body: []byte("a")}}
	if err := b.room.again(); !errors.Is(err, events.ErrFull) {
		t.Fatalf("the disk counts as having room: %v", err)
	}
	for _, err := range []error{b.Append(t.Context(), 10, message), b.Ready()} {
		if !errors.Is(err, events.ErrFull) || !strings.Contains(err.Error(), "no more inodes (`df -i`)") {
			t.Errorf("the error is %v", err)
		}
	}
	freeFiles = func(string) (uint64, bool) { return 0, false } // a file system without a limit
	_, err := b.Sync(t.Context())
	must(t, err, b.Append(t.Context(), 10, message), b.Ready())
}
