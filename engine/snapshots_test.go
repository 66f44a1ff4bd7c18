package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"maestro/projections"
)

// longWorld returns a world whose log has this many events.
func longWorld(t *testing.T, n uint64, config Config) *world {
	t.Helper()
	w := newWorld(t)
	w.h.Close()
	config.Log = w.log
	w.h = open(t, config)
	for i := w.h.committed.Head().Sequence; i < n; i++ {
		if _, err := w.note(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Later snapshots store only the segments that earlier ones do not have, also after a restart, and each gives the state
// that the log gives.
func TestSnapshotsShareSegments(t *testing.T) {
	saved := &fakeSnapshots{}
	config := Config{Snapshots: saved, SnapshotEvery: 1 << 40}
	w := longWorld(t, projections.SegmentEvents+10, config)
	snapshot := func() (segments []string) {
		t.Helper()
		if err := w.h.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		return saved.saved[w.h.committed.Head().Sequence].Segments
	}
	first := snapshot()
	config.Log = w.log
	for i := range projections.SegmentEvents {
		if _, err := w.note(fmt.Sprint("more ", i)); err != nil {
			t.Fatal(err)
		}
	}
	w.h.Close()
	saved.stored = 0
	w.h = open(t, config) // loads the first snapshot
	second := snapshot()
	if len(first) != 1 || len(second) != 2 || second[0] != first[0] || saved.stored != 1 {
		t.Fatalf("the segments are %v and then %v; the second snapshot stored %d", first, second, saved.stored)
	}
	saves := saved.saves
	if again := snapshot(); len(again) != 2 || saved.stored != 1 || saved.saves != saves {
		t.Error("a state that is stored already is stored again")
	}
	want := ""
	w.h.View(func(s *projections.State) { want = encoded(t, s) })
	w.h.Close()
	for _, lost := range [][]string{nil, first, second} {
		kept := &fakeSnapshots{saved: saved.saved, segments: maps.Clone(saved.segments)}
		for _, digest := range lost {
			delete(kept.segments, digest)
		}
		h := open(t, Config{Log: w.log, Snapshots: kept})
		h.View(func(s *projections.State) {
			if encoded(t, s) != want || h.Health() != nil {
				t.Errorf("without %d segments the state differs: %v", len(lost), h.Health())
			}
		})
		if err := h.Snapshot(t.Context()); err != nil {
			t.Error(err)
		}
		if lost != nil && !slices.Equal(slices.Sorted(maps.Keys(kept.segments)), slices.Sorted(slices.Values(second))) {
			t.Errorf("lost segments are not stored again")
		}
		h.Close()
	}
}

// A snapshot that takes too long when the server stops is given up.
func TestASnapshotEndsWithItsContext(t *testing.T) {
	saved := &fakeSnapshots{}
	w := longWorld(t, 20, Config{Snapshots: saved})
	defer w.h.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.h.Snapshot(over); !errors.Is(err, context.Canceled) || len(saved.saved) != 0 {
		t.Errorf("%v, %d snapshots", err, len(saved.saved))
	}
	if err := w.h.Snapshot(t.Context()); err != nil || len(saved.saved) != 1 {
		t.Errorf("%v, %d snapshots", err, len(saved.saved))
	}
}
