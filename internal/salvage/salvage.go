package salvage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/disk"
	"maestro/internal/files"
	"maestro/internal/home"
)

// Options configures a salvage.
type Options struct {
	// Home is the damaged home; no server may hold it.
	Home *home.Home
	// To is the new home, which must not exist or be empty.
	To string
	// With are backups and exports that the user named. What neither the home's key nor its chain proves is taken from
	// them only if it breaks no rule and contradicts nothing that the home remembers, or with AcceptFaults.
	With         []string
	AcceptFaults bool
	// Backups are the home's own, newest first; only those that its key signed are trusted. BackupDir is their
	// directory.
	Backups   []string
	BackupDir string
	// Unlisted is why BackupDir could not be listed, nil if it was.
	Unlisted error
	// Others have the names of backups but are not plain files: the report says that they were not used.
	Others []string
	// Signer identifies the home's key: its own, or the one that the user names. "" if neither is known; then no backup
	// of Backups is trusted.
	Signer string
	// Known is what this version understands of a home.
	Known home.Version
	// Now is the time of the salvage.
	Now time.Time
}

const (
	reportFile = "salvage.json"
	behindFile = "salvaged-events"
	tailFile   = "salvaged-tail"
)

// ScratchPurpose is part of the name of the directory beside the new home in which it is built; see files.Leftovers.
const ScratchPurpose = "salvage"

// Home creates a new home from a damaged one, which it does not change. If it fails, it leaves nothing behind.
func Home(ctx context.Context, o Options) (_ *Report, err error) {
	if o.To, err = target(o.To, o.Home.Dir()); err != nil {
		return nil, err
	}
	if other, err := files.InUse(o.To, ScratchPurpose); err == nil && len(other) > 0 {
		return nil, fmt.Errorf("%w: it builds %s", ErrRunning, other[0])
	}
	for _, path := range o.With {
		if err := readable(path); err != nil {
			return nil, err
		}
	}
	s := &salvage{
		ctx:      ctx,
		options:  o,
		verifier: engine.NewVerifier(),
		judging:  true,
		kept:     map[string]bool{},
		why:      map[string]string{},
		foreign:  map[string]bool{},
		opened:   map[string]bool{},
		report: &Report{
			From:        o.Home.Dir(),
			To:          o.To,
			At:          o.Now.UTC(),
			Filled:      map[string]uint64{},
			Unused:      map[string]string{},
			FilledTexts: map[string]int{},
			Missing:     []Range{},
			LostTexts:   []engine.LostText{},
			Damage:      []bus.Fault{},
			Faults:      []engine.Fault{},
			Notes:       []string{},
		},
	}
	for _, path := range o.With {
		s.sources = append(s.sources, file{path, true})
	}
	for _, path := range o.Backups {
		s.sources = append(s.sources, file{path, false})
	}
	switch {
	case o.Unlisted != nil:
		s.note(
			"no automatic backup was used, because they cannot be listed: %s; if anything is missing, name them with "+
				"--with, or their directory with --backup-dir", o.Unlisted)
	case len(o.Backups) == 0 && o.BackupDir != "":
		s.note("no automatic backups in %s; if `serve` has another --backup-dir, name it here too", o.BackupDir)
	}
	for _, path := range o.Others {
		s.report.Unused[path] = "it is not a plain file: name the backup itself with --with"
	}
	s.noteOtherStores()
	s.readEarlier()
	s.readEarlierBackups()
	if err := s.openStore(); err != nil {
		return nil, err
	}
	if s.store != nil {
		defer func() { err = errors.Join(err, s.store.Close()) }()
	}
	if err := s.openTails(); err != nil {
		return nil, err
	}
	defer s.closeSources()
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("salvage %s: %w", o.Home.Dir(), err)
	}
	return s.report, nil
}

