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
)

// maxBatch is how many messages JetStream takes in one atomic batch.
const maxBatch = 1000

// Append stores messages behind sequence after, all or nothing; see engine.Log for what it promises. At most 1,000
// messages and 4 MiB go in one call. One message is a guarded publish, several are one atomic batch.
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
	incomplete, err := b.writer.append(ctx, after, messages)
	switch {
	case err == nil:
		b.acked.Store(after + uint64(len(messages)))
		b.last.note(after+uint64(len(messages)), messages[len(messages)-1].Body)
		b.doubtful.Store(false)
	case errors.Is(err, events.ErrUnknown):
		b.doubtful.Store(true)
		if incomplete && b.embedded != nil {
			b.embedded.staging.distrust()
		}
	}
	return err
}

// writer publishes appends and waits for their acknowledgements, one at a time. It allocates per message only what
// nats.go does.
type writer struct {
	nc      *nats.Conn
	sub     *nats.Subscription
	answers chan *nats.Msg
	inbox   string // each append answers to its own subject below it, so a late answer is not taken for another's

	mu      sync.Mutex
	timeout time.Duration
	alive   func() error // says why the server answers nobody
	number  uint64
	id      string // begins every batch id of this writer
	timer   *time.Timer

	guard   nats.Header
	expect  []string
	batch   nats.Header // a message in the middle
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
		id:      strconv.FormatUint(uint64(rand.Uint32()), 36) + "-", //nolint:gosec // it guards nothing
		timer:   time.NewTimer(0),
		expect:  []string{""},
		batchID: []string{""},
		place:   []string{""},
	}
	w.guard = nats.Header{headerExpectedLast: w.expect}
	w.batch = nats.Header{headerBatchID: w.batchID, headerBatchSequence: w.place}
	sub, err := nc.ChanSubscribe(w.inbox+"*", w.answers)
	if err != nil {
		return nil, fmt.Errorf("subscribe to the acknowledgements: %w", err)
	}
	w.sub = sub
	return w, nil
}

func (w *writer) close() { _ = w.sub.Unsubscribe() }

func (w *writer) append(ctx context.Context, after uint64, messages []events.Message) (incomplete bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	reply := w.inbox + strconv.FormatUint(w.number, 36)
	w.expect[0] = strconv.FormatUint(after, 10)
	if len(messages) == 1 {
		err = w.nc.PublishMsg(&nats.Msg{
			Subject: messages[0].Subject,
			Reply:   reply,
			Header:  w.guard,
			Data:    messages[0].Body,
		})
	} else {
		err = w.publishBatch(reply, messages)
	}
	if err != nil {
		return false, fmt.Errorf("%w: publish: %w", events.ErrUnknown, err)
	}
	answer, err := w.wait(ctx, reply)
	if err != nil {
		return false, err
	}
	return outcome(answer, after, len(messages))
}

// publishBatch sends the messages as one atomic batch. The guard is on the first, the commit and the reply on the last:
// the server says nothing about those between.
func (w *writer) publishBatch(reply string, messages []events.Message) error {
	w.batchID[0] = w.id + strconv.FormatUint(w.number, 36)
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

// wait returns the answer to reply, dropping what came too late for earlier appends.
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
