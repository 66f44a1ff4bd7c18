package metrics

import (
	"log/slog"
	"testing"
	"time"
)

// BenchmarkCommand measures what a command in a batch of its own costs beside the clock.
func BenchmarkCommand(b *testing.B) {
	m := New("test", slog.New(slog.DiscardHandler))
	for b.Loop() {
		m.Waited(time.Millisecond)
		m.Appended(1, time.Millisecond)
	}
}

// BenchmarkRequest measures what a request costs.
func BenchmarkRequest(b *testing.B) {
	m := New("test", slog.New(slog.DiscardHandler))
	for b.Loop() {
		m.Served("POST", "/api/commands/report:progress", 200, time.Millisecond)
	}
}
