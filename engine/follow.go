package engine

import (
	"context"
	"errors"
	"fmt"

	"maestro/projections"
)

// followMost is how many commits Next returns at once.
const followMost = 64

// BehindError means that a follower is too slow: its next commits are no longer kept.
type BehindError struct {
	// Next is the sequence that the follower needs, First the oldest that is kept.
	Next, First uint64
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("event %d is no longer kept for those who follow the log; the oldest is %d", e.Next, e.First)
}

// ErrReplays means that the maximum number of followers is reading history already.
var ErrReplays = errors.New("too many followers read the history of the log at once")

// Follower delivers every commit from a sequence on, in order, exactly once. Commits that are no longer kept it reads
// from the log and folds again, before it continues with new ones. A Follower must be used by one goroutine only.
type Follower struct {
	handler *Handler
	next    uint64
	// replay reads history. It is nil once the follower has reached the kept commits.
	replay *replay
	given  []Commit
	closed bool
}

// Follow starts to follow the log. see gets the committed state, as in Read, and returns the sequence after which the
// follower begins. The caller must call Close. Follow fails with ErrReplays, with an error of Log.Read, or with ctx's
// error.
func (h *Handler) Follow(
	ctx context.Context, see func(*projections.State) (after uint64, err error),
) (*Follower, error) {
	f := &Follower{handler: h}
	h.addFollower()
	if err := f.begin(ctx, see); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// addFollower registers one more follower. What is committed from the next batch on is kept for it.
func (h *Handler) addFollower() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feed.followers++
	h.feed.unfollowed = 0
	h.feed.on.Store(true)
}

func (h *Handler) removeFollower() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feed.followers--
}

// keepCommits begins to keep commits, once the current batch has ended, which may have begun before its commits were
// kept.
func (h *Handler) keepCommits(ctx context.Context) error {
	if err := h.barrier(ctx); errors.As(err, new(*UnavailableError)) {
		h.logger.Debug("a follower begins while the log takes no writes", "why", err)
	} else if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feed.begin(h.committed.Head().Sequence)
	return nil
}

func (f *Follower) begin(ctx context.Context, see func(*projections.State) (uint64, error)) error {
	h := f.handler
	if err := h.keepCommits(ctx); err != nil {
		return err
	}
	var after, first uint64
	if _, err := h.Read(ctx, func(s *projections.State) (err error) {
		after, err = see(s)
		first = h.feed.first
		return err
	}); err != nil {
		return err
	}
	f.next = after + 1
	if f.next < first {
		var err error
		f.replay, err = h.openReplay(ctx, after)
		return err
	}
	return nil
}

// Next waits for commits after those that it returned last, and returns them. They are valid until the next call. It
// fails with *BehindError when the follower was too slow, or with ctx's error.
func (f *Follower) Next(ctx context.Context) ([]Commit, error) {
	clear(f.given)
	f.given = f.given[:0]
	for {
		head, err := f.kept()
		if err != nil {
			return nil, err
		}
		if f.replay != nil {
			if f.given, err = f.replay.read(ctx, f.given, min(head, f.next+followMost-1)); err != nil {
				return nil, err
			}
		}
		if n := len(f.given); n > 0 {
			f.next = f.given[n-1].Sequence + 1
			f.leaveHistory()
			return f.given, nil
		}
		if err := f.handler.WaitFor(ctx, f.next); err != nil {
			return nil, err
		}
	}
}

// kept takes the commits that are kept, and returns the committed sequence.
func (f *Follower) kept() (head uint64, err error) {
	h := f.handler
	h.mu.RLock()
	defer h.mu.RUnlock()
	head = h.committed.Head().Sequence
	switch {
	case f.replay != nil: // history comes first
	case f.next < h.feed.first:
		h.feed.dropped.Add(1)
		err = &BehindError{Next: f.next, First: h.feed.first}
	default:
		f.given = h.feed.appendFrom(f.given, f.next, followMost)
	}
	return head, err
}

// leaveHistory ends the replay once the next commit is kept.
func (f *Follower) leaveHistory() {
	h := f.handler
	h.mu.RLock()
	defer h.mu.RUnlock()
	if f.next >= h.feed.first {
		f.endReplay()
	}
}

func (f *Follower) endReplay() {
	if f.replay != nil {
		<-f.handler.replays
		f.replay = nil
	}
}

// Close stops following. It may be called twice.
func (f *Follower) Close() {
	if f.closed {
		return
	}
	f.closed = true
	f.endReplay()
	f.given = nil
	f.handler.removeFollower()
}

// barrier returns when the writer has ended the current batch.
func (h *Handler) barrier(ctx context.Context) error {
	p := &pending{ctx: ctx, done: make(chan result, 1)}
	stalled, err := h.enqueue(p)
	if err != nil {
		return err
	}
	select {
	case r := <-p.done:
		return r.err
	case <-stalled:
		return unavailable(errStalled)
	case <-ctx.Done():
		return ctx.Err()
	}
}
