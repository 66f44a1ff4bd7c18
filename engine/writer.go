package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
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
	var waiting []*pending
	for ctx.Err() == nil {
		h.gather(ctx)
		if !h.waitForCommands(ctx) {
			break
		}
		waiting = h.queue.take(waiting)
		h.gathering.held = len(waiting)
		for len(waiting) > 0 {
			n := h.commit(context.WithoutCancel(ctx), waiting)
			left := copy(waiting, waiting[n:])
			clear(waiting[left:])
			if waiting = waiting[:left]; left > 0 { // what came meanwhile has its turn too
				waiting = h.queue.join(waiting)
				h.rounds.order(waiting)
			}
		}
	}
	for _, p := range h.queue.close() {
		p.done <- result{err: errClosing()}
	}
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
		d := h.decideAll(batch)
		begun := h.config.Now()
		err := h.append(ctx, d)
		h.gathering.took = h.config.Now().Sub(begun)
		if err == nil {
			h.settle(d)
			return d.taken
		}
		h.dropBatch()
		switch {
		case errors.Is(err, events.ErrReadOnly):
			h.setDamage(err)
		case errors.Is(err, events.ErrFull), errors.Is(err, events.ErrUnreadable):
			h.setDoubt(err)
		default:
			err = h.catchUp(ctx)
			if err == nil && attempt < maxAttempts {
				continue
			}
		}
		if err == nil {
			err = events.ErrConflict
		}
		return refuseAll(batch, unavailable(err))
	}
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

// decided is the result of a batch of commands on the overlay.
type decided struct {
	// ground is the committed sequence that the batch stands on.
	ground   uint64
	batch    []*pending
	results  []result
	messages []events.Message
	bytes    int
	// arena holds the bodies of the batch one behind the other.
	arena []byte
	// taken is how many commands of the batch were decided; the rest did not fit.
	taken int
}

// decideAll decides commands one after another, each on the state that the ones before it lead to.
func (h *Handler) decideAll(batch []*pending) *decided {
	d := &decided{
		ground:  h.committed.Head().Sequence,
		batch:   batch,
		results: make([]result, 0, len(batch)),
		messages: make(
			[]events.Message, 0, min(len(batch), maxBatch),
		),
		arena: make([]byte, 0, min(len(batch), maxBatch)*usualBody),
	}
	steps := uint64(0)
	for _, p := range batch {
		if len(d.messages) == maxBatch || d.bytes > maxBatchBytes-events.MaxBody || steps > batchSteps {
			break
		}
		d.taken++
		if err := p.ctx.Err(); err != nil {
			d.results = append(d.results, result{err: err})
			continue
		}
		before := *h.steps
		r := h.decideOne(d, p)
		r.at, r.steps = h.overlay.Head().Sequence, *h.steps-before
		steps += r.steps - min(r.steps, ordinarySteps)
		d.results = append(d.results, r)
	}
	return d
}

// decideOne recognises a retry, or permits and decides the command and applies its event to the overlay.
func (h *Handler) decideOne(d *decided, p *pending) result {
	if p.Command == nil { // it only wants the state to be the log's
		return result{}
	}
	project := commands.ProjectOf(h.overlay, p.Command, p.By)
	id := eventID(p.source, p.By, project, p.Command.ID(), p.Key)
	if sequence, ok := h.overlay.Accepted(id); ok {
		if sequence <= d.ground {
			return result{retryOf: sequence}
		}
		answer, err := retryAnswer(p, d.messages[sequence-d.ground-1])
		return result{answer: answer, err: err}
	}
	at := events.Instant(h.config.Now())
	if last := h.overlay.At(); at.Before(last) {
		at = last
	}
	call := commands.Call{
		By:         p.By,
		Project:    project,
		At:         at,
		ID:         id,
		Rules:      commands.RulesVersion,
		OccurredAt: occurredAt(p.OccurredAt, at),
	}
	if err := commands.PermitCommand(h.overlay, commands.CurrentRules(), call, p.Command); err != nil {
		return result{err: err}
	}
	data, err := commands.Decide(h.overlay, p.Command, call)
	if err != nil {
		return result{err: err}
	}
	if data == nil {
		return result{answer: Answer{Sequence: h.overlay.Head().Sequence}}
	}
	message, err := h.apply(d, p, call, data)
	if err != nil {
		return result{err: err}
	}
	d.messages = append(d.messages, message)
	d.bytes += len(message.Body)
	return result{answer: Answer{Sequence: message.Sequence, Event: message.Body, Data: data}}
}

