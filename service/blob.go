package service

import (
	"context"
	"maps"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// IsDigest reports whether a text is the digest of a blob, "sha256-<64 hex>".
func IsDigest(digest string) bool {
	hexadecimal, ok := strings.CutPrefix(digest, "sha256-")
	_, err := events.ParseHash(hexadecimal)
	return ok && err == nil && strings.ToLower(digest) == digest
}

// mayReadBlob lets who reads the whole log read every blob, and others what is named in projects that they may
// read: by a project, a task, a session's manifest, or an entry of a timeline.
func (v View) mayReadBlob(digest string) error {
	if v.Caller.By.Kind == commands.ActorUser && v.Permit("audit:export", "") == nil {
		return nil
	}
	if err := v.Permit("whoami", ""); err != nil {
		return err
	}
	for p := range v.Projects() {
		if v.Permit("status", p.ID) == nil && v.namesBlob(p, digest) {
			return nil
		}
	}
	return NotFound("Blob", digest)
}

func (v View) namesBlob(p *projections.Project, digest string) bool {
	names := func(blobs map[string]string) bool { return slices.Contains(slices.Collect(maps.Values(blobs)), digest) }
	inTimeline := func(timeline projections.Timeline) bool {
		return slices.ContainsFunc(timeline, func(e *projections.Entry) bool { return e.Blob == digest })
	}
	if v.Permit("project:get", p.ID) == nil && names(p.Blobs) {
		return true
	}
	if v.Permit("task:get", p.ID) == nil {
		for t := range v.Tasks(p.ID) {
			if names(t.Blobs) || inTimeline(v.TaskTimeline(t.ID)) {
				return true
			}
		}
	}
	for x := range v.Sessions(p.ID) {
		own := v.Caller.By.Kind == commands.ActorSession && x.ID == v.Caller.By.Name
		if (own || v.Permit("session:info", p.ID) == nil) &&
			(x.ManifestDigest == digest || inTimeline(v.SessionTimeline(x.ID))) {
			return true
		}
	}
	return false
}

// GetBlob gives a long text. A digest is no key: a caller gets what something names that it may read.
func (s *Service) GetBlob(ctx context.Context, c *Caller, digest string) (content []byte, err error) {
	if !IsDigest(digest) {
		return nil, Invalid(
			"/digest", "'%s' is not a digest; it is sha256- and 64 hexadecimal digits", safetext.Printable(digest),
		)
	}
	if err := s.Look(ctx, c, func(v View) error { return v.mayReadBlob(digest) }); err != nil {
		return nil, err
	}
	return s.readBlob(ctx, digest)
}

// readBlob gives the bytes behind a digest, or a Problem of KindNotFound. It checks no permission.
func (s *Service) readBlob(ctx context.Context, digest string) ([]byte, error) {
	if s.Blobs == nil {
		return nil, NotFound("Blob", digest)
	}
	content, err := s.Blobs.Blob(ctx, digest)
	if err != nil {
		s.Logger.Warn("a blob could not be read", "digest", digest, "why", err)
		return nil, NotFound("Blob", digest)
	}
	return content, nil
}
