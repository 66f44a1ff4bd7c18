package metrics

import (
	"context"
	"sync"
)

// look is a source that may hang, such as a disk. At most one look is in progress: a scrape that comes meanwhile waits
// for the same answer, so a source that hangs for good costs one goroutine, and each scrape a part of its time.
type look[T any] struct {
	get func(ctx context.Context) (T, error)
	// open counts the looks in progress of all sources.
	open *sync.WaitGroup

	mu  sync.Mutex
	now *looking[T]
}

// looking is a look in progress.
type looking[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// start looks, unless somebody does already.
func (l *look[T]) start() *looking[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil {
		return l.now
	}
	x := &looking[T]{done: make(chan struct{})}
	l.now = x
	l.open.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		x.value, x.err = l.get(ctx)
		l.mu.Lock()
		l.now = nil
		l.mu.Unlock()
		close(x.done)
	})
	return x
}

// wait returns what was seen, or ctx's error if that takes longer.
func (x *looking[T]) wait(ctx context.Context) (T, error) {
	select {
	case <-x.done:
		return x.value, x.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
