package bus

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"maestro/internal/disk"
)

// Several files of a store are synced at a time, and all of them are synced even if one fails.
func TestTreeIsSyncedConcurrently(t *testing.T) {
	dir := t.TempDir()
	const files = 24
	for i := range files {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
	}
	for _, fails := range []error{nil, syscall.EIO} {
		synctest.Test(t, func(t *testing.T) {
			var waiting, synced atomic.Int64
			release := make(chan struct{})
			defer disk.Inject(func(operation, path string) error {
				if operation != "sync" {
					return nil
				}
				waiting.Add(1)
				<-release
				synced.Add(1)
				if filepath.Base(path) == "0" {
					return fails
				}
				return nil
			})()
			done := make(chan error, 1)
			go func() { done <- syncTree(dir) }()
			synctest.Wait()
			if n := waiting.Load(); n != 16 {
				t.Errorf("%d files were synced at a time, expected 16", n)
			}
			close(release)
			if err := <-done; (err == nil) != (fails == nil) || synced.Load() != files+1 {
				t.Errorf("%d of %d files were synced, %v", synced.Load(), files+1, err)
			}
		})
	}
}
