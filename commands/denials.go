package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"maestro/events"
)

const (
	// denialsOfOne is how many records an actor has at most; the next takes the place of its oldest.
	denialsOfOne = 1000
	// denialsAMinute is how many different refusals of one actor are recorded one by one in a minute; the rest is one record
	// with a count.
	denialsAMinute = 60
	// sameWithin is how long equal refusals are one record with a count, in milliseconds.
	sameWithin = 60_000
	// denialsKept bounds what is remembered of all actors.
	denialsKept = 20_000
)

// Denial is the record of a refusal, or of equal ones.
type Denial struct {
	// ID names the record: the actor's number of it.
	ID      string `json:"id"`
	Actor   string `json:"actor"`
	Authn   string `json:"authn"`
	Command string `json:"command"`
	Project string `json:"project,omitempty"`
	// Target holds the ids that the command named, as JSON.
	Target json.RawMessage `json:"target,omitempty"`
	Code   Code            `json:"code"`
	// Rule is the row of the table that refused, if one did; Rules its version.
	Rule    string `json:"rule,omitempty"`
	Rules   string `json:"rules"`
	Message string `json:"message"`
	Why     string `json:"why,omitempty"`
	// Sequence is the place in the log that the first was decided on.
	Sequence uint64 `json:"sequence"`
	// First and Last are when it was refused, in milliseconds since 1970; Count how often.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	Count int   `json:"count"`
	// More says that this stands for refusals of several kinds, beyond what is recorded one by one.
	More bool `json:"more,omitempty"`
	// Kept is a command that had waited in an outbox, whose caller was told that it is kept: its words, and when it was said.
	Kept       bool   `json:"kept,omitempty"`
	Text       string `json:"text,omitempty"`
	OccurredAt int64  `json:"occurredAt,omitempty"`
	Key        string `json:"key,omitempty"`
}

// StoredDenial is a record in its slot, "<number>", or "kept-<number>" for a kept command.
type StoredDenial = events.StoredDenial

// DenialStore keeps records of refusals, within bounds.
type DenialStore interface {
	// StoreDenials puts each record into its slot, durably.
	StoreDenials(ctx context.Context, records []StoredDenial) error
	// LoadDenials yields what is there.
	LoadDenials(ctx context.Context, yield func(StoredDenial) error) error
}

// Denials records refusals: each is stored before it is answered. Equal ones within a minute are one with a count; an actor
// has a share, so that nobody's refusals push out another's. Safe for concurrent use.
type Denials struct {
	store  DenialStore
	now    func() time.Time
	logger *slog.Logger

	mu      sync.Mutex
	actors  map[string]*actorDenials
	all     []*Denial // in the order in which they began
	waiting []denied
	closed  bool

	wake chan struct{}
	done sync.WaitGroup
	stop context.CancelFunc
}

// denied is a refusal whose caller waits.
type denied struct {
	actor *actorDenials
	slot  string
	at    *Denial
	then  func(error)
}

// actorDenials is what is remembered of one actor.
type actorDenials struct {
	name   string
	number int                // of its next record
	kept   int                // of its next kept one
	slots  map[string]*Denial // its records, at most denialsOfOne of either sort
	recent map[string]*recentDenial
	more   *recentDenial
	// window is when the present minute began, and fresh how many records it has.
	window int64
	fresh  int
}

type recentDenial struct {
	*Denial
	slot string
}

