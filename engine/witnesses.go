package engine

import (
	"context"
	"errors"

	"maestro/events"
)

// Witnessed is a head that something outside the log remembers.
type Witnessed struct {
	events.Head
	// By says who: "the head file", or "a snapshot".
	By string
	// Brought says that the caller of an audit brought it: it proves nothing to the server.
	Brought bool
	// Unread says why the head could not be read, if so; the Head is zero then.
	Unread error
}

// nextUnread is the advice for a head file that cannot be read.
const nextUnread = "compare the log with a head that you kept, with `maestro audit verify --from-head SEQ:HASH`; " +
	"then delete the file, or move it away"

// Witnesses returns the heads that the head file, the snapshots and whoever started the server remember, for an audit
// to hold the log against. Snapshots that cannot be read, or are of another log, are no witnesses. It fails with
// events.ErrReadOnly when the home is gone.
func (h *Handler) Witnesses(ctx context.Context) ([]Witnessed, error) {
	var seen []Witnessed
	if h.config.Witness != nil {
		head, err := h.config.Witness.Load(ctx)
		switch {
		case errors.Is(err, events.ErrReadOnly):
			return nil, err
		case err != nil:
			seen = append(seen, Witnessed{By: "the head file", Unread: err})
		case head.Sequence > 0:
			seen = append(seen, Witnessed{Head: head, By: "the head file"})
		}
	}
	if h.config.Seen.Sequence > 0 {
		seen = append(seen, h.config.Seen)
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
