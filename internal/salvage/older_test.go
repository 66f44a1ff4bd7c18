package salvage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/internal/backups"
)

// automatic gives a backup the name of an automatic one, in a directory of its own.
func automatic(t *testing.T, l *lived, from string) string {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("maestro-%s-20260102T030405Z-%d-%s.tar.gz",
		strings.TrimPrefix(l.signer, "ed25519:")[:16], l.head.Sequence, l.head.Hash.String()[:8])
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSalvageOfAnOlderCopy: the note of the last clean stop is as old as the home. Backups and exports with later
// events are read, and their events come back; those from before the home was created do not count.
func TestSalvageOfAnOlderCopy(t *testing.T) {
	now, older := longer(t, func(body []byte) []byte { return body })
	backup := automatic(t, now, now.files["newer.tar.gz"])
	damaged := automatic(t, now, now.files["newer.tar.gz"])
	content, err := os.ReadFile(damaged)
	if err == nil {
		err = os.WriteFile(damaged, content[:len(content)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string) func(*Options) {
		return func(o *Options) { o.With = []string{now.files[name]} }
	}
	for what, change := range map[string]func(*Options){
		"an automatic backup": func(o *Options) { o.Backups = []string{backup} },
		"older ones too":      func(o *Options) { o.Backups = []string{older.files["half.tar.gz"], backup} },
		"a named backup":      with("newer.tar.gz"),
		"an export": func(o *Options) { // its events are not what a server would have decided
			o.With, o.AcceptFaults = []string{now.files["newer.ndjson"]}, true
		},
	} {
		if report := older.salvage(t, change); report.Head != now.head || len(report.Missing) > 0 || report.Whole() {
			t.Errorf("%s: head %s of %s, missing %v, whole %t", what, report.Head, now.head, report.Missing,
				report.Whole())
		}
	}
	report := older.salvage(t, func(o *Options) { o.Backups = []string{damaged} })
	if report.Whole() || len(report.Missing) != 1 || report.End != now.head.Sequence {
		t.Errorf("a damaged backup has later events: whole %t, missing %v, %d by %s",
			report.Whole(), report.Missing, report.End, report.EndBy)
	}
	if report := older.salvage(t, nil); !report.Whole() {
		t.Errorf("no file has later events: %s", report.Lost())
	}
	excused := backups.Earlier{Backups: []backups.Seen{
		{Sequence: now.head.Sequence, Hash: now.head.Hash.String()[:8]},
	}}
	note, err := json.Marshal(excused)
	path := filepath.Join(older.dir, "earlier-backups.json")
	if err := errors.Join(err, os.WriteFile(path, note, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{backup, damaged} {
		if report := older.salvage(t, func(o *Options) { o.Backups = []string{made} }); !report.Whole() ||
			report.Head != older.head {
			t.Errorf("a backup from before the home: head %s of %s: %s", report.Head, older.head, report.Lost())
		}
	}
	if report := older.salvage(t, with("newer.tar.gz")); report.Head != now.head {
		t.Errorf("such a backup that the user names counts: head %s of %s", report.Head, now.head)
	}
}

// TestSalvagedHomeExcusesSearchedBackupsOnly: a backup elsewhere with later events shows that something is
// missing, even if the first server is given its directory.
func TestSalvagedHomeExcusesSearchedBackupsOnly(t *testing.T) {
	now, older := longer(t, func(body []byte) []byte { return body })
	path := automatic(t, now, now.files["newer.tar.gz"])
	made, ok := backups.Named(path)
	if !ok {
		t.Fatalf("%s is not an automatic backup", path)
	}
	for place, asked := range map[string]bool{"": false, filepath.Dir(path): true} {
		report := older.salvage(t, func(o *Options) { o.BackupDir = place })
		note, err := os.ReadFile(filepath.Join(report.To, "earlier-backups.json"))
		if err != nil {
			t.Fatal(err)
		}
		earlier, err := backups.ParseEarlier(note)
		if err != nil {
			t.Fatal(err)
		}
		first, err := earlier.Serve(report.To, filepath.Dir(path))
		if !first || err != nil || earlier.Has(made) != asked {
			t.Errorf("read %t: first %t, excused %t, %v", asked, first, earlier.Has(made), err)
		}
	}
}
