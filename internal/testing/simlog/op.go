package simlog

import (
	"context"
	"fmt"
	"time"

	"maestro/events"
)

// Kind says what an operation does.
type Kind int

// The operations of a log.
const (
	Append Kind = iota
	Sync
	Read
)

func (k Kind) String() string { return [...]string{"append", "sync", "read"}[k] }

// Outcome is what becomes of an operation.
type Outcome int

// The outcomes. OK is for every kind; it still keeps the guard and still fails on a full disk.
const (
	OK Outcome = iota
	// LostBefore (Append): nothing is stored, and the caller hears nothing: ErrUnknown. So does a leader that steps
	// down between the guard and the commit, when the next one does not know the batch.
	LostBefore
	// LostAfter (Append): all is stored and firm, and the caller hears nothing: ErrUnknown.
	LostAfter
	// LostCached (Append): all is stored, not yet on disk, and the caller hears nothing: ErrUnknown.
	LostCached
	// Late (Append): the caller hears nothing, and the batch comes to its guard later, by Store.Land: ErrUnknown.
	Late
	// Full (Append): the disk is full from now on, and nothing was sent: ErrFull.
	Full
	// FullCached (Append): the disk is full from now on, and the batch is in the cache only: ErrUnknown.
	FullCached
	// Dropped (Sync): it succeeds, and what was not firm is gone.
	Dropped
	// Failed (Sync, Read): it fails, and the log is as it was. A Read fails after its first message.
	Failed
)

func (o Outcome) String() string {
	return [...]string{
		"ok", "lost before committing", "lost after committing", "lost, in the cache only", "late", "disk full",
		"disk full, in the cache only",
		"ok, the cache is dropped", "failed",
	}[o]
}

// Outcomes returns what may become of an operation of this kind.
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
	// After and Messages are an Append's.
	After    uint64
	Messages []events.Message
	// From and To are a Read's.
	From, To uint64
	// Caller is the number that CallerOf put into the caller's context, else 0.
	Caller int
	// Began is when it was asked for.
	Began time.Time

	log  *Log
	done chan result
}

type callerKey struct{}

// CallerOf numbers a caller, so that two that ask for the same at once can be told apart.
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
