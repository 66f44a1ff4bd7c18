package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// inFlight counts the commands that callers wait for. The zero value counts none.
type inFlight struct {
	n  atomic.Int64
	mu sync.Mutex
	// none is closed when no command is left; nil if nobody waits for that.
	none chan struct{}
}

func (f *inFlight) begin() { f.n.Add(1) }

func (f *inFlight) end() {
	if f.n.Add(-1) > 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.none != nil {
		close(f.none)
		f.none = nil
	}
}

// over returns a channel that is closed when no command is left, and false if there is none now.
func (f *inFlight) over() (none <-chan struct{}, wait bool) {
	if f.n.Load() == 0 {
		return nil, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n.Load() == 0 { // what ended before mu was taken closes no channel that is created now
		return nil, false
	}
	if f.none == nil {
		f.none = make(chan struct{})
	}
	return f.none, true
}

// Yield lets commands go first: it returns once no caller waits for a command, but after at most so long, and at once
// when ctx ends. A reader that calls it between the parts of its work leaves the processors to the commands, and still
// gets on when there are always some.
func (h *Handler) Yield(ctx context.Context, most time.Duration) {
	none, wait := h.flight.over()
	if !wait {
		return
	}
	select {
	case <-none:
	case <-h.config.After(most):
	case <-ctx.Done():
	}
}
