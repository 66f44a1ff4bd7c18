package engine

import (
	"context"
	"sync"

	"maestro/events"
	"maestro/projections"
)

// saved is what the store of snapshots is known to have.
type saved struct {
	mu sync.Mutex
	// head is that of the newest snapshot that was saved or loaded.
	head events.Head
	// segments are the digests of the full segments that are stored.
	segments []string
}

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

// saveSnapshot stores an image, and those of its full segments that are not stored yet.
func (h *Handler) saveSnapshot(ctx context.Context, image *projections.Image) error {
	h.saved.mu.Lock()
	defer h.saved.mu.Unlock()
	if h.saved.head == image.Head() {
		return nil
	}
	state, err := image.EncodeLive(ctx)
	if err != nil {
		return err
	}
	full := image.Full()
	for n := len(h.saved.segments); n < full; n++ {
		digest, err := h.config.Snapshots.SaveSegment(ctx, image.Segment(n))
		if err != nil {
			return err
		}
		h.saved.segments = append(h.saved.segments, digest)
	}
	err = h.config.Snapshots.Save(ctx, events.Snapshot{
		Head:     image.Head(),
		Genesis:  image.Genesis(),
		Format:   projections.Format,
		State:    append(state, image.Rest()...),
		Segments: h.saved.segments[:full:full],
	})
	if err == nil {
		h.saved.head = image.Head()
	}
	return err
}

// Snapshot stores the committed state now, unless it is stored already. A server calls it before it stops, so that the
// next start is quick. It stops early with ctx's error.
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
