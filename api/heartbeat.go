package api

import (
	"net/http"

	"maestro/commands"
	"maestro/projections"
)

func (s *server) heartbeatRoutes() {
	s.mux.HandleFunc("POST /api/sessions/{id}/heartbeat", s.heartbeat)
}

// heartbeat notes that a session's supervisor says it is there; no event comes of it. From the first one on, silence
// counts against the short lease.
func (s *server) heartbeat(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	id := r.PathValue("id")
	if c.By.Kind != commands.ActorSession || c.By.Name != id {
		s.fail(w, r, c.OtherIdentity(id))
		return
	}
	var refused error
	s.Handler.View(func(state *projections.State) { refused = s.At(state, c.Caller).Permit("whoami", "") })
	if refused != nil {
		s.fail(w, r, refused)
		return
	}
	if s.Leases != nil {
		if err := s.Leases.Heartbeat(r.Context(), id); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	w.Header()["Maestro-Sequence"] = []string{sequenceText(s.Head())}
	w.WriteHeader(http.StatusNoContent)
}
