package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"maestro/api"
	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/cli/offline"
	"maestro/internal/clock"
	"maestro/internal/server/guard"
	"maestro/internal/server/listen"
	"maestro/internal/server/metrics"
	"maestro/internal/server/process"
	"maestro/internal/server/wallclock"
	"maestro/internal/server/witness"
	"maestro/service"
	"maestro/workers/prompt"
)

// serveReadOnly serves a home and writes nothing, anywhere: for a home on a read-only mount or a full disk, a damaged
// one, and one of a newer maestro as far as it can be read. No deadline takes effect, and refusals are recorded only in
// memory.
func serveReadOnly(
	ctx context.Context, a *cli.Run, dir string, durability bus.Durability, o serveOptions,
) (err error) {
	logger := process.NewLog(a.Stderr, o.logFormat, o.logLevel)
	reading, err := guard.OpenForReading(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reading.Release()) }()
	offline.WarnOfOrigin(reading.Home, logger)
	secrets, err := guard.ReadSecrets(reading, o.auth == "off", logger)
	if err != nil {
		return err
	}
	backup, err := witness.Backups(ctx, reading.Home, o.backups.Dir, logger)
	if err != nil {
		return err
	}
	store, err := bus.OpenReadOnly(ctx, bus.Options{Dir: reading.Store()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if head, err := bus.LoadHeadFile(reading.Head()); err == nil {
		if _, err := store.Prefer(ctx, head); err != nil {
			return err
		}
	}
	for _, fault := range store.Faults() {
		logger.Warn("the store is damaged", "fault", fault.String())
	}
	trusted := clock.New(a.Wall, clock.Boot)
	denials, err := engine.OpenDenials(ctx, guard.Forgetful{ReadOnly: store}, trusted.Now, logger)
	if err != nil {
		return err
	}
	defer denials.Close()
	handler, err := engine.Open(ctx, engine.Config{
		Log:       store,
		Blobs:     store,
		Snapshots: witness.OldSnapshots{Dir: bus.ReadSnapshots(reading.Snapshots())},
		Witness:   witness.OldHead{Path: reading.Head()},
		Denials:   denials,
		Damage: store.Damage(bus.Options{
			Witnessed:  max(witness.Sequence(reading.Home), backup.Sequence),
			HeadFile:   witness.HeadSequence(reading.Home),
			Durability: durability,
			Used:       reading.Used(),
		}),
		Seen:   backup,
		Now:    trusted.Now,
		Follow: trusted.Follow,
		After:  time.After,
		Logger: logger,
	})
	if err != nil {
		return err
	}
	defer handler.Close()
	handler.StopWrites(&events.StoppedError{
		Why: "it was started with --read-only", Next: "start it without --read-only where its home can be written",
		Asked: true,
	})
	listener, err := listen.On(ctx, o.listen, "")
	if err != nil {
		return err
	}
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	served, err := service.New(service.Config{
		Handler:   handler,
		Log:       store,
		Blobs:     store,
		Denials:   denials,
		Templates: prompt.Own{},
		Limits:    o.limits,
		Keys:      service.Keys{AdminToken: []byte(secrets.AdminToken), ServerKey: secrets.ServerKey},
		Stopping:  stopping,
		Logger:    logger,
		Now:       trusted.Now,
		Clock:     wallclock.Shown{Clock: trusted},
		Hostname:  process.Hostname(),
		Platform:  runtime.GOOS,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	measured := metrics.New(cli.Version(), logger)
	measured.Watch(metrics.Sources{
		Handler: handler,
		Denials: denials,
		Service: served,
		Sizes:   store.Sizes,
		Free:    store.Free,
		Health:  served.Health,
		Now:     trusted.Now,
	})
	defer measured.Close()
	reach, err := api.New(api.Config{
		Service:      served,
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
	certificates, err := o.certificates(logger)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer process.Beside(ctx, served.Views.Run)()
	address := listen.URL(certificates.Scheme(), listener.Addr())
	listening(a, address, "", dir, handler.Health(), trusted.Status(), false, logger)
	if !a.JSON {
		a.Print("To use it: export MAESTRO_API_URL=%s\n", address)
	}
	defer process.IgnoreHangUps(ctx, logger)()
	manager := process.ServiceManager{Socket: a.Getenv("NOTIFY_SOCKET"), Logger: logger}
	manager.Ready(address)
	bound := api.Bound(certificates.Secure(listener), &o.limits)
	return listen.Until(ctx, bound, reach, func() { manager.Stopping(); stop() }, logger)
}