type salvage struct {
	ctx      context.Context //nolint:containedctx // it lives for one Home
	options  Options
	report   *Report
	store    *bus.ReadOnly // nil if there is none
	sources  []file
	verifier *engine.Verifier
	judging  bool
	unknown  *events.NewerError // the first event of an unknown type, before which the log ends, or nil
	// newerBackup is a backup that only a newer maestro can read, and why; "" if there is none.
	newerBackup string

	intact *source         // the damaged store's events
	others []*source       // the files', once they are needed
	opened map[string]bool // the paths of files that were opened, or could not be
	// before are the backups from before the damaged home was created.
	before backups.Earlier
	// foreign are the signers that were noted; see noteForeign.
	foreign map[string]bool
	earlier *Report // of the salvage that created the damaged home, or nil
	// tails are ends of the log that starts cut off.
	tails []*tail

	end     end
	forked  bool // there are two chains, and it is unknown which is this home's
	genesis events.Hash
	// passesHead says that the store's log passes through the head file's head.
	passesHead bool
	// witnesses are what the home remembers, once files are compared with it, and seenBy their sequences.
	witnesses []witness
	seenBy    map[proof][]uint64
	// hashes are the new log's, by sequence from 1 on.
	hashes []events.Hash
	// placed are events that the new home has beside the log, each with the hash of its body.
	placed map[events.Head]bool
	// passedOver says that the new log has other events than the store has.
	passedOver bool

	named []engine.NamedText // by events after the gap
	// redacted are the texts that events after the gap say were redacted.
	redacted map[string]bool
	kept     map[string]bool   // long texts in the new home
	why      map[string]string // the store's errors for the others
}

func (s *salvage) openStore() error {
	store, err := bus.OpenReadOnly(s.ctx, bus.Options{Dir: s.options.Home.Store()})
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case errors.Is(err, bus.ErrStoreInUse):
		return err
	case errors.Is(err, fs.ErrNotExist):
		s.note("the home has no store, so everything comes from backups and exports")
		return nil
	case err != nil:
		s.note("the store cannot be read, so everything comes from backups and exports: %s", err)
		return nil
	}
	s.store = store
	s.report.Damage = append(s.report.Damage, store.Faults()...)
	strays, err := bus.Strays(s.ctx, s.options.Home.Store())
	s.report.Notes = append(s.report.Notes, strays...)
	if err != nil {
		s.store = nil
		return errors.Join(err, store.Close())
	}
	return nil
}

func (s *salvage) note(format string, args ...any) {
	s.report.Notes = append(s.report.Notes, fmt.Sprintf(format, args...))
}

