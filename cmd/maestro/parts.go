package main

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"maestro/api/natslive"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/cli"
	"maestro/internal/clock"
	"maestro/internal/home"
	"maestro/internal/server/guard"
	"maestro/internal/server/listen"
	"maestro/internal/server/process"
	"maestro/internal/server/webhooks"
	"maestro/internal/server/witness"
	"maestro/projections"
	"maestro/service"
)

// openHandler opens the only writer of the log, with its witness and its snapshots.
func openHandler(
	ctx context.Context, lock *home.Lock, log guard.Log, seen engine.Witnessed, denials *engine.Denials,
	trusted *clock.Clock, meter engine.Meter, logger *slog.Logger,
) (*engine.Handler, *bus.HeadFile, func() error, error) {
	pictures, err := bus.OpenSnapshots(lock.Through(lock.Snapshots()))
	if err != nil {
		return nil, nil, nil, err
	}
	head := log.HeadFile(lock.Through(lock.Head()), log.LockInPlace)
	handler, err := engine.Open(ctx, engine.Config{
		Log:   log,
		Blobs: log,
		Snapshots: witness.Snapshots{
			Dir:  pictures,
			Firm: func() error { return errors.Join(log.InPlace(), log.Firm()) },
		},
		Witness: witness.Head{HeadFile: head, Path: lock.Head(), Here: log.HomeInPlace},
		Denials: denials,
		Damage:  log.Damage(),
		Seen:    seen,
		Now:     trusted.Now,
		Follow:  trusted.Follow,
		After:   time.After,
		Meter:   meter,
		Logger:  logger,
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, head.Close())
	}
	log.OnDamage(func(fault error) { handler.StopWrites(log.Because(fault)) })
	began := handler.Health()
	return handler, head, func() error {
		if handler.Health() == nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSnapshot)
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

// lastSnapshot is how long a stop may take to encode the state: a stop takes at most a second in all. Without it, the
// next start reads more of the log.
const lastSnapshot = 400 * time.Millisecond

// sayAcknowledged logs the head of a log that the server stopped writing to: what appears in its place, such as a copy,
// may lack events.
func sayAcknowledged(handler *engine.Handler, logger *slog.Logger) {
	health := handler.Health()
	if health == nil {
		return
	}
	head := headOf(handler)
	logger.Error("writes had stopped", "why", health, "acknowledged", head.String(),
		"next", "check the log after the next start: `maestro audit verify --from-head "+head.String()+"`")
}

// keepLeases starts the work on deadlines; stop ends it and waits for it. lease applies to every session; 0 keeps the
// defaults.
func keepLeases(
	ctx context.Context, handler *engine.Handler, beats engine.HeartbeatStore, lease time.Duration, logger *slog.Logger,
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

// natsIdle is how often feeds without NATS clients are looked for.
const natsIdle = time.Minute

// serveNATS starts the listener for NATS clients, if there is one; url is "" if there is none.
func serveNATS(
	ctx context.Context, o listen.NATS, served *service.Service, logger *slog.Logger,
) (url string, stop func(), err error) {
	if o.Address == "" {
		return "", func() {}, nil
	}
	clients, err := natslive.Start(ctx, natslive.Config{
		Service: served,
		Address: o.Address,
		TLS:     o.TLS(logger),
		Logger:  logger,
	})
	if err != nil {
		return "", nil, o.Taken(err)
	}
	idle := process.Beside(ctx, func(ctx context.Context) { clients.Run(ctx, time.Tick(natsIdle)) })
	return clients.URL(), func() { idle(); clients.Close() }, nil
}

// watchTexts creates the watch over the long texts of the log.
func watchTexts(handler *engine.Handler, log *bus.Bus, logger *slog.Logger) *engine.TextWatch {
	return &engine.TextWatch{
		Log:      log,
		Texts:    log,
		Redacted: func(digest string) bool { return handler.Redaction(digest) != nil },
		Head:     func() events.Head { return headOf(handler) },
		After:    time.After,
		Logger:   logger,
	}
}

// sendWebhooks creates the sender of the home's webhooks.
func sendWebhooks(
	lock *home.Lock, handler *engine.Handler, log engine.Log, allowed []netip.Prefix, patience time.Duration,
	logger *slog.Logger,
) *webhooks.Sender {
	return webhooks.New(webhooks.Config{
		Handler:  handler,
		Log:      log,
		Store:    lock.Webhooks(),
		Allowed:  allowed,
		Patience: patience,
		Version:  cli.Version(),
		Logger:   logger,
	})
}

// scheduleBackups creates the schedule of the home's automatic backups. every is 0 if they are off.
func scheduleBackups(
	every time.Duration, o backups.Options, lock *home.Lock, log *bus.Bus, handler *engine.Handler,
	trusted *clock.Clock, secrets home.Secrets, logger *slog.Logger,
) *backups.Schedule {
	signer := bus.SignerName(secrets.BackupSigner())
	source := backups.Source{
		Log:    log,
		Store:  lock.Store(),
		Of:     home.Dirs(lock.Dir()),
		Head:   func() events.Head { return headOf(handler) },
		Health: handler.Health,
		Key:    secrets.BackupKey(),
		Signer: signer,
	}
	config := source.Config(backups.At(lock.Dir(), o.Dir, signer), every, o.Keep)
	config.Now, config.After, config.Logger = trusted.Now, time.After, logger
	return backups.New(config)
}

func headOf(handler *engine.Handler) (head events.Head) {
	handler.View(func(state *projections.State) { head = state.Head() })
	return head
}
