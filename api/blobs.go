package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

func (s *server) blobRoutes() {
	s.mux.HandleFunc("GET /api/blobs/{digest}", s.blob)
}

// blob gives a long text. A digest is no key: a caller gets what something names that it may read.
func (s *server) blob(w http.ResponseWriter, r *http.Request) {
	digest := r.PathValue("digest")
	c := callOf(r.Context())
	var err error
	if !isDigest(digest) {
		err = invalid("/digest", "'%s' is not a digest; it is sha256- and 64 hexadecimal digits", printable(digest))
	} else {
		s.Handler.View(func(state *projections.State) { err = view{state, s, c}.mayReadBlob(digest) })
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	missing := notFound("Blob", digest)
	if s.Blobs == nil {
		s.fail(w, r, missing)
		return
	}
	body, err := s.Blobs.Blob(r.Context(), digest)
	if err != nil {
		s.Logger.Warn("a blob could not be read", "digest", digest, "why", err)
		s.fail(w, r, missing)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", "attachment")
	header["Maestro-Sequence"] = []string{sequenceText(s.head())}
	s.raw(w, r, body)
}

func isDigest(digest string) bool {
	hexadecimal, ok := strings.CutPrefix(digest, "sha256-")
	_, err := events.ParseHash(hexadecimal)
	return ok && err == nil && strings.ToLower(digest) == digest
}

// mayReadBlob lets who reads the whole log read every blob, and others what is named in projects that they may
// read: by a project, a task, a session's manifest, or an entry of a timeline.
func (v view) mayReadBlob(digest string) error {
	if v.call.by.Kind == commands.ActorUser && v.permit("audit:export", "") == nil {
		return nil
	}
	if err := v.permit("whoami", ""); err != nil {
		return err
	}
	for p := range v.Projects() {
		if v.permit("status", p.ID) == nil && v.namesBlob(p, digest) {
			return nil
		}
	}
	return notFound("Blob", digest)
}

func (v view) namesBlob(p *projections.Project, digest string) bool {
	names := func(blobs map[string]string) bool { return slices.Contains(slices.Collect(maps.Values(blobs)), digest) }
	inTimeline := func(timeline projections.Timeline) bool {
		return slices.ContainsFunc(timeline, func(e *projections.Entry) bool { return e.Blob == digest })
	}
	if v.permit("project:get", p.ID) == nil && names(p.Blobs) {
		return true
	}
	if v.permit("task:get", p.ID) == nil {
		for t := range v.Tasks(p.ID) {
			if names(t.Blobs) || inTimeline(v.TaskTimeline(t.ID)) {
				return true
			}
		}
	}
	for x := range v.Sessions(p.ID) {
		own := v.call.by.Kind == commands.ActorSession && x.ID == v.call.by.Name
		if (own || v.permit("session:info", p.ID) == nil) &&
			(x.ManifestDigest == digest || inTimeline(v.SessionTimeline(x.ID))) {
			return true
		}
	}
	return false
}
