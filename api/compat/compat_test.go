package compat_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"maestro/api/compat"
	"maestro/api/route"
	"maestro/service"
)

// older reads the lines of older.txt that begin with a word.
func older(t *testing.T, word string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("older.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word+" "); ok {
			lines = append(lines, rest)
		}
	}
	slices.Sort(lines)
	return lines
}

func TestRoutesOfOlderClients(t *testing.T) {
	var table route.Table
	server := compat.Server{Server: route.Server{
		Mux:     http.NewServeMux(),
		Table:   &table,
		Queries: map[string]service.Query{},
	}}
	compat.Register(server)
	compat.RegisterReads(server)
	var found []string
	for _, r := range table.Routes {
		found = append(found, r.Method+" "+r.Path)
	}
	slices.Sort(found)
	if routes := older(t, "route"); !slices.Equal(found, routes) {
		t.Errorf("the routes are %q, and older.txt has %q", found, routes)
	}
}

func TestSessionOfAPath(t *testing.T) {
	for path, want := range map[string]string{
		"/api/sessions/sess_1/queue/start": "sess_1",
		"/api/sessions/sess_1/timeline":    "sess_1",
		"/api/sessions/sess_1/events":      "sess_1",
		"/api/sessions/sess_1":             "",
		"/api/sessions/sess_1/tasks/t":     "",
		"/api/tasks/task_1/timeline":       "",
	} {
		if got := compat.SessionOf(path); got != want {
			t.Errorf("%s names the session %q, not %q", path, got, want)
		}
	}
}
