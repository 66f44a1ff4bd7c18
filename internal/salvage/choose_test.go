package salvage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maestro/api/export"
	"maestro/events"
)

// apart is a home that has lost its events from the third on, the same home before that, and a copy of it that went its
// own way from there, with the same key.
func apart(t *testing.T) (l, whole, other *lived) {
	t.Helper()
	l = small(t, "A", "B")
	other = l.copied(t)
	_, l.head = l.grow(t, "O3", "O4")
	_, other.head = other.grow(t, "C3", "C4", "C5")
	whole = l.copied(t)
	l.killed(t)
	l.loses(t, 4)
	l.loses(t, 3)
	return l, whole, other
}

// Of several chains, the one that the home remembers or that its key signed is taken, whatever the order of the files.
// The events of the others are kept in a file, and their sources are named.
func TestSalvageTakesTheHomesOwnChain(t *testing.T) {
	l, whole, other := apart(t)
	own, ownBackup, automatic := whole.exports(t, "own"), whole.backup(t, "own"), whole.backup(t, "")
	theirs, theirBackup, theirAutomatic := other.exports(t, "other"), other.backup(t, "other"), other.backup(t, "")
	lost := l.copied(t)
	if err := os.Remove(filepath.Join(lost.dir, "head")); err != nil {
		t.Fatal(err)
	}
	// Both signed backups of a home without a head file may be the home's: what only the other one has is missing.
	for what, test := range map[string]struct {
		home          *lived
		with, backups []string
		other         string
		missing       int
	}{
		"an export, by the head file":           {l, []string{theirs, own}, nil, theirs, 0},
		"a backup, by the head file":            {l, []string{theirs, ownBackup}, nil, theirs, 0},
		"an export, though the other is signed": {l, []string{theirBackup, own}, nil, theirBackup, 0},
		"an automatic backup":                   {l, []string{theirs}, []string{automatic}, theirs, 0},
		"an automatic backup, of two":           {l, nil, []string{theirAutomatic, automatic}, theirAutomatic, 0},
		"an automatic backup, not the named":    {l, []string{theirBackup}, []string{automatic}, theirBackup, 0},
		"a backup, by its signature":            {lost, []string{theirs, ownBackup}, nil, theirs, 0},
		"an automatic backup, by its signature": {lost, []string{theirs}, []string{automatic}, theirs, 0},
		"an automatic backup, not the given":    {lost, []string{theirBackup}, []string{automatic}, theirBackup, 1},
	} {
		for range 2 {
			report := test.home.salvage(t, func(o *Options) { o.With, o.Backups = test.with, test.backups })
			if report.Head != whole.head || len(report.Missing) != test.missing || len(report.Faults) > 0 {
				t.Errorf("%s: the log ends at %s, expected %s: %s", what, report.Head, whole.head, report.Lost())
			}
			if report.Aside != 3 || !strings.Contains(report.Unused[test.other], "from 3 to 5") {
				t.Errorf("%s: %d events kept, unused: %v", what, report.Aside, report.Unused)
			}
			keeps(t, report, theirs, 3, 4, 5)
			slices.Reverse(test.with)
			slices.Reverse(test.backups)
		}
	}
}

// keeps checks that the file of other events has these lines of an export.
func keeps(t *testing.T, report *Report, exported string, sequences ...int) {
	t.Helper()
	content, err := os.ReadFile(exported)
	lines := bytes.SplitAfter(content, []byte("\n"))
	var want []byte
	for _, sequence := range sequences {
		want = append(want, lines[sequence-1]...)
	}
	kept, keptErr := os.ReadFile(filepath.Join(report.To, report.AsideFile))
	if err := errors.Join(err, keptErr); err != nil || !bytes.Equal(kept, want) {
		t.Errorf("kept are %q, expected %q, %v", kept, want, err)
	}
}

// If nothing shows which of two chains is the home's, the longer one is taken, whatever the order, and the report says
// that this is not known.
func TestSalvageOfTwoChainsWithoutWitness(t *testing.T) {
	l, whole, other := apart(t)
	if err := os.Remove(filepath.Join(l.dir, "head")); err != nil {
		t.Fatal(err)
	}
	for kind, files := range map[string][]string{
		"exports":   {whole.exports(t, "own"), other.exports(t, "other")},
		"backups":   {whole.backup(t, "own"), other.backup(t, "other")},
		"automatic": {whole.backup(t, ""), other.backup(t, "")},
	} {
		for range 2 {
			report := l.salvage(t, func(o *Options) {
				if o.With = files; kind == "automatic" {
					o.With, o.Backups = nil, files
				}
			})
			notes := strings.Join(report.Notes, "\n")
			if report.Head != other.head || report.Whole() || !report.EndUnknown || report.Aside != 2 ||
				!strings.Contains(notes, "nothing tells which of them") {
				t.Errorf("%s: the log ends at %s, %d events kept: %s", kind, report.Head, report.Aside, notes)
			}
			named := strings.Contains(notes, "nothing proves that this home acknowledged what "+files[0]) ||
				strings.Contains(notes, "nothing proves that this home acknowledged what "+files[1])
			if named != (kind == "exports") {
				t.Errorf("%s: the notes are %q", kind, notes)
			}
			slices.Reverse(files)
		}
	}
	// That the log is as long as the last clean stop noted does not decide either.
	shorter := small(t, "A", "B")
	again := shorter.copied(t)
	shorter.grow(t, "O3")
	again.grow(t, "C3")
	files := []string{shorter.exports(t, "own"), again.exports(t, "other")}
	shorter.loses(t, 3)
	if err := os.Remove(filepath.Join(shorter.dir, "head")); err != nil {
		t.Fatal(err)
	}
	report := shorter.salvage(t, func(o *Options) { o.With = files })
	if report.Head.Sequence != 3 || report.End != 3 || report.Whole() {
		t.Errorf("of the length of the log, it ends at %s of %d: %s", report.Head, report.End, report.Lost())
	}
}

