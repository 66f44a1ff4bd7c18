package salvage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"maestro/bus"
	"maestro/internal/files"
	"maestro/internal/home"
)

// sameTimes sets the file times of a copied home to those of the original, which the note of a clean stop compares.
func (l *lived) sameTimes(t *testing.T, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return os.Chtimes(filepath.Join(l.dir, relative), info.ModTime(), info.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSalvageKnowsWhereTheLogEnded: without the head file, the other witnesses of the end count. If none is left, the
// salvage does not report the log as whole.
func TestSalvageKnowsWhereTheLogEnded(t *testing.T) {
	original := sharedLong(t)
	store := func(l *lived, name string) string { return filepath.Join(l.dir, "store", name) }
	lastBlock := func(t *testing.T, l *lived) string {
		blocks := l.blocks(t, bus.StreamName)
		return blocks[len(blocks)-1]
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, l *lived) error
		change func(t *testing.T, l *lived, o *Options)
		// whole: everything acknowledged is there. unknown: nothing shows where the log ended.
		whole, unknown, missing bool
		by                      string
	}{
		{
			name:    "the head file and the last block lost",
			damage:  func(t *testing.T, l *lived) error { return os.Remove(lastBlock(t, l)) },
			by:      "the store",
			missing: true,
		},
		{
			name:   "the head file lost after a clean stop",
			damage: func(*testing.T, *lived) error { return nil },
			by:     "the store",
			whole:  true,
		},
		{
			name: "the head file lost after kill -9",
			damage: func(_ *testing.T, l *lived) error {
				return os.Remove(store(l, "clean.json"))
			},
			by:      "the store",
			unknown: true,
		},
		{
			name: "the head file, the note and the last block lost",
			damage: func(t *testing.T, l *lived) error {
				return errors.Join(os.Remove(store(l, "clean.json")), os.Remove(lastBlock(t, l)))
			},
			by:      "the store",
			unknown: true,
		},
		{
			name: "the same, and a damaged snapshot is left",
			damage: func(t *testing.T, l *lived) error {
				return errors.Join(os.Remove(store(l, "clean.json")), os.Remove(lastBlock(t, l)),
					os.MkdirAll(filepath.Join(l.dir, "snapshots"), 0o700),
					os.WriteFile(filepath.Join(l.dir, "snapshots", "221.snapshot"), []byte("junk"), 0o600))
			},
			by:      "the name of a snapshot",
			unknown: true,
			missing: true,
		},
		{
			name: "the same, and an automatic backup is left",
			damage: func(t *testing.T, l *lived) error {
				return errors.Join(os.Remove(store(l, "clean.json")), os.Remove(lastBlock(t, l)))
			},
			change:  func(_ *testing.T, l *lived, o *Options) { o.Backups = []string{l.files["whole.tar.gz"]} },
			by:      "whole.tar.gz",
			unknown: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := original.copied(t)
			l.sameTimes(t, original.dir)
			if err := errors.Join(os.Remove(filepath.Join(l.dir, "head")), c.damage(t, l)); err != nil {
				t.Fatal(err)
			}
			report := l.salvage(t, func(o *Options) {
				if c.change != nil {
					c.change(t, l, o)
				}
			})
			if report.Whole() != c.whole || report.EndUnknown != c.unknown || len(report.Missing) > 0 != c.missing {
				t.Errorf("whole %t, end unknown %t, missing %v; expected %t, %t, %t", report.Whole(), report.EndUnknown,
					report.Missing, c.whole, c.unknown, c.missing)
			}
			if !strings.HasSuffix(report.EndBy, c.by) || c.missing && report.End != l.head.Sequence {
				t.Errorf("the end is %d by %q, expected %d by %q", report.End, report.EndBy, l.head.Sequence, c.by)
			}
			if !report.Whole() && report.Lost() == "" {
				t.Error("the log is not whole, and the report does not say why")
			}
		})
	}
}

// TestSalvageTakesWhatRemains: anything in the place of a file or a directory is named, and the rest is salvaged.
func TestSalvageTakesWhatRemains(t *testing.T) {
	original := shared(t)
	replace := func(path string, make func(path string) error) error {
		return errors.Join(os.RemoveAll(path), make(path))
	}
	const streams = "store/jetstream/$G/streams/"
	plain := func(path string) error { return os.WriteFile(path, []byte("junk"), 0o600) }
	all := func(make func(path string) error, paths ...string) func(dir string) error {
		return func(dir string) error {
			var err error
			for _, path := range paths {
				err = errors.Join(err, replace(filepath.Join(dir, path), make))
			}
			return err
		}
	}
	for _, c := range []struct {
		name string
		harm func(dir string) error
		// damage is the minimum number of named places. log means that the log is still read from the store.
		damage int
		log    bool
	}{
		{"plain files", all(plain, streams+bus.BlobStream, streams+bus.DeniedStream+"/msgs"), 2, true},
		{"named pipes", all(namedPipe, streams+bus.BlobStream+"/msgs", streams+bus.DeniedStream+"/msgs/1.blk",
			"store/clean.json", "store/lock", "head"), 2, true},
		{"a directory and a link", func(dir string) error {
			return errors.Join(all(makeDir, streams+bus.BlobStream+"/msgs/1.blk")(dir),
				all(deadLink, streams+bus.DeniedStream)(dir))
		}, 2, true},
		{"the streams are a plain file", all(plain, filepath.Clean(streams)), 3, false},
		{"the store is a plain file", all(plain, "store"), 0, false},
		{"the store is a link to itself", all(selfLink, "store"), 0, false},
		{"a block of the log is a directory", all(makeDir, streams+bus.StreamName+"/msgs/1.blk"), 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := original.copied(t)
			if err := c.harm(l.dir); err != nil {
				t.Fatal(err)
			}
			report := l.salvage(t, func(o *Options) { o.With = []string{l.files["whole.tar.gz"]} })
			if report.Head != l.head || report.Texts != l.texts {
				t.Errorf("salvaged %s with %d texts, expected %s with %d", report.Head, report.Texts, l.head, l.texts)
			}
			if fromBackup := len(report.Filled) > 0; fromBackup == c.log {
				t.Errorf("events came from %v", report.Filled)
			}
			if len(report.Damage) < c.damage {
				t.Errorf("named: %v", report.Damage)
			}
		})
	}
}

