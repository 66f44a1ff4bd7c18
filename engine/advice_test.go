package engine

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"maestro/events"
	"maestro/internal/files"
)

// A log that cannot be accessed because of permissions is not damaged: the advice is not to salvage it.
func TestDeniedLogIsNotDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store", "1.blk")
	denied := files.Explain(path, files.ToWrite, fs.ErrPermission)
	for err, want := range map[error]string{
		fmt.Errorf("append: %w", denied):                             "recovers by itself",
		fmt.Errorf("%w: unreadable: %w", events.ErrReadOnly, denied): "then restart the server",
	} {
		if next := Advice(err); strings.Contains(next, "salvage") || !strings.Contains(next, want) ||
			!strings.Contains(next, "chattr") {
			t.Errorf("%v: %s", err, next)
		}
	}
	if next := Advice(events.ErrReadOnly); !strings.Contains(next, "salvage") {
		t.Errorf("a damaged log: %s", next)
	}
}
