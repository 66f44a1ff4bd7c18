package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// A projection shows its owner every event after its sequence, once and in order, with the state after exactly that
// event, whether the commits are kept or read from the log.
func TestProjectionShowsEachState(t *testing.T) {
	w := newWorld(t)
	report := benchReport(w)
	for i := range 100 { // nobody follows: these commits are only in the log
		if err := report(fmt.Sprint("before ", i)); err != nil {
			t.Fatal(err)
		}
	}
	begun := w.headNow()
	const writers, each = 4, 100
	end := begun + writers*each
	results := make(chan []string, 8)
	var all sync.WaitGroup
	for _, after := range []uint64{0, 7, begun, begun - 3} {
		all.Go(func() {
			p, err := w.h.NewProjection(t.Context(), after)
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			var seen []string
			for p.State().Head().Sequence < end {
				before := p.State().Head().Sequence
				err := p.Next(t.Context(), func() {
					if at := p.State().Head().Sequence; at != before {
						t.Errorf("the state changed from %d to %d before the first event", before, at)
					}
				}, func(c *Commit) {
					if at := p.State().Head().Sequence; at != c.Sequence {
						t.Errorf("event %d is shown with the state after %d", c.Sequence, at)
					}
					seen = append(seen, told(c.Sequence, c.Body, c.Event, c.Changes))
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
			sameFrames(t, fmt.Sprint("after ", after), seen, folded(t, w.log)[after:])
			results <- seen
		})
	}
	for i := range writers {
		all.Go(func() {
			for j := range each {
				if err := report(fmt.Sprint("w ", i, " ", j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(results) != 4 {
		t.Errorf("%d projections ended", len(results))
	}
}

// A projection ends its wait with its context, and its place among the followers with Close.
func TestProjectionEnds(t *testing.T) {
	w := newWorld(t)
	if _, err := w.h.NewProjection(t.Context(), w.headNow()+1); err == nil {
		t.Error("a projection began behind the head")
	}
	p, err := w.h.NewProjection(t.Context(), w.headNow())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Next(ctx, func() {}, func(*Commit) { t.Error("an event came") }); err == nil {
		t.Error("Next returned nothing")
	}
	p.Close()
	p.Close()
	if n := w.h.feed.followers; n != 0 {
		t.Errorf("%d followers are left", n)
	}
}
