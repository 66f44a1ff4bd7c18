package compat

import (
	"time"

	"maestro/events"
)

// HealthRoute is the one route of older clients without a caller, HealthSummary says what it answers.
const (
	HealthRoute   = "GET /health"
	HealthSummary = "Whether the server answers, and since when"
)

// Health is the answer of /health: the server is running, and since when.
type Health struct {
	Status    string        `json:"status"`
	Timestamp events.Millis `json:"timestamp"`
	// Uptime is in seconds.
	Uptime  float64 `json:"uptime"`
	Version string  `json:"version,omitempty"`
}

// HealthAt returns the answer of a server of a version that was started at a time.
func HealthAt(now, started time.Time, version string) Health {
	return Health{
		Status:    "ok",
		Timestamp: events.Millis(now.UnixMilli()),
		Uptime:    now.Sub(started).Seconds(),
		Version:   version,
	}
}
