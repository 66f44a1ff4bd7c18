package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"runtime"
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
	"maestro/internal/server/listen"
	"maestro/internal/server/process"
	"maestro/internal/server/wallclock"
	"maestro/internal/server/witness"
	"maestro/service"
)

// serveReadOnly serves a home and writes nothing, anywhere: for a home on a read-only mount or a full disk, a damaged
// one, and one of a newer maestro as far as it can be read. Nothing becomes due, and refusals are recorded in memory
// only.
func serveReadOnly(
	ctx context.Context, a *cli.Run, dir string, durability bus.Durability, o serveOptions,
) (err error) {
	logger := process.NewLog(a.Stderr, o.logFormat, o.logLevel)
	reading, err := readHome(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reading.Release()) }()
	offline.WarnOfOrigin(reading.Home, logger)
	secrets, err := readSecrets(reading, o.auth == "off", logger)
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
	denials, err := engine.OpenDenials(ctx, forgetful{store}, trusted.Now, logger)
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
		Templates: ownTemplates{},
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
	reach, err := api.New(api.Config{
		Service:      served,
		AuthOff:      o.auth == "off",
		AllowedHosts: append(listen.Hosts(listener.Addr(), process.Hostname()), o.hosts...),
		AllowOrigins: o.origins,
		Version:      cli.Version(),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	address := listen.URL(listener.Addr())
	listening(a, address, dir, handler.Health(), trusted.Status(), false, logger)
	if !a.JSON {
		a.Print("To use it: export MAESTRO_API_URL=%s\n", address)
	}
	defer process.IgnoreHangUps(ctx, logger)()
	manager := process.ServiceManager{Socket: a.Getenv("NOTIFY_SOCKET"), Logger: logger}
	manager.Ready(address)
	return listen.Until(ctx, api.Bound(listener, &o.limits), reach, func() { manager.Stopping(); stop() }, logger)
}

// readHome opens a home that exists and keeps servers out.
func readHome(dir string) (*home.Reading, error) {
	h, err := home.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure.Error{
			Status:  http.StatusNotFound,
			Code:    "NOT_FOUND",
			Message: "There is no home at " + dir,
			Err:     err,
			Why:     "with --read-only none is made",
			Next:    "name one with MAESTRO_HOME",
		}
	}
	if err != nil {
		return nil, err
	}
	reading, err := h.LockForReading()
	var held *home.HeldError
	if errors.As(err, &held) {
		err = &failure.Error{
			Status:  http.StatusConflict,
			Code:    "CONFLICT",
			Message: held.Error(),
			Err:     err,
			Why:     "a server that writes to the home would change it under its reader",
			Next:    "ask that server, or stop it first",
			Details: map[string]any{"pid": held.PID, "address": held.Address},
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return reading, nil
}

// readSecrets reads what callers are known by. Where a part is missing nobody can be known by it, and none is made.
func readSecrets(reading *home.Reading, authOff bool, logger *slog.Logger) (home.Secrets, error) {
	secrets, err := reading.Secrets()
	switch {
	case err == nil:
		return secrets, nil
	case !errors.Is(err, fs.ErrNotExist):
		return secrets, err
	case secrets.AdminToken == "" && !authOff:
		return secrets, &failure.Error{
			Status:  http.StatusConflict,
			Code:    "NO_TOKEN",
			Message: "The home has no admin.token",
			Err:     err,
			Why:     "with --read-only none is made, and nobody could read anything",
			Next:    "put the token back, or add --auth off, which lets everybody on this machine read",
		}
	}
	logger.Warn("a secret is missing in the home, and none is made; callers who need it are not known here", "why", err)
	if secrets.AdminToken == "" {
		secrets.AdminToken = rand.Text() // nobody's
	}
	if len(secrets.ServerKey) == 0 {
		secrets.ServerKey = []byte(rand.Text())
	}
	return secrets, nil
}

// forgetful is a store of refusals that shows those there are, and keeps no others.
type forgetful struct{ *bus.ReadOnly }

// StoreDenials implements engine.DenialStore: who is refused by a read-only server must still hear so.
func (forgetful) StoreDenials(context.Context, []engine.StoredDenial) error { return nil }
