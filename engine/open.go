package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"maestro/events"
	"maestro/projections"
)

// loaded is the result of opening a log.
type loaded struct {
	state *projections.State
	// from is the head of the snapshot from which the state was loaded; zero if there was none. segments are its
	// segments.
	from     events.Head
	segments []string
	// damage is why the log may only be read; nil if it may be written.
	damage error
}

// load syncs the log, compares it with its witnesses, and folds it.
func load(ctx context.Context, config Config, logger *slog.Logger) (loaded, error) {
	head, err := config.Log.Sync(ctx)
	if err != nil {
		return loaded{}, fmt.Errorf("open the log: %w", err)
	}
	l := &loading{Config: config, logger: logger, head: head}
	opened := loaded{state: projections.New(), damage: config.Damage}
	if opened.damage == nil {
		opened.damage = l.checkWitness(ctx)
	}
	if opened.damage == nil {
		opened.damage = l.compare(ctx, config.Seen.By, config.Seen.Head)
	}
	if opened.damage == nil {
		opened.state, opened.damage = l.snapshotBefore(ctx, math.MaxUint64)
		opened.from, opened.segments = opened.state.Head(), l.segments
	}
	if err := fold(ctx, config.Log, opened.state, head); err != nil {
		if !errors.Is(err, events.ErrReadOnly) {
			return loaded{}, fmt.Errorf("read the log: %w", err)
		}
		if opened.damage == nil {
			opened.damage = err
		}
	}
	if opened.damage != nil {
		if !errors.Is(opened.damage, events.ErrReadOnly) {
			return loaded{}, opened.damage
		}
	}
	return opened, nil
}

type loading struct {
	Config
	logger *slog.Logger
	head   uint64
	// segments are those of the snapshot that was loaded.
	segments []string
	// later is a state with which a past one shares what it can; nil if there is none.
	later projections.Later
}

// empty is the state before the first event.
func (l *loading) empty() *projections.State {
	if l.later != nil {
		return projections.Before(l.later)
	}
	return projections.New()
}

// HashAt returns the hash of the chain after a message of the log.
func HashAt(ctx context.Context, log Log, sequence uint64) (events.Hash, error) {
	var hash events.Hash
	err := log.Read(ctx, sequence, sequence, func(m events.Message) error {
		event, err := events.Decode(m.Body)
		if err != nil {
			return &events.DamageError{Sequence: m.Sequence, Why: err.Error()}
		}
		hash = events.Next(event.PrevHash, events.BodyHash(m.Body))
		return nil
	})
	return hash, err
}

// checkWitness compares the log with the head that was remembered outside it.
func (l *loading) checkWitness(ctx context.Context) error {
	if l.Witness == nil {
		return nil
	}
	seen, err := l.Witness.Load(ctx)
	if err != nil {
		l.logger.Warn("the head file cannot be read, so it is no witness", "why", err, "next", nextUnread)
		return nil
	}
	return l.compare(ctx, "the head file", seen)
}

// compare finds where the log differs from the head that a witness recorded.
func (l *loading) compare(ctx context.Context, witness string, seen events.Head) error {
	if seen.Sequence == 0 {
		return nil
	}
	if seen.Sequence > l.head {
		return &events.DamageError{
			Sequence: l.head + 1,
			Why:      fmt.Sprintf("the log ends at %d, and %s saw it at %s", l.head, witness, seen),
		}
	}
	hash, err := HashAt(ctx, l.Log, seen.Sequence)
	if err != nil {
		return err
	}
	if hash != seen.Hash {
		return &events.DamageError{
			Sequence: seen.Sequence,
			Why:      fmt.Sprintf("the log has hash %s there, and %s saw %s", hash, witness, seen),
		}
	}
	return nil
}

// snapshotBefore returns the newest snapshot up to a sequence that matches the log, or the empty state. A snapshot of
// this log that contradicts it proves damage. Snapshots of another log and damaged ones are ignored.
func (l *loading) snapshotBefore(ctx context.Context, most uint64) (*projections.State, error) {
	if l.Snapshots == nil {
		return l.empty(), nil
	}
	sequences, err := l.Snapshots.List(ctx)
	if err != nil {
		l.logger.Warn("the snapshots cannot be listed", "why", err)
		return l.empty(), nil
	}
	for _, sequence := range sequences {
		if sequence > most {
			continue
		}
		state, err := l.trySnapshot(ctx, sequence)
		if err != nil {
			return l.empty(), err
		}
		if state != nil {
			return state, nil
		}
	}
	return l.empty(), nil
}

