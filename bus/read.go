package bus

import (
	"context"
	"errors"
	"fmt"

	"maestro/events"
)

// Read yields the messages from sequence from to sequence to, in order and without a gap; see engine.Log. The caller
// owns the bodies. Read waits while the log is reopened, and holds at most two pages of messages.
func (b *Bus) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	if from == 0 {
		return errors.New("read the log from sequence 0: its first is 1")
	}
	next, err := b.readFiles(ctx, from, to, yield)
	if err != nil || next > to {
		return err
	}
	from = next
	if to >= from && to-from+1 >= pullFrom {
		if next, err = b.pull(ctx, from, to, yield); err != nil {
			return err
		}
	}
	for next <= to {
		page, err := b.page(ctx, next, to)
		if err != nil {
			return err
		}
		for _, m := range page {
			if err := yield(m); err != nil {
				return err
			}
		}
		next += uint64(len(page))
	}
	return nil
}

// readFiles yields what the files of an embedded log hold, and returns the next sequence. The server has to supply what
// the files do not hold yet.
func (b *Bus) readFiles(ctx context.Context, from, to uint64, yield func(events.Message) error) (next uint64,
	err error,
) {
	if from > to || b.embedded == nil && b.files.Load() == nil {
		return from, nil
	}
	acked := b.acked.Load()
	files, release, err := b.useFiles()
	if err != nil {
		return from, err
	}
	if files != nil {
		release()
		err := files.Read(ctx, from, to, yield)
		if unread := (*UnreadError)(nil); errors.As(err, &unread) && errors.Is(err, events.ErrReadOnly) {
			err = b.Damage() // which is checked again
		}
		return to + 1, err
	}
	release() // a reader that waits in yield must not delay a reopen
	if to-from >= aheadFrom {
		next, err = b.onDisk.readAhead(ctx, from, to, acked, yield)
	} else {
		next, err = b.onDisk.read(ctx, from, to, acked, yield)
	}
	var damage *events.DamageError
	var own yieldError
	switch {
	case errors.As(err, &own):
		return next, own.error
	case errors.Is(err, errNotYet):
		return next, nil
	case errors.As(err, &damage):
		if err := b.embedded.held.here(); err != nil {
			return next, err
		}
		return next, b.damaged(damage)
	}
	return next, b.readFailed(ctx, err)
}

// page reads one or more messages, beginning with sequence next and without a gap.
func (b *Bus) page(ctx context.Context, next, to uint64) ([]events.Message, error) {
	release, err := b.use()
	if err != nil {
		return nil, err
	}
	defer release()
	r, err := b.readers.take()
	if err != nil {
		return nil, err
	}
	defer b.readers.give(r)
	page, err := r.direct(ctx, next, to, b.options.Timeout)
	if err != nil {
		return nil, err
	}
	whole := 0
	for whole < len(page) && page[whole].Sequence == next+uint64(whole) {
		whole++
	}
	if whole > 0 {
		return page[:whole], nil // the next page begins with the missing message
	}
	// On a cluster, a replica that lags or has lost a message also replies: only the leader can say that a message is
	// gone.
	m, err := r.fromLeader(ctx, next, b.options.Timeout)
	if errors.Is(err, errMissing) {
		return nil, &events.DamageError{
			Sequence: next,
			Why:      fmt.Sprintf("the message is missing, %d was to be read up to", to),
		}
	}
	if err != nil {
		return nil, err
	}
	return []events.Message{m}, nil
}
