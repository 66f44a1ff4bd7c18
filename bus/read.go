package bus

import (
	"context"
	"errors"
	"fmt"

	"maestro/events"
)

// Read yields the messages from sequence from to sequence to, in order and without a gap; see commands.Log. The bodies
// belong to the caller. It waits while the log is reopened, and holds at most two pages of messages.
func (b *Bus) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	if from == 0 {
		return errors.New("read the log from sequence 0: its first is 1")
	}
	next := from
	if to >= from && to-from+1 >= pullFrom {
		var err error
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

// page reads one message or more, beginning with sequence next and without a gap.
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
		return page[:whole], nil // the next page begins with what is missing
	}
	// On a cluster a replica that lags, or lost a message, answers too: only the leader can say that a message is gone.
	m, err := r.fromLeader(ctx, next, b.options.Timeout)
	if errors.Is(err, errMissing) {
		return nil, &events.DamageError{Sequence: next, Why: fmt.Sprintf("the message is missing, %d was to be read up to", to)}
	}
	if err != nil {
		return nil, err
	}
	return []events.Message{m}, nil
}
