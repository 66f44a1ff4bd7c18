package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
)

// Yield returns at once while no command is in progress, when the last one is answered, after the given time, and when
// its context ends.
func TestYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		yield := func(ctx context.Context) time.Duration {
			begun := time.Now()
			w.h.Yield(ctx, time.Second)
			return time.Since(begun)
		}
		if waited := yield(t.Context()); waited != 0 {
			t.Errorf("without commands it waited %s", waited)
		}
		stored := make(chan struct{})
		w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
			<-stored
			return store()
		})
		said := make(chan error, 1)
		go func() {
			_, err := w.note("in progress")
			said <- err
		}()
		synctest.Wait()
		if waited := yield(t.Context()); waited != time.Second {
			t.Errorf("behind a slow command it waited %s", waited)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if waited := yield(gone); waited != 0 {
			t.Errorf("without a caller it waited %s", waited)
		}
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				if waited := yield(t.Context()); waited != 100*time.Millisecond {
					t.Errorf("it waited %s for a command that was answered after 100ms", waited)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		close(stored)
		if err := <-said; err != nil {
			t.Fatal(err)
		}
		readers.Wait()
		if waited := yield(t.Context()); waited != 0 {
			t.Errorf("after the command it waited %s", waited)
		}
	})
}

// However commands begin and end, nobody waits for one that is over.
func TestYieldMissesNoEnd(t *testing.T) {
	var f inFlight
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				f.begin()
				f.end()
			}
		})
		all.Go(func() {
			for range 1000 {
				if none, wait := f.over(); wait {
					<-none
				}
			}
		})
	}
	all.Wait()
}
