package api

import (
	"net/http"
)

func (s *server) clockRoutes() {
	s.handle("GET /api/clock", "The time of events beside the machine's clock", s.clockStatus)
	s.handle("POST /api/clock/confirm", "Confirm the machine's clock", s.confirmClock)
}

func (s *server) clockStatus(w http.ResponseWriter, r *http.Request) {
	status, err := s.ClockStatus()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.show(w, r, status)
}

func (s *server) confirmClock(w http.ResponseWriter, r *http.Request) {
	confirmed, err := s.ConfirmClock(r.Context(), callOf(r.Context()).Caller)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.show(w, r, confirmed)
}

// Warning is what an operator should know of a server that works.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}

// warnings gives what /readyz says beside that the server is ready.
func (s *server) warnings() []Warning {
	var all []Warning
	if s.Clock != nil {
		if status := s.Clock.Status(); status.Warning != "" {
			all = append(all, Warning{"CLOCK", status.Warning, status.Next})
		}
	}
	if s.Warnings != nil {
		all = append(all, s.Warnings()...)
	}
	return all
}