// What nothing proves is not taken past a clean stop, after which nothing followed.
func TestSalvageTakesNothingUnprovenPastACleanStop(t *testing.T) {
	l := small(t, "A", "B")
	other := l.copied(t)
	_, other.head = other.grow(t, "C3")
	theirs := other.exports(t, "other")
	report := l.salvage(t, func(o *Options) { o.With = []string{theirs} })
	if report.Head.Sequence != 2 || !strings.Contains(report.Unused[theirs], "stopped cleanly after event 2") {
		t.Errorf("the log ends at %s: %v", report.Head, report.Unused)
	}
	report = l.salvage(t, func(o *Options) { o.With, o.AcceptFaults = []string{theirs}, true })
	if report.Head != other.head {
		t.Errorf("with faults accepted, the log ends at %s, expected %s", report.Head, other.head)
	}
}

// A chain that leads to another event than a witness saw is not taken, if there is no other. The head file saw event 4,
// and the fork is at 3: what an export has from there may be anybody's, and the log ends before it. What a backup has
// was signed with the home's key, and is taken up to the event that is another; the report says what that may mean.
func TestSalvageTakesNoContradictedChain(t *testing.T) {
	l, _, other := apart(t)
	for theirs, end := range map[string]uint64{other.exports(t, "other"): 2, other.backup(t, "other"): 3} {
		report := l.salvage(t, func(o *Options) { o.With = []string{theirs} })
		if report.Head.Sequence != end || report.Whole() ||
			!strings.Contains(report.Unused[theirs], "the head file saw other events") {
			t.Errorf("the log ends at %s, not %d: %v", report.Head, end, report.Unused)
		}
		said := strings.Contains(strings.Join(report.Notes, "\n"), "leads to another event 4 than the head file saw")
		if said != (end == 3) {
			t.Errorf("the log ends at %s, and the notes are %q", report.Head, report.Notes)
		}
		report = l.salvage(t, func(o *Options) { o.With, o.AcceptFaults = []string{theirs}, true })
		if report.Head != other.head || report.Whole() {
			t.Errorf("with faults accepted, the log ends at %s, expected %s", report.Head, other.head)
		}
	}
}

// What the store has after a gap shows which chain leads there, and is not given up for another one.
func TestSalvageKeepsWhatTheStoreHasAfterAGap(t *testing.T) {
	l := small(t, "A", "B")
	other := l.copied(t)
	_, l.head = l.grow(t, "O3", "O4", "O5")
	other.grow(t, "C3", "C4", "C5", "C6", "C7", "C8")
	own, theirs := l.exports(t, "own"), other.exports(t, "other")
	l.killed(t)
	l.loses(t, 3)
	if err := os.Remove(filepath.Join(l.dir, "head")); err != nil {
		t.Fatal(err)
	}
	report := l.salvage(t, func(o *Options) { o.With = []string{theirs, own} })
	if report.Head != l.head || report.Filled[own] != 1 || report.Aside != 6 || report.AsideOwn > 0 {
		t.Errorf("the log ends at %s, filled %v, %d events kept", report.Head, report.Filled, report.Aside)
	}
	report = l.salvage(t, func(o *Options) { o.With = []string{theirs} })
	if report.Head.Sequence != 2 || report.Behind != 2 || report.Aside != 6 || report.Whole() {
		t.Errorf("the log ends at %s, %d events behind it, %d kept", report.Head, report.Behind, report.Aside)
	}
	report = l.salvage(t, func(o *Options) { o.With, o.AcceptFaults = []string{theirs}, true })
	if report.Head.Sequence != 8 || report.AsideOwn != 2 || report.Aside != 2 || report.Whole() {
		t.Errorf("with faults accepted, the log ends at %s, %d of the store kept", report.Head, report.AsideOwn)
	}
	keeps(t, report, own, 4, 5)
}

