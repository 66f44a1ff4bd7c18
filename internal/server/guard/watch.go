package guard

import (
	"context"
	"time"
)

// WatchEvery is how often a running server checks that its home is still where it was.
const WatchEvery = 250 * time.Millisecond

// Watch makes a server permanently read-only when its home is no longer where it was.
type Watch struct {
	// InPlace fails when the home or its log is no longer where it was.
	InPlace func() error
	// Stop ends all writes permanently.
	Stop func(why error)
}

// Run checks at every tick until its context ends, or there is nothing left to stop.
func (w Watch) Run(tick <-chan time.Time) func(context.Context) {
	return func(ctx context.Context) {
		for {
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
			if err := w.InPlace(); err != nil {
				w.Stop(err)
				return
			}
		}
	}
}
