package salvage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"maestro/bus"
	"maestro/events"
	"maestro/internal/home"
)

const newerType = "maestro.project.admired.v1"

// newerHome is a home whose last events were written by a newer maestro: one of an unknown type, and two of known
// types.
func newerHome(t *testing.T) (l, without *lived) {
	t.Helper()
	return longer(t, func(body []byte) []byte {
		return bytes.ReplaceAll(body, []byte("maestro.project.created.v1"), []byte(newerType))
	})
}

// longer is a home with three more events, and the same home before them. Its automatic backup and its export have all
// events.
func longer(t *testing.T, changeFirst func(body []byte) []byte) (l, without *lived) {
	t.Helper()
	original := shared(t)
	without = original.copied(t)
	without.sameTimes(t, original.dir)
	l = original.copied(t)
	l.sameTimes(t, original.dir)
	l.files = maps.Clone(l.files)
	for _, secret := range []string{"admin.token", "server.key"} {
		if err := os.Chmod(filepath.Join(l.dir, secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := home.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := lock.Secrets()
	if err := errors.Join(err, lock.Release(), h.Close()); err != nil {
		t.Fatal(err)
	}
	log, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(l.dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	head := original.head
	for i := range 3 {
		var last events.Message
		keep := func(m events.Message) error { last = m; return nil }
		if err := log.Read(t.Context(), original.head.Sequence, original.head.Sequence, keep); err != nil {
			t.Fatal(err)
		}
		event, err := events.Decode(last.Body)
		if err != nil {
			t.Fatal(err)
		}
		event.ID, event.PrevHash = uuid.New(), head.Hash
		id := fmt.Sprintf("proj_newer%d", i)
		event.Data = &events.ProjectCreated{ProjectID: id, Name: id}
		body, err := event.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			body = changeFirst(body)
		}
		message := events.Message{
			Sequence: head.Sequence + 1,
			Subject:  strings.ReplaceAll(last.Subject, event.Project, id),
			Body:     body,
		}
		if err := log.Append(t.Context(), head.Sequence, []events.Message{message}); err != nil {
			t.Fatal(err)
		}
		head = events.Head{Sequence: message.Sequence, Hash: events.Next(head.Hash, events.BodyHash(body))}
	}
	if written := l.write(t, log, secrets.BackupKey(), "newer"); written != head {
		t.Fatalf("the backup is of %s, expected %s", written, head)
	}
	for _, suffix := range []string{".tar.gz", ".ndjson"} {
		path := filepath.Join(t.TempDir(), "newer"+suffix) // other tests use the directory of the shared home too
		if err := os.Rename(l.files["newer"+suffix], path); err != nil {
			t.Fatal(err)
		}
		l.files["newer"+suffix] = path
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	l.head = head
	return l, without
}

// wroteNewer records in a home that a newer maestro wrote it.
func wroteNewer(t *testing.T, l *lived) {
	t.Helper()
	content, err := json.Marshal(home.Version{Maestro: "v99", Home: home.Format, Rules: 99})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "version"), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// known is what the salvages in these tests understand of a home.
var known = home.Version{
	Maestro:  "v1",
	Home:     home.Format,
	Rules:    3,
	Snapshot: 1,
}

// TestSalvageKnowsANewerLogFromAnySource: whichever file has the event that this version does not know, the advice is
// to run the newer version's salvage, and all readable events are kept.
func TestSalvageKnowsANewerLogFromAnySource(t *testing.T) {
	l, without := newerHome(t)
	store := func(l *lived) string { return filepath.Join(l.dir, "store") }
	tail := without.copied(t)
	tail.sameTimes(t, without.dir)
	if err := errors.Join(
		os.CopyFS(filepath.Join(tail.dir, "store.damaged-20260102T030405Z-tail"), os.DirFS(store(l))),
	); err != nil {
		t.Fatal(err)
	}
	lost := without.copied(t)
	if err := os.RemoveAll(store(lost)); err != nil {
		t.Fatal(err)
	}
	noted := l.copied(t)
	wroteNewer(t, noted)
	if err := os.RemoveAll(store(noted)); err != nil {
		t.Fatal(err)
	}
	backup, exported := l.files["newer.tar.gz"], l.files["newer.ndjson"]
	own := func(o *Options) { o.Backups = []string{backup} }
	for what, test := range map[string]struct {
		home   *lived
		change func(*Options)
	}{
		"the store":                       {l, nil},
		"a tail":                          {tail, nil},
		"a backup, the store lost":        {lost, own},
		"a named backup":                  {lost, func(o *Options) { o.With = []string{backup} }},
		"an export":                       {lost, func(o *Options) { o.With = []string{exported} }},
		"a backup, the version is newer":  {noted, own},
		"an export, the version is newer": {noted, func(o *Options) { o.With = []string{exported} }},
	} {
		report := test.home.salvage(t, func(o *Options) {
			if o.Known = known; test.change != nil {
				test.change(o)
			}
		})
		if report.Head != without.head || report.Behind+report.Tail != 3 || len(report.Missing) > 0 {
			t.Errorf("%s: head %s of %s, %d and %d kept, missing %v",
				what, report.Head, without.head, report.Behind, report.Tail, report.Missing)
		}
		advisesSalvage(t, what, report, newerType)
	}
}

func advisesSalvage(t *testing.T, what string, report *Report, names string) {
	t.Helper()
	if !strings.Contains(report.Newer, names) || !strings.Contains(report.Install, "run its salvage") ||
		strings.Contains(report.Install, "start its server") || report.Whole() {
		t.Errorf("%s: whole %t, %q; %q", what, report.Whole(), report.Newer, report.Install)
	}
}

// TestSalvageOfWhatANewerMaestroWrote: if something is missing, only the newer version can tell whether it is lost;
// otherwise its server can continue.
func TestSalvageOfWhatANewerMaestroWrote(t *testing.T) {
	original := sharedLong(t)
	l := original.copied(t)
	l.sameTimes(t, original.dir)
	wroteNewer(t, l)
	report := l.salvage(t, func(o *Options) { o.Known = known })
	if !strings.Contains(report.Install, "start its server") || report.Newer == "" {
		t.Errorf("nothing is missing: %q, %q", report.Newer, report.Install)
	}
	if err := os.Remove(l.blocks(t, bus.StreamName)[1]); err != nil {
		t.Fatal(err)
	}
	report = l.salvage(t, func(o *Options) { o.Known = known })
	advisesSalvage(t, "a block is lost", report, "rules 99")
	report = l.salvage(t, func(o *Options) {
		o.Known = known
		o.Backups = []string{l.files["whole.tar.gz"]}
	})
	if !strings.Contains(report.Install, "start its server") || report.Newer == "" || len(report.Missing) > 0 {
		t.Errorf("a backup has the rest: %q, %q", report.Newer, report.Install)
	}
}

// TestSalvageOfBackupsOfNewerVersion: they may contain the missing events or long texts.
func TestSalvageOfBackupsOfNewerVersion(t *testing.T) {
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	entries := tar.NewWriter(packed)
	manifest := []byte(`{"format":3000}`)
	header := &tar.Header{Name: "backup.json", Mode: 0o600, Size: int64(len(manifest))}
	begun := entries.WriteHeader(header)
	_, err := entries.Write(manifest)
	newer := filepath.Join(t.TempDir(), "newer.tar.gz")
	if err := errors.Join(begun, err, entries.Close(), packed.Close(),
		os.WriteFile(newer, archive.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	original := shared(t)
	for what, stream := range map[string]string{"events": bus.StreamName, "long texts": bus.BlobStream, "nothing": ""} {
		l := original.copied(t)
		l.sameTimes(t, original.dir)
		if stream != "" {
			if err := os.Remove(l.blocks(t, stream)[0]); err != nil {
				t.Fatal(err)
			}
		}
		report := l.salvage(t, func(o *Options) {
			o.Known = known
			o.Backups = []string{newer}
		})
		if stream != "" {
			advisesSalvage(t, what, report, newer)
		} else if !report.Whole() {
			t.Errorf("nothing is missing: %s", report.Lost())
		}
	}
}
