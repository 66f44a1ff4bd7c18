package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"maestro/events"
)

// A snapshot with any flipped bit counts as missing, whatever the bit says: nothing in it is taken for what was seen of
// the log.
func TestEveryBitOfASnapshotIsChecked(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenSnapshots(dir)
	must(t, err)
	saved := events.Snapshot{
		Head:    events.Head{Sequence: 34, Hash: events.Hash{0: 7}},
		Genesis: events.Hash{0: 9},
		Format:  15,
		State:   bytes.Repeat([]byte("state "), 20),
	}
	must(t, s.Save(saved))
	path := filepath.Join(dir, "34.snapshot")
	content, err := os.ReadFile(path)
	must(t, err)
	for i := range content {
		for bit := range 8 {
			flipped := bytes.Clone(content)
			flipped[i] ^= 1 << bit
			must(t, os.WriteFile(path, flipped, 0o600))
			if read, err := s.Read(34); !errors.Is(err, events.ErrNoSnapshot) {
				t.Fatalf("with bit %d of byte %d flipped, %q, it holds %s: %v", bit, i, flipped[i], read.Head, err)
			}
		}
	}
	must(t, os.WriteFile(path, content, 0o600))
	if read, err := s.Load(34); err != nil || read.Head != saved.Head || read.Genesis != saved.Genesis {
		t.Errorf("whole, it holds %s, %v", read.Head, err)
	}
}

// A snapshot of an earlier version, whose header has no checksum, can still be read.
func TestSnapshotOfAnEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenSnapshots(dir)
	must(t, err)
	must(t, s.Save(events.Snapshot{Head: events.Head{Sequence: 34}, Format: 15, State: []byte("state")}))
	path := filepath.Join(dir, "34.snapshot")
	content, err := os.ReadFile(path)
	must(t, err)
	line, state, _ := bytes.Cut(content, []byte("\n"))
	var header snapshotHeader
	must(t, json.Unmarshal(line, &header))
	if header.Check == "" {
		t.Fatal("the header has no checksum")
	}
	header.Check = ""
	line, err = json.Marshal(header)
	must(t, err, os.WriteFile(path, bytes.Join([][]byte{line, state}, []byte("\n")), 0o600))
	if read, err := s.Load(34); err != nil || string(read.State) != "state" {
		t.Errorf("it holds %q, %v", read.State, err)
	}
}
