package engine

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// stallTick is how often the watch looks at a request to the log. After stallTicks looks the callers are answered
	// without the log: a disk that hangs holds up a write for any length of time. It is no round number: with another
	// timer at the same instant, a simulated run would depend on the scheduler.
	stallTick  = 501 * time.Millisecond
	stallTicks = 4
)

// errStalled is the reason why the log takes no writes while it does not answer.
var errStalled = errors.New("the log has not answered for 2 s; its disk may be overloaded or hang")

// stall tells callers that the log does not answer the writer.
type stall struct {
	// asked is signalled when a request to the log begins.
	asked chan struct{}

	mu sync.Mutex
	// request is the number of the newest request; running says that it has not returned.
	request uint64
	running bool
	// began is closed while the log does not answer.
	began   chan struct{}
	stalled bool
}

func newStall() stall { return stall{asked: make(chan struct{}, 1), began: make(chan struct{})} }

// waited returns a channel that is closed while the log does not answer.
func (s *stall) waited() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}

// begin is called before a request to the log, and end when it has returned. end reports whether that took too long.
func (s *stall) begin() {
	s.mu.Lock()
	s.request++
	s.running = true
	s.mu.Unlock()
	select {
	case s.asked <- struct{}{}:
	default:
	}
}

func (s *stall) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	if !s.stalled {
		return false
	}
	s.stalled, s.began = false, make(chan struct{})
	return true
}

// current returns the number of the request that runs; 0 if none does.
func (s *stall) current() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return 0
	}
	return s.request
}

// expire calls note and tells everybody who waits, if the request still runs.
func (s *stall) expire(request uint64, note func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled || !s.running || s.request != request {
		return
	}
	s.stalled = true
	note()
	close(s.began)
}

// askLog calls ask, which asks the log. If that takes too long, everybody who waits for the writer is answered with
// errStalled, and Health returns it until the log answers. One goroutine at a time calls it.
func (h *Handler) askLog(ask func() error) error {
	h.stall.begin()
	err := ask()
	if !h.stall.end() {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if errors.Is(h.doubt, errStalled) {
		h.doubt = err
	}
	if h.doubt == nil {
		h.logger.Info("the log answers again", "head", h.committed.Head().Sequence)
	}
	return err
}

// watchLog looks for requests to the log that do not return.
func (h *Handler) watchLog(ctx context.Context) {
	for {
		select {
		case <-h.stall.asked:
		case <-ctx.Done():
			return
		}
		seen, ticks := h.stall.current(), 0
		for seen != 0 {
			select {
			case <-h.config.After(stallTick):
			case <-ctx.Done():
				return
			}
			now := h.stall.current()
			if ticks++; now != seen {
				seen, ticks = now, 0
			}
			if ticks == stallTicks {
				h.stall.expire(seen, func() { h.setDoubt(errStalled) })
			}
		}
	}
}
