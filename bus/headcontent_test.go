package bus

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"maestro/events"
)

// A flipped bit anywhere in a head file, a snapshot or the note of a clean stop is damage to that file. It never makes
// the file a witness of another head. Files of earlier versions, without a checksum, are read.
func TestFlippedBitMakesNoOtherWitness(t *testing.T) {
	head := events.Head{Sequence: 54410, Hash: events.BodyHash([]byte("the last event"))}
	dir := t.TempDir()
	path := filepath.Join(dir, "head")
	content, err := headContent(head)
	must(t, err, writeAtomically(path, content, []byte("\n")))
	if got, err := LoadHeadFile(path); err != nil || got != head {
		t.Fatalf("the head file holds %s, %v", got, err)
	}
	damaged := 0
	eachFlip(t, path, func(at int) {
		switch got, err := LoadHeadFile(path); {
		case err != nil:
			damaged++
		case got != head:
			t.Fatalf("with a flipped bit in byte %d, the head file holds %s", at, got)
		}
	})
	if damaged < 8*64 { // each bit of the hash
		t.Errorf("%d flipped bits were noticed", damaged)
	}
	earlier := `{"sequence":54410,"hash":"` + head.Hash.String() + `"}` + "\n"
	must(t, os.WriteFile(path, []byte(earlier), 0o600))
	if got, err := LoadHeadFile(path); err != nil || got != head {
		t.Errorf("the head file of an earlier version holds %s, %v", got, err)
	}

	snapshots, err := OpenSnapshots(filepath.Join(dir, "snapshots"))
	must(t, err)
	genesis := events.BodyHash([]byte("the first event"))
	must(t, snapshots.Save(events.Snapshot{
		Head:    head,
		Genesis: genesis,
		Format:  3,
		State:   []byte("state"),
	}))
	path = snapshots.path(head.Sequence)
	eachFlip(t, path, func(at int) {
		got, err := snapshots.Load(head.Sequence)
		same := got.Head == head && got.Genesis == genesis && got.Format == 3 && string(got.State) == "state"
		if err == nil && !same {
			t.Fatalf("with a flipped bit in byte %d, the snapshot is of %s", at, got.Head)
		}
	})
	saved, err := os.ReadFile(path)
	must(t, err)
	begin, end := bytes.Index(saved, []byte(checkField)), bytes.IndexByte(saved, '}')
	must(t, os.WriteFile(path, append(saved[:begin:begin], saved[end:]...), 0o600))
	if got, err := snapshots.Load(head.Sequence); err != nil || got.Head != head {
		t.Errorf("the snapshot of an earlier version is of %s, %v", got.Head, err)
	}

	note := &storeNote{Streams: map[string]streamNote{StreamName: {
		Index: "an index",
		Blocks: []blockNote{{
			Index: 1,
			Size:  500,
			Time:  time.Unix(1e9, 0).UTC(),
		}},
	}}}
	must(t, note.ending(head.Sequence).save(dir))
	path = filepath.Join(dir, cleanName)
	eachFlip(t, path, func(at int) {
		if got := loadNote(dir); got != nil && !reflect.DeepEqual(got.Streams, note.Streams) {
			t.Fatalf("with a flipped bit in byte %d, the note is %+v", at, got)
		}
	})
	saved, err = os.ReadFile(path)
	begin = bytes.Index(saved, []byte(`,"sum"`))
	must(t, err, os.WriteFile(path, append(saved[:begin:begin], '}'), 0o600))
	if got := loadNote(dir); got == nil || got.Streams[StreamName].Last != head.Sequence {
		t.Errorf("the note of an earlier version is %+v", got)
	}
}

// eachFlip calls check with every bit of a file flipped, one at a time.
func eachFlip(t *testing.T, path string, check func(at int)) {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	for at := range content {
		for bit := range 8 {
			content[at] ^= 1 << bit
			must(t, os.WriteFile(path, content, 0o600))
			check(at)
			content[at] ^= 1 << bit
		}
	}
	must(t, os.WriteFile(path, content, 0o600))
}
