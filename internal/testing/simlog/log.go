package simlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"maestro/events"
)

var (
	errFailed = errors.New("the log did not answer in time")
	errDead   = errors.New("the process is dead")
)

// Log is a process's connection to a Store. It implements engine.Log and is safe for concurrent use.
type Log struct {
	store *Store

	mu     sync.Mutex
	hold   func(*Op) bool
	decide func(*Op) Outcome
	watch  func(*Op, error)
	held   []*Op
	dead   bool
}

// Open returns a connection that holds no operations.
func (s *Store) Open() *Log { return &Log{store: s} }

// Hold makes the operations that hold selects wait for Resolve from now on.
func (l *Log) Hold(hold func(*Op) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = hold
}

// Decide chooses the outcome of the operations that are not held; by default they are OK.
func (l *Log) Decide(decide func(*Op) Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decide = decide
}

// Watch registers watch for the result of each operation that is not killed. It is called before the operation's caller
// returns, possibly concurrently.
func (l *Log) Watch(watch func(*Op, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = watch
}

// Held returns the waiting operations, in an order that does not depend on the scheduler.
func (l *Log) Held() []*Op {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := slices.Clone(l.held)
	slices.SortStableFunc(held, func(a, b *Op) int {
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		if a.From != b.From {
			return int(a.From) - int(b.From)
		}
		if a.To != b.To {
			return int(a.To) - int(b.To)
		}
		return a.Caller - b.Caller
	})
	return held
}

// Resolve gives a held operation its outcome, which takes effect before Resolve returns.
func (l *Log) Resolve(op *Op, outcome Outcome) error {
	l.mu.Lock()
	at := slices.Index(l.held, op)
	if at >= 0 {
		l.held = slices.Delete(l.held, at, at+1)
	}
	l.mu.Unlock()
	if at < 0 {
		return nil // its caller has left
	}
	r := l.perform(op, outcome)
	op.done <- r
	return r.err
}

// Kill ends the process: held operations fail, and so does everything after them. It returns the appends in progress.
func (l *Log) Kill() []*Op {
	l.mu.Lock()
	held := l.held
	l.held, l.dead = nil, true
	l.mu.Unlock()
	var appends []*Op
	for _, op := range held {
		if op.Kind == Append {
			appends = append(appends, op)
		}
		op.done <- result{err: errDead}
	}
	return appends
}

func (l *Log) perform(op *Op, outcome Outcome) result {
	var r result
	switch op.Kind {
	case Append:
		r.err = l.store.append(op, outcome)
	case Sync:
		r.head, r.err = l.store.sync(outcome)
	case Read:
		r.read, r.err = l.store.read(op.From, op.To, outcome)
	}
	if l.watch != nil {
		l.watch(op, r.err)
	}
	return r
}

// do gives an operation its outcome, at once or when it is resolved.
func (l *Log) do(ctx context.Context, op *Op) result {
	if err := ctx.Err(); err != nil {
		return result{err: err}
	}
	op.log, op.done, op.Began = l, make(chan result, 1), time.Now()
	op.Caller, _ = ctx.Value(callerKey{}).(int)
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return result{err: errDead}
	}
	if l.hold == nil || !l.hold(op) {
		outcome := OK
		if l.decide != nil {
			outcome = l.decide(op)
		}
		defer l.mu.Unlock() // a Kill comes before it or after it
		return l.perform(op, outcome)
	}
	l.held = append(l.held, op)
	l.mu.Unlock()
	select {
	case r := <-op.done:
		return r
	case <-ctx.Done():
		l.mu.Lock()
		l.held = slices.DeleteFunc(l.held, func(other *Op) bool { return other == op })
		l.mu.Unlock()
		return result{err: fmt.Errorf("%w: %w", events.ErrUnknown, context.Cause(ctx))}
	}
}

// Append implements engine.Log.
func (l *Log) Append(ctx context.Context, after uint64, messages []events.Message) error {
	if len(messages) == 0 {
		return nil
	}
	return l.do(ctx, &Op{Kind: Append, After: after, Messages: slices.Clone(messages)}).err
}

// Sync implements engine.Log.
func (l *Log) Sync(ctx context.Context) (uint64, error) {
	r := l.do(ctx, &Op{Kind: Sync})
	return r.head, r.err
}

// Read implements engine.Log.
func (l *Log) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	if from > to {
		return nil
	}
	r := l.do(ctx, &Op{Kind: Read, From: from, To: to})
	for _, m := range r.read {
		m.Body = bytes.Clone(m.Body)
		if err := yield(m); err != nil {
			return err
		}
	}
	return r.err
}
