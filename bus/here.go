package bus

import (
	"context"
	"errors"

	"maestro/events"
)

// Here fails with events.ErrReadOnly when the files of an embedded store were moved, deleted, replaced or cut while the
// server used them. From then on nothing is written to the log.
func (b *Bus) Here() error {
	if b.embedded == nil || !b.open.TryRLock() { // nothing is written while it is reopened
		return nil
	}
	defer b.open.RUnlock()
	if err := b.here(); err != nil || b.closed {
		return err
	}
	return b.embedded.lock.keep(b.options.Logger)
}

// untouched reports whether the log's finished blocks have not changed since they were checked. It logs those that
// have.
func (b *Bus) untouched() bool {
	if b.embedded != nil && b.embedded.held.here() != nil {
		return false // another store is in its place
	}
	changed := b.watch.changed()
	for _, path := range changed {
		b.options.Logger.Error("a finished block was changed while the server was running; every block is checked next",
			"file", path)
	}
	return len(changed) == 0
}

// lost returns an error, at the stop, if the store or a part of it is not where this server used it.
func (b *Bus) lost() error {
	if b.embedded == nil {
		return nil
	}
	err := b.logHere()
	if err != nil {
		b.options.Logger.Error("the store's files are not those that this server wrote", "why", err)
	}
	return err
}

// here is Here. The caller holds open.
func (b *Bus) here() error {
	if err := b.logHere(); err != nil || b.embedded == nil || b.closed || b.files.Load() != nil {
		return err
	}
	found := b.watch.checkSides(DeniedStream, BlobStream)
	if err := found[DeniedStream]; errors.Is(err, events.ErrReadOnly) {
		b.options.Logger.Error("recorded refusals are damaged; the next start rebuilds them from the rest",
			"why", err)
		delete(found, DeniedStream)
	}
	for _, err := range found {
		if err := b.lookedAt(context.Background(), err); errors.Is(err, events.ErrReadOnly) {
			return err
		}
	}
	return nil
}

// lookedAt handles the result of a check of a running store's files.
func (b *Bus) lookedAt(ctx context.Context, err error) error {
	if errors.Is(err, events.ErrReadOnly) {
		return b.damaged(err)
	}
	return b.readFailed(ctx, err)
}

// placesHold fails with events.ErrReadOnly when a part of the store is no longer where the server uses it.
func (b *Bus) placesHold() error {
	for _, err := range []error{b.watch.places(), b.watch.checkSides(BlobStream)[BlobStream]} {
		var stopped *events.StoppedError
		if errors.As(err, &stopped) {
			return b.damaged(err)
		}
	}
	return nil
}

// logHere is here for the log alone.
func (b *Bus) logHere() error {
	if b.embedded == nil || b.closed || b.files.Load() != nil {
		return nil
	}
	if err := b.embedded.held.here(); err != nil {
		return err
	}
	if err := b.lookedAt(context.Background(), b.watch.check(b.acked.Load())); errors.Is(err, events.ErrReadOnly) {
		return err
	}
	return nil
}
