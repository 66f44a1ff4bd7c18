package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"maestro/events"
)

// The headers of guarded publishes and atomic batches.
const (
	headerExpectedLast  = "Nats-Expected-Last-Sequence"
	headerBatchID       = "Nats-Batch-Id"
	headerBatchSequence = "Nats-Batch-Sequence"
	headerBatchCommit   = "Nats-Batch-Commit"
	// headerAppend names the append of a message that is one of several; see scannedStream.oneAppend.
	headerAppend = "Maestro-Append"
)

// maxBatch is the largest number of messages that JetStream accepts in one atomic batch.
const maxBatch = 1000

// Append stores messages after sequence after; see engine.Log for its guarantees. One call takes at most 1,000 messages
// and 4 MiB. One message is a guarded publish. Several are guarded publishes one after the other where nobody else can
// write to the log, and otherwise one atomic batch.
func (b *Bus) Append(ctx context.Context, after uint64, messages []events.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if len(messages) > maxBatch {
		return fmt.Errorf("append %d messages: a batch has at most %d", len(messages), maxBatch)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	release, err := b.use()
	if err != nil {
		return err
	}
	defer release()
	if err := b.Damage(); err != nil {
		return err
	}
	if err := b.room.check(); err != nil {
		b.lacksRoom.Store(true)
		return err
	}
	if err := b.unreadable(); err != nil {
		return err
	}
	if err := b.watch.answers(StreamName); err != nil {
		return err
	}
	err = b.writer.append(ctx, after, messages, len(messages) > 1 && !b.alone(after))
	if err == nil {
		err = b.syncAppended()
	}
	switch {
	case err == nil:
		b.acked.Store(after + uint64(len(messages)))
		b.last.note(after+uint64(len(messages)), messages[len(messages)-1].Body)
		b.doubtful.Store(false)
	case errors.Is(err, events.ErrUnknown):
		b.doubtful.Store(true)
	}
	return err
}

// alone reports whether the log ends at after and nobody else writes to it, so that a message is stored only after the
// one before it.
func (b *Bus) alone(after uint64) bool {
	return b.embedded != nil && !b.doubtful.Load() && b.acked.Load() == after
}

// syncAppended puts what the embedded server has just acknowledged on the disk, under Always. The server has written it
// to its files, and syncs nothing.
func (b *Bus) syncAppended() error {
	if b.embedded == nil || b.options.Durability != Always {
		return nil
	}
	if err := b.orServers(b.blocks.sync()); err != nil {
		return fmt.Errorf("%w: %w", events.ErrUnknown, err)
	}
	return nil
}

// syncSide does the same for a stream beside the log.
func (b *Bus) syncSide(stream string) error {
	if b.embedded == nil || b.options.Durability != Always {
		return nil
	}
	return b.orServers(b.sides[stream].sync())
}

// orServers returns the error of a sync, or that of the server, which syncs each second too: the kernel may report a
// failed write to the server only.
func (b *Bus) orServers(err error) error {
	if err == nil {
		err = b.alive()
	}
	return full(err)
}

// writer publishes appends and waits for their acknowledgements, one at a time. It allocates no more per message than
// nats.go does.
type writer struct {
	nc      *nats.Conn
	sub     *nats.Subscription
	answers chan *nats.Msg
	inbox   string // each append uses its own reply subject below it, so that a late reply is not taken for another's

	mu      sync.Mutex
	timeout time.Duration
	alive   func() error // returns an error if the server cannot reply
	number  uint64
	id      string // the prefix of every batch id of this writer
	timer   *time.Timer

	guard   nats.Header
	expect  []string
	several nats.Header // the headers of one of several guarded messages
	batch   nats.Header // the headers of a message in the middle of a batch
	batchID []string
	place   []string
}

func newWriter(nc *nats.Conn, timeout time.Duration, alive func() error) (*writer, error) {
	w := &writer{
		nc:      nc,
		timeout: timeout,
		alive:   alive,
		answers: make(chan *nats.Msg, 64),
		inbox:   nc.NewInbox() + ".",
		id:      strconv.FormatUint(uint64(rand.Uint32()), 36) + "-", //nolint:gosec // not a secret
		timer:   time.NewTimer(0),
		expect:  []string{""},
		batchID: []string{""},
		place:   []string{""},
	}
	w.guard = nats.Header{headerExpectedLast: w.expect}
	w.several = nats.Header{headerExpectedLast: w.expect, headerAppend: w.batchID}
	w.batch = nats.Header{headerBatchID: w.batchID, headerBatchSequence: w.place}
	sub, err := nc.ChanSubscribe(w.inbox+"*", w.answers)
	if err != nil {
		return nil, fmt.Errorf("subscribe to the acknowledgements: %w", err)
	}
	w.sub = sub
	return w, nil
}

func (w *writer) close() { _ = w.sub.Unsubscribe() }

func (w *writer) append(ctx context.Context, after uint64, messages []events.Message, inBatch bool) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	w.batchID[0] = w.id + strconv.FormatUint(w.number, 36)
	reply := w.inbox + strconv.FormatUint(w.number, 36)
	if inBatch {
		w.expect[0] = strconv.FormatUint(after, 10)
		err = w.publishBatch(reply, messages)
	} else {
		err = w.publishEach(reply, after, messages)
	}
	if err != nil {
		return fmt.Errorf("%w: publish: %w", events.ErrUnknown, err)
	}
	answer, err := w.wait(ctx, reply)
	if err != nil {
		return err
	}
	if inBatch {
		return outcome(answer, after, len(messages))
	}
	before := uint64(len(messages)) - 1
	err = outcome(answer, after+before, 1)
	if err != nil && before > 0 && !errors.Is(err, events.ErrUnknown) { // of those before, some may be stored
		err = fmt.Errorf("%w: %s", events.ErrUnknown, err.Error())
	}
	return err
}