// OpenDenials reads what is recorded and starts to record more.
func OpenDenials(ctx context.Context, store DenialStore, now func() time.Time, logger *slog.Logger) (*Denials, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	d := &Denials{store: store, now: now, logger: logger, actors: map[string]*actorDenials{}, wake: make(chan struct{}, 1)}
	err := store.LoadDenials(ctx, func(record StoredDenial) error {
		denial := new(Denial)
		if err := json.Unmarshal(record.Body, denial); err != nil {
			logger.Warn("the record of a refusal cannot be read", "actor", record.Actor, "slot", record.Slot, "why", err)
			return nil
		}
		d.all = append(d.all, denial)
		a := d.actor(denial.Actor)
		a.slots[record.Slot] = denial
		var number int
		if _, err := fmt.Sscanf(denial.ID, "denial_%d", &number); err == nil && !denial.Kept {
			a.number = max(a.number, number+1)
		}
		if _, err := fmt.Sscanf(denial.ID, "kept_%d", &number); err == nil && denial.Kept {
			a.kept = max(a.kept, number+1)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the recorded refusals: %w", err)
	}
	slices.SortStableFunc(d.all, func(a, b *Denial) int { return cmp.Compare(a.First, b.First) })
	running, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.done.Go(func() { d.run(running) })
	return d, nil
}

// Close stops the recording after what is in hand.
func (d *Denials) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.done.Wait()
}

// Record records a refusal that no Handler decided, such as that of a read, and returns when it is stored.
func (d *Denials) Record(ctx context.Context, by Actor, command, project string, refusal *Refusal, sequence uint64) error {
	stored := make(chan error, 1)
	d.record(Denial{
		Actor: by.Source(), Authn: by.Authn, Command: command, Project: project, Code: refusal.Code, Rule: refusal.Rule,
		Rules: RulesVersion, Message: refusal.Message, Why: refusal.Why, Sequence: sequence,
	}, func(err error) { stored <- err })
	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RecordKept records a command that had waited and that no Handler was asked to decide, and returns when it is stored.
func (d *Denials) RecordKept(ctx context.Context, r Request, refusal *Refusal) error {
	stored := make(chan error, 1)
	d.record(denialOf(r, refusal, 0), func(err error) { stored <- err })
	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// List gives the records that a reader wants, newest last. The values are copies.
func (d *Denials) List(wanted func(*Denial) bool) []Denial {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []Denial{}
	for _, denial := range d.all {
		if wanted == nil || wanted(denial) {
			list = append(list, *denial)
		}
	}
	return list
}

func (d *Denials) actor(name string) *actorDenials {
	a := d.actors[name]
	if a == nil {
		a = &actorDenials{name: name, slots: map[string]*Denial{}, recent: map[string]*recentDenial{}}
		d.actors[name] = a
	}
	return a
}

// record counts a refusal, and calls then once the record is stored.
func (d *Denials) record(denial Denial, then func(error)) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		then(errClosing())
		return
	}
	now := d.now().UnixMilli()
	a := d.actor(denial.Actor)
	r := a.same(&denial, now)
	if r == nil {
		r = d.begin(a, denial, now)
	}
	r.Count++
	r.Last = max(r.Last, now)
	d.waiting = append(d.waiting, denied{a, r.slot, r.Denial, then})
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// same gives the record that an equal refusal has already, or nil.
func (a *actorDenials) same(denial *Denial, now int64) *recentDenial {
	if now-a.window >= sameWithin || now < a.window {
		a.window, a.fresh, a.more = now, 0, nil
		clear(a.recent)
	}
	if denial.Kept {
		return nil
	}
	if r := a.recent[denial.kind()]; r != nil {
		return r
	}
	if a.fresh >= denialsAMinute {
		return a.more
	}
	return nil
}

// begin makes a record of its own, or the one that stands for the rest of the minute.
func (d *Denials) begin(a *actorDenials, denial Denial, now int64) *recentDenial {
	denial.First = now
	r := &recentDenial{Denial: &denial}
	switch {
	case denial.Kept:
		denial.ID, r.slot = fmt.Sprintf("kept_%d", a.kept), fmt.Sprintf("kept-%d", a.kept%denialsOfOne)
		a.kept++
	case a.fresh >= denialsAMinute:
		denial = Denial{
			Actor: denial.Actor, Authn: denial.Authn, Code: denial.Code, Rules: denial.Rules, Sequence: denial.Sequence, First: now,
			More: true, Message: fmt.Sprintf("More than %d different refusals within a minute", denialsAMinute),
		}
		a.more = r
		fallthrough
	default:
		denial.ID, r.slot = fmt.Sprintf("denial_%d", a.number), fmt.Sprintf("%d", a.number%denialsOfOne)
		a.number++
		a.fresh++
		if !denial.More {
			a.recent[denial.kind()] = r
		}
	}
	if oldest := a.slots[r.slot]; oldest != nil {
		if at := slices.Index(d.all, oldest); at >= 0 {
			d.all = slices.Delete(d.all, at, at+1)
		}
	}
	a.slots[r.slot] = r.Denial
	d.all = append(d.all, r.Denial)
	if len(d.all) > denialsKept {
		d.all = slices.Clone(d.all[len(d.all)-denialsKept*9/10:])
	}
	return r
}

// kind is what equal refusals have in common.
func (x *Denial) kind() string {
	return fmt.Sprint(x.Authn, "\x00", x.Command, "\x00", x.Project, "\x00", x.Code, "\x00", x.Rule, "\x00", x.Message, "\x00", string(x.Target))
}

// run stores what waits, all of it at once.
func (d *Denials) run(ctx context.Context) {
	for {
		select {
		case <-d.wake:
			d.flush(ctx)
		case <-ctx.Done():
			d.flush(context.WithoutCancel(ctx))
			return
		}
	}
}

func (d *Denials) flush(ctx context.Context) {
	d.mu.Lock()
	batch := d.waiting
	d.waiting = nil
	records, err := encodeDenials(batch)
	d.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	if err == nil {
		err = d.store.StoreDenials(context.WithoutCancel(ctx), records)
	}
	if err != nil {
		d.logger.Error("refusals could not be recorded", "count", len(batch), "why", err)
		err = &UnavailableError{Why: "the refusal could not be recorded: " + err.Error(), Next: "try again with the same key", Err: err}
	}
	for _, x := range batch {
		x.then(err)
	}
}

// encodeDenials gives the records that a batch comes to: one a slot, with its present count.
func encodeDenials(batch []denied) ([]StoredDenial, error) {
	var records []StoredDenial
	seen := map[*Denial]bool{}
	for _, x := range batch {
		if seen[x.at] {
			continue
		}
		seen[x.at] = true
		body, err := json.Marshal(x.at)
		if err != nil {
			return nil, err
		}
		records = append(records, StoredDenial{Actor: x.actor.name, Slot: x.slot, Body: body})
	}
	return records, nil
}

// targets are the ids that commands name.
type targets struct {
	TaskID    string   `json:"taskId,omitempty"`
	TaskIDs   []string `json:"taskIds,omitempty"`
	SessionID string   `json:"sessionId,omitempty"`
	ProjectID string   `json:"projectId,omitempty"`
	Queue     string   `json:"queue,omitempty"`
	InputID   string   `json:"inputId,omitempty"`
}

// denialOf makes the record of a refused command.
func denialOf(r Request, refusal *Refusal, sequence uint64) Denial {
	denial := Denial{
		Actor: r.By.Source(), Authn: r.By.Authn, Command: r.Command.ID(), Code: refusal.Code, Rule: refusal.Rule, Rules: RulesVersion,
		Message: refusal.Message, Why: refusal.Why, Sequence: sequence, Project: r.By.Project,
	}
	// What a command is made of was JSON when it came.
	body, err := json.Marshal(r.Command)
	var named struct {
		targets
		Project string `json:"project"`
		Message string `json:"message"`
		File    string `json:"file"`
	}
	if err == nil && json.Unmarshal(body, &named) == nil {
		if target, err := json.Marshal(named.targets); err == nil && string(target) != "{}" && len(target) <= events.PreviewText {
			denial.Target = target
		}
		if named.Project != "" && len(named.Project) <= maxName {
			denial.Project = named.Project
		}
	}
	if !r.OccurredAt.IsZero() {
		denial.Kept, denial.OccurredAt, denial.Key = true, r.OccurredAt.UnixMilli(), r.Key
		if len(denial.Key) > maxKey {
			denial.Key = printable(denial.Key)
		}
		denial.Text = cmp.Or(named.Message, named.File)
		if len(denial.Text) > events.MaxText {
			denial.Text = preview(denial.Text)
		}
	}
	return denial
}

// recorded records a refusal that was found outside the writer, and gives it back.
func (h *Handler) recorded(ctx context.Context, r Request, err error) error {
	var refusal *Refusal
	if h.config.Denials == nil || !errors.As(err, &refusal) {
		return err
	}
	stored := make(chan error, 1)
	h.config.Denials.record(denialOf(r, refusal, h.sequence()), func(err error) { stored <- err })
	select {
	case failed := <-stored:
		if failed != nil {
			return failed
		}
		refusal.Recorded = true
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
