package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/cli/offline"
	"maestro/internal/failure"
	"maestro/internal/home"
)

// homeLookEvery is how often a running server looks whether its home is still where it was.
const homeLookEvery = 250 * time.Millisecond

// guardedLog is the log of a home that this process holds. When the home is no longer where its path leads, nothing
// beside the log is written either; the log itself is the Handler's, which the homeWatch stops.
type guardedLog struct {
	*bus.Bus
	lock  *home.Lock
	store home.Identity
}

// guardLog takes note of where the home of an open log is.
func guardLog(lock *home.Lock, log *bus.Bus) (guardedLog, error) {
	store, err := home.IdentityOf(lock.Store())
	return guardedLog{log, lock, store}, err
}

// here fails with events.ErrReadOnly when the home, or a file of the log, was moved, deleted or replaced.
func (h guardedLog) here() error {
	if err := h.homeHere(); err != nil {
		return err
	}
	if err := h.Here(); err != nil {
		return h.because(err)
	}
	return nil
}

// because gives the reason for a fault of the log's files: that the home is gone, if it is.
func (h guardedLog) because(fault error) error {
	return cmp.Or(h.homeHere(), fault)
}

// homeHere fails with events.ErrReadOnly when the home was moved, deleted or replaced.
func (h guardedLog) homeHere() error {
	return cmp.Or(h.lockHere(), whetherGone(h.store.Here()))
}

// lockHere fails with events.ErrReadOnly when the home's directory or its lock was moved, deleted or replaced. It does
// not look at the store: the head file of a home whose store was taken away must show what the store held.
func (h guardedLog) lockHere() error { return whetherGone(h.lock.Here()) }

// whetherGone passes over errors that do not show that something is gone.
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
func (h guardedLog) PutBlob(ctx context.Context, blob []byte) (digest string, err error) {
	if err := h.here(); err != nil {
		return "", err
	}
	return h.Bus.PutBlob(ctx, blob)
}

// StoreDenials implements the store of refusals.
func (h guardedLog) StoreDenials(ctx context.Context, records []events.StoredDenial) error {
	if err := h.here(); err != nil {
		return err
	}
	return h.Bus.StoreDenials(ctx, records)
}

// homeWatch makes a server read-only for good when its home is not where it was.
type homeWatch struct {
	here func() error
	stop func(why error)
}

// run looks at every tick until its context ends, or there is nothing left to stop.
func (w homeWatch) run(tick <-chan time.Time) func(context.Context) {
	return func(ctx context.Context) {
		for {
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
			if err := w.here(); err != nil {
				w.stop(err)
				return
			}
		}
	}
}

// claim notes that this binary writes the home from now on, unless the log is of a newer one. A home that may only be
// read is left as it is.
func claim(lock *home.Lock, handler *engine.Handler, secrets home.Secrets) error {
	err := handler.Health()
	var newer *events.NewerError
	switch {
	case errors.As(err, &newer):
		return tooNew(lock.Dir(), err)
	case errors.Is(err, events.ErrReadOnly):
		return nil
	}
	wrote := knownVersions()
	wrote.Key = home.Fingerprint(secrets.ServerKey)
	return errors.Join(lock.MarkKey(wrote.Key), lock.Wrote(wrote))
}

// openHome takes the home for a server, and reads its secrets. A home that a newer maestro wrote is left as it is;
// newKey makes a key where the one that its sessions know is lost.
func openHome(dir string, newKey bool, logger *slog.Logger) (*home.Lock, home.Secrets, error) {
	if err := checkVersions(dir); err != nil {
		return nil, home.Secrets{}, err
	}
	lock, err := offline.HoldHome(dir)
	if err != nil {
		return nil, home.Secrets{}, err
	}
	if err := lock.MayWrite(); err != nil {
		return nil, home.Secrets{}, errors.Join(err, lock.Release())
	}
	err = lock.Check(knownVersions()) // it may have been written since
	wrote, _ := lock.Version()        // Check has read it
	_, missing := lock.AdminToken()
	var secrets home.Secrets
	if err == nil {
		secrets, err = secretsOf(lock, newKey)
	}
	if err != nil {
		return nil, secrets, errors.Join(tooNew(dir, err), lock.Abandon())
	}
	offline.ClearLeftovers(lock, logger)
	if errors.Is(missing, fs.ErrNotExist) && wrote.Maestro != "" {
		logger.Warn("the admin's token was missing, and there is a new one in the home; the old one is no longer valid")
	}
	return lock, secrets, nil
}

// checkVersions looks at a home before anything of it is touched. One that is not there is none's.
func checkVersions(dir string) error {
	h, err := home.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = h.CheckKinds()
	if err == nil {
		err = tooNew(dir, h.Check(knownVersions()))
	}
	return errors.Join(err, h.Close())
}

// secretsOf reads the home's secrets; replace makes a new key where the one that its sessions know is lost.
func secretsOf(lock *home.Lock, replace bool) (home.Secrets, error) {
	if replace {
		return lock.NewSecrets()
	}
	secrets, err := lock.Secrets()
	var missing *home.KeyError
	if errors.As(err, &missing) {
		return secrets, &failure.Error{
			Status:  http.StatusConflict,
			Code:    "NO_KEY",
			Message: missing.Error(),
			Err:     err,
			Why:     "with another key, the secrets of this home's sessions and named tokens are no longer valid",
			Next:    missing.Next(),
		}
	}
	return secrets, err
}
