package salvage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/internal/backups"
	"maestro/internal/disk"
	"maestro/internal/home"
)

// TestSalvagedHomeStarts: files that a server would refuse are named instead of copied, and with a lost key
// the new home is not whole.
func TestSalvagedHomeStarts(t *testing.T) {
	original := shared(t)
	junk := func(path string) error { return os.WriteFile(path, []byte("junk"), 0o600) }
	for _, c := range []struct {
		name, file string
		harm       func(path string) error
		key        bool // it is lost
	}{
		{"no key", "server.key", os.Remove, true},
		{"a directory for a key", "server.key", asDir, true},
		{"junk for a key", "server.key", junk, true},
		{"a directory for a version", "version", asDir, false},
		{"junk for a version", "version", junk, false},
		{"junk for a token", "admin.token", junk, false},
		{"a link for a token", "admin.token", asLink, false},
		{"a file for the sessions", "sessions", func(path string) error {
			return errors.Join(os.RemoveAll(path), junk(path))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := original.copied(t)
			l.sameTimes(t, original.dir)
			if err := c.harm(filepath.Join(l.dir, c.file)); err != nil {
				t.Fatal(err)
			}
			report := l.salvage(t, nil)
			if report.Whole() == c.key || c.key != strings.Contains(report.Lost(), "--new-key") {
				t.Errorf("whole %t, key %q, lost %q", report.Whole(), report.Key, report.Lost())
			}
			if c.name != "no key" && !strings.Contains(strings.Join(report.Notes, "\n"), c.file+" was not copied") {
				t.Errorf("no note names it: %q", report.Notes)
			}
			h, err := home.Open(report.To)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close() }()
			lock, err := h.Lock()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = lock.Release() }()
			secrets := lock.Secrets
			if c.key {
				secrets = lock.NewSecrets
			}
			if _, err := secrets(); errors.Join(h.CheckKinds(), err) != nil {
				t.Errorf("a server cannot start there: %v", errors.Join(h.CheckKinds(), err))
			}
		})
	}
}

// TestSalvagePassesOverWhatCannotBeRead: an unreadable file beside the log is named, and the rest is copied. An outbox
// contains acknowledged reports: without it, a home is not whole.
func TestSalvagePassesOverWhatCannotBeRead(t *testing.T) {
	original := shared(t)
	for name, reports := range map[string]bool{
		"sessions/sess_1/manifest.json": false,
		"admin.token":                   false,
		"version":                       false,
		"uses":                          false,
		"outbox/sess_1/1.json":          true,
		"outbox/sess_1":                 true,
	} {
		l := original.copied(t)
		l.sameTimes(t, original.dir)
		path := filepath.Join(l.dir, name)
		if _, err := os.Lstat(path); err != nil {
			err := os.MkdirAll(filepath.Dir(path), 0o700)
			if name == "outbox/sess_1" {
				err = errors.Join(err, os.Mkdir(path, 0o700))
			} else {
				err = errors.Join(err, os.WriteFile(path, []byte("{}"), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		bad := errors.New("input/output error")
		restore := disk.Inject(func(operation, at string) error {
			if (operation == "read" || operation == "walk" && name == "outbox/sess_1") && at == path {
				return bad
			}
			return nil
		})
		report := l.salvage(t, nil)
		restore()
		if report.Head != l.head || report.Whole() == reports {
			t.Errorf("%s: head %s of %s, lost %q", name, report.Head, l.head, report.Lost())
		}
		if said := strings.Join(append(report.Notes, report.Lost()), "\n"); !strings.Contains(said, name) ||
			!strings.Contains(said, "input/output error") {
			t.Errorf("%s is not named: %s", name, said)
		}
		if _, err := os.Lstat(filepath.Join(report.To, name)); err == nil && name != "outbox/sess_1" {
			t.Errorf("a part of %s is in the new home", name)
		}
	}
}

func asDir(path string) error {
	return errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700))
}

func asLink(path string) error {
	return errors.Join(os.RemoveAll(path), os.Symlink("nowhere", path))
}

// TestSalvageNamesStrayBlocks: a block that was renamed or moved is named as such, and so is an unknown file.
func TestSalvageNamesStrayBlocks(t *testing.T) {
	const stream = "store/jetstream/$G/streams/" + bus.StreamName
	const texts = "store/jetstream/$G/streams/" + bus.BlobStream
	for to, from := range map[string]string{
		"store/2.blk":              stream + "/msgs/2.blk",
		stream + "/msgs/1.blk.bak": stream + "/msgs/1.blk",
		stream + "/__msgs__":       stream + "/msgs",
		stream + "-old":            stream,
		texts + "/msgs/9.blk":      stream + "/msgs/2.blk", // in the directory of another stream
	} {
		t.Run(filepath.Base(to), func(t *testing.T) {
			l := sharedLong(t).copied(t)
			junk := filepath.Join(l.dir, "store", "notes.txt")
			if err := errors.Join(os.Rename(filepath.Join(l.dir, from), filepath.Join(l.dir, to)),
				os.WriteFile(junk, []byte("junk"), 0o600)); err != nil {
				t.Fatal(err)
			}
			report := l.salvage(t, nil)
			notes := strings.Join(report.Notes, "\n")
			if report.Whole() || !strings.Contains(notes, filepath.Join(l.dir, to)) ||
				!strings.Contains(notes, "of MAESTRO in the wrong place") ||
				!strings.Contains(notes, junk+" is not known") {
				t.Errorf("whole %t, notes %s", report.Whole(), notes)
			}
		})
	}
	if report := shared(t).copied(t).salvage(t, nil); strings.Contains(strings.Join(report.Notes, "\n"), "not read") {
		t.Errorf("an intact store has strays: %q", report.Notes)
	}
}

// TestSalvageNamesWhatItPassesOver: a store under another name, and a link with the name of a backup, are named.
func TestSalvageNamesWhatItPassesOver(t *testing.T) {
	l := shared(t).copied(t)
	renamed := filepath.Join(l.dir, "store2")
	if err := os.Rename(filepath.Join(l.dir, "store"), renamed); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "maestro-0123456789abcdef-20260102T030405Z-1-01234567.tar.gz")
	if err := os.Symlink(l.files["whole.tar.gz"], link); err != nil {
		t.Fatal(err)
	}
	others := backups.At(l.dir, filepath.Dir(link), "").Others()
	report := l.salvage(t, func(o *Options) { o.Others = others })
	if report.Whole() || !strings.Contains(strings.Join(report.Notes, "\n"), renamed+" holds a log") ||
		report.Unused[link] == "" {
		t.Errorf("whole %t, notes %q, unused %q", report.Whole(), report.Notes, report.Unused)
	}
}
