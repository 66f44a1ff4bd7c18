package engine

import (
	"bytes"
	"slices"
	"sync/atomic"

	"maestro/events"
	"maestro/projections"
)

// Commit is a committed event with the changes that it made. Its values are immutable.
type Commit struct {
	Sequence uint64
	// Body is the hash of the stored body.
	Body  events.Hash
	Event *events.Event
	// Changes are what projections.State.Apply returned for the event, in order.
	Changes []projections.Change

	// Text is the stored body.
	Text []byte

	size int // of the body
}

const (
	// feedMost and feedBytes bound the commits that are kept for followers: their number, and the bytes of their
	// bodies. A follower that falls further behind has to start again.
	feedMost  = 4096
	feedBytes = 16 << 20
)

// feed keeps the newest commits for all followers. The cost of a write does not depend on the number of followers, and
// none of them blocks the writer. The feed is filled from the first follower on, until feedMost commits after the last
// one left, so that a follower that reconnects soon misses nothing.
type feed struct {
	// on says that commits are to be kept. The writer reads it when it decides.
	on atomic.Bool
	// dropped counts the followers that were too slow.
	dropped atomic.Uint64

	// Handler.mu guards the rest. The ring holds the commits of sequences first to next-1, each at its sequence modulo
	// feedMost; first is 0 while it is empty.
	commits     []Commit
	first, next uint64
	bytes       int
	followers   int
	unfollowed  int // commits since the last follower left
}

// effects are what the commit of a batch does beside changing the state: its commits go to the followers, and who waits
// for one of the touched keys is woken.
type effects struct {
	commits     []Commit
	touched     map[Key]struct{}
	touchedLast Key
}

func (e *effects) forget() {
	clear(e.commits)
	e.commits = e.commits[:0]
	clear(e.touched)
	e.touchedLast = Key{}
}

// note collects an event's effects until its batch commits. The caller may reuse event and changes, but not the event's
// payload.
func (h *Handler) note(
	to *effects, sequence uint64, body []byte, hash events.Hash, e *events.Event, changes []projections.Change,
) {
	to.touch(e.Data, changes)
	for _, queue := range h.overlay.LinesMoved() {
		to.touchKey(Key{projections.KindQueue, queue})
	}
	if !h.feed.on.Load() {
		return
	}
	event := *e
	to.commits = append(to.commits, Commit{
		Sequence: sequence,
		Body:     hash,
		Event:    &event,
		Changes:  slices.Clone(changes),
		Text:     bytes.Clone(body),
		size:     len(body),
	})
}

// begin starts to keep the commits after head.
func (f *feed) begin(head uint64) {
	if f.first == 0 {
		f.commits = make([]Commit, feedMost)
		f.first, f.next = head+1, head+1
	}
}

// publish adds the commits of a batch to the ring.
func (f *feed) publish(commits []Commit) {
	if f.first == 0 { // nobody follows, or the first follower waits for this batch to end
		return
	}
	for _, commit := range commits {
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
		if f.unfollowed += len(commits); f.unfollowed >= feedMost {
			f.on.Store(false)
			f.commits, f.first, f.next, f.bytes = nil, 0, 0, 0
		}
	}
}

// drop removes the oldest commit.
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
