package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

const (
	// sameWithin is how long equal refusals share one record with a count, in milliseconds.
	sameWithin = 60_000
	// storedAtOnce bounds how many refusals are stored in one batch.
	storedAtOnce = 256
)

// StoredDenial is a record with its place in the store. Storing another record in the same place replaces it.
type StoredDenial = events.StoredDenial

// DenialStore keeps a bounded number of records of refusals.
type DenialStore interface {
	// StoreDenials durably writes each record to its place.
	StoreDenials(ctx context.Context, records []StoredDenial) error
	// LoadDenials yields the stored records.
	LoadDenials(ctx context.Context, yield func(StoredDenial) error) error
}

// Denials records refusals: each is stored before it is answered. Equal refusals within a minute share one record with
// a count. The number and the size of the records are bounded, and the space is shared fairly: see denialShares. Safe
// for concurrent use.
type Denials struct {
	store  DenialStore
	now    func() time.Time
	logger *slog.Logger

	mu      sync.Mutex
	shares  denialShares
	free    []place // places whose records were evicted
	next    int     // number of the next place that was never used
	began   uint64  // number of the newest record
	counts  map[RefusalKind]uint64
	waiting []denied
	closed  bool

	wake chan struct{}
	done sync.WaitGroup
	stop context.CancelFunc
}

// denied is a refusal whose caller waits until it is stored.
type denied struct {
	at   *denialRecord
	root *rootDenials
	then func(error)
}

// OpenDenials loads the stored records and starts recording, within the default bounds.
func OpenDenials(ctx context.Context, store DenialStore, now func() time.Time, logger *slog.Logger) (*Denials, error) {
	return OpenDenialsWithin(ctx, store, DefaultDenialBounds(), now, logger)
}

// OpenDenialsWithin is OpenDenials with other bounds.
func OpenDenialsWithin(
	ctx context.Context, store DenialStore, bounds DenialBounds, now func() time.Time, logger *slog.Logger,
) (*Denials, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	d := &Denials{
		store:  store,
		now:    now,
		logger: logger,
		shares: newDenialShares(bounds),
		wake:   make(chan struct{}, 1),
		counts: map[RefusalKind]uint64{},
	}
	if err := d.load(ctx); err != nil {
		return nil, fmt.Errorf("read the recorded refusals: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.done.Go(func() { d.run(running) })
	return d, nil
}

// load reads the stored records. A record that an earlier version stored with longer texts is cut and stored again.
func (d *Denials) load(ctx context.Context) error {
	type loaded struct {
		*denialRecord
		number int
	}
	var records []loaded
	err := d.store.LoadDenials(ctx, func(stored StoredDenial) error {
		r := &denialRecord{place: place{stored.Actor, stored.Slot}}
		if err := json.Unmarshal(stored.Body, &r.Denial); err != nil {
			d.logger.Warn(
				"the record of a refusal cannot be read", "actor", safetext.Shorten(stored.Actor, denialActor), "slot",
				safetext.Shorten(stored.Slot, denialName), "why", err,
			)
			return nil
		}
		if number, err := strconv.Atoi(stored.Slot); stored.Actor == "" && err == nil {
			d.next = max(d.next, number+1)
		}
		was := r.Cut
		r.bound()
		if r.Cut && !was {
			d.waiting = append(d.waiting, denied{r, new(rootDenials), func(error) {}})
		}
		at := loaded{denialRecord: r}
		prefix := "denial_%d"
		if r.Kept {
			prefix = "kept_%d"
		}
		if _, err := fmt.Sscanf(r.ID, prefix, &at.number); err != nil {
			at.number = -1
		}
		records = append(records, at)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(records, func(a, b loaded) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.First, b.First), cmp.Compare(a.number, b.number))
	})
	if len(records) > 0 && records[0].Number == 0 { // an earlier version stored no numbers
		for i, r := range records {
			r.Number = uint64(i) + 1
			d.waiting = append(d.waiting, denied{r.denialRecord, new(rootDenials), func(error) {}})
		}
	}
	for _, r := range records {
		d.began = max(d.began, r.Number)
		a := d.shares.actor(r.Actor, r.Root)
		d.free = append(d.free, d.shares.makeRoom(a, r.sort())...)
		d.shares.add(a, r.denialRecord)
		a.number[r.sort()] = max(a.number[r.sort()], r.number+1)
	}
	if len(d.waiting) > 0 {
		d.wake <- struct{}{}
	}
	return nil
}

// Close stops the recording after the batch that is being stored.
func (d *Denials) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.done.Wait()
}

