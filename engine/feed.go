package engine

import (
	"slices"
	"sync/atomic"

	"maestro/events"
	"maestro/projections"
)

// Commit is an event that was committed, with what it changed. Its values are immutable.
type Commit struct {
	Sequence uint64
	// Body is the hash of the stored body.
	Body  events.Hash
	Event *events.Event
	// Changes are what projections.State.Apply returned for the event, in order.
	Changes []projections.Change

	size int // of the body
}

const (
	// feedMost and feedBytes bound the commits that are kept for those who follow the log: how many, and the bytes of
	// their bodies. A follower that falls further behind begins again.
	feedMost  = 4096
	feedBytes = 16 << 20
)

// feed keeps the newest commits for all who follow the log: what it costs to write does not depend on how many do, and
// none of them makes the writer wait. It is filled from the first follower on, until the last is gone for feedMost
// commits, so that a follower that is back soon finds what it missed.
type feed struct {
	// on says that commits are to be kept; the writer reads it when a batch begins.
	on atomic.Bool
	// pending are the commits of the current batch; the writer's own.
	pending []Commit

	// Handler.mu guards the rest. The commits of sequences from first to next-1 are kept, each at its sequence modulo
	// feedMost; first is 0 while none are.
	commits     []Commit
	first, next uint64
	bytes       int
	followers   int
	unfollowed  int // commits since the last follower left
}

// note remembers, until the commit, what an event changed, and whom to wake for it. event and changes may be used again
// by the caller; the event's payload is not.
func (h *Handler) note(sequence uint64, body []byte, hash events.Hash, e *events.Event, changes []projections.Change) {
	h.touch(e.Data, changes)
	for _, queue := range h.overlay.LinesMoved() {
		h.touchKey(Key{projections.KindQueue, queue})
	}
	if !h.feed.on.Load() {
		return
	}
	event := *e
	h.feed.pending = append(h.feed.pending, Commit{
		Sequence: sequence,
		Body:     hash,
		Event:    &event,
		Changes:  slices.Clone(changes),
		size:     len(body),
	})
}

// forget forgets the current batch.
func (f *feed) forget() {
	clear(f.pending)
	f.pending = f.pending[:0]
}

// begin keeps the commits after a head from now on.
func (f *feed) begin(head uint64) {
	if f.first == 0 {
		f.commits = make([]Commit, feedMost)
		f.first, f.next = head+1, head+1
	}
}

// publish keeps the commits of a batch.
func (f *feed) publish() {
	if f.first == 0 { // nobody follows, or the first who does waits for this batch to end
		f.forget()
		return
	}
	for _, commit := range f.pending {
		if f.next-f.first == feedMost {
			f.drop()
		}
		f.commits[f.next%feedMost] = commit
		f.next++
		f.bytes += commit.size
	}
	for f.bytes > feedBytes {
		f.drop()
	}
	if f.followers == 0 {
		if f.unfollowed += len(f.pending); f.unfollowed >= feedMost {
			f.on.Store(false)
			f.commits, f.first, f.next, f.bytes = nil, 0, 0, 0
		}
	}
	f.forget()
}

// drop forgets the oldest commit.
func (f *feed) drop() {
	oldest := &f.commits[f.first%feedMost]
	f.bytes -= oldest.size
	*oldest = Commit{}
	f.first++
}

// appendFrom appends at most most commits from a sequence on.
func (f *feed) appendFrom(to []Commit, sequence uint64, most int) []Commit {
	for ; sequence < f.next && most > 0; most-- {
		to = append(to, f.commits[sequence%feedMost])
		sequence++
	}
	return to
}
