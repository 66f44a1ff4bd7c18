package bus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"maestro/internal/disk"
)

// Calls that come while a sync is in progress share the next one. None returns before a sync that began after it came,
// and a failed sync satisfies none of them.
func TestSyncsAreShared(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("fails ", fails), func(t *testing.T) {
			const calls = 10
			dir := t.TempDir()
			block := filepath.Join(dir, blockName(1))
			must(t, os.WriteFile(block, []byte("a block"), 0o600))
			s := &sideSyncer{dir: dir}
			begun, goOn := make(chan bool, 1), make(chan bool)
			syncs, looks := 0, 0
			restore := disk.Inject(func(operation, path string) error {
				if path == block && operation == "stat" {
					looks++ // each pass over the blocks begins so, whether the block changed or not
				}
				if operation != "sync" || path != block {
					return nil
				}
				if syncs++; syncs == 1 {
					begun <- true
					<-goOn
				} else if fails {
					return syscall.EIO
				}
				return nil
			})
			defer restore()
			var all sync.WaitGroup
			all.Go(func() { must(t, s.sync()) })
			<-begun
			must(t, os.WriteFile(block, []byte("longer than before"), 0o600))
			results := make(chan error, calls)
			for range calls {
				all.Go(func() { results <- s.sync() })
			}
			for s.asked.Load() != calls+1 { // until all have come
				runtime.Gosched()
			}
			close(goOn)
			all.Wait()
			if syncs != 2 || looks != 2 {
				t.Errorf("%d syncs and %d looks for %d calls", syncs, looks, calls+1)
			}
			for range calls {
				if err := <-results; (err != nil) != fails || fails && !errors.Is(err, syscall.EIO) {
					t.Errorf("sync: %v", err)
				}
			}
		})
	}
}
