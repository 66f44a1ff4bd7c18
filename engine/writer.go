package engine

import (
	"context"
	"errors"
	"time"

	"maestro/commands"
	"maestro/events"
)

const (
	// maxBatch and maxBatchBytes are what one atomic batch of JetStream takes.
	maxBatch      = 1000
	maxBatchBytes = 4 << 20
	// usualBody is the size of most events' bodies: a batch's memory is asked for at once.
	usualBody = 896
	// doubtEvery is how often a log that could not be caught up with is tried again.
	doubtEvery = time.Second
	// maxAttempts bounds how often one batch is decided; a log that moves or fails at every append is not ours to
	// write.
	maxAttempts = 10
)

// write is the writer's loop.
func (h *Handler) write(ctx context.Context) {
	defer close(h.appending)
	var waiting []*pending
	for ctx.Err() == nil {
		h.gather(ctx)
		if !h.waitForCommands(ctx) {
			break
		}
		waiting = h.queue.take(waiting)
		h.gathering.held = len(waiting)
		for failed := false; len(waiting) > 0; {
			if !failed && len(waiting) >= h.config.OverlapFrom {
				waiting, failed = h.overlap(ctx, waiting)
				continue
			}
			waiting = after(waiting, h.commit(context.WithoutCancel(ctx), waiting))
			if len(waiting) > 0 { // what came meanwhile has its turn too
				waiting = h.joined(waiting)
			}
		}
	}
	for _, p := range h.queue.close() {
		p.done <- result{err: errClosing()}
	}
}

// after returns what waits after the first n commands. It changes the given list.
func after(waiting []*pending, n int) []*pending {
	left := copy(waiting, waiting[n:])
	clear(waiting[left:])
	return waiting[:left]
}

// joined returns what has waited longer with all that wait, by turn.
func (h *Handler) joined(waiting []*pending) []*pending {
	longer := len(waiting) > 0
	waiting = h.queue.join(waiting)
	if longer {
		h.rounds.order(waiting)
	}
	return waiting
}

