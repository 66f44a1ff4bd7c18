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
	"maestro/events"
)

// grow writes to a home and returns the log's last block and head.
func (l *lived) grow(t *testing.T, names ...string) (block []byte, head events.Head) {
	t.Helper()
	_, _, handler, _, closeLog := openLog(t, l.dir)
	for _, name := range names {
		if _, err := do(t, handler, "grow "+name, &commands.CreateProject{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	closeLog()
	blocks := l.blocks(t, bus.StreamName)
	block, err := os.ReadFile(blocks[len(blocks)-1])
	if err != nil {
		t.Fatal(err)
	}
	if head, err = bus.LoadHeadFile(filepath.Join(l.dir, "head")); err != nil {
		t.Fatal(err)
	}
	return block, head
}

// Two servers wrote to one block, as with a copy of hard links. The chain that the head file recorded is the home's,
// wherever it is in the block and however long the other one is; without a head file it is unknown.
func TestSalvageFollowsChainOfHeadFile(t *testing.T) {
	own, other := []string{"O1", "O2", "O3"}, []string{"C1", "C2", "C3", "C4", "C5"}
	for name, test := range map[string]struct {
		own, other []string
		otherFirst bool
		forget     bool
	}{
		"the other's first":               {own: own, other: other[:2], otherFirst: true},
		"the other's first and longer":    {own: own, other: other, otherFirst: true},
		"the other's behind":              {own: own, other: other[:2]},
		"the other's behind and longer":   {own: own, other: other},
		"the head file is lost":           {own: own, other: other[:1], otherFirst: true, forget: true},
		"the head file is lost, of equal": {own: own, other: other[:3], forget: true},
	} {
		t.Run(name, func(t *testing.T) {
			l, copied := shared(t).copied(t), shared(t).copied(t)
			blocks := l.blocks(t, bus.StreamName)
			block := blocks[len(blocks)-1]
			before, err := os.ReadFile(block)
			if err != nil {
				t.Fatal(err)
			}
			ownBlock, head := l.grow(t, test.own...)
			otherBlock, _ := copied.grow(t, test.other...)
			ours, theirs := ownBlock[len(before):], otherBlock[len(before):]
			content := append(append(before, ours...), theirs...)
			if test.otherFirst {
				content = append(append(before[:len(before):len(before)], theirs...), ours...)
			}
			if err := os.WriteFile(block, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if test.forget {
				err := os.Remove(filepath.Join(l.dir, "head"))
				if err = errors.Join(err, os.RemoveAll(filepath.Join(l.dir, "snapshots"))); err != nil {
					t.Fatal(err)
				}
			}
			report := l.salvage(t, nil)
			if report.Head != head || report.Behind > 0 || len(report.Missing) > 0 || len(report.Faults) > 0 {
				t.Errorf("the new log ends at %s, expected %s: %s", report.Head, head, report.Lost())
			}
			if report.Whole() == test.forget {
				t.Errorf("whole: %t: %s", report.Whole(), report.Lost())
			}
			if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, "not on the same chain") {
				t.Errorf("the report does not name what was left out: %s", notes)
			}
			kept, err := os.ReadFile(filepath.Join(report.To, report.AsideFile))
			if err != nil || report.Aside != uint64(len(test.other)) ||
				bytes.Count(kept, []byte("\n")) != len(test.other) {
				t.Errorf("%d of the other's %d events are kept, %v", report.Aside, len(test.other), err)
			}
			for _, name := range test.other {
				if !bytes.Contains(kept, []byte(`"name":"`+name+`"`)) {
					t.Errorf("the other's event %s is not kept: %s", name, kept)
				}
			}
		})
	}
}
