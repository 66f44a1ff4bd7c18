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
	// most is how many bytes wait at most.
	most = 1 << 20
	// patience is how long whoever ends, or wants what waits to be written first, waits for the reader.
	patience = time.Second
)

// errUnread says that nobody reads the stream.
var errUnread = errors.New("nobody reads what is written")

// Queue is an io.Writer that never waits for a reader. One goroutine writes what was given to it, in order and one
// Write for each. What finds the queue full is dropped, and counted.
type Queue struct {
	w io.Writer
	// lost returns the line that says how many were dropped; nil to say nothing.
	lost func(dropped int) []byte

	mu      sync.Mutex
	waiting []item
	size    int // bytes in waiting
	dropped int
	closed  bool
	unread  bool // somebody waited for the reader in vain, after the Queue was closed

	wake chan struct{}
	done chan struct{} // closed when the goroutine has ended
}

// item is a line, or somebody who waits until what came before is written.
type item struct {
	line    []byte
	reached chan<- struct{}
}

// NewQueue begins to write to w. Close it.
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

// Write takes a line. It fails only once the Queue is closed, when nobody reads the stream.
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

// sayDropped has the lines that were dropped counted in their place; mu is held.
func (q *Queue) sayDropped() {
	if q.dropped > 0 && q.lost != nil {
		q.add(item{line: q.lost(q.dropped)})
	}
	q.dropped = 0
}

// Settle waits a short while until all that was written before is with the reader.
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

// Close waits a short while until everything is written, and reports whether it is. Else the goroutine ends when the
// reader takes what it is about to write, or with the process.
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
			_, _ = q.w.Write(next.line) // there is nowhere left to complain
		case closed:
			return
		default:
			<-q.wake
		}
	}
}

// next takes what is to be written next; nothing if there is none now.
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
