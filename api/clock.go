package api

import (
	"net/http"

	"maestro/service/wire"
)

func (s *server) clockRoutes() {
	answers(s, "GET /api/clock", "The time of events compared with the machine's clock", s.clockStatus)
	answers(s, "POST /api/clock/confirm", "Confirm the machine's clock", s.confirmClock)
}

func (s *server) clockStatus(*http.Request) (wire.ClockStatus, error) { return s.ClockStatus() }

func (s *server) confirmClock(r *http.Request) (wire.ConfirmedClock, error) {
	return s.ConfirmClock(r.Context(), callOf(r.Context()).Caller)
}

// warnings returns what /readyz says besides that the server is ready.
func (s *server) warnings() []wire.Warning {
	var all []wire.Warning
	if s.Clock != nil {
		if status := s.Clock.Status(); status.Warning != "" {
			all = append(all, wire.Warning{Code: wire.CodeClock, Message: status.Warning, Next: status.Next})
		}
	}
	all = append(all, s.ParkedWebhooks()...)
	if s.Warnings != nil {
		all = append(all, s.Warnings()...)
	}
	return all
}
