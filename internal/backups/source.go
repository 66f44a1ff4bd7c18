package backups

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"os"
	"time"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/files"
)

// Log is a log that is backed up.
type Log interface {
	engine.Log
	Backup(ctx context.Context, w io.Writer, o bus.BackupOptions) (bus.BackupSeal, error)
}

// Source is the log that a home's backups are made from, and their signer.
type Source struct {
	Log Log
	// Store is the directory of the log, Of are all directories of the home.
	Store string
	Of    []string
	// Head returns the log's head, Health the reason why no backup can be made of it now.
	Head   func() events.Head
	Health func() error
	Key    ed25519.PrivateKey
	// Signer is the public part of Key, as bus.SignerName returns it.
	Signer string
}

// Config returns the configuration of a schedule for this log, without its clock and its Logger.
func (s Source) Config(dir Dir, every time.Duration, keep int) Config {
	return Config{
		Dir:   dir,
		Of:    s.Of,
		Every: every,
		Keep:  keep,
		Head:  func() (events.Head, error) { return s.Head(), s.Health() },
		Write: func(ctx context.Context, f *os.File, head events.Head, at time.Time) (bool, error) {
			return writeBackup(ctx, s.Log, f, bus.BackupOptions{Head: head, Created: at, Key: s.Key})
		},
		Check:    s.check,
		Holds:    s.holds,
		Estimate: s.estimate,
		Free:     bus.FreeBytes,
	}
}

func (s Source) check(ctx context.Context, made Made) error {
	held, err := HeadOf(ctx, made.Path, s.Signer)
	if err == nil && !made.Of(held) {
		err = fmt.Errorf("it holds the log to event %d, but its name says %d: it is a copy of another backup",
			held.Sequence, made.Sequence)
	}
	return err
}

func (s Source) holds(ctx context.Context, made Made) (bool, error) {
	if made.Sequence > s.Head().Sequence {
		return false, nil
	}
	hash, err := engine.HashAt(ctx, s.Log, made.Sequence)
	return made.Of(events.Head{Sequence: made.Sequence, Hash: hash}), err
}

func (s Source) estimate() int64 {
	size, _ := files.TreeSize(s.Store) // what cannot be read is not counted
	return int64(size)                 //nolint:gosec // no disk holds more
}
