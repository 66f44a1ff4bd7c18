package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"maestro/bus"
	"maestro/engine"
	"maestro/internal/backups"
	"maestro/internal/home"
)

// witnessed gives the highest sequence that the head file, or else a snapshot, remembers: whatever is damaged up to
// there was acknowledged.
func witnessed(h *home.Home) uint64 {
	seen, err := bus.LoadHeadFile(h.Head())
	if err == nil && seen.Sequence > 0 {
		return seen.Sequence
	}
	sequences, err := bus.ListSnapshots(h.Snapshots())
	if err != nil {
		return 0
	}
	for _, sequence := range sequences {
		// A name alone could say anything.
		if snapshot, err := bus.ReadSnapshots(h.Snapshots()).Read(sequence); err == nil {
			return snapshot.Sequence
		}
	}
	return 0
}

// backupSeen asks the newest of the home's automatic backups how far the log was, if the home has no head file that
// can be read. Backups from before a restore or a salvage made the home are no witnesses: the log may be shorter then.
func backupSeen(
	ctx context.Context, h *home.Home, dir string, secrets home.Secrets, logger *slog.Logger,
) (engine.Witnessed, error) {
	if seen, err := bus.LoadHeadFile(h.Head()); err == nil && seen.Sequence > 0 {
		return engine.Witnessed{}, nil
	}
	signer := bus.SignerName(secrets.BackupSigner())
	list, err := backups.At(h.Dir(), dir, signer).List()
	if err != nil {
		logger.Warn("the automatic backups cannot be listed, so they are no witnesses", "why", err)
	}
	since := h.MadeAt()
	for _, made := range list {
		if !made.Time.After(since) {
			break
		}
		head, err := headOfBackup(ctx, made.Path, signer)
		if ctx.Err() != nil {
			return engine.Witnessed{}, ctx.Err()
		}
		if err != nil {
			logger.Warn("an automatic backup cannot be read, so it is no witness", "file", made.Path, "why", err)
			continue
		}
		logger.Warn("the home has no head file that can be read; an automatic backup says how far the log was",
			"file", made.Path, "head", head.Sequence,
			"next", "if the server is read-only now, run `maestro salvage`; if you want the log to be shorter, "+
				"move the backup elsewhere and start the server again")
		return engine.Witnessed{Head: head, By: "the automatic backup " + made.Path}, nil
	}
	warnOfNoWitness(h, logger)
	return engine.Witnessed{}, nil
}

// warnOfNoWitness says that nothing outside the store tells where the log of a used home ended.
func warnOfNoWitness(h *home.Home, logger *slog.Logger) {
	wrote, err := h.Version()
	_, missing := os.Lstat(h.Head())
	if err != nil || wrote.Maestro == "" || !errors.Is(missing, fs.ErrNotExist) || !h.MadeAt().IsZero() {
		return
	}
	what := "the head file of this home is missing, so the loss of the log's last events would not be noticed"
	if _, err := os.Lstat(h.Store()); errors.Is(err, fs.ErrNotExist) {
		what = "the store of this home and its head file are missing; the server begins an empty log"
	}
	logger.Warn(what, "next", "compare with a head that you kept, with `maestro audit verify --from-head SEQ:HASH`; "+
		"if events are missing, restore a backup into a new home with `maestro restore`")
}
