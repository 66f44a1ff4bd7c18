package bus

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"maestro/events"
)

func TestSegments(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenSnapshots(dir)
	must(t, err)
	segment := bytes.Repeat([]byte("segment"), 1000)
	digest, err := s.SaveSegment(segment)
	must(t, err)
	path := filepath.Join(dir, "segments", digest+".segment")
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("others can read it: %s", info.Mode())
	}
	other, err := s.SaveSegment([]byte("other"))
	must(t, err)
	snapshot := events.Snapshot{
		Head:     events.Head{Sequence: 7},
		Format:   15,
		State:    []byte("state"),
		Segments: []string{digest},
	}
	must(t, s.Save(snapshot))
	read, err := s.Load(7)
	if err != nil || string(read.State) != "state" || !slices.Equal(read.Segments, snapshot.Segments) {
		t.Fatalf("read %+v, %v", read, err)
	}
	loaded, err := s.LoadSegment(digest)
	if err != nil || !bytes.Equal(loaded, segment) {
		t.Fatalf("the segment is %d bytes, %v", len(loaded), err)
	}

	must(t, s.Prune())
	if _, err := s.LoadSegment(other); !errors.Is(err, events.ErrNoSnapshot) {
		t.Errorf("a segment that no snapshot has is still there: %v", err)
	}
	if _, err := s.LoadSegment(digest); err != nil {
		t.Errorf("a segment that is needed was removed: %v", err)
	}

	// A damaged segment is not used, and stored again.
	must(t, os.WriteFile(path, segment[1:], 0o600))
	if _, err := s.LoadSegment(digest); !errors.Is(err, events.ErrNoSnapshot) {
		t.Errorf("a damaged segment is used: %v", err)
	}
	if again, err := s.SaveSegment(segment); err != nil || again != digest {
		t.Fatalf("%s, %v", again, err)
	}
	if loaded, err := s.LoadSegment(digest); err != nil || !bytes.Equal(loaded, segment) {
		t.Errorf("%d bytes, %v", len(loaded), err)
	}

	// While a snapshot cannot be read, no segment is removed.
	if other, err = s.SaveSegment([]byte("other")); err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "9.snapshot"), []byte("{}\n"), 0o600))
	must(t, s.Prune())
	if _, err := s.LoadSegment(other); err != nil {
		t.Errorf("a segment was removed that an unreadable snapshot may need: %v", err)
	}
	if err := s.Save(events.Snapshot{Segments: []string{"../x"}}); err == nil {
		t.Error("a digest that is none was stored")
	}
}
