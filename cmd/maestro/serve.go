package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"time"

	"maestro/api"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/cli/offline"
	"maestro/internal/clock"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/internal/server/agents"
	"maestro/internal/server/guard"
	"maestro/internal/server/listen"
	"maestro/internal/server/metrics"
	"maestro/internal/server/process"
	"maestro/internal/server/wallclock"
	"maestro/internal/server/webhooks"
	"maestro/internal/server/witness"
	"maestro/service"
	"maestro/service/wire"
	"maestro/workers/prompt"
)

// errReadable says that a store which could not be read when it was opened can be read now.
var errReadable = errors.New("the store can be read again")

// serve runs a server until ctx ends. It reopens a store that could not be read at the start once it can be read.
func serve(ctx context.Context, a *cli.Run, o serveOptions) error {
	for {
		err := serveOnce(ctx, a, o)
		if !errors.Is(err, errReadable) || ctx.Err() != nil {
			return err
		}
		o.again = true
	}
}

// serveOnce wires the server: home, log, handler, API, listener. It stops in the opposite order.
func serveOnce(ctx context.Context, a *cli.Run, o serveOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.nats.Check(o.readOnly); err != nil {
		return err
	}
	if err := o.setLimits(); err != nil {
		return err
	}
	backupEvery, err := o.backups.Interval()
	if err != nil {
		return err
	}
	allowed, err := webhooks.ParseAllowed(o.webhooksTo)
	if err != nil {
		return failure.Usage("--allow-webhooks-to: %s", err)
	}
	durability, err := bus.ParseDurability(o.durability)
	if err != nil {
		return failure.Usage("%s", err)
	}
	dir, err := home.Path(a.Getenv)
	if err != nil {
		return err
	}
	if o.readOnly {
		return serveReadOnly(ctx, a, dir, durability, o)
	}
	if err := wallclock.Check(a.Wall()); err != nil {
		return err
	}
	if err := o.backups.CheckPlace(dir, home.Dirs(dir)); err != nil {
		return err
	}
	existed := home.HasLog(dir)
	defer func() { err = guard.NotServed(dir, existed, err) }()
	logger := process.NewLog(a.Stderr, o.logFormat, o.logLevel)
	known := guard.Known(cli.Version())
	lock, secrets, err := guard.Open(dir, known, o.newKey, logger)
	if err != nil {
		return err
	}
	listened := false
	defer func() {
		leave := lock.Release
		if err != nil && !listened {
			leave = lock.Abandon
		}
		err = errors.Join(err, leave())
	}()
	if err := lock.SettleOrigin(); err != nil {
		return err
	}
	offline.WarnOfOrigin(lock.Home, logger)
	trusted := clock.New(a.Wall, clock.Boot)
	backup, err := witness.Backups(ctx, lock.Home, o.backups.Dir, logger)
	if err != nil {
		return err
	}
	if err := witness.KeepEarlier(lock, o.backups.Dir, logger); err != nil {
		return err
	}
	store, err := bus.Open(ctx, bus.Options{
		Dir:        lock.Store(),
		Durability: durability,
		Logger:     logger,
		Witnessed:  max(witness.Sequence(lock.Home), backup.Sequence),
		HeadFile:   witness.HeadSequence(lock.Home),
		Used:       lock.Used(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	log, err := guard.NewLog(lock, store)
	if err != nil {
		return err
	}
	denials, err := engine.OpenDenials(ctx, log, trusted.Now, logger)
	if err != nil {
		return err
	}
	defer denials.Close()
	measured := metrics.New(cli.Version(), logger)
	handler, head, closeHandler, err := openHandler(ctx, lock, log, backup, denials, trusted, measured, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeHandler()) }()
	if err := guard.Claim(lock, handler.Health(), known, secrets.ServerKey); err != nil {
		return err
	}
	leases, stopLeases, err := keepLeases(ctx, handler, lock.Beats(), o.lease, logger)
	if err != nil {
		return err
	}
	defer stopLeases()
	// Listen before the server is complete, so that an address in use fails early.
	listener, err := listen.On(ctx, o.listen, lock.Listened())
	if err != nil {
		return err
	}
	if _, _, err := o.agents.Directories(lock.Dir(), a.Getenv); err != nil {
		return errors.Join(err, listener.Close())
	}
	certificates, err := o.certificates(logger)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	uses := service.OpenTokenUses(lock.Uses(), logger)
	files := &guard.Files{
		InPlace:  log.HomeInPlace,
		Head:     head,
		HeadPath: lock.Head(),
		Logger:   logger,
	}
	schedule := scheduleBackups(backupEvery, o.backups, lock, store, handler, trusted, secrets, logger)
	texts := watchTexts(handler, store, logger)
	hooks := sendWebhooks(lock, handler, log, allowed, o.webhookPatience, logger)
	served, err := service.New(service.Config{
		Handler:     handler,
		Log:         log,
		Blobs:       log,
		Leases:      leases,
		Denials:     denials,
		Manifests:   lock.Home,
		TextCopies:  func() ([]string, error) { return bus.TextCopies(lock.Store()) },
		Templates:   prompt.Own{},
		Skills:      lock.Home,
		LocalRunner: o.agents.Name(),
		Agents:      agents.Configured(lock.Dir(), logger),
		Uses:        uses,
		Webhooks:    hooks,
		Limits:      o.limits,
		Backup: func(ctx context.Context, w io.Writer, head events.Head) error {
			_, err := log.Backup(
				ctx, w, bus.BackupOptions{Head: head, Created: trusted.Now(), Key: secrets.BackupKey()},
			)
			return err
		},
		Keys:     service.Keys{AdminToken: []byte(secrets.AdminToken), ServerKey: secrets.ServerKey},
		Stopping: stopping,
		Logger:   logger,
		Now:      trusted.Now,
		Clock:    wallclock.Shown{Clock: trusted},
		Hostname: process.Hostname(),
		Platform: runtime.GOOS,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	warnings := func() []wire.Warning {
		return slices.Concat(guard.Warnings(schedule, texts, files), certificates.Warnings(), o.nats.Warnings())
	}
	measured.Watch(metrics.Sources{
		Handler:  handler,
		Denials:  denials,
		Service:  served,
		Sizes:    log.Sizes,
		Free:     log.Free,
		Health:   func() error { return cmp.Or(served.Health(), log.Ready()) },
		Warnings: warnings,
		Now:      trusted.Now,

		Durability: store.Durability(),
	})
	defer measured.Close()
	reach, err := api.New(api.Config{
		Service:      served,
		Ready:        log.Ready,
		Warnings:     warnings,
		Meter:        measured,
		Metrics:      measured,
		AuthOff:      o.auth == "off",
		AllowedHosts: append(listen.Hosts(listener.Addr(), process.Hostname()), o.hosts...),
		AllowOrigins: o.origins,
		Version:      cli.Version(),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	natsURL, stopNATS, err := serveNATS(ctx, o.nats, served, logger)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer stopNATS()
	defer process.Beside(ctx, served.Views.Run)()
	defer process.Beside(ctx, served.Deliver(lock.Root()).Run)()
	defer process.Beside(ctx, func(ctx context.Context) { hooks.Run(ctx, served) })()
	defer process.Beside(ctx, texts.Run)()
	defer process.Beside(ctx, schedule.Run)()
	defer process.Beside(ctx, func(ctx context.Context) { store.KeepChecked(ctx, trusted.Now, time.After) })()
	defer process.Beside(ctx, (&clock.Watch{Clock: trusted, Logger: logger}).Run(time.Tick(clock.Look)))()
	gone := guard.Watch{InPlace: log.InPlace, Stop: handler.StopWrites}
	defer process.Beside(ctx, gone.Run(time.Tick(guard.WatchEvery)))()
	defer process.Beside(ctx, uses.Run)()
	served.RemoveRedacted(ctx)
	defer process.Beside(ctx, served.RecordUses)()
	address := listen.URL(certificates.Scheme(), listener.Addr())
	if err := announce(lock, address, certificates, logger); err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, lock.Withdraw()) }()
	if err := lock.NoteListened(listener.Addr().String()); err != nil {
		logger.Warn("the next start may use another port", "why", err)
	}
	files.Keep(lock)
	defer process.Beside(ctx, files.Run(time.Tick(guard.FilesEvery)))()
	if o.auth == "off" {
		logger.Warn("AUTH OFF: every program on this machine is treated as the user, or as the session that it names",
			"next", "start the server without --auth off")
	}
	guard.WarnOfRoom(log.Room(), logger)
	listened = true
	defer process.IgnoreHangUps(ctx, logger)()
	listening(a, address, natsURL, dir, handler.Health(), trusted.Status(), o.again, logger)
	manager := process.ServiceManager{Socket: a.Getenv("NOTIFY_SOCKET"), Logger: logger}
	manager.Ready(address)
	stopRunner, err := agents.Run(ctx, o.agents, agents.Server{
		Service:      served,
		Home:         lock.Home,
		Address:      address,
		Certificates: certificates,
		Version:      cli.Version(),
		Getenv:       a.Getenv,
		Logger:       logger,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer stopRunner()
	serving, reopen := context.WithCancelCause(ctx)
	defer reopen(nil)
	defer process.Beside(ctx, func(ctx context.Context) {
		if store.AwaitReadable(ctx, time.Tick(time.Second)) == nil {
			logger.Info("the store can be read again; it is opened again")
			reopen(errReadable)
		}
	})()
	err = listen.Until(serving, api.Bound(certificates.Secure(listener), &o.limits), reach, func() {
		if ctx.Err() != nil {
			manager.Stopping()
		}
		stop()
	}, logger)
	if ctx.Err() == nil && errors.Is(context.Cause(serving), errReadable) {
		return errors.Join(err, errReadable)
	}
	return err
}
