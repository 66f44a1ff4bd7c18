package engine

import (
	"container/heap"
	"context"
)

// reach is a caller that waits for a sequence.
type reach struct {
	sequence uint64
	reached  chan struct{}
	place    int // index in the heap; negative once it has left the heap
}

// reaches is a heap of the callers that wait for a sequence, the lowest sequence first. A commit wakes only those whose
// sequence it reaches.
type reaches []*reach

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (r reaches) Len() int           { return len(r) }
func (r reaches) Less(i, j int) bool { return r[i].sequence < r[j].sequence }

func (r reaches) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].place, r[j].place = i, j
}

func (r *reaches) Push(x any) {
	w := x.(*reach) //nolint:forcetypeassert // it holds nothing else
	w.place = len(*r)
	*r = append(*r, w)
}

func (r *reaches) Pop() any {
	last := len(*r) - 1
	w := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	w.place = -1
	return w
}

// wake wakes the callers that wait for a sequence up to head.
func (r *reaches) wake(head uint64) {
	for len(*r) > 0 && (*r)[0].sequence <= head {
		close(heap.Pop(r).(*reach).reached) //nolint:forcetypeassert // it holds nothing else
	}
}

// WaitFor returns when the committed state has reached a sequence, or with ctx's error.
func (h *Handler) WaitFor(ctx context.Context, sequence uint64) error {
	w := h.reachFor(sequence)
	if w == nil {
		return nil
	}
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.place >= 0 {
		heap.Remove(&h.reaches, w.place)
	}
	return ctx.Err()
}

// reachFor returns nil if the sequence is reached, otherwise a reach that is woken when it is.
func (h *Handler) reachFor(sequence uint64) *reach {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.committed.Head().Sequence >= sequence {
		return nil
	}
	w := &reach{sequence: sequence, reached: make(chan struct{})}
	heap.Push(&h.reaches, w)
	return w
}
