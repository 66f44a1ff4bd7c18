package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// Request is a command with its caller and its context.
type Request struct {
	By      commands.Actor
	Command commands.Command
	// Key is the idempotency key, 1 to 200 characters. The same actor, project, command and key are the same command,
	// so that a retry is executed once.
	Key string
	// OccurredAt is when the command was said, if it waited in an outbox; else zero.
	OccurredAt time.Time
	// Told says that the actor itself waits for the answer to a command from an outbox, and is shown a refusal.
	Told bool
	// TraceParent is the caller's W3C trace context; may be empty.
	TraceParent string
	// Share names the fairness group of the caller. Each group gets one turn a round when commands do not fit into one
	// batch. The actor is the group if it is empty.
	Share string
	// If is asked by the writer, with the state that the command is decided on; an error refuses the command. It is for
	// a condition that the command itself does not have; nil for none. It must look at little, and must not block.
	If func(*projections.State) error
	// Worked receives the number of steps that the decision and the fold of its event took, whatever the outcome; it
	// may be nil. The writer calls it, so it must not block.
	Worked func(steps int)
}

// worked reports the number of steps of a request.
func (r Request) worked(steps uint64) {
	if r.Worked != nil {
		r.Worked(int(steps)) //nolint:gosec // a decision has far fewer steps
	}
}

// Answer is the result of a command.
type Answer struct {
	// Sequence is that of the event. Without an event, it is the sequence at which the state was already as requested.
	Sequence uint64
	// Event is the stored body; nil if nothing had to change.
	Event []byte
	// Data is the event's payload; nil if nothing had to change.
	Data events.Data
	// Retried says that an earlier request with the same key made the event.
	Retried bool
}

// Handler is the only writer of a log and owns its state. Safe for concurrent use.
type Handler struct {
	config Config
	logger *slog.Logger

	// trials guards committed against changes while a dry run reads it. The writer takes it, before mu, when it changes
	// committed.
	trials sync.RWMutex
	// rounds belongs to the writer.
	rounds rounds
	// mu guards committed, which only the writer changes, and the fields derived from it.
	mu        sync.RWMutex
	committed *projections.State
	reaches   reaches
	waiters   map[Key]map[*waiter]struct{}
	lines     map[string]map[string]*line // by project and queue
	damage    error
	doubt     error

	// overlay, decoder, event and stored belong to the writer.
	overlay *projections.State
	// steps counts the look-ups in the overlay.
	steps   *uint64
	decoder events.Decoder
	event   events.Event // the newest event, as it was made
	stored  events.Event // the same event, decoded from its stored body
	// effects are those of the batch that is being appended and of the one that is being decided; newest is the index
	// of the latter.
	effects   [2]effects
	newest    int
	gathering gathering
	// appending takes a batch to append; appended returns the outcome.
	appending chan *decided
	appended  chan error

	feed feed
	// replays is a semaphore: it holds one element for each follower that reads history.
	replays chan struct{}

	queue  queue
	stall  stall
	flight inFlight
	stop   context.CancelFunc
	done   sync.WaitGroup

	imaged chan *projections.Image
	saved  saved
	// gone is signalled when a session has ended or was lost.
	gone chan struct{}
}

