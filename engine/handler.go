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

// Blobs keeps long texts by digest; the Handler puts what is too long for an event there before it decides.
type Blobs interface {
	// PutBlob stores the bytes and answers their digest, "sha256-<64 hex>". Storing the same bytes again is no error.
	PutBlob(ctx context.Context, blob []byte) (digest string, err error)
}

// Snapshots keeps encoded states. A lost or damaged one costs time, never correctness.
type Snapshots interface {
	// List returns the sequences there are, newest first.
	List(ctx context.Context) ([]uint64, error)
	// Load returns the snapshot at a sequence; events.ErrNoSnapshot if it is missing or damaged.
	Load(ctx context.Context, sequence uint64) (events.Snapshot, error)
	// Save stores a snapshot, atomically.
	Save(ctx context.Context, snapshot events.Snapshot) error
}

// Witness remembers the newest committed head outside the log.
type Witness interface {
	// Load returns the head remembered, the zero Head if there is none.
	Load(ctx context.Context) (events.Head, error)
	// Record takes note of a committed head; it must not block.
	Record(head events.Head)
}

// Announcer tells the outside of committed events. It must not block; an announcement may get lost.
type Announcer interface {
	Announce(committed []events.Message)
}

// Config configures a Handler. Log, Now and After are required.
type Config struct {
	Log       Log
	Blobs     Blobs
	Snapshots Snapshots
	Witness   Witness
	// Seen is a head that something else than the Witness and the Snapshots remembers; zero if nothing does.
	Seen      Witnessed
	Announcer Announcer
	// Damage is what is known to be wrong with the log before it is read: then it opens read-only. Nil if nothing is.
	Damage error
	// Now is the clock, After its timer.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	// Follow tells the clock the time of the newest event in the log, which it must not be behind; nil if it cannot be
	// told.
	Follow func(newest time.Time)
	// Denials records refusals before they are answered; nil if nothing does.
	Denials *Denials
	// Shared says that other servers write to the log too: then answers without an event, which no append guards, are
	// held against its head before they go out.
	Shared bool
	// SnapshotEvery is the number of events between snapshots; 50,000 if 0.
	SnapshotEvery uint64
	// ReadMost is how many steps one look at the state may take; [ReadMost] if 0.
	ReadMost uint64
	Logger   *slog.Logger
}

// Request is a command with everything that accompanies it.
type Request struct {
	By      commands.Actor
	Command commands.Command
	// Key makes a retry recognisable: the same actor, project, command and key are one command. 1 to 200 characters.
	Key string
	// OccurredAt is when it was said, if it waited; else zero.
	OccurredAt time.Time
	// TraceParent is the caller's W3C trace context; may be empty.
	TraceParent string
	// Share names those who have one turn in each round when commands do not fit into one batch; the actor if it is
	// empty.
	Share string
	// Worked is told how many steps the decision and the fold of its event took, whatever they came to; nil if nobody
	// wants to know. The writer calls it: it must not block.
	Worked func(steps int)
}

// worked tells how much work a request was.
func (r Request) worked(steps uint64) {
	if r.Worked != nil {
		r.Worked(int(steps)) //nolint:gosec // a decision has far fewer steps
	}
}

// Answer is the result of a command.
type Answer struct {
	// Sequence is the event's, or without one the sequence that "already so" was decided on.
	Sequence uint64
	// Event is the stored body; nil for "already so".
	Event []byte
	// Data is the event's payload; nil for "already so".
	Data events.Data
	// Retried says that the event was there already.
	Retried bool
}

// Handler is the only writer of a log and owns its state. Safe for concurrent use.
type Handler struct {
	config Config
	logger *slog.Logger

	// trials is held by dry runs while they read committed, and by the writer, before mu, when it changes it.
	trials sync.RWMutex
	// rounds is the writer's.
	rounds rounds
	// mu guards committed, which only the writer changes, and what follows from it.
	mu        sync.RWMutex
	committed *projections.State
	reaches   reaches
	waiters   map[Key]map[*waiter]struct{}
	lines     map[string]map[string]*line // by project and queue
	damage    error
	doubt     error

	// overlay, decoder, event and stored are the writer's own.
	overlay *projections.State
	// steps counts what the overlay has looked up.
	steps   *uint64
	decoder events.Decoder
	event   events.Event // the newest, as it was made
	stored  events.Event // the same, as its body says it
	// touched is what the current batch changes that somebody may wait for.
	touched     map[Key]struct{}
	touchedLast Key

	feed feed
	// replays holds an item for each follower that reads history.
	replays chan struct{}

	queue queue
	stop  context.CancelFunc
	done  sync.WaitGroup

	imaged chan *projections.Image
	// gone is poked when a session has ended or was lost.
	gone chan struct{}
}

