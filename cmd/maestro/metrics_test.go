package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The writer of a server moves the histograms of /metrics with each append.
func TestAppendsAreMeasured(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start("--backup-every", "off")
	const events = 7
	before := s.figures()
	for range events {
		s.do("project:create", map[string]any{"name": "P"})
	}
	after := s.figures()
	grew := func(name string) float64 { return after[name] - before[name] }
	if n := grew("maestro_append_batch_events_sum"); n != events {
		t.Errorf("%v events were appended, want %d", n, events)
	}
	for _, name := range []string{
		"maestro_append_duration_seconds_count", "maestro_append_batch_events_count",
		"maestro_command_wait_seconds_count",
	} {
		if n := grew(name); n != events { // one at a time
			t.Errorf("%s grew by %v, want %d", name, n, events)
		}
	}
	if n := grew("maestro_append_duration_seconds_sum"); n <= 0 || n > 60 {
		t.Errorf("%d appends took %v s", events, n)
	}
	for _, name := range []string{
		`maestro_append_duration_seconds_bucket{le="+Inf"}`, `maestro_append_batch_events_bucket{le="1"}`,
	} {
		if n := grew(name); n != events {
			t.Errorf("%s grew by %v, want %d", name, n, events)
		}
	}
	s.stop()
}

// figures reads /metrics.
func (s *inside) figures() map[string]float64 {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.address+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	figures := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			figures[name] = n
		}
	}
	return figures
}
