package guard

import (
	"cmp"
	"context"
	"errors"

	"maestro/bus"
	"maestro/events"
	"maestro/internal/home"
)

// Log is the log of a home that this process holds. When the home is no longer where its path leads, nothing is written
// beside the log either; the log itself belongs to the Handler, which the Watch stops.
type Log struct {
	*bus.Bus
	lock   *home.Lock
	store  home.Identity
	checks *shared
}

// NewLog records the location of an open log's home.
func NewLog(lock *home.Lock, log *bus.Bus) (Log, error) {
	store, err := home.IdentityOf(lock.Store())
	return Log{log, lock, store, &shared{}}, err
}

// InPlace fails with events.ErrReadOnly when the home, or a file of the log, was moved, deleted or replaced.
func (h Log) InPlace() error {
	if err := h.HomeInPlace(); err != nil {
		return err
	}
	if err := h.Here(); err != nil {
		return h.Because(err)
	}
	return nil
}

// Because returns the reason for a fault of the log's files: that the home is gone, if it is.
func (h Log) Because(fault error) error {
	return cmp.Or(h.HomeInPlace(), fault)
}

// HomeInPlace fails with events.ErrReadOnly when the home was moved, deleted or replaced.
func (h Log) HomeInPlace() error {
	return cmp.Or(h.LockInPlace(), whetherGone(h.store.Here()))
}

// LockInPlace fails with events.ErrReadOnly when the home's directory or its lock was moved, deleted or replaced. It
// does not check the store: the head file of a home whose store was taken away must show what the store held.
func (h Log) LockInPlace() error { return whetherGone(h.lock.Here()) }

// whetherGone ignores errors that do not show that something is gone.
func whetherGone(err error) error {
	var gone *home.GoneError
	if !errors.As(err, &gone) {
		return nil
	}
	return &events.StoppedError{
		Why: gone.Error(),
		Next: "stop this server; put the home back where it was, or name its new place with MAESTRO_HOME; " +
			"then start a server there",
	}
}

// PutBlob implements engine.Blobs.
func (h Log) PutBlob(ctx context.Context, blob []byte) (digest string, err error) {
	if err := h.checks.do(h.InPlace); err != nil {
		return "", err
	}
	return h.Bus.PutBlob(ctx, blob)
}

// DeleteBlob deletes a long text for good.
func (h Log) DeleteBlob(ctx context.Context, digest string) error {
	if err := h.checks.do(h.InPlace); err != nil {
		return err
	}
	return h.Bus.DeleteBlob(ctx, digest)
}

// StoreDenials implements the store of refusals.
func (h Log) StoreDenials(ctx context.Context, records []events.StoredDenial) error {
	if err := h.checks.do(h.InPlace); err != nil {
		return err
	}
	return h.Bus.StoreDenials(ctx, records)
}
