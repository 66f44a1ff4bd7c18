package api

import (
	"net/http"

	"maestro/service/wire"
)

func (s *server) heartbeatRoutes() {
	s.handle("POST /api/sessions/{id}/heartbeat", "Report that a session is alive", s.heartbeat)
}

func (s *server) heartbeat(w http.ResponseWriter, r *http.Request) {
	caller := callOf(r.Context()).Caller
	if err := s.Heartbeat(r.Context(), caller, r.PathValue("id")); err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header[wire.HeaderSequence] = []string{sequenceText(s.Head())}
	if lease := s.Lease(); lease > 0 {
		header[wire.HeaderLease] = []string{lease.String()}
	}
	if caller.Ended {
		header[wire.HeaderEnded] = []string{"true"}
	}
	w.WriteHeader(http.StatusNoContent)
}
