package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/cli"
	"maestro/internal/clock"
	"maestro/internal/home"
	"maestro/projections"
	"maestro/service/wire"
)

// upkeep is what a server does for its log beside the commands: it makes backups, and looks after the long texts.
type upkeep struct {
	backups *backups.Schedule
	texts   *engine.TextWatch
}

func newUpkeep(
	every time.Duration, o backups.Options, lock *home.Lock, log *bus.Bus, handler *engine.Handler,
	trusted *clock.Clock, secrets home.Secrets, logger *slog.Logger,
) *upkeep {
	head := func() (head events.Head) {
		handler.View(func(s *projections.State) { head = s.Head() })
		return head
	}
	signer := bus.SignerName(secrets.BackupSigner())
	source := backups.Source{
		Log:    log,
		Store:  lock.Store(),
		Of:     home.Dirs(lock.Dir()),
		Head:   head,
		Health: handler.Health,
		Key:    secrets.BackupKey(),
		Signer: signer,
	}
	config := source.Config(backups.At(lock.Dir(), o.Dir, signer), every, o.Keep)
	config.Now, config.After, config.Logger = trusted.Now, time.After, logger
	return &upkeep{
		backups: backups.New(config),
		texts: &engine.TextWatch{
			Log:    log,
			Texts:  log,
			Head:   head,
			After:  time.After,
			Logger: logger,
		},
	}
}

func (u *upkeep) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { u.texts.Run(ctx) })
	running.Go(func() { u.backups.Run(ctx) })
}

// warnings gives what an operator should know.
func (u *upkeep) warnings() []wire.Warning {
	var all []wire.Warning
	if problem := u.backups.Problem(); problem != "" {
		all = append(all, wire.Warning{
			Code: "BACKUP", Message: "Automatic backups: " + problem,
			Next: "make one with `maestro backup FILE`, on another disk",
		})
	}
	if lost := u.texts.Lost(); len(lost) > 0 {
		all = append(all, wire.Warning{
			Code: "TEXTS",
			Message: cli.Many(len(lost), "long text") + " that the log names cannot be read, the first: " +
				lost[0].String(),
			Next: engine.FaultText.Next(),
		})
	}
	return all
}
