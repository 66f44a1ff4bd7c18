package api

import "net/http"

func (s *server) heartbeatRoutes() {
	s.mux.HandleFunc("POST /api/sessions/{id}/heartbeat", s.heartbeat)
}

func (s *server) heartbeat(w http.ResponseWriter, r *http.Request) {
	if err := s.Heartbeat(r.Context(), callOf(r.Context()).Caller, r.PathValue("id")); err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header()["Maestro-Sequence"] = []string{sequenceText(s.Head())}
	w.WriteHeader(http.StatusNoContent)
}
