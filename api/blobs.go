package api

import (
	"net/http"

	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service"
)

func (s *server) blobRoutes() {
	s.mux.HandleFunc("GET /api/blobs/{digest}", s.blob)
}

// blob gives a long text. A digest is no key: a caller gets what something names that it may read.
func (s *server) blob(w http.ResponseWriter, r *http.Request) {
	digest := r.PathValue("digest")
	c := callOf(r.Context())
	var err error
	if !service.IsDigest(digest) {
		err = service.Invalid(
			"/digest",
			"'%s' is not a digest; it is sha256- and 64 hexadecimal digits",
			safetext.Printable(digest),
		)
	} else {
		s.Handler.View(func(state *projections.State) { err = s.At(state, c.Caller).MayReadBlob(digest) })
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	missing := service.NotFound("Blob", digest)
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
	header["Maestro-Sequence"] = []string{sequenceText(s.Head())}
	s.raw(w, r, body)
}
