package engine

import (
	"context"
	"fmt"
	"time"

	"maestro/projections"
)

// Past is the state as it was after a committed event. It does not change, so several callers may read it at once.
type Past struct {
	state *projections.State
	most  uint64
}

// NotCommittedError means that the log does not reach a sequence.
type NotCommittedError struct{ Sequence, Head uint64 }

func (e *NotCommittedError) Error() string {
	return fmt.Sprintf("sequence %d is not committed; the head is %d", e.Sequence, e.Head)
}

// Past folds the log up to a committed sequence, from the nearest snapshot before it; 0 is the state before the first
// event. It counts the events to fold, also if it fails: with *NotCommittedError, with an error of Log.Read, or with
// ctx's error.
func (h *Handler) Past(ctx context.Context, sequence uint64) (past *Past, folded uint64, err error) {
	state, folded, err := h.stateAt(ctx, sequence)
	if err != nil {
		return nil, folded, err
	}
	return &Past{state, h.config.ReadMost}, folded, nil
}

// Sequence returns the sequence of the last event in the state.
func (p *Past) Sequence() uint64 { return p.state.Head().Sequence }

// At returns the time of that event.
func (p *Past) At() time.Time { return p.state.At() }

// View shows the state, which see must not retain.
func (p *Past) View(see func(*projections.State)) { see(p.state) }

// Read is [Handler.Read] for the past state.
func (p *Past) Read(ctx context.Context, see func(*projections.State) error) (steps int, err error) {
	return readState(ctx, p.state, p.most, see)
}