// Open reads the log, starting from a snapshot if one fits, checks it against its witnesses, and starts the writer.
//
// A damaged log opens read-only: Do then fails with *UnavailableError, and Health returns the reason. ctx bounds the
// opening only.
func Open(ctx context.Context, config Config) (*Handler, error) {
	if config.Log == nil || config.Now == nil || config.After == nil {
		return nil, errors.New("engine: Open needs a Log and a clock")
	}
	if config.SnapshotEvery == 0 {
		config.SnapshotEvery = 50_000
	}
	if config.ReadMost == 0 {
		config.ReadMost = ReadMost
	}
	if config.OverlapFrom == 0 {
		config.OverlapFrom = overlapFrom
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{
		config: config,
		logger: config.Logger,
		imaged: make(chan *projections.Image, 1),
		gone:   make(chan struct{}, 1),

		appending: make(chan *decided),
		appended:  make(chan error, 1),

		replays: make(chan struct{}, replaysMost),
		stall:   newStall(),
	}
	h.queue.wake = make(chan struct{}, 1)
	opened, err := load(ctx, config, h.logger)
	if err != nil {
		return nil, err
	}
	h.committed, h.damage = opened.state, opened.damage
	h.saved.head, h.saved.segments = opened.from, opened.segments
	h.overlay = h.committed.Overlay()
	h.steps = h.overlay.CountReads()
	h.follow()
	if h.damage == nil && config.Witness != nil && h.committed.Head().Sequence > 0 {
		config.Witness.Record(h.committed.Head())
	}
	running, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.done.Go(func() { h.write(running) })
	h.done.Go(func() { h.appendBatches(context.WithoutCancel(running)) })
	h.done.Go(func() { h.watchLog(running) })
	h.done.Go(func() { h.saveSnapshots(running) })
	if opened.from.Sequence > 0 && h.damage == nil {
		h.done.Go(func() { h.checkHistory(running, opened.from) })
	}
	return h, nil
}

// follow keeps the clock from running behind the newest event, which another server may have written, or this one while
// its clock was ahead.
func (h *Handler) follow() {
	if h.config.Follow != nil {
		h.config.Follow(h.committed.At())
	}
}

// Close stops the writer after the current batch and waits for it. Commands that still wait get *UnavailableError. It
// may be called twice.
func (h *Handler) Close() {
	h.stop()
	h.done.Wait()
}

// Do executes a command. It returns when the event, or the state that the answer is based on, is as durable as the log
// makes it. It fails with a *Refusal, with *UnavailableError when the server cannot write, or with ctx's error. In the
// last case the command may still be executed; a retry with the same key finds out.
func (h *Handler) Do(ctx context.Context, r Request) (Answer, error) {
	h.flight.begin()
	defer h.flight.end()
	p, err := h.prepare(ctx, r)
	if err != nil {
		return Answer{}, h.recorded(ctx, r, err)
	}
	stalled, err := h.enqueue(p)
	if err != nil {
		return Answer{}, err
	}
	select {
	case result := <-p.done:
		if result.retryOf != 0 {
			answer, err := h.answerRetry(ctx, p, result.retryOf)
			h.retried(answer, err)
			return answer, h.recorded(ctx, r, err)
		}
		h.queue.free(p) // the writer no longer uses it
		h.retried(result.answer, result.err)
		return result.answer, result.err
	case <-stalled:
		return Answer{}, unavailable(errStalled)
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// enqueue gives a request to the writer, unless the log does not answer. stalled is closed once it does not.
func (h *Handler) enqueue(p *pending) (stalled <-chan struct{}, err error) {
	stalled = h.stall.waited()
	select {
	case <-stalled:
		return nil, unavailable(errStalled)
	default:
	}
	h.waits(p)
	if !h.queue.add(p) {
		return nil, errClosing()
	}
	return stalled, nil
}

// refresh reads the log up to its head, if the log is shared. Nothing else tells this Handler what another server
// wrote.
func (h *Handler) refresh(ctx context.Context) error {
	if !h.config.Shared {
		return nil
	}
	return h.barrier(ctx)
}

// prepare does the work that needs no state, in the caller's goroutine.
func (h *Handler) prepare(ctx context.Context, r Request) (*pending, error) {
	if err := validRequest(r); err != nil {
		return nil, err
	}
	hash, err := hashOf(r.Command)
	if err != nil {
		return nil, err
	}
	long, err := h.cutTexts(r)
	if err != nil {
		return nil, err
	}
	p := h.queue.empty()
	p.Request, p.ctx, p.source, p.hash = r, ctx, r.By.Source(), hash
	return p, h.storeTexts(ctx, p, long)
}

// validRequest checks what accompanies a command.
func validRequest(r Request) error {
	if r.Key == "" {
		return &commands.Refusal{Code: commands.CodeInvalid, Message: "a command needs a key"}
	}
	if err := commands.ValidLine(commands.KeyName, r.Key, commands.MaxKey); err != nil {
		return err
	}
	return commands.ValidLine("traceparent", r.TraceParent, commands.MaxKey)
}

// hashOf returns the request hash of a command. It covers the command's fields as JSON, so that white space and order
// do not matter.
func hashOf(command commands.Command) (events.RequestHash, error) {
	if completed, ok := command.(interface{ Asked() commands.Command }); ok {
		command = completed.Asked()
	}
	text, err := json.Marshal(command)
	if err != nil {
		return events.RequestHash{}, &commands.Refusal{
			Code:    commands.CodeInvalid,
			Message: "the command cannot be written as JSON: " + err.Error(),
		}
	}
	sum := sha256.Sum256(text)
	return events.RequestHash(sum[:len(events.RequestHash{})]), nil
}

// cutTexts replaces each text that is too long for an event by its beginning and its digest, and returns the whole
// texts.
func (h *Handler) cutTexts(r Request) (long []string, err error) {
	texts, blobs := commands.TextsOf(r.Command)
	for field, text := range texts {
		if text == nil || len(*text) <= events.MaxText {
			continue
		}
		if err := h.longText(field, *text); err != nil {
			return nil, err
		}
		long = append(long, *text)
		setBlob(blobs, field, "sha256-"+events.BodyHash([]byte(*text)).String())
		*text, _ = events.Preview(*text, events.PreviewText)
	}
	return long, nil
}

// storeTexts stores the long texts of a command as blobs, unless the committed state already refuses the command. The
// writer decides again, on the state that counts.
func (h *Handler) storeTexts(ctx context.Context, p *pending, long []string) error {
	if len(long) == 0 {
		return nil
	}
	if err := h.foreseen(p); err != nil {
		return err
	}
	for _, text := range long {
		err := h.putBlob(ctx, []byte(text))
		switch {
		case errors.Is(err, events.ErrReadOnly), errors.Is(err, events.ErrFull), errors.Is(err, events.ErrUnreadable):
			return unavailable(err)
		case err != nil:
			return &UnavailableError{
				Why:  "the long text could not be stored",
				Next: "try again with the same key",
				Err:  err,
			}
		}
	}
	return nil
}

// longText returns the reason why a long text cannot be stored, whoever sent it.
func (h *Handler) longText(field, text string) error {
	if err := commands.ValidText("/"+field, text); err != nil {
		return err
	}
	if h.config.Blobs == nil {
		return &commands.Refusal{
			Code:    commands.CodeTooLarge,
			Pointer: "/" + field,
			Message: fmt.Sprintf("%s has at most %d bytes here", field, events.MaxText),
		}
	}
	return nil
}

func setBlob(blobs *events.Blobs, field, digest string) {
	if *blobs == nil {
		*blobs = events.Blobs{}
	}
	(*blobs)[field] = digest
}

// foreseen refuses early, on the committed state. If that may be behind the log, only the writer can refuse.
func (h *Handler) foreseen(p *pending) error {
	h.mu.RLock()
	damage, doubt := h.damage, h.doubt
	h.mu.RUnlock()
	switch {
	case damage != nil:
		return unavailable(damage)
	case doubt != nil || h.config.Shared:
		return nil
	}
	// A retry gets its original answer, even if its caller has lost the permission since.
	_, _, err := h.tryCommitted(p, nil)
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		return err
	}
	return nil
}

// answerRetry answers from the event that the command has already become.
func (h *Handler) answerRetry(ctx context.Context, p *pending, sequence uint64) (Answer, error) {
	var message events.Message
	err := h.config.Log.Read(ctx, sequence, sequence, func(m events.Message) error { message = m; return nil })
	if errors.Is(err, events.ErrReadOnly) {
		h.setDamage(err)
		return Answer{}, unavailable(err)
	}
	if err != nil {
		return Answer{}, &UnavailableError{
			Why:  "the event of an earlier try could not be read",
			Next: "try again with the same key",
			Err:  err,
		}
	}
	return retryAnswer(p, message)
}

// retryAnswer compares the command with the event that has its key.
func retryAnswer(p *pending, message events.Message) (Answer, error) {
	event, err := events.Decode(message.Body)
	if err != nil {
		return Answer{}, &UnavailableError{
			Why:  "the event of an earlier try could not be read",
			Next: "see `maestro audit verify`",
			Err:  err,
		}
	}
	if event.RequestHash != p.hash {
		return Answer{}, &commands.Refusal{
			Code:    commands.CodeKeyReused,
			Message: "The key '" + safetext.Printable(p.Key) + "' was used for another " + p.Command.ID() + " command",
			Why:     "one key is one command; it became event " + event.ID.String(),
			Next:    "use a new key",
		}
	}
	return Answer{
		Sequence: message.Sequence,
		Event:    message.Body,
		Data:     event.Data,
		Retried:  true,
	}, nil
}

// View calls see with the committed state. see must not keep the state, but may keep the values in it. Nothing bounds
// the work of see, and the writer waits for it: use Read for anything that walks through the state.
func (h *Handler) View(see func(*projections.State)) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	see(h.committed)
}

// Image returns an immutable image of the committed state. Commits and dry runs wait for it; readers do not.
func (h *Handler) Image() *projections.Image {
	h.trials.RLock()
	defer h.trials.RUnlock()
	return h.committed.Image()
}

// Health returns why the log takes no writes, or nil. An *events.DamageError is permanent; any other error is
// temporary.
func (h *Handler) Health() error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.damage != nil {
		return h.damage
	}
	return h.doubt
}

func errClosing() error {
	return &UnavailableError{Why: "the server is stopping", Next: "try again with the same key"}
}
