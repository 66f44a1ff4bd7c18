package engine

import (
	"context"
	"errors"

	"maestro/projections"
)

const (
	// ReadMost is how many steps one read of the state may take. It is bounded because the writer and all other readers
	// wait behind it.
	ReadMost = 500_000
	// readCheck is the number of steps after which a read checks whether its caller is still there.
	readCheck = 1000
)

// ErrReadTooLong means that a read of the state took more than ReadMost steps.
var ErrReadTooLong = errors.New("engine: the read takes more work than one read may")

// endedRead carries, as a panic, the reason why a read is aborted.
type endedRead struct{ why error }

// Read is View with bounded work: it counts the steps, and ends with ctx's error once the caller is gone, and with
// ErrReadTooLong after ReadMost steps. It aborts see with a panic, so see must leave nothing locked when it panics.
func (h *Handler) Read(ctx context.Context, see func(*projections.State) error) (steps int, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return readState(ctx, h.committed, h.config.ReadMost, see)
}

// readState reads a state that does not change meanwhile, in at most so many steps.
func readState(
	ctx context.Context, state *projections.State, most uint64, see func(*projections.State) error,
) (steps int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	reader, counted := state.Reader(readCheck, func(steps uint64) {
		if err := ctx.Err(); err != nil {
			panic(endedRead{err})
		}
		if steps > most {
			panic(endedRead{ErrReadTooLong})
		}
	})
	defer func() {
		steps = int(*counted) //nolint:gosec // at most a little more than ReadMost
		if ended := recover(); ended != nil {
			it, ours := ended.(endedRead)
			if !ours {
				panic(ended)
			}
			err = it.why
		}
	}()
	return 0, see(reader)
}