// The store of a copy in the home's place is not what the head file saw: a file with the home's own chain goes before
// it, and the store's events are kept.
func TestSalvageOfAnotherStoreInItsPlace(t *testing.T) {
	l, whole, other := apart(t)
	own, theirs := whole.exports(t, "own"), other.exports(t, "other")
	store := filepath.Join(l.dir, "store")
	if err := errors.Join(os.RemoveAll(store), os.Rename(filepath.Join(other.dir, "store"), store)); err != nil {
		t.Fatal(err)
	}
	report := l.salvage(t, func(o *Options) { o.With = []string{own} })
	if report.Head != whole.head || report.AsideOwn != 2 || report.Behind != 1 || report.Whole() ||
		!strings.Contains(report.Lost(), "events of the store that are on another chain") {
		t.Errorf("the log ends at %s, expected %s; %d events kept", report.Head, whole.head, report.AsideOwn)
	}
	keeps(t, report, theirs, 3, 4)
	report = l.salvage(t, nil)
	if report.Head != other.head || report.Whole() {
		t.Errorf("without another source, the log ends at %s, expected %s", report.Head, other.head)
	}
}

// Events that a start cut off are not taken if the home's own chain went on without them.
func TestSalvageTakesNoEndThatTheLogWentOnWithout(t *testing.T) {
	l, whole, other := apart(t)
	if err := os.CopyFS(filepath.Join(l.dir, "store.damaged-20260102T030405Z-tail"),
		os.DirFS(filepath.Join(other.dir, "store"))); err != nil {
		t.Fatal(err)
	}
	own := whole.backup(t, "")
	report := l.salvage(t, func(o *Options) { o.Backups = []string{own} })
	if report.Head != whole.head || report.Tail != 3 || report.Filled[own] != 2 {
		t.Errorf("the log ends at %s, expected %s; %d events of the end kept", report.Head, whole.head, report.Tail)
	}
}

// From a file that is not proven to be the home's, no event is taken that breaks a rule, or whose line has another hash
// than its event. It is kept in a file and named, and taken only if the user accepts faults. What the home's own log
// has stays, wherever it comes from.
func TestSalvageTakesNoForgedEvent(t *testing.T) {
	l := small(t, "A", "B")
	l.killed(t)
	forged := l.copied(t)
	head := forged.forge(t)
	exported, signed := forged.exports(t, "forged"), forged.backup(t, "forged")
	unsigned := filepath.Join(t.TempDir(), "unsigned.tar.gz")
	withoutSeal(t, signed, unsigned)
	grown := l.copied(t)
	_, grownTo := grown.grow(t, "C")
	good := grown.exports(t, "good")
	mislabelled := filepath.Join(t.TempDir(), "mislabelled.ndjson")
	content, err := os.ReadFile(good)
	content = bytes.ReplaceAll(content, []byte(grownTo.Hash.String()), bytes.Repeat([]byte("a"), 64))
	if err := errors.Join(err, os.WriteFile(mislabelled, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, test := range map[string]struct {
		accepted events.Head
		says     string
		faults   bool
	}{
		exported:    {head, "event 3: decision: ", true},
		unsigned:    {head, "event 3: decision: ", true},
		mislabelled: {grownTo, "the line of event 3 has a hash that is not the event's", false},
	} {
		report := l.salvage(t, func(o *Options) { o.With = []string{path} })
		if report.Head != l.head || report.LeftOut != 1 || report.Whole() || len(report.Faults) > 0 ||
			!strings.Contains(report.Unused[path], test.says) || report.End > 2 {
			t.Errorf("%s: the log ends at %s, %d left out, %v", path, report.Head, report.LeftOut, report.Unused)
		}
		kept, err := os.ReadFile(filepath.Join(report.To, report.AsideFile))
		if line, bad := export.ReadLine(kept); err != nil || bad != nil || line.Sequence != 3 {
			t.Errorf("%s: kept is %q, %v, %v", path, kept, err, bad)
		}
		report = l.salvage(t, func(o *Options) { o.With, o.AcceptFaults = []string{path}, true })
		if report.Head != test.accepted || len(report.Faults) > 0 != test.faults || report.Aside > 0 {
			t.Errorf("%s: accepted, the log ends at %s: %s", path, report.Head, report.Lost())
		}
		report = l.salvage(t, func(o *Options) { o.With = []string{path, good} })
		if report.Head != grownTo || report.Filled[good] != 1 || len(report.Faults) > 0 {
			t.Errorf("%s, and a good one: the log ends at %s, expected %s", path, report.Head, grownTo)
		}
	}
	// The home's own log has the event: in its store, in a backup that its key signed, and in an export that leads to
	// what the store has after it.
	empty := forged.copied(t)
	if err := os.RemoveAll(filepath.Join(empty.dir, "store")); err != nil {
		t.Fatal(err)
	}
	after := forged.copied(t)
	_, afterwards := after.grow(t, "D")
	proof := after.exports(t, "proof")
	after.loses(t, 3)
	for what, test := range map[string]struct {
		home *lived
		with []string
		head events.Head
	}{
		"the store":              {forged, nil, head},
		"a signed backup":        {empty, []string{signed}, head},
		"an export, by the rest": {after, []string{proof}, afterwards},
	} {
		report := test.home.salvage(t, func(o *Options) { o.With = test.with })
		if report.Head != test.head || len(report.Faults) == 0 || report.LeftOut > 0 {
			t.Errorf("%s: the log ends at %s, expected %s: %s", what, report.Head, test.head, report.Lost())
		}
	}
}
