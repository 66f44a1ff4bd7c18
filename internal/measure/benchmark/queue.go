package benchmark

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"maestro/bus"
	"maestro/commands"
	"maestro/events"
)

const (
	queueCallers = 64
	// startsEach is how many items each caller starts in a turn, each for a session of its own.
	startsEach = 30
	fewItems   = 100
	manyItems  = 100_000
)

// queues measures the cost of starting a queue item: relative to reports, and in a long queue relative to a short one.
func queues(ctx context.Context, o Options, report func(Check)) error {
	return errors.Join(startsAgainstReports(ctx, o, report), startsInLongQueues(ctx, o, report))
}

func startsAgainstReports(ctx context.Context, o Options, report func(Check)) (err error) {
	b, err := open(ctx, o, "queue", bus.Always)
	if err != nil {
		return err
	}
	p, err := newProduct(ctx, b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	defer func() { err = errors.Join(err, p.close()) }()
	const n = queueCallers * startsEach
	figures, err := turns(o.Rounds,
		func() (float64, error) {
			line, err := p.newQueue(ctx, n, n)
			if err != nil {
				return 0, err
			}
			took, err := line.starts(ctx, queueCallers)
			return perSecond(n, took, err)
		},
		func() (float64, error) { took, err := p.reports(ctx, queueCallers, n); return perSecond(n, took, err) })
	if err != nil {
		return err
	}
	report(atLeast("queue_start_64_durable", 0.5, figures[0], figures[1], "/s", "reports by as many callers"))
	return nil
}

// startsInLongQueues measures without a disk, whose cost would hide the growth.
func startsInLongQueues(ctx context.Context, o Options, report func(Check)) (err error) {
	p, err := newProductOn(ctx, new(memory))
	if err != nil {
		return err
	}
	defer p.handler.Close()
	long, err := p.newQueue(ctx, manyItems, 0)
	if err != nil {
		return err
	}
	turn := func(q *queueLine) (float64, error) {
		if err := q.spawn(ctx, fewItems); err != nil {
			return 0, err
		}
		took, err := q.starts(ctx, 1)
		return microseconds(fewItems, took, err)
	}
	figures, err := turns(o.Rounds,
		func() (float64, error) { return turn(long) },
		func() (float64, error) {
			short, err := p.newQueue(ctx, fewItems, 0)
			if err != nil {
				return 0, err
			}
			return turn(short)
		})
	if err != nil {
		return err
	}
	report(atMost("queue_start_100000_items", 2, figures[0], figures[1], "µs", "a queue of 100 items"))
	return nil
}

// queueLine is a queue with sessions that have not pulled from it yet.
type queueLine struct {
	*product
	name     string
	sessions []commands.Actor
}

// newQueue creates a queue with so many items, and sessions for it.
func (p *product) newQueue(ctx context.Context, items, sessions int) (*queueLine, error) {
	p.runs++
	q := &queueLine{product: p, name: "q" + strconv.Itoa(p.runs)}
	in := commands.ProjectRef{Project: p.worker.Project}
	admin := commands.Admin(commands.AuthnToken)
	if _, err := p.do(ctx, admin, &commands.CreateQueue{ProjectRef: in, Queue: q.name}, q.name); err != nil {
		return nil, err
	}
	err := atOnce(items, func(i int) error {
		key := q.name + "." + strconv.Itoa(i)
		made, err := p.do(ctx, admin, &commands.CreateTask{ProjectRef: in, Title: key}, key)
		if err != nil {
			return err
		}
		_, err = p.do(ctx, admin, &commands.PushItem{
			QueueRef: commands.QueueRef{ProjectRef: in, Queue: q.name},
			TaskID:   made.(*events.TaskCreated).TaskID,
		}, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fill the queue: %w", err)
	}
	return q, q.spawn(ctx, sessions)
}

// spawn creates sessions that pull from the queue.
func (q *queueLine) spawn(ctx context.Context, n int) error {
	q.runs++
	sessions := make([]commands.Actor, n)
	err := atOnce(n, func(i int) error {
		spawn := &commands.SpawnSession{
			ProjectRef: commands.ProjectRef{Project: q.worker.Project}, Strategy: events.StrategyQueue,
			Queue: q.name,
		}
		made, err := q.do(ctx, commands.Admin(commands.AuthnToken), spawn, fmt.Sprintf("%s.%d.%d", q.name, q.runs, i))
		if err == nil {
			sessions[i] = commands.SessionActor(q.worker.Project, made.(*events.SessionSpawned).SessionID,
				commands.AuthnToken)
		}
		return err
	})
	q.sessions = sessions
	return err
}

// starts makes each session start an item, with so many concurrent callers, and returns how long that took.
func (q *queueLine) starts(ctx context.Context, callers int) (time.Duration, error) {
	begin := time.Now()
	err := atOnceBy(callers, len(q.sessions), func(i int) error {
		started, err := q.do(ctx, q.sessions[i], &commands.StartItem{}, "start")
		if err == nil && started == nil {
			err = errors.New("the queue gave no item")
		}
		return err
	})
	return time.Since(begin), err
}

// atOnce does n things, many of them concurrently.
func atOnce(n int, do func(i int) error) error { return atOnceBy(512, n, do) }

func atOnceBy(callers, n int, do func(i int) error) error {
	failed := make(chan error, callers)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := caller; i < n; i += callers {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// memory is a log without a disk.
type memory struct {
	mu       sync.Mutex
	messages []events.Message
}

func (m *memory) Append(_ context.Context, after uint64, messages []events.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if uint64(len(m.messages)) != after {
		return events.ErrConflict
	}
	m.messages = append(m.messages, messages...)
	return nil
}

func (m *memory) Sync(context.Context) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return uint64(len(m.messages)), nil
}

func (m *memory) Read(_ context.Context, from, to uint64, yield func(events.Message) error) error {
	m.mu.Lock()
	messages := m.messages
	m.mu.Unlock()
	for sequence := from; sequence <= to; sequence++ {
		if err := yield(messages[sequence-1]); err != nil {
			return err
		}
	}
	return nil
}
