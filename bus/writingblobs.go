package bus

import (
	"context"
	"sync"
)

// writingBlobs serialises the writers of the same content. nats-server shows a message before it is on the disk, so a
// writer that finds another writer's content meanwhile must not take it for durable.
type writingBlobs struct {
	mu   sync.Mutex
	ends map[string]chan struct{} // by digest; closed when its writer has ended
}

// turn waits until nobody writes a content, and then blocks other writers until end is called. It fails with ctx's
// error.
func (w *writingBlobs) turn(ctx context.Context, digest string) (end func(), err error) {
	for {
		w.mu.Lock()
		other := w.ends[digest]
		if other == nil {
			break
		}
		w.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer w.mu.Unlock()
	if w.ends == nil {
		w.ends = map[string]chan struct{}{}
	}
	own := make(chan struct{})
	w.ends[digest] = own
	return func() {
		w.mu.Lock()
		delete(w.ends, digest)
		w.mu.Unlock()
		close(own)
	}, nil
}
