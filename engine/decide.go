package engine

import (
	"errors"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// decided is the result of a batch of commands on the overlay.
type decided struct {
	// ground is the sequence that the batch stands on.
	ground   uint64
	batch    []*pending
	results  []result
	messages []events.Message
	effects  *effects
	bytes    int
	// steps are those that count for batchSteps.
	steps uint64
	// arena holds the bodies of the batch one after the other.
	arena []byte
}

// begin begins a batch on what was decided so far. size is about how many commands it will hold.
func (h *Handler) begin(size int) *decided {
	size = min(size, maxBatch)
	return &decided{
		ground:   h.overlay.Head().Sequence,
		batch:    make([]*pending, 0, size),
		results:  make([]result, 0, size),
		messages: make([]events.Message, 0, size),
		effects:  h.noEffects(),
		arena:    make([]byte, 0, size*usualBody),
	}
}

// noEffects returns effects to fill. Those before them may still be in use, but not those before these.
func (h *Handler) noEffects() *effects {
	h.newest = 1 - h.newest
	e := &h.effects[h.newest]
	e.forget()
	return e
}

// full reports whether the batch takes no more commands.
func (d *decided) full() bool {
	return len(d.messages) == maxBatch || d.bytes > maxBatchBytes-events.MaxBody || d.steps > batchSteps
}

// decide decides commands one after another, each on the state that the ones before it lead to. It stops when the batch
// is full, or when the batch before it was appended. It returns how many it decided.
func (h *Handler) decide(d *decided, waiting []*pending) (n int) {
	for _, p := range waiting {
		if d.full() || len(h.appended) > 0 {
			break
		}
		n++
		d.batch = append(d.batch, p)
		if err := p.ctx.Err(); err != nil {
			d.results = append(d.results, result{err: err})
			continue
		}
		before := *h.steps
		r := h.decideOne(d, p)
		r.at, r.steps = h.overlay.Head().Sequence, *h.steps-before
		d.steps += r.steps - min(r.steps, ordinarySteps)
		d.results = append(d.results, r)
	}
	h.waited(waiting[:n])
	if 0 < n && n < len(waiting) { // who waits on has its turn according to the work so far
		h.rounds.fade()
		for i := len(d.results) - n; i < len(d.results); i++ {
			h.rounds.work(d.batch[i].share(), d.results[i].steps)
		}
	}
	return n
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
		OccurredAt: saidAt(h.overlay, p, at),
	}
	if err := commands.PermitCommand(h.overlay, commands.CurrentRules(), call, p.Command); err != nil {
		return result{err: err}
	}
	if p.If != nil {
		if err := p.If(h.overlay); err != nil {
			return result{err: err}
		}
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
	h.note(d.effects, sequence, body, hash, stored, changes)
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

// saidAt is occurredAt for a new event: of a session that has not ended, it is not before the session was created. The
// clock of the session's machine may be behind, and the report counts all the same. After the end, when the time
// decides whether the session may still report, it stays as the session states it; so does that of a changed file,
// which older clients state and read back.
func saidAt(s *projections.State, p *pending, at time.Time) time.Time {
	said := occurredAt(p.OccurredAt, at)
	if said.IsZero() || p.By.Kind != commands.ActorSession {
		return said
	}
	if _, file := p.Command.(*commands.TrackFile); file {
		return said
	}
	x := s.Session(p.By.Name)
	if x == nil || x.Ended() || said.UnixMilli() >= x.StartedAt {
		return said
	}
	return time.UnixMilli(x.StartedAt).UTC()
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
