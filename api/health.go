package api

import (
	"net/http"
	"time"

	"maestro/api/compat"
	"maestro/engine"
	"maestro/service"
	"maestro/service/wire"
)

func (s *server) healthRoutes() {
	answers(s, "GET /healthz", "Whether the process is alive", s.healthz)
	answers(s, "GET /readyz", "Whether the server takes writes, and what an operator should know", s.readyz)
}

// health answers older clients.
func (s *server) health(*http.Request) (compat.Health, error) {
	return compat.HealthAt(s.Now(), s.started, s.Version), nil
}

// healthz answers as long as the process lives.
func (s *server) healthz(*http.Request) (wire.Alive, error) { return wire.Alive{Status: "ok"}, nil }

// readyz says whether the server accepts writes, and if not, why; and what else an operator should know.
func (s *server) readyz(*http.Request) (wire.Ready, error) {
	err := s.Health()
	if err == nil && s.Ready != nil {
		err = s.Ready()
	}
	if err != nil {
		return wire.Ready{}, &service.Problem{
			Kind:       service.KindUnavailable,
			Code:       wire.CodeUnavailable,
			Message:    "The server takes no writes now",
			Why:        err.Error(),
			Next:       "reads still work; " + engine.Advice(err),
			RetryAfter: time.Second,
		}
	}
	return wire.Ready{Status: "ready", Warnings: s.warnings()}, nil
}
