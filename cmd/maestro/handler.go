package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/clock"
	"maestro/internal/home"
	"maestro/internal/server/listen"
	"maestro/internal/server/process"
	"maestro/projections"
)

// openHandler opens the one writer of the log, with its witness and its snapshots.
func openHandler(
	ctx context.Context, lock *home.Lock, log guardedLog, seen engine.Witnessed, denials *engine.Denials,
	trusted *clock.Clock, logger *slog.Logger,
) (*engine.Handler, *bus.HeadFile, func() error, error) {
	pictures, err := bus.OpenSnapshots(lock.Through(lock.Snapshots()))
	if err != nil {
		return nil, nil, nil, err
	}
	head := log.HeadFile(lock.Through(lock.Head()), log.lockHere)
	handler, err := engine.Open(ctx, engine.Config{
		Log:       log,
		Blobs:     log,
		Snapshots: snapshots{pictures, log},
		Announcer: log,
		Witness:   witness{head, lock.Head(), log.homeHere},
		Denials:   denials,
		Damage:    log.Damage(),
		Seen:      seen,
		Now:       trusted.Now,
		Follow:    trusted.Follow,
		After:     time.After,
		Logger:    logger,
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, head.Close())
	}
	log.OnDamage(func(fault error) { handler.StopWrites(log.because(fault)) })
	began := handler.Health()
	return handler, head, func() error {
		if handler.Health() == nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listen.Finishing)
			defer cancel()
			if err := handler.Snapshot(ctx); err != nil {
				logger.Warn("the last snapshot could not be saved; the next start takes longer", "why", err)
			}
		}
		handler.Close()
		if began == nil {
			sayAcknowledged(handler, logger)
		}
		return head.Close()
	}, nil
}

// sayAcknowledged names the head of a log that the server stopped writing to: what comes to be in its place, such
// as a copy, may lack events.
func sayAcknowledged(handler *engine.Handler, logger *slog.Logger) {
	health := handler.Health()
	if health == nil {
		return
	}
	var head events.Head
	handler.View(func(state *projections.State) { head = state.Head() })
	logger.Error("writes had stopped", "why", health, "acknowledged", head.String(),
		"next", "check the log after the next start: `maestro audit verify --from-head "+head.String()+"`")
}

// keepLeases starts what time brings about; stop ends it and waits for it. lease is for every session; 0 leaves the
// defaults.
func keepLeases(
	ctx context.Context, handler *engine.Handler, beats engine.Beats, lease time.Duration, logger *slog.Logger,
) (leases *engine.Leases, stop func(), err error) {
	began := time.Now()
	leases, err = engine.NewLeases(engine.LeasesConfig{
		Handler: handler,
		Elapsed: func() time.Duration { return time.Since(began) },
		Boot:    clock.Boot,
		After:   time.After,
		Beats:   beats,
		Lease:   lease,
		Quiet:   lease,
		Logger:  logger,
	})
	if err != nil {
		return nil, nil, err
	}
	return leases, process.Beside(ctx, leases.Run), nil
}

// snapshots lets the handler keep its snapshots in a directory.
type snapshots struct {
	dir *bus.Snapshots
	log guardedLog
}

func (s snapshots) List(context.Context) ([]uint64, error) { return s.dir.List() }

func (s snapshots) Load(_ context.Context, sequence uint64) (events.Snapshot, error) {
	return s.dir.Load(sequence)
}

// Save makes firm what the snapshot shows before it is on disk itself: it is a witness.
func (s snapshots) Save(_ context.Context, snapshot events.Snapshot) error {
	if err := errors.Join(s.log.here(), s.log.Firm()); err != nil {
		return err
	}
	return errors.Join(s.dir.Save(snapshot), s.dir.Prune())
}

// witness is the head file.
type witness struct {
	*bus.HeadFile
	path string
	// here fails when the home, and the head file with it, is no longer where it was.
	here func() error
}

// Load keeps a head file that cannot be read beside the new one: it may be what shows that the log was cut.
func (w witness) Load(context.Context) (events.Head, error) {
	if err := w.here(); err != nil {
		return events.Head{}, err
	}
	head, err := bus.LoadHeadFile(w.path)
	if err == nil {
		return head, nil
	}
	aside := w.path + bus.DamagedSuffix
	if moveErr := os.Rename(w.path, aside); moveErr != nil {
		return head, errors.Join(err, moveErr)
	}
	return head, fmt.Errorf("%w; it is %s now", err, aside)
}
