package api

import (
	"encoding/json"
	"net/http"
	"time"

	"maestro/engine"
	"maestro/service"
	"maestro/service/wire"
)

func (s *server) healthRoutes() {
	s.handle("GET /health", "Whether the server is there, as older clients know it", s.health)
	s.handle("GET /healthz", "Whether the process lives", s.healthz)
	s.handle("GET /readyz", "Whether the server takes writes, and what an operator should know", s.readyz)
}

// health answers as older clients know it.
func (s *server) health(w http.ResponseWriter, r *http.Request) {
	now := s.Now()
	s.show(w, r, struct {
		Status    string  `json:"status"`
		Timestamp int64   `json:"timestamp"`
		Uptime    float64 `json:"uptime"`
		Version   string  `json:"version,omitempty"`
	}{"ok", now.UnixMilli(), now.Sub(s.started).Seconds(), s.Version})
}

// healthz answers as long as the process lives.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, map[string]string{"status": "ok"})
}

// readyz says whether the server takes writes, and if not, why; and what else an operator should know.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	err := s.Health()
	if err == nil && s.Ready != nil {
		err = s.Ready()
	}
	if err != nil {
		s.fail(w, r, &service.Problem{
			Kind:       service.KindUnavailable,
			Code:       "UNAVAILABLE",
			Message:    "The server takes no writes now",
			Why:        err.Error(),
			Next:       "reads still work; " + engine.Advice(err),
			RetryAfter: time.Second,
		})
		return
	}
	s.show(w, r, struct {
		Status   string    `json:"status"`
		Warnings []Warning `json:"warnings,omitempty"`
	}{"ready", s.warnings()})
}

// show answers with a value from a route that is not huma's.
func (s *server) show(w http.ResponseWriter, r *http.Request, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header["Content-Type"] = s.jsonType
	header[wire.HeaderSequence] = []string{sequenceText(s.Head())}
	s.write(w, append(body, '\n'))
}
