package bus

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"maestro/internal/disk"
)

// TestFailedSyncIsRemembered: a failed sync fails again, even if another block could not be opened at the same
// time. Opening that block is tried again.
func TestFailedSyncIsRemembered(t *testing.T) {
	for _, test := range []struct {
		name  string
		fails map[string]string
		stays bool
	}{
		{"the sync of an older block", map[string]string{"1.blk": "sync"}, true},
		{"the sync of the newest", map[string]string{"2.blk": "sync"}, true},
		{"opening the newest", map[string]string{"2.blk": "open"}, false},
		{"both", map[string]string{"1.blk": "sync", "2.blk": "open"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &blockSyncer{dir: t.TempDir()}
			for _, name := range []string{"1.blk", "2.blk"} {
				must(t, os.WriteFile(filepath.Join(s.dir, name), []byte("a message"), 0o600))
			}
			restore := disk.Inject(func(operation, path string) error {
				if test.fails[filepath.Base(path)] == operation {
					return syscall.EIO
				}
				return nil
			})
			err := s.sync()
			restore()
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("the first sync returned %v", err)
			}
			if err := s.sync(); errors.Is(err, syscall.EIO) != test.stays {
				t.Errorf("the second sync returned %v", err)
			}
			s.forget()
			must(t, s.sync())
			s.forget()
		})
	}
}