// waitForCommands returns true when there are commands to decide, and false when the writer stops.
func (h *Handler) waitForCommands(ctx context.Context) bool {
	for !h.queue.expect(1) {
		var again <-chan time.Time
		if h.inDoubt() {
			again = h.config.After(doubtEvery)
		}
		select {
		case <-h.queue.wake:
		case <-again:
			if err := h.catchUp(ctx); err != nil {
				h.logger.Debug("the log still takes no writes", "why", err)
			}
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// commit decides the first commands of the batch, appends what they become, and answers them. It returns how many it
// answered.
func (h *Handler) commit(ctx context.Context, batch []*pending) int {
	if err := h.ready(ctx); err != nil {
		return refuseAll(batch, err)
	}
	for attempt := 1; ; attempt++ {
		d := h.begin(len(batch))
		h.decide(d, batch)
		begun := h.config.Now()
		err := h.append(ctx, d)
		h.gathering.took = h.config.Now().Sub(begun)
		if err == nil {
			h.settle(d)
			return len(d.batch)
		}
		if err = h.recover(ctx, err); err == nil && attempt < maxAttempts {
			continue
		}
		if err == nil {
			err = events.ErrConflict
		}
		return refuseAll(batch, unavailable(err))
	}
}

// recover drops what was decided and finds firm ground after a failed append. It returns why the log takes no writes,
// or nil if the commands can be decided again.
func (h *Handler) recover(ctx context.Context, err error) error {
	h.overlay.Drop()
	switch {
	case errors.Is(err, events.ErrReadOnly):
		h.setDamage(err)
	case errors.Is(err, events.ErrFull), errors.Is(err, events.ErrUnreadable):
		h.setDoubt(err)
	default:
		return h.catchUp(ctx)
	}
	return err
}

// ready makes sure that decisions have firm ground.
func (h *Handler) ready(ctx context.Context) error {
	h.mu.RLock()
	damage, doubt := h.damage, h.doubt
	h.mu.RUnlock()
	if damage != nil {
		return unavailable(damage)
	}
	if doubt == nil {
		return nil
	}
	if err := h.catchUp(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

func (h *Handler) damaged() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.damage != nil
}

func (h *Handler) inDoubt() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.doubt != nil && h.damage == nil
}

func (h *Handler) setDoubt(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.doubt == nil {
		h.logger.Error("the log takes no writes; trying again every second", "why", err)
	}
	h.doubt = err
}

// setDamage makes the Handler read-only. The first reason stays, but damage counts more than the wish to be read-only:
// only damage says that the views are not what was acknowledged.
func (h *Handler) setDamage(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.damage != nil && (IsReadOnlyByRequest(err) || !IsReadOnlyByRequest(h.damage)) {
		return
	}
	h.damage = err
	if !IsReadOnlyByRequest(err) {
		h.logger.Error("read-only from now on", "why", err)
	}
}

// StopWrites makes the Handler read-only permanently. why is the reason; errors.Is(why, events.ErrReadOnly) must hold.
func (h *Handler) StopWrites(why error) { h.setDamage(why) }

// nextFull is for a command: one whose outcome is not known must be repeated with its key.
const nextFull = "make room on the server's disk, then repeat the command, with its key if it had one"

func unavailable(err error) error {
	switch {
	case errors.Is(err, events.ErrReadOnly):
		return &UnavailableError{Why: "the server is read-only: " + err.Error(), Next: Advice(err), Err: err}
	case errors.Is(err, events.ErrFull):
		return &UnavailableError{Why: err.Error(), Next: nextFull, Err: err}
	}
	if errors.Is(err, events.ErrUnreadable) {
		return &UnavailableError{Why: err.Error(), Next: Advice(err), Err: err}
	}
	return &UnavailableError{
		Why:  "the server could not write: " + err.Error(),
		Next: "try again with the same key; it may have happened",
		Err:  err,
	}
}

func refuseAll(batch []*pending, err error) int {
	for _, p := range batch {
		p.done <- result{err: err}
	}
	return len(batch)
}

func (h *Handler) append(ctx context.Context, d *decided) error {
	return h.askLog(func() error {
		if len(d.messages) == 0 {
			return h.confirm(ctx, d)
		}
		return h.metered(d, func() error { return h.config.Log.Append(ctx, d.ground, d.messages) })
	})
}

// confirm makes sure that refusals and "already so" do not rest on less than another server has acknowledged. Retries
// are confirmed too: what a command names decides its project, and so whether its key was used there.
func (h *Handler) confirm(ctx context.Context, d *decided) error {
	if !h.config.Shared || len(d.results) == 0 {
		return nil
	}
	head, err := h.config.Log.Sync(ctx)
	if err == nil && head != d.ground {
		err = events.ErrConflict
	}
	return err
}

// lockState lets the committed state change: first dry runs end, and only then readers wait, so that no dry run makes
// them wait.
func (h *Handler) lockState() {
	h.trials.Lock()
	h.mu.Lock()
}

func (h *Handler) unlockState() {
	h.mu.Unlock()
	h.trials.Unlock()
}

// settle makes a batch the state, notifies the listeners, and only then answers.
func (h *Handler) settle(d *decided) {
	h.show(d)
	h.answerAll(d)
}

// show makes a batch the state, and wakes who waits for it.
func (h *Handler) show(d *decided) {
	if len(d.messages) > 0 {
		h.lockState()
		h.overlay.Commit()
		h.wakeWaiting(d.effects)
		h.unlockState()
	}
}

// answerAll notifies the listeners of a batch that is the state, and answers its commands.
func (h *Handler) answerAll(d *decided) {
	if len(d.messages) > 0 {
		h.afterCommit()
	}
	for i := range d.results {
		h.answer(d.batch[i], d.results[i])
	}
	h.takeImage(d.ground)
}

// answer sets a caller free; one that is refused only once the refusal is recorded, for which the writer does not wait.
func (h *Handler) answer(p *pending, r result) {
	p.worked(r.steps)
	if r.err == nil {
		p.done <- r
		return
	}
	var refusal *commands.Refusal
	if h.config.Denials == nil || !errors.As(r.err, &refusal) {
		p.done <- r
		return
	}
	root := h.committed.Root(p.By.Project)
	h.config.Denials.record(denialOf(p.Request, root, refusal, r.at), func(err error) {
		if err != nil {
			p.done <- result{err: err}
			return
		}
		refusal.Recorded = true
		p.done <- r
	})
}

// wakeWaiting passes the commit to the followers of the log, and wakes the callers that it concerns of WaitFor, and of
// Await and AwaitItem where something was touched; mu is held.
func (h *Handler) wakeWaiting(e *effects) {
	h.feed.publish(e.commits)
	h.wakeTouched(e.touched)
	h.reaches.wake(h.committed.Head().Sequence)
}

// afterCommit tells the witness of a commit.
func (h *Handler) afterCommit() {
	if h.config.Witness != nil {
		h.config.Witness.Record(h.committed.Head())
	}
}
