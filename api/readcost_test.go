package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// whole are the routes whose answer or work grows with the data, and why that is bounded.
var whole = map[string]string{
	"/api/audit/can":                "answers of one actor",
	"/api/audit/export":             "streams the log; *-streams",
	"/api/audit/head":               "no list",
	"/api/audit/limits":             "the limits",
	"/api/audit/texts":              "streams; *-streams",
	"/api/audit/unauthenticated":    "no list",
	"/api/audit/verify":             "reads the log; *-streams",
	"/api/backup":                   "streams the log; *-streams",
	"/api/clock":                    "no list",
	"/api/commands":                 "the commands",
	"/api/commands/{id}":            "no list",
	"/api/events":                   "reads the log; 500 events, 20,000 examined",
	"/api/events/histogram":         "1,000 slices at most; counts what the state says of each event",
	"/api/inbox":                    "what needs a person; each kind is bounded",
	"/api/inbox/count":              "no list",
	"/api/live":                     "all views, in parts; then what happens",
	"/api/logins":                   "at most 256",
	"/api/manifests/schema":         "a document",
	"/api/sessions/{id}":            "older clients get its timeline with it",
	"/api/sessions/{id}/credential": "one secret",
	"/api/sessions/{id}/manifest":   "a document",
	"/api/sessions/{id}/workflow":   "a document",
	"/api/since":                    "reads the log; *-streams",
	"/api/skills":                   "200 skills at most, and no instructions",
	"/api/skills/role/{role}":       "200 skills at most, and no instructions",
	"/api/skills/{id}":              "a document",
	"/api/templates/default/{role}": "a document",
	"/api/templates/{id}":           "a document",
	"/api/tasks/{id}/tree":          "a tree, 20,000 tasks at most",
	"/api/webhooks":                 "20 webhooks at most",
	"/api/webhooks/{id}":            "a document",
	"/api/webhooks/{id}/secret":     "one secret",
	"/api/whoami":                   "no list",
	"/api/why/{id...}":              "a chain of causes",

	"/api/sessions/{id}/runner-credential": "one secret",

	"/api/runners":             "those that asked lately",
	"/api/runners/{name}/work": "its sessions, 1,000 at most",
}

// costs are the queries of every other route, whose cost does not grow with the data. POST /mcp is in neither table: it
// reads by requests to these routes, and TestToolAnswersAreBounded bounds what it keeps of their answers.
var costs = map[string][]string{
	"/api/audit/denials":        {"limit=1"},
	"/api/blobs/{digest}":       {""},
	"/api/inputs":               {"limit=1"},
	"/api/inputs/{id}":          {""},
	"/api/projects":             {"limit=1"},
	"/api/projects/{id}":        {""},
	"/api/projects/{id}/status": {""},
	"/api/projects/{id}/tree":   {"limit=1"},
	"/api/queues":               {"limit=1", "limit=1&projectId={project}"},
	"/api/queues/{name}": {
		"limit=1&projectId={project}", "limit=1&projectId={project}&status=queued",
		"limit=1&projectId={project}&status=failed",
	},
	"/api/queues/{name}/top": {"projectId={project}"},
	"/api/sessions": {
		"limit=1&brief=true", "limit=1&brief=true&status=failed", "limit=1&brief=true&active=true",
		"limit=1&brief=true&taskId=none", "limit=1&brief=true&projectId={project}",
		"limit=1&brief=true&living=true", "limit=1&brief=true&spawnedBy=none",
	},
	"/api/sessions/{id}/mail":        {""},
	"/api/sessions/{id}/queue":       {"limit=1", "limit=1&status=skipped"},
	"/api/sessions/{id}/queue/items": {"limit=1"},
	"/api/sessions/{id}/queue/top":   {""},
	"/api/sessions/{id}/timeline":    {"limit=1"},
	"/api/tasks": {
		"limit=1", "limit=1&projectId={project}", "limit=1&status=completed", "limit=1&parentId=none",
		"limit=1&parentId=null", "limit=1&sessionId=none", "limit=1&sessionStatus=failed", "limit=1&priority=none",
		"limit=1&unconfirmed=true",
		"limit=1&ready=true", "limit=1&order=dependencies", "limit=1&order=dependencies&sessionStatus=failed",
	},
	"/api/tasks/{id}":            {""},
	"/api/tasks/{id}/children":   {"limit=1"},
	"/api/tasks/{id}/timeline":   {"limit=1"},
	"/api/templates":             {"limit=1"},
	"/api/templates/role/{role}": {"limit=1"},
	"/api/tokens":                {"limit=1"},
}

// The cost of such a read does not depend on data that is not in its answer. A new route must be in one of the tables.
func TestReadsMakeOnlyWhatTheyShow(t *testing.T) {
	const few, more = 20, 220
	w := openInside(t, nil)
	project, flat := w.project(), w.project()
	parent := w.task(project)
	session, token := w.session(adminToken, project, parent, ``)
	question := w.ask(token, "How?", ``)
	w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
	puller, _ := w.session(adminToken, project, w.task(project), `,"strategy":"queue","queue":"q"`)
	made := 0
	grow := func(n int) {
		for i := range n {
			made++
			item := w.task(project)
			w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+item+`"}`).is(200)
			w.do(adminToken, "queue:create", fmt.Sprintf(`{"project":%q,"queue":"q%d"}`, project, made)).is(200)
			w.do(adminToken, "template:create", `{"name":"T","role":"worker","content":"c"}`).is(200)
			w.token(fmt.Sprint("reader", made), "read-only", flat)
			w.do(adminToken, "task:create", `{"project":"`+project+`","title":"T","parentId":"`+parent+`"}`).is(200)
			w.do(token, "report:progress", fmt.Sprintf(`{"message":"m%d"}`, i)).is(200)
			w.do(token, "session:note", `{"message":"m","taskId":"`+parent+`"}`).is(200)
			w.task(flat)
			w.project()
			w.session(adminToken, project, parent, ``)
		}
	}
	names := strings.NewReplacer("{digest}", "sha256-"+strings.Repeat("0", 64), "{project}", project,
		"{name}", "q", "{role}", "worker")
	var paths []string
	for _, route := range w.readRoutes() {
		queries, measured := costs[route]
		if measured == (whole[route] != "") {
			t.Errorf("%s must be in exactly one of the tables", route)
		}
		for _, query := range queries {
			id := map[string]string{
				"tasks": parent, "sessions": session, "projects": flat, "inputs": question,
			}[strings.Split(route, "/")[2]]
			if strings.Contains(route, "/queue") {
				id = puller
			}
			path := strings.ReplaceAll(route, "{id}", id)
			paths = append(paths, names.Replace(path+"?"+query))
		}
	}
	allocations := func(path string) float64 {
		return testing.AllocsPerRun(3, func() {
			if r := w.send(http.MethodGet, path, adminToken, ""); r.status != 200 && r.status != 404 {
				t.Fatalf("%s: %d %s", path, r.status, r.body)
			}
		})
	}
	measure := func() map[string]float64 {
		made := map[string]float64{}
		for _, path := range paths {
			made[path] = allocations(path)
		}
		return made
	}
	grow(few)
	before := measure()
	grow(more)
	for path, made := range measure() {
		grown := made - before[path]
		for range 3 { // a garbage collection in between empties the pools
			if grown > more/4 {
				grown = allocations(path) - before[path]
			}
		}
		if grown > more/4 {
			t.Errorf("%s allocates %.0f more for %d more of everything", path, grown, more)
		}
	}
}
