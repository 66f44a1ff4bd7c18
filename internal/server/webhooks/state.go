package webhooks

import (
	"cmp"
	"context"
	"slices"
	"time"

	"maestro/events"
	"maestro/service/wire"
)

// lanesByTime is a heap of lanes, by when they are tried again.
type lanesByTime []*lane

func (h lanesByTime) Len() int           { return len(h) }
func (h lanesByTime) Less(i, j int) bool { return h[i].again.Before(h[j].again) }
func (h lanesByTime) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }

// Push implements heap.Interface.
func (h *lanesByTime) Push(x any) {
	l := x.(*lane)
	l.at = len(*h)
	*h = append(*h, l)
}

// Pop implements heap.Interface.
func (h *lanesByTime) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	l.at = -1
	return l
}

// restore puts the events of the position at which the receiver begins into lanes.
func (r *receiver) restore(ctx context.Context) error {
	var read []item
	var subjects []string
	for _, sequence := range r.from.Pending {
		err := r.sender.config.Log.Read(ctx, sequence, sequence, func(m events.Message) error {
			event, err := events.Decode(m.Body)
			if err != nil {
				return &events.DamageError{Sequence: m.Sequence, Why: err.Error()}
			}
			read, subjects = append(read, item{sequence: sequence}), append(subjects, subjectOf(event))
			return nil
		})
		if err != nil {
			return err
		}
	}
	failures := map[uint64]failing{}
	for _, f := range r.from.Failing {
		failures[f.Sequence] = f
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range read {
		l := r.add(subjects[i], x)
		if f, ok := failures[x.sequence]; ok && len(l.events) == 1 {
			l.failures, l.since = f.Failures, now.Add(-f.For) // it is tried at once
		}
	}
	r.from = nil
	return nil
}

// position returns what the webhook has got.
func (r *receiver) position() position {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = false
	if r.from != nil {
		return *r.from
	}
	p := position{Next: r.next, Started: r.hook.StartedAt}
	now := time.Now()
	for _, l := range r.lanes {
		for _, x := range l.events {
			p.Pending = append(p.Pending, x.sequence)
		}
		if l.failures > 0 {
			p.Failing = append(p.Failing, failing{l.events[0].sequence, l.failures, now.Sub(l.since)})
		}
	}
	slices.Sort(p.Pending)
	slices.SortFunc(p.Failing, func(a, b failing) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return p
}

// moved reports whether the position changed since it was returned last.
func (r *receiver) moved() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// delivery shows how far the webhook is.
func (r *receiver) delivery(head uint64) wire.Delivery {
	p := r.position()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = true // the position was not saved
	d := r.last
	d.UpTo = p.upTo()
	d.Behind = head - min(head, d.UpTo)
	pending := r.pending
	d.Pending = &pending
	if r.streak > 0 || len(p.Failing) > 0 {
		d.Failures = r.streak
		since := r.since
		next := r.rest
		for _, l := range r.waiting {
			if d.Failures = max(d.Failures, l.failures); since.IsZero() || l.since.Before(since) {
				since = l.since
			}
			if at := l.again; next.IsZero() || at.Before(next) && r.rest.IsZero() {
				next = at
			}
		}
		if !since.IsZero() {
			d.FailingSince = millis(since)
		}
		if !next.IsZero() {
			d.NextTryAt = millis(next)
		}
	}
	return d
}
