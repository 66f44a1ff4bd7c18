package engine

import (
	"context"

	"maestro/events"
)

// Log is the one place where what happened is kept, as the Handler needs it. The embedded server, a NATS cluster and
// the simulation each satisfy it, and one conformance suite (internal/testing/logtest) holds all of them to what is
// said here.
type Log interface {
	// Append stores the messages behind sequence after, in order and as one, and returns when they are as durable as
	// the log was configured to make them. It fails with
	//   - events.ErrConflict when the head is not after: nothing was stored;
	//   - events.ErrUnknown when it cannot say: all, none or (after a crash) a first part may be stored, now or a little later;
	//   - events.ErrFull or events.ErrReadOnly when nothing was sent.
	// The caller appends one batch at a time. A cancelled ctx gives ErrUnknown once anything was sent.
	Append(ctx context.Context, after uint64, messages []events.Message) error

	// Sync makes everything that the log holds durable and answers its head. Whatever an earlier Append left behind has
	// then happened or will be refused by the next Append's guard. It fails with events.ErrFull when the disk has no
	// room.
	Sync(ctx context.Context) (head uint64, err error)

	// Read yields the messages of sequences from to to, both included, in order, and fails with *events.DamageError
	// when one is missing. It may return a message that no Append has acknowledged yet: a reader that must not see
	// those calls Sync first. An error from yield ends the reading and is returned as it is. Bodies belong to the
	// caller.
	Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error
}
