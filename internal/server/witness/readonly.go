package witness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"maestro/bus"
	"maestro/events"
)

// OldSnapshots gives a Handler that writes nothing the existing snapshots.
type OldSnapshots struct{ Dir *bus.Snapshots }

// List implements engine.Snapshots.
func (s OldSnapshots) List(context.Context) ([]uint64, error) {
	sequences, err := s.Dir.List()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return sequences, err
}

// Load implements engine.Snapshots.
func (s OldSnapshots) Load(_ context.Context, sequence uint64) (events.Snapshot, error) {
	return s.Dir.Load(sequence)
}

// Save fails: nothing is written.
func (OldSnapshots) Save(context.Context, events.Snapshot) error {
	return fmt.Errorf("save a snapshot: %w", os.ErrPermission)
}

// SaveSegment fails: nothing is written.
func (OldSnapshots) SaveSegment(context.Context, []byte) (string, error) {
	return "", fmt.Errorf("save a snapshot: %w", os.ErrPermission)
}

// LoadSegment implements engine.Snapshots.
func (s OldSnapshots) LoadSegment(_ context.Context, digest string) ([]byte, error) {
	return s.Dir.LoadSegment(digest)
}

// OldHead is the existing head file; an unreadable one is not a witness, and stays where it is.
type OldHead struct{ Path string }

// Load implements engine.Witness.
func (h OldHead) Load(context.Context) (events.Head, error) { return bus.LoadHeadFile(h.Path) }

// Record does nothing: the head does not move.
func (OldHead) Record(events.Head) {}
