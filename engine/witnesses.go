package engine

import (
	"context"

	"maestro/events"
)

// Witnessed is a head that something outside the log remembers.
type Witnessed struct {
	events.Head
	// By says who: "the head file", or "a snapshot".
	By string
	// Brought says that the caller of an audit brought it: it proves nothing to the server.
	Brought bool
}

// Witnesses gives the heads that the head file and the snapshots remember, for an audit to hold the log against.
// Snapshots that cannot be read, or are of another log, are no witnesses.
func (h *Handler) Witnesses(ctx context.Context) ([]Witnessed, error) {
	var seen []Witnessed
	if h.config.Witness != nil {
		head, err := h.config.Witness.Load(ctx)
		if err != nil {
			return nil, err
		}
		if head.Sequence > 0 {
			seen = append(seen, Witnessed{Head: head, By: "the head file"})
		}
	}
	if h.config.Snapshots == nil {
		return seen, nil
	}
	sequences, err := h.config.Snapshots.List(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.RLock()
	genesis := h.committed.Genesis()
	h.mu.RUnlock()
	for _, sequence := range sequences {
		snapshot, err := h.config.Snapshots.Load(ctx, sequence)
		if err == nil && snapshot.Genesis == genesis {
			seen = append(seen, Witnessed{Head: snapshot.Head, By: "a snapshot"})
		}
	}
	return seen, nil
}
