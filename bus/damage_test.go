package bus

import (
	"errors"
	"sync"
	"testing"

	"maestro/events"
)

// The head file and lists of faults read the bus while a reopen finds damage. The race detector checks this.
func TestFaultsAreListedWhileAReopenFindsThem(t *testing.T) {
	b := mustOpen(t, t.TempDir(), Interval)
	filled(t, b, 30)
	if err := b.blocks.sync(); err != nil {
		t.Fatal(err)
	}
	flip(t, blockPath(b.embedded.dir, 1), func(size int64) int64 { return size / 3 })
	looking := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() {
		for first := true; b.Damage() == nil; first = false {
			if err := b.Firm(); err != nil {
				t.Errorf("while the store is reopened: %v", err)
			}
			_ = b.Faults()
			if first {
				close(looking)
			}
		}
	})
	<-looking
	b.doubtful.Store(true)
	_, err := b.Sync(t.Context())
	looks.Wait()
	if !errors.Is(err, events.ErrReadOnly) || len(b.Faults()) == 0 {
		t.Errorf("the reopen: %v, faults: %v", err, b.Faults())
	}
}
