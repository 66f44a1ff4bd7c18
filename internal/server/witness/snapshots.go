package witness

import (
	"context"
	"errors"

	"maestro/bus"
	"maestro/events"
)

// Snapshots lets a Handler keep its snapshots in a directory.
type Snapshots struct {
	Dir *bus.Snapshots
	// Firm makes what the log acknowledged firm, and fails when the home is no longer where it was.
	Firm func() error
}

// List implements engine.Snapshots.
func (s Snapshots) List(context.Context) ([]uint64, error) { return s.Dir.List() }

// Load implements engine.Snapshots.
func (s Snapshots) Load(_ context.Context, sequence uint64) (events.Snapshot, error) {
	return s.Dir.Load(sequence)
}

// Save makes firm what the snapshot shows before it is on disk itself: it is a witness.
func (s Snapshots) Save(_ context.Context, snapshot events.Snapshot) error {
	if err := s.Firm(); err != nil {
		return err
	}
	return errors.Join(s.Dir.Save(snapshot), s.Dir.Prune())
}
