package compat_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"maestro/api/compat"
	"maestro/api/route"
)

// routes are those of older clients that no client of ours uses: all that write, and the one read with a shape of
// its own.
var routes = []string{
	"DELETE /api/projects/{id}",
	"DELETE /api/sessions/{id}",
	"DELETE /api/sessions/{id}/tasks/{taskId}",
	"DELETE /api/tasks/{id}",
	"DELETE /api/templates/{id}",
	"GET /api/sessions/{id}/queue/items",
	"PATCH /api/sessions/{id}",
	"PATCH /api/tasks/{id}",
	"POST /api/projects",
	"POST /api/sessions",
	"POST /api/sessions/spawn",
	"POST /api/sessions/{id}/events",
	"POST /api/sessions/{id}/queue/complete",
	"POST /api/sessions/{id}/queue/fail",
	"POST /api/sessions/{id}/queue/push",
	"POST /api/sessions/{id}/queue/skip",
	"POST /api/sessions/{id}/queue/start",
	"POST /api/sessions/{id}/tasks/{taskId}",
	"POST /api/sessions/{id}/timeline",
	"POST /api/tasks",
	"POST /api/tasks/{id}/timeline",
	"POST /api/templates",
	"POST /api/templates/{id}/reset",
	"PUT /api/projects/{id}",
	"PUT /api/templates/{id}",
}

func TestRoutesOfOlderClients(t *testing.T) {
	api := humago.New(http.NewServeMux(), huma.DefaultConfig("test", "1"))
	compat.Register(compat.Server{Server: route.Server{API: api, Page: func(string) *huma.Param { return nil }}})
	var found []string
	for path, item := range api.OpenAPI().Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o != nil {
				found = append(found, o.Method+" "+path)
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, routes) {
		t.Errorf("the routes are %q", found)
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
			t.Errorf("%s stands for %q, not %q", path, got, want)
		}
	}
}
