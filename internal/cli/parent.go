package cli

import (
	"context"
	"errors"
	"time"

	"maestro/internal/failure"
)

// errParentEnded ends a wait whose result nobody would read.
var errParentEnded = &failure.Error{
	Code:    "PARENT_ENDED",
	Message: "The process that started this command has ended",
	Why:     "nobody would read what it waits for",
	Err:     errors.New("parent process ended"),
}

// parentLook is how often a waiting command checks whether the process that started it is still there. On every
// platform an orphan gets another parent; a signal at the end of a parent (Linux) also comes when only the parent's
// thread has ended.
const parentLook = 100 * time.Millisecond

// orphaned reports whether the process that started this one has ended.
func (a *Run) orphaned() bool { return a.Parent != nil && a.Parent() != a.startedBy }

// whileParentLives returns a context that ends with the process that started this one. The caller must call done, which
// waits for the context's goroutine.
func (a *Run) whileParentLives(ctx context.Context) (lives context.Context, done func()) {
	lives, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(parentLook)
		defer ticks.Stop()
		for {
			if a.orphaned() {
				cancel(errParentEnded)
				return
			}
			select {
			case <-ticks.C:
			case <-lives.Done():
				return
			}
		}
	}()
	return lives, func() {
		cancel(nil)
		<-ended
	}
}