// build builds the new home beside its place, and moves it there when it is complete.
func (s *salvage) build() (err error) {
	to := s.options.To
	if err := disk.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	release, err := hold(to)
	if err != nil {
		return err
	}
	defer release()
	left, err := files.RemoveLeftovers(to, ScratchPurpose)
	if err != nil {
		s.note("what an earlier salvage left cannot be removed: %s", err)
	}
	for _, dir := range left {
		s.note("removed %s, left by a salvage that was killed", dir)
	}
	scratch, err := files.NewScratch(to, ScratchPurpose)
	if err != nil {
		return err
	}
	temporary := scratch.Path
	defer func() {
		if err != nil {
			err = errors.Join(err, disk.RemoveAll(temporary))
		}
		err = errors.Join(err, scratch.Release())
	}()
	if err = s.findEnd(); err != nil {
		return err
	}
	s.report.Head, err = bus.Build(s.ctx, filepath.Join(temporary, storeName), func(b *bus.Builder) error {
		return s.fill(b, temporary)
	})
	if err != nil {
		return err
	}
	if err := s.copyRest(temporary); err != nil {
		return err
	}
	content, err := json.MarshalIndent(s.report, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.WriteFile(filepath.Join(temporary, reportFile), append(content, '\n'), 0o600); err != nil {
		return err
	}
	if err := bus.PutInPlace(temporary, to, storeName, lockName); err != nil {
		_, taken := target(to, s.options.Home.Dir()) // the directory was taken first: target says why
		return cmp.Or(taken, err)
	}
	return nil
}

// copyRest copies the home's content except its log, and reports what is not in the new home.
func (s *salvage) copyRest(dir string) error {
	left, err := s.options.Home.CopyRest(dir)
	for _, l := range left {
		if l.Reports {
			s.unread(filepath.Join(s.options.Home.Dir(), l.Path), errors.New(l.Why))
		} else {
			s.note("%s", l)
		}
	}
	if err != nil {
		return err
	}
	h, err := home.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	if err := s.noteBackups(h); err != nil {
		return err
	}
	if err := s.noteVersion(h); err != nil {
		return err
	}
	err = h.CheckKey()
	var key *home.KeyError
	if err == nil { // the damaged home has a mark beside its log too
		if whole := s.options.Home.CheckKey(); errors.As(whole, &key) {
			err = whole
		}
	}
	if !errors.As(err, &key) {
		return err
	}
	s.report.Key = "server.key is missing"
	if key.Another {
		s.report.Key = "server.key is not the one that the secrets of sessions and tokens were made with"
	}
	return nil
}

// noteVersion reports whether a newer maestro wrote the home: a server of this version would refuse the new one, or the
// salvage has omitted what only the newer one knows.
func (s *salvage) noteVersion(h *home.Home) error {
	var wrote *home.NewerError
	if err := h.Check(s.options.Known); err != nil && !errors.As(err, &wrote) {
		return err
	}
	var event *events.NewerError
	r := s.report
	var newer error
	switch {
	case wrote != nil:
		wrote.Dir = s.options.Home.Dir()
		r.Install, newer = wrote.Install(), wrote
	case errors.As(s.verifier.Newer(), &event):
		newer = event
	}
	r.Install = cmp.Or(r.Install, "install the version that wrote it, or a newer one")
	serve, again := ", and start its server with MAESTRO_HOME="+r.To, ", and run its salvage, with another --new-home"
	switch {
	case s.unknown != nil:
		r.Newer = "this version cannot read the rest of the log: " + s.unknown.Error()
		r.Install += again
	case s.newerBackup != "" && !r.Whole():
		r.Newer = "this version cannot read what may have the rest: " + s.newerBackup
		r.Install += again
	case wrote != nil && wrote.Wrote.Home > wrote.Known.Home:
		r.Newer = "this version does not know whether it has copied all: " + wrote.Error()
		r.Install += again
	case newer != nil && (r.lacks() || len(r.LostTexts) > 0):
		r.Newer = "this version cannot serve the new home, and a newer one may find more: " + newer.Error()
		r.Install += again
	case newer != nil:
		r.Newer = "this version cannot serve the new home: " + newer.Error()
		r.Install += serve
	default:
		r.Install = ""
	}
	return nil
}

// noteBackups records in the new home the backups that exist now: its log may be shorter than theirs.
func (s *salvage) noteBackups(h *home.Home) error {
	places := []string{s.options.BackupDir}
	for _, path := range s.options.With {
		places = append(places, filepath.Dir(path))
	}
	earlier, err := backups.NewHome(s.options.To, places...)
	if err != nil {
		s.note("backups beside the new home could not be listed, so a newer one may make it read-only: %s", err)
	}
	earlier.Salvaged = true
	note, err := earlier.Encode()
	if err != nil {
		return err
	}
	return h.NoteEarlierBackups(note)
}

// fill writes the new store: events while the chain holds, all readable long texts, and the refusals.
func (s *salvage) fill(b *bus.Builder, dir string) error {
	s.intact = &source{name: "the store", done: true, stop: func() {}}
	if s.store != nil {
		s.intact = newSource("the store", func(yield func(events.Message) error) error {
			return s.store.Readable(s.ctx, yield)
		})
	}
	s.compareTails()
	ending := s.endsOfBackups()
	for {
		m, judged, ok := s.next(b.Head())
		if !ok {
			break
		}
		s.judging = s.judging && (judged || s.verifier.Event(m))
		if err := b.Message(m); err != nil {
			return err
		}
		s.hashes = append(s.hashes, b.Head().Hash)
		s.compare(b.Head())
		s.compareBackups(b.Head(), ending[b.Head().Sequence])
		s.found(m)
	}
	if err := s.unreadable(); err != nil {
		return err
	}
	if err := s.behind(b.Head(), dir); err != nil {
		return err
	}
	if err := s.keepTails(dir); err != nil {
		return err
	}
	s.noteSources()
	if err := s.keepAside(dir); err != nil {
		return err
	}
	if err := s.texts(b); err != nil {
		return err
	}
	if err := s.refusals(b); err != nil {
		return err
	}
	verdict, err := s.verifier.Verdict()
	s.report.Faults = verdict.Faults
	return err
}
