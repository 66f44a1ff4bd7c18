package witness

import (
	"context"
	"errors"

	"maestro/bus"
	"maestro/events"
)

// Snapshots stores a Handler's snapshots in a directory.
type Snapshots struct {
	Dir *bus.Snapshots
	// Firm syncs what the log acknowledged, and fails when the home is no longer where it was.
	Firm func() error
}

// List implements engine.Snapshots.
func (s Snapshots) List(context.Context) ([]uint64, error) { return s.Dir.List() }

// Load implements engine.Snapshots.
func (s Snapshots) Load(_ context.Context, sequence uint64) (events.Snapshot, error) {
	return s.Dir.Load(sequence)
}

// SaveSegment implements engine.Snapshots. A segment is no witness.
func (s Snapshots) SaveSegment(_ context.Context, segment []byte) (string, error) {
	return s.Dir.SaveSegment(segment)
}

// LoadSegment implements engine.Snapshots.
func (s Snapshots) LoadSegment(_ context.Context, digest string) ([]byte, error) {
	return s.Dir.LoadSegment(digest)
}

// Save syncs the events of the snapshot before the snapshot itself is on disk, because it is a witness.
func (s Snapshots) Save(_ context.Context, snapshot events.Snapshot) error {
	if err := s.Firm(); err != nil {
		return err
	}
	return errors.Join(s.Dir.Save(snapshot), s.Dir.Prune())
}
