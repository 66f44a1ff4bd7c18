package engine

import (
	"context"
	"slices"
)

const (
	// overlapFrom is how many commands must wait for a batch to be decided while another is being appended. Below it, a
	// second append costs more than the decisions that it hides.
	overlapFrom = 24
	// overlapWake is how many commands wake the writer while a batch is being appended.
	overlapWake = 8
)

// appendBatches appends the batches that overlap sends, one at a time.
func (h *Handler) appendBatches(ctx context.Context) {
	for d := range h.appending {
		h.appended <- h.append(ctx, d)
	}
}

// overlap decides the next batch while one is being appended, until no command waits or the writer stops. The next
// batch is decided on what is not acknowledged yet, so it is answered only after its ground was committed and its own
// append has returned; if the append before it fails, both are dropped. overlap returns the commands that it did not
// answer, and whether an append failed.
func (h *Handler) overlap(stopping context.Context, waiting []*pending) (left []*pending, failed bool) {
	ctx := context.WithoutCancel(stopping)
	if h.ready(ctx) != nil {
		return waiting, true
	}
	d := h.begin(len(waiting))
	waiting = after(waiting, h.decide(d, waiting))
	h.send(d)
	for {
		begun := h.config.Now()
		next := h.begin(len(d.batch))
		var err error
		waiting, err = h.decideMeanwhile(next, waiting)
		h.gathering.held, h.gathering.took = len(d.batch)+len(next.batch), h.config.Now().Sub(begun)
		if err != nil {
			return h.decideAgain(ctx, slices.Concat(d.batch, next.batch, waiting), err), true
		}
		h.show(d)
		appending := len(next.batch) > 0 && stopping.Err() == nil && !h.damaged()
		if appending {
			h.send(next)
		}
		h.answerAll(d)
		if !appending {
			h.overlay.Drop()
			return append(next.batch, waiting...), false
		}
		d = next
	}
}

// send has a batch appended. What is decided from now on belongs to the next one.
func (h *Handler) send(d *decided) {
	if len(d.messages) > 0 {
		h.overlay.Seal()
	}
	h.appending <- d
}

// decideMeanwhile decides what waits, and what comes, until the append returns. It returns what still waits, and the
// outcome of the append.
func (h *Handler) decideMeanwhile(next *decided, waiting []*pending) ([]*pending, error) {
	if len(waiting) > 0 {
		waiting = h.joined(waiting)
	}
	for {
		waiting = after(waiting, h.decide(next, waiting))
		if len(h.appended) == 0 && !next.full() {
			if h.queue.expect(min(overlapWake, h.config.OverlapFrom)) {
				waiting = h.joined(waiting)
				continue
			}
		}
		select {
		case <-h.queue.wake:
			waiting = h.joined(waiting)
		case err := <-h.appended:
			return waiting, err
		}
	}
}

// decideAgain returns the commands that are to be decided again after a failed append; it answers them if the log takes
// no writes.
func (h *Handler) decideAgain(ctx context.Context, batch []*pending, err error) []*pending {
	if err = h.recover(ctx, err); err != nil {
		refuseAll(batch, unavailable(err))
		return nil
	}
	return batch
}