// publishEach sends the messages as guarded publishes, one after the other. Each expects the one before it. The server
// replies to the last.
func (w *writer) publishEach(reply string, after uint64, messages []events.Message) error {
	msg := nats.Msg{Header: w.guard}
	if len(messages) > 1 {
		msg.Header = w.several
	}
	for i := range messages {
		w.expect[0] = strconv.FormatUint(after+uint64(i), 10) //nolint:gosec // an index
		msg.Subject, msg.Data = messages[i].Subject, messages[i].Body
		if i == len(messages)-1 {
			msg.Reply = reply
		}
		if err := w.nc.PublishMsg(&msg); err != nil {
			return err
		}
	}
	return nil
}

// publishBatch sends the messages as one atomic batch. The first message carries the guard; the last carries the commit
// and the reply subject. The server does not reply to the messages in between.
func (w *writer) publishBatch(reply string, messages []events.Message) error {
	msg := nats.Msg{}
	for i := range messages {
		w.place[0] = strconv.Itoa(i + 1)
		msg.Subject, msg.Data, msg.Header = messages[i].Subject, messages[i].Body, w.batch
		switch i {
		case 0:
			msg.Header = nats.Header{
				headerBatchID: w.batchID, headerBatchSequence: w.place,
				headerExpectedLast: w.expect,
			}
		case len(messages) - 1:
			msg.Header = nats.Header{headerBatchID: w.batchID, headerBatchSequence: w.place, headerBatchCommit: {"1"}}
			msg.Reply = reply
		}
		if err := w.nc.PublishMsg(&msg); err != nil {
			return err
		}
	}
	return nil
}

// wait returns the reply on the given subject and drops late replies to earlier appends.
func (w *writer) wait(ctx context.Context, reply string) (*nats.Msg, error) {
	until := time.Now().Add(w.timeout)
	w.timer.Reset(min(w.timeout, lookEvery))
	defer w.timer.Stop()
	for {
		select {
		case answer, ok := <-w.answers:
			if !ok {
				return nil, fmt.Errorf("%w: the connection was closed", events.ErrUnknown)
			}
			if answer.Subject == reply {
				return answer, nil
			}
		case <-w.timer.C:
			if err := w.alive(); err != nil {
				return nil, fmt.Errorf("%w: %w", events.ErrUnknown, err)
			}
			left := time.Until(until)
			if left <= 0 {
				return nil, fmt.Errorf("%w: no acknowledgement within %s", events.ErrUnknown, w.timeout)
			}
			w.timer.Reset(min(left, lookEvery))
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", events.ErrUnknown, context.Cause(ctx))
		}
	}
}
