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

// Save syncs the events of the snapshot before the snapshot itself is on disk, because it is a witness.
func (s Snapshots) Save(_ context.Context, snapshot events.Snapshot) error {
	if err := s.Firm(); err != nil {
		return err
	}
	return errors.Join(s.Dir.Save(snapshot), s.Dir.Prune())
}
