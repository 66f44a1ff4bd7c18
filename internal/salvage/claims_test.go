package salvage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
)

// headAt returns the head of the chain at a sequence.
func (l *lived) headAt(t *testing.T, sequence uint64) events.Head {
	t.Helper()
	f, err := os.Open(l.files["whole.tar.gz"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var head events.Head
	if _, err := bus.ReadBackup(f, bus.BackupVisitor{Message: func(m events.Message) error {
		if m.Sequence <= sequence {
			head = events.Head{Sequence: m.Sequence, Hash: events.Next(head.Hash, events.BodyHash(m.Body))}
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	return head
}

func (l *lived) writeHead(t *testing.T, head events.Head) {
	t.Helper()
	content, err := json.Marshal(head)
	if err == nil {
		err = os.WriteFile(filepath.Join(l.dir, "head"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSalvageKnowsTheEndFromTheNoteOnly: the head file is behind the log after kill -9, so a log that ends at the head
// file's sequence, or whose last record is cut, may have lost acknowledged events. Backups are searched for them.
func TestSalvageKnowsTheEndFromTheNoteOnly(t *testing.T) {
	original := shared(t)
	for _, c := range []struct {
		name   string
		behind uint64 // by how much the head file is behind
		backup bool
		damage func(t *testing.T, l *lived, last string) error
		lost   uint64 // number of events that are lost without a backup
	}{
		{"the last record is cut", 1, true, cutBy(100), 1},
		{"the last record is cut, and there is no backup", 1, false, cutBy(100), 1},
		{"the log ends where the head file says", 1, true, cutRecords(1), 1},
		{"three events are gone without a trace", 3, false, cutRecords(3), 3},
		{"nothing is gone", 0, true, cutBy(0), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := original.copied(t)
			l.sameTimes(t, original.dir)
			l.writeHead(t, l.headAt(t, l.head.Sequence-c.behind))
			blocks := l.blocks(t, bus.StreamName)
			if err := errors.Join(os.Remove(filepath.Join(l.dir, "store", "clean.json")),
				c.damage(t, l, blocks[len(blocks)-1])); err != nil {
				t.Fatal(err)
			}
			report := l.salvage(t, func(o *Options) {
				if c.backup {
					o.Backups = []string{l.files["whole.tar.gz"]}
				}
			})
			if report.Whole() || !report.EndUnknown {
				t.Errorf("the report claims to know the end: whole %t, unknown %t", report.Whole(), report.EndUnknown)
			}
			want := l.head.Sequence
			if !c.backup {
				want -= c.lost
			}
			if report.Head.Sequence != want || report.End < report.Head.Sequence {
				t.Errorf("the log ends at %d, expected %d; the end is %d", report.Head.Sequence, want, report.End)
			}
			if c.backup && c.lost > 0 && !strings.HasSuffix(report.EndBy, "whole.tar.gz") {
				t.Errorf("the witness of the end is %q", report.EndBy)
			}
		})
	}
}

func cutBy(n int64) func(*testing.T, *lived, string) error {
	return func(_ *testing.T, _ *lived, path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()-n)
	}
}

// cutRecords removes whole records from the end of a block. Each record begins with its length.
func cutRecords(n int) func(*testing.T, *lived, string) error {
	return func(_ *testing.T, _ *lived, path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var begins []int
		for at := 0; at < len(content); {
			begins = append(begins, at)
			at += int(uint32(content[at]) | uint32(content[at+1])<<8 | uint32(content[at+2])<<16 |
				uint32(content[at+3]&0x7f)<<24)
		}
		return os.Truncate(path, int64(begins[len(begins)-n]))
	}
}

// TestSalvageDistrustsOldNote: an older copy of the store that was put into the home contains its own note.
func TestSalvageDistrustsOldNote(t *testing.T) {
	original := shared(t)
	l := original.copied(t)
	path := filepath.Join(l.dir, "store", "clean.json")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content = regexp.MustCompile(`,"sum":"\w+"`).ReplaceAll(content, nil) // as of an earlier version
	older := bytes.Replace(content, []byte(`"last":221`), []byte(`"last":220`), 1)
	if bytes.Equal(older, content) {
		t.Fatalf("the note does not name the last event: %s", content)
	}
	if err := os.WriteFile(path, older, 0o600); err != nil {
		t.Fatal(err)
	}
	if report := l.salvage(t, nil); report.Whole() || !report.EndUnknown || report.Head != l.head {
		t.Errorf("whole %t, unknown %t, head %s", report.Whole(), report.EndUnknown, report.Head)
	}
}

// TestSalvageVerifiesNumbers: a number in a name or in the head file counts as the length of the log only if a
// log can be that long, and no loop counts up to it.
func TestSalvageVerifiesNumbers(t *testing.T) {
	original := shared(t)
	for _, c := range []struct {
		name, path, content string
		note                string
		missing             uint64 // the last missing sequence
	}{
		{"a snapshot's name, the largest number", "snapshots/18446744073709551615.snapshot", "junk", "is ignored", 0},
		{"a snapshot's name, a large number", "snapshots/9000000000.snapshot", "junk", "is ignored", 0},
		{"a snapshot's name, near", "snapshots/1000.snapshot", "junk", "cannot be read", 1000},
		{
			"the head file, the largest number", "head",
			`{"sequence":18446744073709551615,"hash":"` + strings.Repeat("a", 64) + `"}`, "head file", 0,
		},
		{
			"the head file, a large number", "head",
			`{"sequence":9000000000000,"hash":"` + strings.Repeat("a", 64) + `"}`, "", 9000000000000,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := original.copied(t)
			l.sameTimes(t, original.dir)
			path := filepath.Join(l.dir, c.path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Remove(filepath.Join(l.dir, "store",
				"clean.json")), os.WriteFile(path, []byte(c.content), 0o600)); err != nil {
				t.Fatal(err)
			}
			report := l.salvage(t, nil)
			if report.Head != l.head || report.Whole() || !strings.Contains(strings.Join(report.Notes, "\n"), c.note) {
				t.Errorf("head %s, whole %t, notes %q", report.Head, report.Whole(), report.Notes)
			}
			var missing []Range
			if c.missing > 0 {
				missing = []Range{{l.head.Sequence + 1, c.missing}}
			}
			if !slices.Equal(report.Missing, missing) {
				t.Errorf("missing: %v", report.Missing)
			}
		})
	}
}

// TestSalvageReadsASnapshotUnderAnotherName: its contents, not its name, show how long the log was.
func TestSalvageReadsASnapshotUnderAnotherName(t *testing.T) {
	l := shared(t).copied(t)
	dir := filepath.Join(l.dir, "snapshots")
	snapshots, err := bus.OpenSnapshots(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		snapshots.Save(events.Snapshot{Head: l.half, Genesis: l.headAt(t, 1).Hash, State: []byte("{}")}),
		os.Rename(filepath.Join(dir, "112.snapshot"), filepath.Join(dir, "9999.snapshot")),
	); err != nil {
		t.Fatal(err, l.half)
	}
	report := l.salvage(t, nil)
	if !report.Whole() || !strings.Contains(strings.Join(report.Notes, "\n"), "is of sequence 112") {
		t.Errorf("whole %t, missing %v, notes %q", report.Whole(), report.Missing, report.Notes)
	}
}

// TestSalvageEndsWithItsContext: the salvage ends even while it searches for events after a gap.
func TestSalvageEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reads := uint64(0)
	s := &salvage{ctx: ctx, report: &Report{}, end: end{sequence: 1 << 40}}
	s.intact = newSource("endless", func(yield func(events.Message) error) error {
		for {
			if reads++; reads == 100 {
				cancel()
			}
			if err := yield(events.Message{Sequence: reads, Body: []byte("{}")}); err != nil {
				return err
			}
		}
	})
	defer s.closeSources()
	err := s.writeBehind(bufio.NewWriter(io.Discard), events.Head{})
	if !errors.Is(err, context.Canceled) || reads > 110 {
		t.Errorf("%v after %d reads", err, reads)
	}
}

// TestSalvageReturnsTheErrorOfTheNewStore: the error is not reported as a fault of the backup, and texts that were not
// written do not count as kept.
func TestSalvageReturnsTheErrorOfTheNewStore(t *testing.T) {
	l := shared(t)
	ctx, cancel := context.WithCancel(t.Context())
	path := l.files["whole.tar.gz"]
	s := &salvage{
		ctx:      t.Context(),
		verifier: engine.NewVerifier(),
		kept:     map[string]bool{},
		why:      map[string]string{},
		report:   &Report{Unused: map[string]string{}},
		sources:  []file{{path, true}},
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var digest string
	if _, err := bus.ReadBackup(f, bus.BackupVisitor{Blob: func(d string, _ []byte) error {
		digest = d
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	s.named = append(s.named, engine.NamedText{Sequence: 1, Field: "description", Digest: digest})
	failed := errors.New("unset")
	_, _ = bus.Build(ctx, filepath.Join(t.TempDir(), "store"), func(b *bus.Builder) error {
		cancel() // every write to the new store fails
		failed = s.texts(b)
		return failed
	})
	if !errors.Is(failed, context.Canceled) || s.kept[digest] || len(s.report.Unused) > 0 {
		t.Errorf("error %v, kept %t, unused %v", failed, s.kept[digest], s.report.Unused)
	}
}

// TestSalvageNamesADamagedFileThatItUsed: events before the damage are used, and the report says where reading ended.
func TestSalvageNamesADamagedFileThatItUsed(t *testing.T) {
	l := shared(t).copied(t)
	content, err := os.ReadFile(l.files["whole.ndjson"])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	lines[99] = []byte("not json\n")
	path := filepath.Join(t.TempDir(), "damaged.ndjson")
	if err := errors.Join(os.RemoveAll(filepath.Join(l.dir, "store")), os.WriteFile(path, bytes.Join(lines, nil),
		0o600)); err != nil {
		t.Fatal(err)
	}
	report := l.salvage(t, func(o *Options) { o.With = []string{path} })
	if report.Head.Sequence != 99 || report.Filled[path] != 99 || !strings.Contains(report.Unused[path], "event 99") {
		t.Errorf("head %s, filled %v, unused %v", report.Head, report.Filled, report.Unused)
	}
}
