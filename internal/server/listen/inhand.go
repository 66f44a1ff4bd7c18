package listen

import (
	"context"
	"net/http"
	"sync"
)

// inHand counts the requests that are being answered, also those whose handler took over the connection, such as a
// WebSocket: a shutdown of net/http does not wait for them.
type inHand struct {
	mu sync.Mutex
	n  int
	// none is closed when there is none any more; nil while nobody waits for that.
	none chan struct{}
}

// count returns the handler, with its requests counted.
func (h *inHand) count(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.add(1)
		defer h.add(-1)
		handler.ServeHTTP(w, r)
	})
}

func (h *inHand) add(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n += n; h.n == 0 && h.none != nil {
		close(h.none)
		h.none = nil
	}
}

// wait waits until no request is being answered, or for ctx, whose error it returns. Only one caller may wait.
func (h *inHand) wait(ctx context.Context) error {
	none := make(chan struct{})
	h.mu.Lock()
	if h.n == 0 {
		close(none)
	} else {
		h.none = none
	}
	h.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
