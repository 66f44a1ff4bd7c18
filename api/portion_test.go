package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"maestro/engine"
	"maestro/internal/testing/race"
)

const (
	// portionMost is how many steps one look at the state may take, plus those of its last object: decision 0046.
	portionMost = 5000
	// objectMost is the most that one object of this test takes, which is how precisely a look can be stopped.
	objectMost = 2000
)

// crowded is a server with more of everything than one look at the state can walk through, and the ids of its contents.
type crowded struct {
	*world
	project, hub, task, lead, leadToken, question, session string
}

// openCrowded creates cheap objects, which take one step, and dear ones, which take at least three.
func openCrowded(t *testing.T, cheap, dear int) *crowded {
	t.Helper()
	const family = 900 // that depend on one task
	var config *setup
	w := openInside(t, func(c *setup) {
		for _, limit := range []string{
			"session-reads=0", "session-commands=0", "project-reads=0", "project-commands=0", "project-questions=0",
			"session-spawns=0", "project-spawns=0", "project-sessions=0",
		} {
			if err := c.Limits.Set(limit); err != nil {
				t.Fatal(limit, err)
			}
		}
		config = c
	})
	x := &crowded{world: w, project: w.project()}
	x.hub = w.task(x.project)
	x.lead, x.leadToken = w.session(adminToken, x.project, x.hub, `,"role":"orchestrator"`)
	w.do(adminToken, "queue:create", `{"project":"`+x.project+`","queue":"q"}`).is(200)
	for i := range cheap {
		w.project()
		w.do(adminToken, "token:create", fmt.Sprintf(`{"name":"t%d","kind":"auditor"}`, i)).is(200)
		w.do(adminToken, "template:create", fmt.Sprintf(`{"name":"T%d","role":"worker","content":"c"}`, i)).is(200)
	}
	on := w.task(x.project)
	for i := range dear {
		if i%family == family-1 {
			on = x.task
		}
		x.task = w.do(adminToken, "task:create", fmt.Sprintf(
			`{"project":%q,"title":"T","parentId":%q,"dependencies":[%q]}`, x.project, x.hub, on,
		)).is(200).text("event", "data", "taskId")
		push := fmt.Sprintf(`{"project":%q,"queue":"q","taskId":%q}`, x.project, x.task)
		w.do(adminToken, "queue:push", push).is(200)
		w.do(adminToken, "queue:create", fmt.Sprintf(`{"project":%q,"queue":"q%d"}`, x.project, i)).is(200)
		id, token := w.session(x.leadToken, x.project, x.task, `,"strategy":"queue","queue":"q"`)
		x.session, x.question = id, w.ask(token, "How?", ``)
		w.do(token, "report:blocked", `{"message":"m"}`).is(200)
	}
	handler, err := engine.Open(t.Context(), engine.Config{
		Log:      w.log,
		Blobs:    w.blobs,
		Denials:  w.denials,
		Now:      time.Now,
		After:    time.After,
		ReadMost: portionMost + objectMost,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handler.Close)
	config.Handler = handler
	if w.api, err = config.open(); err != nil {
		t.Fatal(err)
	}
	w.client = &http.Client{Transport: direct{w.api, "127.0.0.1:1"}}
	return x
}

// No read holds the state for more than a portion, however large everything is and whoever asks, because all others
// wait meanwhile. A longer look ends in this test with READ_TOO_LARGE, and the inbox names the project that it left
// out.
func TestReadsHoldStateBriefly(t *testing.T) {
	race.Without(t)
	const most = portionMost + 2*objectMost
	w := openCrowded(t, most, most/3)
	held := func(what string, r reply) {
		t.Helper()
		if strings.Contains(string(r.body), "READ_TOO_LARGE") || strings.Contains(string(r.body), `"unread"`) {
			t.Errorf("%s holds the state for more than %d steps: %d %.200s", what, portionMost+objectMost, r.status,
				r.body)
		}
	}
	for _, route := range w.readRoutes() {
		path := w.pathOf(route)
		answered := 0
		for who, token := range map[string]string{"the user": adminToken, "an orchestrator": w.leadToken} {
			r := w.send(http.MethodGet, path, token, "")
			held("GET "+route+" of "+who, r)
			if r.status == http.StatusOK {
				answered++
			}
		}
		if answered == 0 && unanswered[route] == "" {
			t.Errorf("GET %s refuses every caller", route)
		}
	}
	for _, query := range []string{
		"/api/inbox?sessionId=" + w.session, "/api/inbox?projectId=" + w.project, "/api/tasks?order=dependencies",
		"/api/queues?projectId=" + w.project, "/api/inputs?projectId=" + w.project + "&status=open",
		"/api/sessions?projectId=" + w.project, "/api/queues/q?projectId=" + w.project + "&status=queued",
	} {
		r := w.send(http.MethodGet, query, adminToken, "")
		held("GET "+query, r)
		r.is(http.StatusOK)
	}
	for list, things := range map[string]int{
		"/api/projects?limit=10000": most + 1, "/api/tokens?limit=10000": most, "/api/queues?limit=10000": most/3 + 1,
		"/api/inputs?limit=10000&status=open": most / 3, "/api/sessions?limit=10000": most/3 + 1,
	} {
		if shown := len(w.send(http.MethodGet, list, adminToken, "").is(http.StatusOK).array()); shown != things {
			t.Errorf("GET %s shows %d of %d", list, shown, things)
		}
	}
	status := w.send(http.MethodGet, w.pathOf("/api/projects/{id}/status"), adminToken, "").is(http.StatusOK)
	if got := status.at("tasks", "todo"); got != float64(most/3+1) {
		t.Errorf("%v of %d tasks are to do: %.300s", got, most/3+1, status.body)
	}
	if r := w.do(adminToken, "token:revoke", `{"name":"t1"}`).is(200); r.object()["revoked"] == nil {
		t.Errorf("the answer of token:revoke does not say what the token left: %s", r.body)
	}
}

// Reads in portions continue while others write: they answer, and show each object that existed before exactly once.
func TestReadsGoOnWhileOthersWrite(t *testing.T) {
	const things = 120
	w := openCrowded(t, things, things)
	before := map[string][]any{}
	lists := []string{
		"/api/projects", "/api/tokens", "/api/templates", "/api/queues", "/api/inputs", "/api/tasks", "/api/sessions",
	}
	for _, list := range lists {
		before[list] = w.send(http.MethodGet, list, adminToken, "").is(http.StatusOK).array()
	}
	done, written := make(chan struct{}), 0
	var writer sync.WaitGroup
	writer.Go(func() {
		for ; ; written++ {
			select {
			case <-done:
				return
			default:
			}
			w.world.project()
			task := w.world.task(w.project)
			_, token := w.world.session(adminToken, w.project, task, "")
			w.ask(token, "How?", "")
			pushed := fmt.Sprintf(`{"project":%q,"queue":"q","taskId":%q}`, w.project, task)
			w.do(adminToken, "queue:push", pushed).is(200)
			w.do(adminToken, "token:create", fmt.Sprintf(`{"name":"w%d","kind":"auditor"}`, written)).is(200)
			w.do(adminToken, "task:block", `{"taskId":"`+task+`","reason":"r"}`).is(200)
		}
	})
	for range 2 {
		for _, route := range w.readRoutes() {
			r := w.send(http.MethodGet, w.pathOf(route), adminToken, "")
			if unanswered[route] == "" {
				r.is(http.StatusOK)
			}
		}
	}
	for _, list := range lists {
		after := w.send(http.MethodGet, list, adminToken, "").is(http.StatusOK).array()
		times := map[string]int{}
		for _, item := range after {
			times[nameOf(item)]++
		}
		for _, item := range before[list] {
			if name := nameOf(item); times[name] != 1 {
				t.Errorf("%s shows %s %d times", list, name, times[name])
			}
		}
	}
	close(done)
	writer.Wait()
	if written == 0 {
		t.Error("nothing was written meanwhile")
	}
}

// nameOf returns the name of an item of a list.
func nameOf(item any) string {
	fields, _ := item.(map[string]any)
	return fmt.Sprint(fields["projectId"], fields["id"], fields["name"])
}

// pathOf fills in the ids in a route's path.
func (w *crowded) pathOf(route string) string {
	id := map[string]string{
		"tasks": w.hub, "projects": w.project, "sessions": w.session, "inputs": w.question,
		"templates": "execute-simple", "commands": "whoami", "skills": "none", "webhooks": w.hook(),
	}
	path := strings.NewReplacer("{id}", id[strings.Split(route, "/")[2]], "{id...}", w.hub, "{role}", "worker",
		"{name}", "q", "{digest}", "sha256-"+strings.Repeat("0", 64)).Replace(route)
	switch route {
	case "/api/queues/{name}", "/api/queues/{name}/top":
		path += "?projectId=" + w.project
	case "/api/audit/can":
		path += "?actor=admin&command=task:create"
	}
	return path
}

// unanswered are the routes that refuse every caller in this test, with the reason.
var unanswered = map[string]string{
	"/api/blobs/{digest}":           "there is no such text",
	"/api/skills/{id}":              "there are no skills",
	"/api/clock":                    "no clock is watched here",
	"/api/backup":                   "no server of this test makes one",
	"/api/sessions/{id}/manifest":   "it has none",
	"/api/sessions/{id}/credential": "another one's",

	"/api/sessions/{id}/runner-credential": "another one's",

	"/api/runners/{name}/work": "the runner's alone",
}
