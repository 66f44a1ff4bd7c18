package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/api"
	"maestro/service/wire"
)

// compatWrites are the commands of older clients' write routes with the bodies below; one of them, if the command
// depends on the body.
var compatWrites = map[string]string{
	"POST /api/projects":                       "project:create",
	"DELETE /api/projects/{id}":                "project:delete",
	"PUT /api/projects/{id}":                   "project:update",
	"POST /api/sessions":                       "session:register",
	"POST /api/sessions/spawn":                 "session:spawn",
	"DELETE /api/sessions/{id}":                "session:delete",
	"PATCH /api/sessions/{id}":                 "session:update",
	"POST /api/sessions/{id}/events":           "session:note",
	"POST /api/sessions/{id}/queue/complete":   "queue:complete",
	"POST /api/sessions/{id}/queue/fail":       "queue:fail",
	"POST /api/sessions/{id}/queue/push":       "queue:push",
	"POST /api/sessions/{id}/queue/skip":       "queue:skip",
	"POST /api/sessions/{id}/queue/start":      "queue:start",
	"DELETE /api/sessions/{id}/tasks/{taskId}": "session:unlink",
	"POST /api/sessions/{id}/tasks/{taskId}":   "session:link",
	"POST /api/sessions/{id}/timeline":         "session:note",
	"POST /api/tasks":                          "task:create",
	"DELETE /api/tasks/{id}":                   "task:delete",
	"PATCH /api/tasks/{id}":                    "task:update",
	"POST /api/tasks/{id}/timeline":            "session:note",
	"POST /api/templates":                      "template:create",
	"DELETE /api/templates/{id}":               "template:delete",
	"PUT /api/templates/{id}":                  "template:update",
	"POST /api/templates/{id}/reset":           "template:reset",
}

// rowsOfRoutes returns the rows of the table that let a caller use each route below /api.
func rowsOfRoutes(t *testing.T) map[string][]string {
	t.Helper()
	rows := map[string][]string{"POST /api/manifests": {"manifest:generate"}}
	for route, row := range compatWrites {
		rows[route] = []string{row}
	}
	native, compat := api.Routes()
	for _, r := range slices.Concat(native, compat) {
		route := r.Method + " " + r.Path
		switch {
		case compatWrites[route] != "" && !slices.Equal(r.Rows, rows[route]):
			t.Errorf("%s declares the rows %q, but executes %s", route, r.Rows, compatWrites[route])
		case r.Public, r.Path == wire.MCPPath, route == "POST /api/commands/{id}": // which names the row
		case rows[route] == nil && len(r.Rows) == 0 && route != "GET /api/clock": // health
			t.Errorf("%s needs no row of the permission table", route)
		case len(r.Rows) > 0:
			rows[route] = r.Rows
		}
	}
	return rows
}

// Every route below /api checks its caller's budgets, and the row of the table that it names: a session without that
// row is refused, and one with only that row is not.
func TestEveryRouteIsAdmittedAndPermitted(t *testing.T) {
	rows := rowsOfRoutes(t)
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
		self, core := w.session(adminToken, project, task, `,"allowedCommands":["report:needs-input"]`)
		own := w.ask(core, "Which?", ``)
		hook := w.hook()
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
		rows["POST /api/commands/task:create"] = []string{"task:create"}
		for _, route := range append(routes, "POST /api/commands/task:create") {
			method, path, _ := strings.Cut(route, " ")
			id := map[string]string{
				"tasks":     task,
				"projects":  project,
				"sessions":  other,
				"inputs":    question,
				"templates": "execute-simple",
				"logins":    "login_x",
				"webhooks":  hook,
				"commands":  "whoami",
				"skills":    "none",
			}
			// of returns the path with the ids of a session and a question.
			of := func(session, question string) string {
				id["sessions"], id["inputs"] = session, question
				return strings.NewReplacer("{id}", id[strings.Split(path, "/")[2]], "{id...}", task, "{role}", "worker",
					"{name}", "x", "{taskId}", task, "{digest}", "sha256-"+strings.Repeat("0", 64)).Replace(path)
			}
			body := ""
			if method != http.MethodGet {
				body = `{"projectId":"` + project + `","taskIds":["` + task + `"],"taskId":"` + task +
					`","sessionId":"` + other + `","title":"T","name":"N","message":"m","type":"note"}`
			}
			if route == "POST /api/manifests/generate" { // it refuses unknown fields
				body = `{}`
			}
			open, ofItself := len(rows[route]) == 0, false
			for _, row := range rows[route] {
				cells := tableRow(row)
				open = open || cells.Core && len(rows[route]) == 1
				ofItself = ofItself || cells.Core
				if cells.Planned {
					t.Errorf("%s needs %s, which does not exist yet", route, row)
				}
				if cells.Core || len(rows[route]) > 1 || !strings.ContainsAny(cells.Who, "WQTO") {
					continue
				}
				fields := `,"allowedCommands":["` + row + `"]`
				switch {
				case strings.Contains(cells.Who, "W"):
				case strings.Contains(cells.Who, "Q"):
					fields += `,"strategy":"queue"`
				case strings.Contains(cells.Who, "O"):
					fields += `,"role":"orchestrator"`
				}
				me, only := w.session(adminToken, project, task, fields)
				// It may still be refused for other reasons than the table, such as ownership.
				r := w.send(method, of(me, question), only, strings.ReplaceAll(body, other, me))
				if r.status == http.StatusForbidden && strings.Contains(string(r.body), "is not allowed for") {
					t.Errorf("%s with %s alone: %s", route, row, r.body)
				}
			}
			if strings.HasSuffix(path, "/heartbeat") {
				open = false // for others
			}
			if r := w.send(method, of(other, question), core, body); (r.status != http.StatusForbidden) != open {
				t.Errorf("%s without permission: %d %s", route, r.status, r.body)
			}
			if ofItself {
				asked := of(self, own)
				if path == "/api/inputs" {
					asked += "?sessionId=" + self
				}
				r := w.send(method, asked, core, strings.ReplaceAll(body, other, self))
				if r.status == http.StatusForbidden {
					t.Errorf("%s about itself: %d %s", route, r.status, r.body)
				}
			}
			if r := w.send(method, of(other, question), spent, body); r.status != http.StatusTooManyRequests {
				t.Errorf("%s with a spent budget: %d %s", route, r.status, r.body)
			}
		}
	})
}
