package engine

import (
	"context"
	"time"
)

const (
	// gatherFrom is how many commands a batch must have held before the writer waits for their callers.
	gatherFrom = 12
	// gatherLeast and gatherMost bound such a wait. Even the shortest lets those run who have just been answered.
	gatherLeast = time.Microsecond
	gatherMost  = 500 * time.Microsecond
	// gatherPart is the part of an append's duration that a wait may last: it must cost less than the append that it
	// saves.
	gatherPart = 4
	// gatherAgain is how many batches the writer makes without a wait after a wait was in vain.
	gatherAgain = 16
)

// gathering is what the writer knows of its last batch. The answers of a batch set its callers free. Those in this
// process are back in microseconds, so a short wait lets all of them share one append. Callers over a network need
// longer than a wait is worth: a wait in vain is not repeated soon.
type gathering struct {
	// held is how many commands the batch held, with those that were decided while it was appended.
	held int
	// took is how long its append took.
	took time.Duration
	// pause is how many batches to make without a wait.
	pause int
}

// gather waits a moment for as many commands as the last batch held. If these are many, it waits for half of them: the
// other half is decided while the first is being appended, see overlap.
func (h *Handler) gather(ctx context.Context) {
	g := &h.gathering
	if g.pause > 0 {
		g.pause--
		return
	}
	want := g.held
	if want/2 >= h.config.OverlapFrom {
		want /= 2
	}
	if g.held <= gatherFrom || h.queue.expect(want) {
		return
	}
	select {
	case <-h.queue.wake:
	case <-h.config.After(min(max(gatherLeast, g.took/gatherPart), gatherMost)):
		g.pause = gatherAgain
	case <-ctx.Done():
	}
}
