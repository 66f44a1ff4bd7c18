package api_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/api"
)

// openRoutes are the routes that answer a session without any permission but the core ones, and why.
var openRoutes = map[string]string{
	"GET /api/blobs/{digest}":           "a digest that the caller may not read is not found",
	"GET /api/clock":                    "health",
	"GET /api/commands":                 "a core command",
	"GET /api/commands/{id}":            "tells how the server reads a command",
	"GET /api/manifests/schema":         "a document that ships with Maestro",
	"GET /api/projects/{id}/status":     "a core command",
	"GET /api/templates":                "workflows tell nothing of the work",
	"GET /api/templates/{id}":           "workflows tell nothing of the work",
	"GET /api/templates/default/{role}": "workflows tell nothing of the work",
	"GET /api/templates/role/{role}":    "workflows tell nothing of the work",
	"GET /api/whoami":                   "a core command",
	"POST /api/sessions":                "a core command",
}

// Every route below /api lets its caller in by its budgets, and asks the table.
func TestEveryRouteIsAdmittedAndPermitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, func(c *setup) {
			c.Backup = noBackup
			for _, limit := range []string{"session-reads=0.001/1000", "session-commands=0.001/1000"} {
				if err := c.Limits.Set(limit); err != nil {
					t.Fatal(err)
				}
			}
		})
		project := w.project()
		task := w.task(project)
		other, otherToken := w.session(adminToken, project, task, ``)
		question := w.ask(otherToken, "How?", ``)
		_, core := w.session(adminToken, project, task, `,"allowedCommands":["whoami"]`)
		_, spent := w.session(adminToken, project, task, ``)
		for range 1000 { // the budget of reads is 1,000, and so is that of commands
			w.send(http.MethodGet, "/api/whoami", spent, "")
			w.do(spent, "report:progress", `{}`)
		}
		writes, err := api.WriteRoutes()
		if err != nil {
			t.Fatal(err)
		}
		routes := writes
		for _, path := range w.readRoutes() {
			routes = append(routes, http.MethodGet+" "+path)
		}
		for _, route := range append(routes, "POST /api/commands/task:create") {
			method, path, _ := strings.Cut(route, " ")
			id := map[string]string{
				"tasks": task, "projects": project, "sessions": other, "inputs": question, "templates": "execute-simple",
				"commands": "whoami",
			}
			path = strings.NewReplacer("{id}", id[strings.Split(path, "/")[2]], "{id...}", task, "{role}", "worker",
				"{name}", "x", "{taskId}", task, "{digest}", "sha256-"+strings.Repeat("0", 64)).Replace(path)
			body := ""
			if method != http.MethodGet {
				body = `{"projectId":"` + project + `","taskIds":["` + task + `"],"taskId":"` + task +
					`","sessionId":"` + other + `","title":"T","name":"N","message":"m","type":"note"}`
			}
			if route == "POST /api/manifests/generate" { // it takes no field that it does not know
				body = `{}`
			}
			r := w.send(method, path, core, body)
			if (r.status != http.StatusForbidden) != (openRoutes[route] != "") {
				t.Errorf("%s without permission: %d %s", route, r.status, r.body)
			}
			if r := w.send(method, path, spent, body); r.status != http.StatusTooManyRequests {
				t.Errorf("%s with a spent budget: %d %s", route, r.status, r.body)
			}
		}
	})
}
