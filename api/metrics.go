package api

import (
	"net/http"
	"time"

	"maestro/service"
)

// metricsPath is the path of the figures for Prometheus, where its scrapers look by default.
const metricsPath = "/metrics"

// Meter is told what the server answers. It must be safe for concurrent use.
type Meter interface {
	// Served is told of an answer. The method and the route are those of a registered route, or "other".
	Served(method, route string, status int, took time.Duration)
}

// unmetered is a Meter that measures nothing.
type unmetered struct{}

func (unmetered) Served(string, string, int, time.Duration) {}

func (s *server) metricsRoutes() {
	s.handle("GET "+metricsPath, "What the server measures, for Prometheus: see [metrics.md](metrics.md)", s.metrics)
}

// metrics shows the figures to whoever may read the counts of refusals.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) {
	if err := s.MayReadMetrics(r.Context(), callOf(r.Context()).Caller); err != nil {
		s.fail(w, r, err)
		return
	}
	if s.Metrics == nil {
		s.fail(w, r, service.NoPart("figures", "it measures nothing"))
		return
	}
	s.Metrics.ServeHTTP(w, r)
}
