package api

import (
	"net/http"

	"maestro/service/wire"
)

func (s *server) blobRoutes() {
	s.handle("GET /api/blobs/{digest}", "A long text", s.blob)
}

func (s *server) blob(w http.ResponseWriter, r *http.Request) {
	body, err := s.GetBlob(r.Context(), callOf(r.Context()).Caller, r.PathValue("digest"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", "attachment")
	header[wire.HeaderSequence] = []string{sequenceText(s.Head())}
	s.raw(w, r, body)
}
