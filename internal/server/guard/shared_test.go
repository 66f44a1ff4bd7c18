package guard

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// A check begins after every caller that gets its result has called, and callers that wait share one.
func TestChecksAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared
		release, runs := make(chan error), 0
		check := func() error {
			runs++
			return <-release
		}
		var all sync.WaitGroup
		results := make(chan error, 6)
		all.Go(func() { results <- s.do(check) })
		synctest.Wait()
		for range 5 { // they came too late for the first one
			all.Go(func() { results <- s.do(check) })
		}
		for s.called.Load() < 6 {
			runtime.Gosched()
		}
		gone := errors.New("gone")
		release <- nil
		if err := <-results; err != nil {
			t.Error(err)
		}
		release <- gone
		all.Wait()
		for range 5 {
			if err := <-results; !errors.Is(err, gone) {
				t.Errorf("a later caller got %v", err)
			}
		}
		if runs != 2 {
			t.Errorf("%d checks for six callers", runs)
		}
	})
}
