package engine

import (
	"bytes"
	"context"

	"maestro/events"
	"maestro/projections"
)

// Projection is a state of its own that follows the log event by event. Its owner sees the state as it was after each
// event, also when the committed one is further. A Projection must be used by one goroutine only.
type Projection struct {
	handler *Handler
	state   *projections.State
	next    uint64
	decoder events.Decoder
	given   []Commit
	closed  bool
}

// NewProjection returns a projection of the log up to a committed sequence, folded from the nearest snapshot before it.
// The caller must call Close. It fails with ErrReplays, with an error of Log.Read, or with ctx's error.
func (h *Handler) NewProjection(ctx context.Context, sequence uint64) (*Projection, error) {
	r, err := h.openReplay(ctx, sequence)
	if err != nil {
		return nil, err
	}
	<-h.replays
	p := &Projection{handler: h, state: r.state, next: sequence + 1}
	h.addFollower()
	if err := h.keepCommits(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// State returns the state after the event that Next showed last. It is valid until the next call of Next.
func (p *Projection) State() *projections.State { return p.state }

// Next waits for events after those that it showed last, and folds some of them: before calls it once before the first
// one, each after each one, with the event and what it changed. It fails with ctx's error, or if the log cannot be
// read.
func (p *Projection) Next(ctx context.Context, before func(), each func(*Commit)) error {
	for {
		head := p.kept()
		switch {
		case len(p.given) > 0:
			before()
			return p.foldKept(each)
		case p.next <= head: // the commits are not kept any more
			before()
			return p.foldLog(ctx, min(head, p.next+followMost-1), each)
		}
		if err := p.handler.WaitFor(ctx, p.next); err != nil {
			return err
		}
	}
}

// kept takes the next commits that are kept, and returns the committed sequence.
func (p *Projection) kept() (head uint64) {
	h := p.handler
	clear(p.given)
	p.given = p.given[:0]
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.feed.first > 0 && p.next >= h.feed.first {
		p.given = h.feed.appendFrom(p.given, p.next, followMost)
	}
	return h.committed.Head().Sequence
}

func (p *Projection) foldKept(each func(*Commit)) (err error) {
	for i := range p.given {
		c := p.given[i]
		if c.Changes, err = p.state.Apply(c.Sequence, c.Event, c.Body); err != nil {
			return err
		}
		p.next = c.Sequence + 1
		each(&c)
	}
	return nil
}

func (p *Projection) foldLog(ctx context.Context, to uint64, each func(*Commit)) error {
	return p.handler.config.Log.Read(ctx, p.next, to, func(m events.Message) error {
		event, err := p.decoder.Decode(m.Body)
		if err != nil {
			return undecodable(m.Sequence, err)
		}
		hash := events.BodyHash(m.Body)
		changes, err := p.state.Apply(m.Sequence, event, hash)
		if err != nil {
			return err
		}
		p.next = m.Sequence + 1
		each(&Commit{
			Sequence: m.Sequence,
			Body:     hash,
			Event:    event,
			Changes:  changes,
			Text:     bytes.Clone(m.Body),
			size:     len(m.Body),
		})
		return nil
	})
}

// Close ends the projection. It may be called twice.
func (p *Projection) Close() {
	if p.closed {
		return
	}
	p.closed = true
	p.handler.removeFollower()
}
