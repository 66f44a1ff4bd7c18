package benchmark

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"maestro/bus"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/measure/rawbench"
)

const (
	// rawPublishers is how many publishers the unit has.
	rawPublishers = 64
	rawMessages   = rawPublishers * 40
	// queueWorkers pull from one queue.
	queueWorkers = 50
	itemsEach    = 30
)

const unit = "JetStream over TCP with one fsync a message and 64 publishers"

// units measures durable commands, and items that are started and completed, in the unit of what JetStream does by
// itself; and commands against the limit: the same bytes on the same path, without a decision.
func units(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := newBench(ctx, o, "units", bus.Always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	dir, err := os.MkdirTemp(o.Dir, "unit")
	if err != nil {
		return err
	}
	raw, err := rawbench.ServeTCP(ctx, dir, true)
	if err != nil {
		return err
	}
	defer raw.Close()
	bare, err := open(ctx, o, "limit", bus.Always)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	limit := &undecided{bus: bare, body: b.sample}

	figures, err := turns(o.Rounds,
		b.callers(ctx, 64, 64*100),
		b.callers(ctx, 512, 512*40),
		b.worked(ctx),
		func() (float64, error) {
			took, err := rawbench.Publish(ctx, raw.Conn(), b.sample, rawPublishers, rawMessages)
			return perSecond(rawMessages, took, err)
		},
		limit.batches(ctx, 64, 100),
		limit.batches(ctx, 512, 40))
	if err != nil {
		return err
	}
	report(atLeast("unit_callers_64", 5, figures[0], figures[3], "/s", unit))
	report(atLeast("unit_callers_512", 8, figures[1], figures[3], "/s", unit))
	report(atLeast("unit_queue_50", 1.8, figures[2], figures[3], "items/s", unit))
	report(atLeast("limit_callers_64", 0.5, figures[0], figures[4], "/s", "the same bytes without decisions"))
	report(atLeast("limit_callers_512", 0.5, figures[1], figures[5], "/s", "the same bytes without decisions"))
	return nil
}

// worked measures items that workers start and complete, in a queue that is made for each turn.
func (b *bench) worked(ctx context.Context) sample {
	return func() (float64, error) {
		const n = queueWorkers * itemsEach
		line, err := b.newQueue(ctx, n, queueWorkers)
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		err = atOnceBy(queueWorkers, n, func(i int) error {
			by := line.sessions[i%queueWorkers]
			started, err := line.do(ctx, by, &commands.StartItem{}, strconv.Itoa(i))
			if err != nil {
				return err
			}
			item, ok := started.(*events.QueueItemStarted)
			if !ok {
				return errors.New("the queue gave no item")
			}
			_, err = line.do(ctx, by, &commands.CompleteItem{TaskID: item.TaskID}, strconv.Itoa(i))
			return err
		})
		return perSecond(n, time.Since(begin), err)
	}
}

// undecided appends the event of a report again and again.
type undecided struct {
	bus  *bus.Bus
	body []byte
	head uint64
}

func (u *undecided) batches(ctx context.Context, size, n int) sample {
	return func() (float64, error) {
		messages := make([]events.Message, size)
		for i := range messages {
			messages[i] = events.Message{Subject: events.Subject("bench", "session", "s"), Body: u.body}
		}
		begin := time.Now()
		for range n {
			if err := u.bus.Append(ctx, u.head, messages); err != nil {
				return 0, err
			}
			u.head += uint64(size) //nolint:gosec // a small number
		}
		return perSecond(size*n, time.Since(begin), nil)
	}
}
