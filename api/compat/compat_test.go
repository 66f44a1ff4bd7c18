package compat_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

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
	api := humago.New(http.NewServeMux(), huma.DefaultConfig("test", "1"))
	server := compat.Server{Server: route.Server{
		API:     api,
		Queries: map[string]service.Query{},
		Page:    func(service.Query) *huma.Param { return nil },
	}}
	compat.Register(server)
	compat.RegisterReads(server)
	var found []string
	for path, item := range api.OpenAPI().Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o != nil {
				found = append(found, o.Method+" "+path)
			}
		}
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