// Record records a refusal that no Handler decided, such as that of a read, and returns when it is stored. root is the
// root of the session's project.
func (d *Denials) Record(
	ctx context.Context, by commands.Actor, root, command string, refusal *commands.Refusal, sequence uint64,
) error {
	return d.stored(ctx, Denial{
		Actor:    by.Source(),
		Root:     otherRoot(by, root),
		Authn:    by.Authn,
		Command:  command,
		Project:  by.Project,
		Code:     refusal.Code,
		Rule:     refusal.Rule,
		Rules:    commands.RulesVersion,
		Message:  refusal.Message,
		Why:      refusal.Why,
		Sequence: sequence,
	})
}

// RecordKept records the refusal of a command from an outbox that no Handler decided, and returns when it is stored.
// root is the root of the session's project.
func (d *Denials) RecordKept(ctx context.Context, r Request, root string, refusal *commands.Refusal) error {
	return d.stored(ctx, denialOf(r, root, refusal, 0))
}

// MarkTold records that an actor was shown that its kept commands with these keys were refused. If that cannot be
// stored, it counts until the server ends.
func (d *Denials) MarkTold(actor string, keys map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	for at := d.shares.all.Front(); at != nil; at = at.Next() {
		r := at.Value.(*denialRecord)
		if r.Actor != actor || !r.Kept || r.Told || r.More || !keys[r.Key] {
			continue
		}
		r.Told = true
		a := d.shares.actor(r.Actor, r.Root)
		if len(d.waiting) < d.shares.bounds.Waiting {
			a.root.waiting++
			d.waiting = append(d.waiting, denied{r, a.root, func(error) {}})
		}
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// stored records a refusal and returns when it is stored.
func (d *Denials) stored(ctx context.Context, denial Denial) error {
	stored := make(chan error, 1)
	d.record(denial, func(err error) { stored <- err })
	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// record counts a refusal, and calls then once the record is stored.
func (d *Denials) record(denial Denial, then func(error)) {
	denial.bound()
	kind := kindOfRefusal(&denial)
	d.mu.Lock()
	d.counts[kind]++
	a := d.shares.actor(denial.Actor, denial.Root)
	switch {
	case d.closed:
		d.mu.Unlock()
		then(errClosing())
		return
	case len(d.waiting) >= d.shares.bounds.Waiting || a.root.waiting >= d.shares.bounds.Waiting/4:
		d.mu.Unlock()
		then(
			&UnavailableError{
				Why:  "too many refusals wait to be recorded",
				Next: "try again with the same key in a second",
			},
		)
		return
	}
	now := d.now().UnixMilli()
	r := a.same(&denial, now, d.shares.bounds.AMinute)
	if r == nil {
		r = d.begin(a, denial, now)
	}
	r.Count++
	r.Last = max(r.Last, events.Millis(now))
	a.root.waiting++
	d.waiting = append(d.waiting, denied{r, a.root, then})
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// same returns the record in which this refusal is counted, or nil.
func (a *actorDenials) same(denial *Denial, now int64, aMinute int) *denialRecord {
	if now-a.window >= sameWithin || now < a.window {
		a.window, a.fresh, a.more = now, [denialSorts]int{}, [denialSorts]*denialRecord{}
		clear(a.recent)
	}
	if r := a.recent[denial.kind()]; r != nil && !denial.Kept {
		return r
	}
	if a.fresh[denial.sort()] >= aMinute {
		return a.more[denial.sort()]
	}
	return nil
}

// begin starts a new record, or returns the actor's shared record for the rest of the minute.
func (d *Denials) begin(a *actorDenials, denial Denial, now int64) *denialRecord {
	sort := denial.sort()
	name := "denial"
	if denial.Kept {
		name = "kept"
	}
	r := &denialRecord{Denial: denial}
	more := a.fresh[sort] >= d.shares.bounds.AMinute
	if more {
		r.Denial = Denial{
			Actor:    denial.Actor,
			Root:     denial.Root,
			Authn:    denial.Authn,
			Code:     denial.Code,
			Rules:    denial.Rules,
			Sequence: denial.Sequence,
			More:     true,
			Kept:     denial.Kept,
			Message:  fmt.Sprintf("More than %d different refusals within a minute", d.shares.bounds.AMinute),
		}
		if denial.Kept {
			r.Project, r.Message = denial.Project, fmt.Sprintf(
				"More than %d kept commands were refused within a minute", d.shares.bounds.AMinute,
			)
		}
	}
	d.began++
	r.ID, r.Number, r.First = fmt.Sprintf("%s_%d", name, a.number[sort]), d.began, events.Millis(now)
	a.number[sort]++
	d.free = append(d.free, d.shares.makeRoom(a, sort)...)
	if len(d.free) > 0 {
		r.place, d.free = d.free[0], d.free[1:]
	} else {
		r.place = place{slot: strconv.Itoa(d.next)}
		d.next++
	}
	d.shares.add(a, r)
	switch {
	case more:
		a.more[sort] = r
	case denial.Kept:
		a.fresh[sort]++
	default:
		a.fresh[sort]++
		r.kind = denial.kind()
		a.recent[r.kind] = r
	}
	return r
}

// run stores refusals as they arrive.
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

// flush stores until nothing is pending.
func (d *Denials) flush(ctx context.Context) {
	for {
		d.mu.Lock()
		n := min(len(d.waiting), storedAtOnce)
		batch := slices.Clone(d.waiting[:n])
		d.waiting = slices.Delete(d.waiting, 0, n)
		if len(d.waiting) == 0 {
			d.waiting = nil
		}
		for _, x := range batch {
			x.root.waiting--
		}
		records, err := encodeDenials(batch)
		d.mu.Unlock()
		if n == 0 {
			return
		}
		if err == nil && len(records) > 0 {
			err = d.store.StoreDenials(context.WithoutCancel(ctx), records)
		}
		if err != nil {
			d.logger.Error("refusals could not be recorded", "count", n, "why", err)
			err = &UnavailableError{
				Why:  "the refusal could not be recorded: " + err.Error(),
				Next: "try again with the same key",
				Err:  err,
			}
		}
		for _, x := range batch {
			x.then(err)
		}
	}
}

// encodeDenials returns the records of a batch: one for each place, with its current count. A record that was evicted
// meanwhile is left out.
func encodeDenials(batch []denied) ([]StoredDenial, error) {
	var records []StoredDenial
	seen := map[*denialRecord]bool{}
	for _, x := range batch {
		if seen[x.at] || x.at.evicted {
			continue
		}
		seen[x.at] = true
		body, err := x.at.encode()
		if err != nil {
			return nil, err
		}
		records = append(records, StoredDenial{Actor: x.at.place.actor, Slot: x.at.place.slot, Body: body})
	}
	return records, nil
}

// recorded records a refusal that was found outside the writer, and returns err.
func (h *Handler) recorded(ctx context.Context, r Request, err error) error {
	var refusal *commands.Refusal
	if h.config.Denials == nil || !errors.As(err, &refusal) {
		return err
	}
	var denial Denial
	h.View(func(s *projections.State) {
		denial = denialOf(r, s.Root(r.By.Project), refusal, s.Head().Sequence)
	})
	if failed := h.config.Denials.stored(ctx, denial); failed != nil {
		return failed
	}
	refusal.Recorded = true
	return err
}