// apply makes the event and folds into the overlay what its stored bytes say, so that a live view and a rebuilt one
// never differ.
func (h *Handler) apply(d *decided, p *pending, c commands.Call, data events.Data) (events.Message, error) {
	h.event = envelope(h.overlay, p, c, data)
	used := len(d.arena)
	arena, err := appendEvent(d.arena, &h.event)
	if err != nil {
		return events.Message{}, err
	}
	body := arena[used:len(arena):len(arena)]
	d.arena = arena
	stored := &h.stored
	if err := h.decoder.DecodeInto(body, stored); err != nil {
		return events.Message{}, err
	}
	kind, id := data.Aggregate()
	sequence := h.overlay.Head().Sequence + 1
	hash := events.BodyHash(body)
	changes, err := h.overlay.Apply(sequence, stored, hash)
	if err != nil {
		return events.Message{}, err
	}
	h.note(sequence, body, hash, stored, changes)
	return events.Message{Sequence: sequence, Subject: events.Subject(stored.Project, kind, id), Body: body}, nil
}

// appendEvent appends an event's body, or refuses one that is too large.
func appendEvent(b []byte, event *events.Event) ([]byte, error) {
	b, err := event.Append(b)
	if err == nil {
		return b, nil
	}
	var tooLarge *events.TooLargeError
	if errors.As(err, &tooLarge) {
		return nil, &commands.Refusal{Code: commands.CodeTooLarge, Message: tooLarge.Error()}
	}
	return b, err
}

// occurredAt returns when a command was said, as its event states it: to the millisecond, and never after the decision.
// Zero stays zero.
func occurredAt(said, at time.Time) time.Time {
	if said.IsZero() {
		return time.Time{}
	}
	if said = events.Instant(said); said.After(at) {
		return at
	}
	return said
}

func envelope(s *projections.State, p *pending, c commands.Call, data events.Data) events.Event {
	event := events.Event{
		ID:          c.ID,
		Source:      p.source,
		Time:        c.At,
		Project:     projectOf(c, data),
		TraceParent: p.TraceParent,
		PrevHash:    s.Head().Hash,
		RequestHash: p.hash,
		Rules:       commands.RulesVersion,
		Authn:       c.By.Authn,
		Data:        data,
	}
	event.OccurredAt = c.OccurredAt
	cause := commands.CauseOf(s, c.By, c.Rules, data)
	event.CausationID, event.CorrelationID = cause.Event, cause.First
	return event
}

// projectOf returns the project that an event is filed under; a new one is its own.
func projectOf(c commands.Call, data events.Data) string {
	if created, ok := data.(*events.ProjectCreated); ok {
		return created.ProjectID
	}
	return c.Project
}

func (h *Handler) append(ctx context.Context, d *decided) error {
	return h.askLog(func() error {
		if len(d.messages) == 0 {
			return h.confirm(ctx, d)
		}
		return h.config.Log.Append(ctx, d.ground, d.messages)
	})
}

// confirm makes sure that refusals and "already so" do not rest on less than another server has acknowledged. A retry's
// event stays what it is.
func (h *Handler) confirm(ctx context.Context, d *decided) error {
	if !h.config.Shared || !slices.ContainsFunc(d.results, func(r result) bool { return r.retryOf == 0 }) {
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

// settle makes the overlay the state, notifies the listeners, and only then answers.
func (h *Handler) settle(d *decided) {
	if len(d.messages) > 0 {
		h.lockState()
		h.overlay.Commit()
		h.wakeWaiting()
		h.unlockState()
		h.afterCommit(d.messages)
	}
	if len(d.batch) > d.taken { // who waits on has its turn according to the work so far
		h.rounds.fade()
		for i := range d.results {
			h.rounds.work(d.batch[i].share(), d.results[i].steps)
		}
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
func (h *Handler) wakeWaiting() {
	h.feed.publish()
	h.wakeTouched()
	h.reaches.wake(h.committed.Head().Sequence)
}

// afterCommit tells the witness and the outside of a commit.
func (h *Handler) afterCommit(messages []events.Message) {
	head := h.committed.Head()
	if h.config.Witness != nil {
		h.config.Witness.Record(head)
	}
	if h.config.Announcer != nil {
		h.config.Announcer.Announce(messages)
	}
}
