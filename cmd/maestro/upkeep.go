package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/cli"
	"maestro/internal/clock"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/projections"
	"maestro/service/wire"
)

// backupOptions say when serve makes backups by itself, and where.
type backupOptions struct {
	every, dir string
	keep       int
}

const backupsOff = "off"

func (o *backupOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.every, "backup-every", "24h", "how often a backup is made; off makes none")
	f.StringVar(
		&o.dir, "backup-dir", "", "where automatic backups go; else the home's name and -backups, beside the home",
	)
	f.IntVar(&o.keep, "backup-keep", 7, "how many automatic backups are kept")
}

// interval reads --backup-every; 0 is off.
func (o *backupOptions) interval() (time.Duration, error) {
	if o.every == backupsOff {
		return 0, nil
	}
	every, err := time.ParseDuration(o.every)
	if err != nil || every < time.Second {
		return 0, failure.Usage("--backup-every must be a duration of a second or more, such as 24h, or off; not %q",
			o.every)
	}
	if o.keep < 1 {
		return 0, failure.Usage("--backup-keep is 1 or more, not %d", o.keep)
	}
	return every, nil
}

// checkPlace refuses a directory of backups that lies in the home.
func (o *backupOptions) checkPlace(dir string) error {
	if o.dir == "" && o.every == backupsOff {
		return nil
	}
	place := backups.At(dir, o.dir, "").Path()
	if err := backups.CheckPlace(place, placesOf(dir)...); err != nil {
		return failure.Usage("Automatic backups cannot go to %s", place).WithWhy("%s", err).
			WithNext("name a directory outside the home with --backup-dir, on another disk if there is one")
	}
	return nil
}

// placesOf gives the directories that a home is in: the store and the snapshots may be links to another disk.
func placesOf(home string) []string {
	return []string{
		home,
		filepath.Join(home, "store"),
		filepath.Join(home, "store", "jetstream"),
		filepath.Join(home, "snapshots"),
	}
}

// upkeep is what a server does for its log beside the commands: it makes backups, and looks after the long texts.
type upkeep struct {
	backups *backups.Schedule // nil if they are off
	texts   *engine.TextWatch
}

func newUpkeep(
	every time.Duration, o backupOptions, lock *home.Lock, log *bus.Bus, handler *engine.Handler,
	trusted *clock.Clock, secrets home.Secrets, logger *slog.Logger,
) *upkeep {
	head := func() (head events.Head) {
		handler.View(func(s *projections.State) { head = s.Head() })
		return head
	}
	u := &upkeep{texts: &engine.TextWatch{
		Log:    log,
		Texts:  log,
		Head:   head,
		After:  time.After,
		Logger: logger,
	}}
	if every == 0 {
		return u
	}
	signer := bus.SignerName(secrets.BackupSigner())
	u.backups = backups.New(backups.Config{
		Dir:   backups.At(lock.Dir(), o.dir, signer),
		Of:    placesOf(lock.Dir()),
		Every: every,
		Keep:  o.keep,
		Head:  func() (events.Head, error) { return head(), handler.Health() },
		Write: func(ctx context.Context, f *os.File, head events.Head, at time.Time) (bool, error) {
			return writeBackup(ctx, log, f, bus.BackupOptions{Head: head, Created: at, Key: secrets.BackupKey()})
		},
		Check: func(ctx context.Context, made backups.Made) error {
			held, err := headOfBackup(ctx, made.Path, signer)
			if err == nil && !made.Of(held) {
				err = fmt.Errorf("it holds the log to event %d, but its name says %d: it is a copy of another backup",
					held.Sequence,
					made.Sequence)
			}
			return err
		},
		Holds: func(ctx context.Context, made backups.Made) (bool, error) {
			if made.Sequence > head().Sequence {
				return false, nil
			}
			hash, err := engine.HashAt(ctx, log, made.Sequence)
			return made.Of(events.Head{Sequence: made.Sequence, Hash: hash}), err
		},
		Estimate: func() int64 {
			size, _ := files.TreeSize(lock.Store()) // what cannot be seen is not counted
			return int64(size)                      //nolint:gosec // no disk holds more
		},
		Free:   bus.FreeBytes,
		Now:    trusted.Now,
		After:  time.After,
		Logger: logger,
	})
	return u
}

// writeBackup writes a backup and reads it back.
func writeBackup(ctx context.Context, log *bus.Bus, f *os.File, o bus.BackupOptions) (partial bool, err error) {
	seal, err := log.Backup(ctx, f, o)
	if err != nil {
		return false, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if _, err := readWhole(ctx, f, seal.Key); err != nil {
		return false, fmt.Errorf("read the backup back: %w", err)
	}
	return len(seal.Lost) > 0, nil
}

// headOfBackup reads a backup and gives its head. It fails if the backup is damaged, or if another key signed it.
func headOfBackup(ctx context.Context, path, signer string) (head events.Head, err error) {
	f, err := os.Open(path)
	if err != nil {
		return head, err
	}
	head, err = readWhole(ctx, f, signer)
	return head, errors.Join(err, f.Close())
}

func readWhole(ctx context.Context, in io.Reader, signer string) (events.Head, error) {
	contents, err := bus.ReadBackup(untilDone{ctx, in}, bus.BackupVisitor{})
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
	case contents.Unsealed != nil:
		err = contents.Unsealed
	case contents.Signer != signer:
		err = fmt.Errorf("%s signed it, not %s", cmp.Or(contents.Signer, "nobody"), signer)
	}
	return contents.Head, err
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx context.Context //nolint:containedctx // it lives for one file
	in  io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}

func (u *upkeep) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { u.texts.Run(ctx) })
	if u.backups != nil {
		running.Go(func() { u.backups.Run(ctx) })
	}
}

// warnings gives what an operator should know.
func (u *upkeep) warnings() []wire.Warning {
	var all []wire.Warning
	if u.backups != nil {
		if problem := u.backups.Problem(); problem != "" {
			all = append(all, wire.Warning{
				Code: "BACKUP", Message: "Automatic backups: " + problem,
				Next: "make one with `maestro backup FILE`, on another disk",
			})
		}
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
