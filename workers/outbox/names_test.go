package outbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// counted is a Disk that fails the test if Deliver lists the directory again and again.
type counted struct {
	Disk
	t     *testing.T
	lists int
}

func (d *counted) Names() ([]string, error) {
	const most = 10
	if d.lists++; d.lists > most {
		d.t.Fatalf("the directory was listed %d times", d.lists)
	}
	return d.Disk.Names()
}

// FuzzNames puts a file of any name and content beside an entry of the session. The entry is delivered, Deliver ends,
// and nothing is left that counts as waiting.
func FuzzNames(f *testing.F) {
	digest, empty := strings.Repeat("a", 64), digestOf([]byte("{}"))
	for _, name := range []string{
		"000000000000-" + digest + ".json",
		"000000000001-" + digest + ".json",
		"000000000001-" + empty + ".json",
		"0000000000001-" + digest + ".json", // one zero too many
		"0000000000001-" + empty + ".json",
		"00000000000000000000000000000001-" + digest + ".json",
		"00000000001-" + digest + ".json",
		"1000000000000-" + digest + ".json",
		"18446744073709551615-" + digest + ".json",
		"18446744073709551616-" + digest + ".json",
		"+00000000001-" + digest + ".json",
		"-00000000001-" + digest + ".json",
		"0_0000000001-" + digest + ".json",
		"0x0000000001-" + digest + ".json",
		" 00000000001-" + digest + ".json",
		"０00000000001-" + digest + ".json", // a digit of another script
		"000000000001-" + strings.ToUpper(digest) + ".json",
		"000000000001-" + digest + ".JSON",
		"000000000001-" + digest + ".json.json",
		"000000000001-" + digest,
		"000000000001--" + digest + ".json",
		"000000000001-" + digest + "\n.json",
		"000000000001-" + digest[:62] + ".json",
		"-.json", ".json", "-", "new", "keep.lock", "deliver.lock", "damaged", "damaged.json", "\xff",
	} {
		f.Add(name, []byte("{}"))
		f.Add(name, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		if p, ok := parsePosition(name); ok && p.file() != name {
			t.Errorf("%q is read as the entry %q", name, p.file())
		}
		dir := t.TempDir()
		o := opened(t, home(t, dir), "s")
		keep(t, o, "kept")
		file := filepath.Join(dir, "outbox", "s", name)
		if filepath.Base(file) != name || os.WriteFile(file, content, 0o600) != nil {
			return // not a possible file name
		}
		entries, strays, err := o.list()
		if err != nil {
			t.Fatal(err)
		}
		listed := len(entries) + len(strays)
		o.disk = &counted{Disk: o.disk, t: t}
		sent, _, d := delivered(t, o)
		if !slices.Equal(sent, []string{"kept"}) || d.Delivered+len(d.Damaged) != listed {
			t.Errorf("of %d: delivered %q, %+v", listed, sent, d)
		}
		if waiting, err := o.Waiting(); err != nil || waiting != 0 {
			t.Errorf("left: %d, %v", waiting, err)
		}
		keep(t, o, "next")
	})
}

// A file with a name that no entry can have is set aside and reported, even if nothing waits; the outbox's own files
// stay.
func TestFilesWithOtherNamesAreSetAside(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	o := opened(t, root, "s")
	keep(t, o, "kept")
	keys(t, o)
	box := filepath.Join(dir, "outbox", "s")
	strays := []string{"000000000002-x.json", "note.txt", "new~", "1.json"}
	for _, name := range append(strays, writtenFile) {
		plantedFile(t, box, name, []byte("{}"))
	}
	if sessions, err := Sessions(t.Context(), root); err != nil || !slices.Equal(sessions, []string{"s"}) {
		t.Errorf("there is work for %v, %v", sessions, err)
	}
	if _, d := keys(t, o); len(d.Damaged) != len(strays) {
		t.Errorf("reported: %+v", d.Damaged)
	}
	if aside, err := SetAside(t.Context(), root); err != nil || aside["s"] != len(strays) {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	if _, err := os.Lstat(filepath.Join(box, writtenFile)); err != nil {
		t.Error(err)
	}
	if sessions, err := Sessions(t.Context(), root); err != nil || len(sessions) > 0 {
		t.Errorf("there is still work for %v, %v", sessions, err)
	}
}

// lost is a Disk that lists entries that it does not have.
type lost struct{ Disk }

func (lost) Read(string, int64) ([]byte, error) { return nil, fs.ErrNotExist }

// A listing that never shrinks ends a delivery with an error that names the file.
func TestListedButMissingEntries(t *testing.T) {
	o := opened(t, home(t, t.TempDir()), "s")
	keep(t, o, "1")
	o.disk = &counted{Disk: lost{o.disk}, t: t}
	_, err := o.Deliver(t.Context(), time.Minute, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "000000000001-") {
		t.Errorf("got %v", err)
	}
}

// A delivery ends with its context, whatever send and reject do, and the next one continues where it ended.
func TestDeliveryEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	o := opened(t, home(t, dir), "s")
	for _, key := range []string{"1", "2", "3"} {
		keep(t, o, key)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var sent []string
	send := func(_ context.Context, e Entry) error {
		sent = append(sent, e.Key)
		cancel()
		return nil
	}
	for range 2 { // the second context has ended before the delivery begins
		d, err := o.Deliver(ctx, time.Minute, send, rejectNone(t))
		if !errors.Is(err, context.Canceled) || !slices.Equal(sent, []string{"1"}) {
			t.Errorf("sent %q, %+v, %v", sent, d, err)
		}
	}
	if got, _ := keys(t, o); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("delivered then %q", got)
	}
}

// An entry that somebody removes by hand does not stop the others.
func TestRemovedEntryDoesNotStopOthers(t *testing.T) {
	dir := t.TempDir()
	o := opened(t, home(t, dir), "s")
	keep(t, o, "1")
	keep(t, o, "2")
	positions, err := o.waiting()
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	d, err := o.Deliver(t.Context(), time.Minute, func(_ context.Context, e Entry) error {
		sent = append(sent, e.Key)
		return ignoring(os.Remove(filepath.Join(dir, "outbox", "s", positions[1].file())), fs.ErrNotExist)
	}, rejectNone(t))
	if err != nil || d.Delivered != 1 || !slices.Equal(sent, []string{"1"}) {
		t.Errorf("sent %q, %+v, %v", sent, d, err)
	}
}

// A check of all outboxes ends with its context.
func TestLooksEndWithTheirContext(t *testing.T) {
	root := home(t, t.TempDir())
	keep(t, opened(t, root, "s"), "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if sessions, err := Sessions(ctx, root); !errors.Is(err, context.Canceled) || len(sessions) > 0 {
		t.Errorf("sessions: %v, %v", sessions, err)
	}
	if aside, err := SetAside(ctx, root); !errors.Is(err, context.Canceled) || len(aside) > 0 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	if removed, err := RemoveEmpty(ctx, root); !errors.Is(err, context.Canceled) || removed > 0 {
		t.Errorf("removed: %d, %v", removed, err)
	}
}
