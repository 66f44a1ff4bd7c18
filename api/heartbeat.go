package api

import "net/http"

// What a heartbeat's answer says of the session: how long it may be silent, and that it has ended.
const (
	headerLease = "Maestro-Lease"
	headerEnded = "Maestro-Ended"
)

func (s *server) heartbeatRoutes() {
	s.mux.HandleFunc("POST /api/sessions/{id}/heartbeat", s.heartbeat)
}

func (s *server) heartbeat(w http.ResponseWriter, r *http.Request) {
	caller := callOf(r.Context()).Caller
	if err := s.Heartbeat(r.Context(), caller, r.PathValue("id")); err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header["Maestro-Sequence"] = []string{sequenceText(s.Head())}
	if lease := s.Lease(); lease > 0 {
		header[headerLease] = []string{lease.String()}
	}
	if caller.Ended {
		header[headerEnded] = []string{"true"}
	}
	w.WriteHeader(http.StatusNoContent)
}
