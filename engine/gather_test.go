package engine

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
)

// appendsTake is how long an append takes in these tests. The writer waits at most a fraction of that.
const appendsTake = time.Millisecond

// gatheringWorld returns a world whose appends take appendsTake. waits returns the waits of its writer.
// The writer decides while it appends from overlapFrom commands on; 0 stands for the default.
func gatheringWorld(t *testing.T, overlapFrom int) (w *world, waits func() []time.Duration) {
	t.Helper()
	w = newWorld(t)
	w.h.Close()
	var mu sync.Mutex
	var asked []time.Duration
	w.log.when(func(_ uint64, _ []events.Message, store func() error) error {
		time.Sleep(appendsTake)
		return store()
	})
	w.h = open(t, Config{Log: w.log, OverlapFrom: overlapFrom, After: func(d time.Duration) <-chan time.Time {
		if d <= gatherMost {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, d)
		}
		return time.After(d)
	}})
	return w, func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
}

// callAgain has this many callers write notes, each this often, with a pause after each answer.
func (w *world) callAgain(t *testing.T, callers, times int, pause time.Duration) {
	t.Helper()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range times {
				if _, err := w.note(fmt.Sprint(caller, ".", i, ".", pause)); err != nil {
					t.Error(err)
				}
				time.Sleep(pause)
			}
		})
	}
	all.Wait()
}

// Callers that call again at once share the next append, whichever of them is first.
func TestReturningCallersShareABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := gatheringWorld(t, 1000)
		defer w.h.Close()
		before := len(w.log.appended())
		first := make(chan error, 1)
		go func() {
			_, err := w.note("first")
			first <- err
		}()
		synctest.Wait() // the callers arrive while the first command is being appended
		w.callAgain(t, 64, 10, 0)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for _, batch := range w.log.appended()[before:] {
			sizes = append(sizes, len(batch))
		}
		if want := append([]int{1}, slices.Repeat([]int{64}, 10)...); !slices.Equal(sizes, want) {
			t.Errorf("64 callers with 10 commands each were written in batches of %v", sizes)
		}
	})
}

// A wait costs a lone caller at most a fraction of an append, and a wait in vain is not repeated soon.
func TestFutileWaitIsNotRepeatedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, waits := gatheringWorld(t, 1000)
		defer w.h.Close()
		w.callAgain(t, 64, 1, 0)
		begun := time.Now()
		if _, err := w.note("alone"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > appendsTake+appendsTake/gatherPart {
			t.Errorf("a lone command after a large batch took %s", took)
		}
		before, batches := len(waits()), len(w.log.appended())
		// However the callers are divided into two or three groups, one group is large enough for a wait.
		w.callAgain(t, 5*gatherFrom, 3*gatherAgain, appendsTake/gatherPart*2)
		batches = len(w.log.appended()) - batches
		if n := len(waits()) - before; n == 0 || n > batches/gatherAgain+1 {
			t.Errorf("the writer waited %d times in %d batches for callers who take longer", n, batches)
		}
		if most := slices.Max(waits()); most > appendsTake/gatherPart {
			t.Errorf("a wait of %s, where an append takes %s", most, appendsTake)
		}
	})
}

// Many callers that call again at once form two groups: one is decided while the other is appended.
func TestManyReturningCallersFormTwoGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := gatheringWorld(t, 0)
		defer w.h.Close()
		before, begun := len(w.log.appended()), time.Now()
		w.callAgain(t, 64, 10, 0)
		// One group of all would take 10 appends, two groups 20. All callers may be in the first append.
		if n := len(w.log.appended()) - before; n < 16 || n > 30 {
			t.Errorf("64 callers with 10 commands each took %d appends", n)
		}
		if took := time.Since(begun); took > 30*appendsTake {
			t.Errorf("the appends, one at a time, took %s", took)
		}
	})
}
