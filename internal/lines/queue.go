// Package lines writes lines to a stream that nobody may be reading.
package lines

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// most bounds the waiting bytes.
	most = 1 << 20
	// patience is how long Close and Settle wait for the reader.
	patience = time.Second
)

// errUnread says that nobody reads the stream.
var errUnread = errors.New("nobody reads what is written")

// Queue is an io.Writer that never waits for a reader. One goroutine writes what was given to it, in order and with one
// Write each. What does not fit into the queue is dropped, and counted.
type Queue struct {
	w io.Writer
	// lost returns the line that reports the number of dropped lines; nil to report nothing.
	lost func(dropped int) []byte

	mu      sync.Mutex
	waiting []item
	size    int // bytes in waiting
	dropped int
	closed  bool
	unread  bool // after the Queue was closed, a wait for the reader was in vain

	wake chan struct{}
	done chan struct{} // closed when the goroutine has ended
}

// item is a line, or a waiter for everything before it to be written.
type item struct {
	line    []byte
	reached chan<- struct{}
}

// NewQueue starts to write to w. The caller must close it.
func NewQueue(w io.Writer, lost func(dropped int) []byte) *Queue {
	q := &Queue{
		w:    w,
		lost: lost,
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	go q.run()
	return q
}

// Write queues a line. It fails only once the Queue is closed and nobody reads the stream.
func (q *Queue) Write(line []byte) (int, error) {
	if len(line) == 0 || q.put(item{line: bytes.Clone(line)}) {
		return len(line), nil
	}
	if q.gaveUp() {
		return 0, errUnread
	}
	last := NewQueue(q.w, nil)
	last.put(item{line: bytes.Clone(line)})
	if !last.Close() {
		q.giveUp()
		return 0, errUnread
	}
	return len(line), nil
}

func (q *Queue) gaveUp() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.unread
}

func (q *Queue) giveUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unread = true
}

// put reports whether the Queue was still open.
func (q *Queue) put(i item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false
	case q.size+len(i.line) > most:
		q.dropped++
		return true
	}
	q.sayDropped()
	q.add(i)
	return true
}

func (q *Queue) add(i item) {
	q.waiting = append(q.waiting, i)
	q.size += len(i.line)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// sayDropped reports the number of dropped lines in their place. The caller holds mu.
func (q *Queue) sayDropped() {
	if q.dropped > 0 && q.lost != nil {
		q.add(item{line: q.lost(q.dropped)})
	}
	q.dropped = 0
}

// Settle waits a short time until the reader has received everything written before.
func (q *Queue) Settle() {
	reached := make(chan struct{})
	if !q.put(item{reached: reached}) {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-reached:
	case <-timer.C:
	}
}

// Close waits a short time until everything is written, and reports whether it is. Otherwise the goroutine ends when
// the reader accepts the next write, or with the process.
func (q *Queue) Close() bool {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-q.done:
		return true
	case <-timer.C:
		q.giveUp()
		return false
	}
}

func (q *Queue) run() {
	defer close(q.done)
	for {
		next, closed := q.next()
		switch {
		case next.reached != nil:
			close(next.reached)
		case next.line != nil:
			_, _ = q.w.Write(next.line) // there is nowhere left to report it
		case closed:
			return
		default:
			<-q.wake
		}
	}
}

// next takes the next item to write, if there is one.
func (q *Queue) next() (next item, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.sayDropped()
	}
	if len(q.waiting) == 0 {
		q.waiting = nil
		return item{}, q.closed
	}
	next, q.waiting = q.waiting[0], q.waiting[1:]
	q.size -= len(next.line)
	return next, q.closed
}