func deadLink(path string) error { return os.Symlink("nowhere", path) }

func selfLink(path string) error { return os.Symlink(path, path) }

func makeDir(path string) error { return os.MkdirAll(filepath.Join(path, "something"), 0o700) }

// TestSalvageRefusesBeforeItBegins: the damaged home is unchanged, and a wrong argument is found before any work is
// done.
func TestSalvageRefusesBeforeItBegins(t *testing.T) {
	l := shared(t)
	damaged, err := home.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = damaged.Close() }()
	elsewhere := t.TempDir()
	link := filepath.Join(elsewhere, "link")
	nothing := filepath.Join(elsewhere, "nothing")
	if err := errors.Join(os.Symlink(l.dir, link), os.Symlink(filepath.Join(elsewhere, "none"), nothing)); err != nil {
		t.Fatal(err)
	}
	with := func(files ...string) func(*Options) { return func(o *Options) { o.With = files } }
	for name, c := range map[string]struct {
		change func(o *Options)
		want   error
	}{
		"inside the home":         {func(o *Options) { o.To = filepath.Join(l.dir, "new") }, ErrTarget},
		"the home itself":         {func(o *Options) { o.To = l.dir }, ErrTarget},
		"deep inside":             {func(o *Options) { o.To = filepath.Join(l.dir, "sessions", "x", "y") }, ErrTarget},
		"inside, by a link":       {func(o *Options) { o.To = filepath.Join(link, "new") }, ErrTarget},
		"a link to nothing":       {func(o *Options) { o.To = nothing }, ErrTarget},
		"not empty":               {func(o *Options) { o.To = elsewhere }, ErrTarget},
		"a file":                  {func(o *Options) { o.To = l.files["whole.ndjson"] }, ErrTarget},
		"no such backup":          {with(filepath.Join(elsewhere, "none")), ErrNoFile},
		"a directory as backup":   {with(elsewhere), ErrNoFile},
		"a good and a bad backup": {with(l.files["whole.ndjson"], nothing), ErrNoFile},
	} {
		t.Run(name, func(t *testing.T) {
			before := tree(t, l.dir)
			to := filepath.Join(t.TempDir(), "new")
			options := Options{
				Home:   damaged,
				To:     to,
				Signer: l.signer,
				Now:    time.Now(),
			}
			c.change(&options)
			if _, err := Home(t.Context(), options); !errors.Is(err, c.want) {
				t.Errorf("%v, expected %v", err, c.want)
			}
			if tree(t, l.dir) != before {
				t.Error("the damaged home was changed")
			}
			if _, err := os.Stat(to); err == nil {
				t.Error("a new home was created")
			}
		})
	}
	// A link to an empty directory is treated like the directory.
	empty := filepath.Join(elsewhere, "empty")
	if err := errors.Join(os.Mkdir(filepath.Join(elsewhere, "real"), 0o700), os.Symlink("real", empty)); err != nil {
		t.Fatal(err)
	}
	report := l.salvage(t, func(o *Options) { o.To = empty })
	if real, err := filepath.EvalSymlinks(filepath.Join(elsewhere, "real")); err != nil || report.To != real {
		t.Errorf("created in %s, expected %s, %v", report.To, real, err)
	}
}

// TestConcurrentSalvages: the second fails before it begins. One that began at the same time, but ends later, fails
// at its end. The result of the first stays.
func TestConcurrentSalvages(t *testing.T) {
	l := shared(t)
	damaged, err := home.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = damaged.Close() }()
	parent := t.TempDir()
	options := Options{
		Home:   damaged,
		To:     filepath.Join(parent, "new"),
		Signer: l.signer,
		Now:    time.Now(),
	}
	running, err := files.NewScratch(options.To, ScratchPurpose)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Home(t.Context(), options)
	if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), running.Path) {
		t.Errorf("while the first runs: %v", err)
	}
	if err := errors.Join(running.Release(), os.Remove(running.Path)); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(options.To, "head")
	first := &meanwhile{Context: t.Context(), do: func() error {
		return errors.Join(os.Mkdir(options.To, 0o700), os.WriteFile(theirs, nil, 0o600))
	}}
	if _, err := Home(first, options); !errors.Is(err, ErrTarget) || first.err != nil {
		t.Errorf("after the first one was done: %v, %v", err, first.err)
	}
	entries, err := os.ReadDir(parent)
	if _, there := os.Stat(theirs); err != nil || there != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v, %v", entries, err, there)
	}
}

// meanwhile is a context that does something when it is first asked.
type meanwhile struct {
	context.Context
	once sync.Once
	do   func() error
	err  error
}

func (m *meanwhile) Err() error {
	m.once.Do(func() { m.err = m.do() })
	return m.Context.Err()
}

// TestSalvageSaysThatThereAreNoBackups: the report says where backups were searched for.
func TestSalvageSaysThatThereAreNoBackups(t *testing.T) {
	l := shared(t)
	report := l.salvage(t, func(o *Options) { o.BackupDir = "/home/of-mine-backups" })
	if !strings.Contains(strings.Join(report.Notes, "\n"), "/home/of-mine-backups") {
		t.Errorf("notes: %q", report.Notes)
	}
}
