package engine

import (
	"context"

	"maestro/events"
	"maestro/projections"
)

// takeImage takes an image of the state after a commit, if a snapshot is due and the one before it is saved.
func (h *Handler) takeImage(before uint64) {
	every := h.config.SnapshotEvery
	due := h.config.Snapshots != nil && before/every != h.committed.Head().Sequence/every
	if due && len(h.imaged) < cap(h.imaged) { // only this goroutine sends to it
		h.imaged <- h.committed.Image()
	}
}

// saveSnapshots stores the images that the writer takes.
func (h *Handler) saveSnapshots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case image := <-h.imaged:
			if err := h.saveSnapshot(ctx, image); err != nil {
				h.logger.Warn("a snapshot could not be saved", "sequence", image.Head().Sequence, "why", err)
			}
		}
	}
}

func (h *Handler) saveSnapshot(ctx context.Context, image *projections.Image) error {
	state, err := image.Encode()
	if err != nil {
		return err
	}
	return h.config.Snapshots.Save(
		ctx, events.Snapshot{
			Head:    image.Head(),
			Genesis: image.Genesis(),
			Format:  projections.Format,
			State:   state,
		},
	)
}

// Snapshot stores the committed state now. A server calls it before it stops, so that the next start is quick.
func (h *Handler) Snapshot(ctx context.Context) error {
	if h.config.Snapshots == nil {
		return nil
	}
	image := h.Image()
	if image.Head().Sequence == 0 {
		return nil
	}
	return h.saveSnapshot(ctx, image)
}
