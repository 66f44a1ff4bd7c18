package engine

import (
	"context"

	"maestro/events"
)

// Log stores the events durably and is their only authoritative store. The embedded server, a NATS cluster and the
// simulation each implement it, and one conformance suite (internal/testing/logtest) checks them all against what
// this comment says.
type Log interface {
	// Append stores the messages after sequence after, in order, and returns when they are as durable as the log was
	// configured to make them. It fails with
	//   - events.ErrConflict when the head is not after: nothing was stored;
	//   - events.ErrUnknown when the outcome is unknown: all, none or a first part of them may be stored, now or a
	//     little later;
	//   - events.ErrFull or events.ErrReadOnly when nothing was sent.
	// The caller appends one batch at a time. If ctx is cancelled after anything was sent, Append fails with
	// ErrUnknown.
	Append(ctx context.Context, after uint64, messages []events.Message) error

	// Sync makes everything that the log holds durable and returns its head. It settles every earlier Append: its
	// messages are part of the log by then, or the guard of the next Append refuses them. It fails with events.ErrFull
	// when the disk has no room.
	Sync(ctx context.Context) (head uint64, err error)

	// Read yields the messages of the sequences from to to, both inclusive, in order, and fails with
	// *events.DamageError when one is missing. It may yield a message that no Append has acknowledged yet: a reader
	// that must not see such messages calls Sync first. Read stops at an error from yield and returns it unchanged. The
	// caller owns the bodies.
	Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error
}
