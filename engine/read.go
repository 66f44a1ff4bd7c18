package engine

import (
	"context"
	"errors"

	"maestro/projections"
)

const (
	// ReadMost is how many steps one look at the state may take: the writer and all other readers wait behind it.
	ReadMost = 500_000
	// readCheck is after how many steps a look asks whether anybody still wants it.
	readCheck = 1000
)

// ErrReadTooLong says that a look at the state took more than ReadMost steps.
var ErrReadTooLong = errors.New("engine: the read takes more work than one read may")

// endedRead carries the reason for which a look ends out of the middle of it.
type endedRead struct{ why error }

// Read is View for one caller: it counts the steps, and ends with ctx's error once the caller is gone, and with
// ErrReadTooLong after ReadMost steps. see must leave nothing locked when it panics.
func (h *Handler) Read(ctx context.Context, see func(*projections.State) error) (steps int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	reader, counted := h.committed.Reader(readCheck, func(steps uint64) {
		if err := ctx.Err(); err != nil {
			panic(endedRead{err})
		}
		if steps > h.config.ReadMost {
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
