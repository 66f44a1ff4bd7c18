package witness

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/disk"
	"maestro/internal/home"
	"maestro/internal/safetext"
)

// HeadSequence returns the sequence in the head file, 0 if there is none that can be read.
func HeadSequence(h *home.Home) uint64 {
	seen, err := bus.LoadHeadFile(h.Head())
	if err != nil {
		return 0
	}
	return seen.Sequence
}

// Sequence returns the highest sequence in the head file or a snapshot of this log: events up to there were
// acknowledged, even if they are damaged now. The head file may be an old one.
func Sequence(h *home.Home) uint64 {
	seen := HeadSequence(h)
	sequences, err := bus.ListSnapshots(h.Snapshots())
	if err != nil {
		return seen
	}
	genesis, known := bus.ReadGenesis(h.Store())
	for _, sequence := range sequences {
		// A name alone proves nothing.
		snapshot, err := bus.ReadSnapshots(h.Snapshots()).Read(sequence)
		if err != nil || known && snapshot.Genesis != genesis {
			continue
		}
		if seen = max(seen, snapshot.Sequence); snapshot.Sequence == sequence {
			break // the others are older
		}
	}
	return seen
}

// Backups checks with the home's automatic backups whether the log reached further than the head file and the snapshots
// say, or was another log: the head file may be lost, or the whole home may be an old copy. It reads those whose names
// say so, the furthest first. Backups that existed when a restore or a salvage created the home are not witnesses: the
// log may be shorter.
func Backups(
	ctx context.Context, h *home.Home, dir string, logger *slog.Logger,
) (engine.Witnessed, error) {
	signer := ""
	if key, err := h.BackupSigner(); err == nil {
		signer = bus.SignerName(key)
	} else { // code that needs the key reports why it is missing
		logger.Warn("the server cannot tell which automatic backups belong to this home, so it uses none as a witness",
			"why", err,
			"next", "put server.key back")
	}
	place := backups.At(h.Dir(), dir, signer)
	for _, path := range place.Others() {
		logger.Warn("a path named like an automatic backup is not a plain file, so it is not used as a witness", "file",
			path,
			"next", "put the backup itself in its place")
	}
	list, err := place.List()
	if err != nil {
		logger.Warn("the automatic backups cannot be listed, so they are no witnesses", "why", err)
	}
	slices.SortStableFunc(list, func(a, b backups.Made) int { return cmp.Compare(b.Sequence, a.Sequence) })
	earlier, fresh := earlierBackups(h, dir, logger)
	known := Sequence(h)
	for _, made := range list {
		if earlier.Has(made) || made.Sequence <= known && !contradicted(ctx, h.Store(), made) {
			continue
		}
		head, err := backups.HeadOf(ctx, made.Path, signer)
		if ctx.Err() != nil {
			return engine.Witnessed{}, ctx.Err()
		}
		if err != nil {
			logger.Warn("an automatic backup cannot be read, so it is no witness", "file", made.Path, "why", err)
			continue
		}
		if !made.Of(head) { // it is a copy of another
			continue
		}
		what := "an automatic backup saw more of the log than the head file and the snapshots"
		if head.Sequence <= known {
			what = "an automatic backup holds other events than the log: the log was continued from an older copy of " +
				"the home"
		}
		logger.Warn(what, "file", made.Path, "head", head.Sequence, "known", known,
			"next", "if the server is read-only now, run `"+salvageFrom(dir)+"`; if you want the log as it is, "+
				"move the backup elsewhere and start the server again")
		return engine.Witnessed{Head: head, By: "the automatic backup " + made.Path}, nil
	}
	if HeadSequence(h) == 0 && !fresh {
		warnOfNoWitness(h, logger)
	}
	return engine.Witnessed{}, nil
}

// contradicted reports whether the log holds another event at a backup's end than the backup, according to its name.
// Opening the log reports read errors.
func contradicted(ctx context.Context, store string, made backups.Made) bool {
	hash, found := bus.HashAt(ctx, store, made.Sequence)
	return found && !made.Of(events.Head{Sequence: made.Sequence, Hash: hash})
}

// salvageFrom returns the command that finds the backups in dir; "" is where it searches by default.
func salvageFrom(dir string) string {
	command := "maestro salvage --new-home NEWHOME"
	if dir != "" {
		command += " --backup-dir " + safetext.Quoted(dir)
	}
	return command
}

// earlierBackups returns the backups from before the home was created, including those in dir if no server has used it
// yet. It reports whether that is so. An unreadable note excludes no backup.
func earlierBackups(h *home.Home, dir string, logger *slog.Logger) (earlier backups.Earlier, fresh bool) {
	note, err := h.EarlierBackups()
	if errors.Is(err, fs.ErrNotExist) {
		return earlier, false
	}
	if err == nil {
		earlier, err = backups.ParseEarlier(note)
	}
	if err != nil {
		logger.Warn("earlier-backups.json cannot be read, so backups from before this home was made are witnesses too",
			"why", err)
		return backups.Earlier{}, false
	}
	fresh, err = earlier.Serve(h.Dir(), dir)
	if err != nil {
		logger.Warn("the backups from before this home was made cannot be listed", "why", err)
	}
	return earlier, fresh
}

// KeepEarlier records that a server uses the home from now on: no backup made later is from before it.
func KeepEarlier(lock *home.Lock, dir string, logger *slog.Logger) error {
	earlier, fresh := earlierBackups(lock.Home, dir, logger)
	if !fresh {
		return nil
	}
	note, err := earlier.Encode()
	if err != nil {
		return err
	}
	return lock.NoteEarlierBackups(note)
}

// warnOfNoWitness logs that nothing outside the store shows where the log of a used home ended.
func warnOfNoWitness(h *home.Home, logger *slog.Logger) {
	wrote, err := h.Version()
	_, missing := disk.Lstat(h.Head())
	if err != nil || wrote.Maestro == "" || !errors.Is(missing, fs.ErrNotExist) {
		return
	}
	if !home.HasLog(h.Dir()) || bus.HoldsNoEvent(h.Store()) {
		return // the log is gone, which opening it reports, or the home was never used
	}
	logger.Warn("the head file of this home is missing, so the loss of the log's last events would not be noticed",
		"next", "compare with a head that you kept, with `maestro audit verify --from-head SEQ:HASH`; if events are "+
			"missing, restore a backup into a new home with `maestro restore`")
}