// trySnapshot returns the state of a snapshot, nil if it is not usable, and an error if it proves that the log is
// damaged.
func (l *loading) trySnapshot(ctx context.Context, sequence uint64) (*projections.State, error) {
	snapshot, err := l.Snapshots.Load(ctx, sequence)
	if err != nil {
		l.logger.Warn("a snapshot cannot be used", "sequence", sequence, "why", err)
		return nil, nil
	}
	if l.head > 0 {
		genesis, err := HashAt(ctx, l.Log, 1)
		if err != nil {
			return nil, err
		}
		if genesis != snapshot.Genesis {
			l.logger.Warn("a snapshot is of another log", "sequence", sequence)
			return nil, nil
		}
	}
	if err := l.compare(ctx, "a snapshot", snapshot.Head); err != nil {
		if l.beliesItself(ctx, snapshot) {
			l.logger.Warn("a snapshot does not hold what it says", "sequence", sequence, "why", err)
			return nil, nil
		}
		return nil, err
	}
	if snapshot.Format > projections.Format {
		return nil, &events.NewerError{
			Sequence: sequence,
			What: fmt.Sprintf("a snapshot of format %d, and this maestro knows formats up to %d",
				snapshot.Format, projections.Format),
		}
	}
	if snapshot.Format != projections.Format {
		l.logger.Warn("a snapshot has another format", "sequence", sequence, "format", snapshot.Format)
		return nil, nil
	}
	state, err := l.decode(ctx, snapshot)
	if err != nil || state.Head() != snapshot.Head || state.Genesis() != snapshot.Genesis {
		l.logger.Warn("a snapshot does not hold what it says", "sequence", sequence, "why", err)
		return nil, nil
	}
	l.segments = snapshot.Segments
	return state, nil
}

// decode returns the state in a snapshot of this format.
func (l *loading) decode(ctx context.Context, snapshot events.Snapshot) (*projections.State, error) {
	if l.later != nil {
		return projections.DecodeBefore(snapshot.State, l.later)
	}
	segments := make([][]byte, len(snapshot.Segments))
	for i, digest := range snapshot.Segments {
		var err error
		if segments[i], err = l.Snapshots.LoadSegment(ctx, digest); err != nil {
			return nil, fmt.Errorf("it lacks a segment: %w", err)
		}
	}
	return projections.Decode(snapshot.State, segments...)
}

// beliesItself reports whether a snapshot holds the state of another head than the one that it claims: then the claim
// is damaged, and says nothing about the log.
func (l *loading) beliesItself(ctx context.Context, snapshot events.Snapshot) bool {
	if snapshot.Format != projections.Format {
		return false
	}
	state, err := l.decode(ctx, snapshot)
	return err == nil && state.Head() != snapshot.Head
}

// fold applies the log's messages after the state up to a sequence.
func fold(ctx context.Context, log Log, state *projections.State, to uint64) error {
	var decoder events.Decoder
	from := state.Head().Sequence + 1
	if from > to {
		return nil
	}
	var event events.Event
	var newer error // keep folding what can be folded, for readers
	err := log.Read(ctx, from, to, func(m events.Message) error {
		if err := decoder.DecodeInto(m.Body, &event); err != nil {
			return undecodable(m.Sequence, err)
		}
		if newer == nil {
			newer = newerRules(m.Sequence, &event)
		}
		_, err := state.Apply(m.Sequence, &event, events.BodyHash(m.Body))
		return err
	})
	return cmp.Or(err, newer)
}

// checkEvery is how long to wait before a failed check of the history is tried again.
const checkEvery = 10 * time.Second

// checkHistory reads the events before the snapshot from which the state was loaded, which nothing has read since the
// log was opened. It makes the Handler read-only if they are damaged. If reading fails for another reason, it tries
// again.
func (h *Handler) checkHistory(ctx context.Context, until events.Head) {
	for {
		err := h.readHistory(ctx, until)
		if errors.Is(err, events.ErrReadOnly) {
			h.setDamage(err)
		}
		if err == nil || errors.Is(err, events.ErrReadOnly) {
			return
		}
		select {
		case <-h.config.After(checkEvery):
			h.logger.Warn("the log's history could not be checked; trying again", "why", err)
		case <-ctx.Done():
			return
		}
	}
}

func (h *Handler) readHistory(ctx context.Context, until events.Head) error {
	var decoder events.Decoder
	var hash events.Hash
	err := h.config.Log.Read(ctx, 1, until.Sequence, func(m events.Message) error {
		event, err := decoder.Decode(m.Body)
		if err != nil {
			return &events.DamageError{Sequence: m.Sequence, Why: err.Error()}
		}
		if event.PrevHash != hash {
			return &events.DamageError{
				Sequence: m.Sequence,
				Why: fmt.Sprintf(
					"it follows an event with hash %s, and the one before it has %s", event.PrevHash, hash,
				),
			}
		}
		hash = events.Next(hash, events.BodyHash(m.Body))
		return nil
	})
	if err == nil && hash != until.Hash {
		err = &events.DamageError{
			Sequence: until.Sequence,
			Why:      "the chain does not lead to the snapshot's " + until.String(),
		}
	}
	return err
}
