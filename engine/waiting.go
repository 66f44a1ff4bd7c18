package engine

import (
	"context"
	"sync"
	"time"

	"maestro/events"
)

// pending is a command on its way to the writer. done takes exactly one result and never blocks the writer.
type pending struct {
	Request
	ctx    context.Context
	source string // of the actor
	hash   events.RequestHash
	done   chan result
	since  time.Time // it waits for the writer; zero if nobody measures that
}

// empty returns one to fill in; done may have been another command's.
func (q *queue) empty() *pending {
	if p, ok := q.answered.Get().(*pending); ok {
		return p
	}
	return &pending{done: make(chan result, 1)}
}

// free takes back a pending command whose answer was taken. Nothing else refers to it.
func (q *queue) free(p *pending) {
	*p = pending{done: p.done}
	q.answered.Put(p)
}

type result struct {
	answer Answer
	err    error
	// retryOf is the sequence of the committed event that the command already became; its caller reads it.
	retryOf uint64
	// at is the sequence that it was decided on.
	at uint64
	// steps is how much work it was.
	steps uint64
}

// queue holds the commands that wait for the writer, in order of arrival.
type queue struct {
	mu      sync.Mutex
	waiting []*pending
	want    int // the writer is woken when so many wait
	closed  bool
	wake    chan struct{}
	// answered are commands to be used again.
	answered sync.Pool
}

// add reports false when the writer takes no more.
func (q *queue) add(p *pending) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.waiting = append(q.waiting, p)
	if len(q.waiting) >= q.want {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	q.mu.Unlock()
	return true
}

// expect says how many must wait before the writer is woken, and reports whether they do already.
func (q *queue) expect(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.want = n
	if len(q.waiting) >= n {
		return true
	}
	select {
	case <-q.wake: // from a command that came before
	default:
	}
	return false
}

// len returns how many wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// take returns all that wait; spare is an empty slice to fill from now on.
func (q *queue) take(spare []*pending) []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.waiting
	q.waiting = spare
	return taken
}

// join returns what has waited longer with all that wait.
func (q *queue) join(longer []*pending) []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	longer = append(longer, q.waiting...)
	clear(q.waiting)
	q.waiting = q.waiting[:0]
	return longer
}

// close returns all that still wait; from now on add reports false.
func (q *queue) close() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	taken := q.waiting
	q.waiting = nil
	return taken
}
