package simlog

import (
	"context"
	"fmt"
	"time"

	"maestro/events"
)

// Kind is the kind of an operation.
type Kind int

// The operations of a log.
const (
	Append Kind = iota
	Sync
	Read
)

func (k Kind) String() string { return [...]string{"append", "sync", "read"}[k] }

// Outcome is the outcome of an operation.
type Outcome int

// The outcomes. OK applies to every kind; it still checks the guard and still fails on a full disk.
const (
	OK Outcome = iota
	// LostBefore (Append): nothing is stored, and the caller gets no answer: ErrUnknown. A leader that steps down
	// between the guard and the commit has this effect, if the next one does not know the batch.
	LostBefore
	// LostAfter (Append): everything is stored and synced, and the caller gets no answer: ErrUnknown.
	LostAfter
	// LostCached (Append): everything is stored, but not on disk yet, and the caller gets no answer: ErrUnknown.
	LostCached
	// Late (Append): the caller gets no answer, and the batch reaches its guard later, through Store.Land: ErrUnknown.
	Late
	// Full (Append): the disk is full from now on, and nothing was sent: ErrFull.
	Full
	// FullCached (Append): the disk is full from now on, and the batch is only in the cache: ErrUnknown.
	FullCached
	// Dropped (Sync): it succeeds, and what was not synced is lost.
	Dropped
	// Failed (Sync, Read): it fails, and the log is unchanged. A Read fails after its first message.
	Failed
)

func (o Outcome) String() string {
	return [...]string{
		"ok", "lost before committing", "lost after committing", "lost, in the cache only", "late", "disk full",
		"disk full, in the cache only",
		"ok, the cache is dropped", "failed",
	}[o]
}

// Outcomes returns the possible outcomes of an operation of this kind.
func (k Kind) Outcomes() []Outcome {
	switch k {
	case Append:
		return []Outcome{OK, LostBefore, LostAfter, LostCached, Late, Full, FullCached}
	case Sync:
		return []Outcome{OK, Dropped, Failed}
	case Read:
	}
	return []Outcome{OK, Failed}
}

// Op is one operation of a Log. Its fields are the caller's arguments and do not change.
type Op struct {
	Kind Kind
	// After and Messages are the arguments of an Append.
	After    uint64
	Messages []events.Message
	// From and To are the arguments of a Read.
	From, To uint64
	// Caller is the number that CallerOf put into the caller's context, otherwise 0.
	Caller int
	// Began is when it was called.
	Began time.Time

	log  *Log
	done chan result
}

type callerKey struct{}

// CallerOf numbers a caller, to distinguish concurrent callers with the same request.
func CallerOf(ctx context.Context, number int) context.Context {
	return context.WithValue(ctx, callerKey{}, number)
}

type result struct {
	err  error
	head uint64
	read []events.Message
}

func (o *Op) String() string {
	switch o.Kind {
	case Append:
		return fmt.Sprintf("append of %d after %d", len(o.Messages), o.After)
	case Read:
		return fmt.Sprintf("read of %d to %d", o.From, o.To)
	case Sync:
	}
	return "sync"
}
