package salvage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/commands"
)

// cutByAStart returns a home whose log a start cut off at its last block, which it set aside.
func cutByAStart(t *testing.T) (l *lived, aside string) {
	t.Helper()
	original := sharedLong(t)
	l = original.copied(t)
	l.sameTimes(t, original.dir)
	blocks := l.blocks(t, bus.StreamName)
	last := blocks[len(blocks)-1]
	relative, err := filepath.Rel(filepath.Join(l.dir, "store"), last)
	if err != nil {
		t.Fatal(err)
	}
	aside = filepath.Join(l.dir, "store.damaged-20260102T030405Z-tail")
	err = errors.Join(
		os.MkdirAll(filepath.Dir(filepath.Join(aside, relative)), 0o700),
		os.Rename(last, filepath.Join(aside, relative)),
		os.Remove(filepath.Join(l.dir, "head")),
		os.RemoveAll(filepath.Join(l.dir, "store", "clean.json")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return l, aside
}

func reopened(t *testing.T, dir string) {
	t.Helper()
	_, _, _, _, closeLog := openLog(t, dir)
	closeLog()
}

// TestSalvageReadsWhatStartsCutOff: events that fit come back, others are kept in a file, and with such a file the home
// is not reported as whole.
func TestSalvageReadsWhatStartsCutOff(t *testing.T) {
	l, _ := cutByAStart(t)
	reopened(t, l.dir) // now it stops cleanly, and its note says that nothing follows
	report := l.salvage(t, nil)
	if report.Head != l.head || report.Tail > 0 {
		t.Errorf("salvaged to %s of %s, %d events beside it", report.Head, l.head, report.Tail)
	}

	l, _ = cutByAStart(t)
	_, _, handler, _, closeLog := openLog(t, l.dir)
	if _, err := do(t, handler, "other", &commands.CreateProject{Name: "Other"}); err != nil {
		t.Fatal(err)
	}
	closeLog()
	report = l.salvage(t, nil)
	content, err := os.ReadFile(filepath.Join(report.To, report.TailFile))
	if report.Whole() || report.Tail == 0 || err != nil || uint64(bytes.Count(content, []byte("\n"))) != report.Tail ||
		!strings.Contains(report.Lost(), report.TailFile) {
		t.Errorf("whole %t, %d events in %q, %v: %s", report.Whole(), report.Tail, report.TailFile, err, report.Lost())
	}

	again := *l
	again.dir = report.To
	if second := again.salvage(t, nil); second.Whole() || !strings.Contains(second.Lost(), "lost before") {
		t.Errorf("a salvage of the salvaged home: whole %t: %s", second.Whole(), second.Lost())
	}
}

// TestSalvageOfASalvagedHomeKeepsItsFiles: the events after two gaps are in two files, and events that the first
// salvage lacked are searched for again.
func TestSalvageOfASalvagedHomeKeepsItsFiles(t *testing.T) {
	original := sharedLong(t)
	l := original.copied(t)
	l.sameTimes(t, original.dir)
	flip(t, l.blocks(t, bus.StreamName)[0], middle)
	first := l.salvage(t, nil)
	if first.Whole() || first.Behind == 0 {
		t.Fatalf("whole %t, %d after the gap", first.Whole(), first.Behind)
	}
	again := *l
	again.dir = first.To
	second := again.salvage(t, nil)
	if second.Whole() || !strings.Contains(second.Lost(), "lost before") {
		t.Errorf("whole %t: %s", second.Whole(), second.Lost())
	}
	if _, err := os.Stat(filepath.Join(second.To, first.BehindFile)); err != nil {
		t.Error(err)
	}
}
