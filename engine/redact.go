package engine

import (
	"context"
	"errors"

	"maestro/events"
	"maestro/projections"
)

// Redaction returns the redaction of a long text in the committed state, or nil.
func (h *Handler) Redaction(digest string) (r *projections.Redaction) {
	h.View(func(s *projections.State) { r = s.Redaction(digest) })
	return r
}

// Redactions returns the redactions of the committed state, in the order of their events.
func (h *Handler) Redactions() (all []*projections.Redaction) {
	h.View(func(s *projections.State) { all = s.Redactions() })
	return all
}

// putBlob stores a long text, unless it was redacted: then the writer refuses the command, or recognises a retry. A
// text that is redacted while it is being stored is deleted again.
func (h *Handler) putBlob(ctx context.Context, text []byte) error {
	digest := events.DigestPrefix + events.BodyHash(text).String()
	if h.Redaction(digest) != nil {
		return nil
	}
	if _, err := h.config.Blobs.PutBlob(ctx, text); err != nil {
		return err
	}
	if h.Redaction(digest) != nil { // its deletion may have run before the text was stored
		return h.config.Blobs.DeleteBlob(context.WithoutCancel(ctx), digest)
	}
	return nil
}

// DeleteRedacted deletes a text that the committed state says is redacted. It may be called again.
func (h *Handler) DeleteRedacted(ctx context.Context, digest string) error {
	switch {
	case h.config.Blobs == nil:
		return nil
	case h.Redaction(digest) == nil:
		return errors.New("the text was not redacted")
	}
	return h.config.Blobs.DeleteBlob(ctx, digest)
}