// Open reads the log, with the help of a snapshot if one fits, checks it against its witnesses, and starts the writer.
//
// A damaged log opens too, read-only: then Do fails with *UnavailableError and Health says why. ctx bounds the opening
// only.
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
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{
		config: config,
		logger: config.Logger,
		imaged: make(chan *projections.Image, 1),
		gone:   make(chan struct{}, 1),

		replays: make(chan struct{}, replaysMost),
	}
	h.queue.wake = make(chan struct{}, 1)
	opened, err := load(ctx, config, h.logger)
	if err != nil {
		return nil, err
	}
	h.committed, h.damage = opened.state, opened.damage
	h.overlay = h.committed.Overlay()
	h.steps = h.overlay.CountReads()
	h.follow()
	if h.damage == nil && config.Witness != nil && h.committed.Head().Sequence > 0 {
		config.Witness.Record(h.committed.Head())
	}
	running, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.done.Go(func() { h.write(running) })
	h.done.Go(func() { h.saveSnapshots(running) })
	if opened.from.Sequence > 0 && h.damage == nil {
		h.done.Go(func() { h.checkHistory(running, opened.from) })
	}
	return h, nil
}

// follow lets the clock go on from the newest event: of another server, or of a time when the clock was ahead.
func (h *Handler) follow() {
	if h.config.Follow != nil {
		h.config.Follow(h.committed.At())
	}
}

// Close stops the writer after the current batch and waits for it; commands still waiting get *UnavailableError. It may
// be called twice.
func (h *Handler) Close() {
	h.stop()
	h.done.Wait()
}

// Do brings a command through: it returns when the answer's ground is as durable as the log makes it. It fails with a
// *Refusal, with *UnavailableError when the server cannot write, or with ctx's error: then the command may still
// happen, and asking again with the same key tells.
func (h *Handler) Do(ctx context.Context, r Request) (Answer, error) {
	p, err := h.prepare(ctx, r)
	if err != nil {
		return Answer{}, h.recorded(ctx, r, err)
	}
	if !h.queue.add(p) {
		return Answer{}, errClosing()
	}
	select {
	case result := <-p.done:
		if result.retryOf != 0 {
			answer, err := h.answerRetry(ctx, p, result.retryOf)
			return answer, h.recorded(ctx, r, err)
		}
		h.queue.free(p) // the writer has let go of it
		return result.answer, result.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// refresh brings the state of a Handler on a shared log to the log's head: nothing else tells it what another server
// wrote.
func (h *Handler) refresh(ctx context.Context) error {
	if !h.config.Shared {
		return nil
	}
	return h.barrier(ctx)
}

// prepare does all that needs no state, in the caller's goroutine.
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

// validRequest checks what comes with a command.
func validRequest(r Request) error {
	if r.Key == "" {
		return &commands.Refusal{Code: commands.CodeInvalid, Message: "a command needs a key"}
	}
	if err := commands.ValidLine(commands.KeyName, r.Key, commands.MaxKey); err != nil {
		return err
	}
	return commands.ValidLine("traceparent", r.TraceParent, commands.MaxKey)
}

// hashOf returns the request hash of a command: of its fields as JSON, so that white space and order do not count.
func hashOf(command commands.Command) (events.RequestHash, error) {
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

// cutTexts leaves of texts that are too long for an event their beginnings and digests, and gives them.
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
		*text = preview(*text)
	}
	return long, nil
}

// storeTexts puts the long texts of a command into the blobs, unless it is refused by what is known already. The writer
// decides again, on the state that counts.
func (h *Handler) storeTexts(ctx context.Context, p *pending, long []string) error {
	if len(long) == 0 {
		return nil
	}
	if err := h.foreseen(p); err != nil {
		return err
	}
	for _, text := range long {
		_, err := h.config.Blobs.PutBlob(ctx, []byte(text))
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

// longText says what keeps a long text from the blobs, whoever it is from.
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

// foreseen refuses early, from the committed state; where that may be behind the log, only the writer can say.
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
	// A retry gets the answer that it had, whatever its caller may do by now.
	_, _, err := h.tryCommitted(p)
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		return err
	}
	return nil
}

// preview returns the beginning of a text, cut between characters.
func preview(text string) string {
	end := events.PreviewText
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}

// answerRetry answers from the event that the command already became.
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

// retryAnswer compares the command with the event that its key became.
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

// View calls see with the committed state, which it must not keep; the values in it may be kept. Nothing bounds what
// see looks at, and the writer waits for it: what walks through the state is for Read.
func (h *Handler) View(see func(*projections.State)) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	see(h.committed)
}

// Image takes a picture of the committed state. A commit waits for it, as for a dry run; readers do not.
func (h *Handler) Image() *projections.Image {
	h.trials.RLock()
	defer h.trials.RUnlock()
	return h.committed.Image()
}

// Health returns why the log takes no writes, or nil. An *events.DamageError is permanent; anything else is temporary.
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
