package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"maestro/api"
	"maestro/api/compat"
	"maestro/api/route"
	"maestro/service/wire"
)

// A route of ours refuses a parameter that it does not know, and names those that it does, so that nobody gets another
// answer than the query asks for.
func TestUnknownParameters(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	for query, next := range map[string]string{
		"/api/events?typ=task":                             "did you mean type?",
		"/api/events/histogram?type=task":                  "use one of at, from, minSeq",
		"/api/events?project_id=P":                         "did you mean projectId?",
		"/api/live?sesion=x":                               "did you mean session?",
		"/api/queues?x":                                    "projectId",
		"/api/audit/export?project=" + project + "&form=1": "did you mean from?",
		"/api/whoami?x=1":                                  "minSeq",
		"/api/inbox?=1":                                    "kind",
		"/metrics?x=1":                                     "use one of minSeq",
		"/api/since?from=1&projekt=" + project:             "did you mean project",
	} {
		r := w.send(http.MethodGet, query, adminToken, "").is(400)
		if got := r.text("next"); !strings.Contains(got, next) {
			t.Errorf("%s: next is %q, want %q", query, got, next)
		}
	}
	w.send(http.MethodPost, "/api/manifests?x=1", adminToken, "{}").is(400)
	w.send(http.MethodPost, "/api/clock/confirm?x=1", adminToken, "").is(400)
	w.send(http.MethodGet, "/api/nothing?x=1", adminToken, "").is(404)
}

// Older clients' routes ignore what they do not know, except what asks for the past, and except from programs of ours.
func TestUnknownParametersOfOlderClients(t *testing.T) {
	w := open(t, nil)
	task := w.task(w.project())
	for _, path := range []string{
		"/api/tasks", "/api/tasks/" + task, "/api/projects", "/api/templates", "/api/skills",
	} {
		w.send(http.MethodGet, path+"?_=17&t=1&cacheBuster=x", adminToken, "").is(200)
		w.send(http.MethodGet, path+"?cacheBuster=x", adminToken, "", wire.HeaderClient, "test").is(400)
	}
	for _, name := range []string{"att", "AT", "At", "aat"} {
		w.send(http.MethodGet, "/api/tasks?"+name+"=3", adminToken, "").is(400)
	}
	for method, path := range map[string]string{
		http.MethodPatch: "/api/tasks/" + task, http.MethodDelete: "/api/tasks/" + task,
		http.MethodPost: "/api/clock/confirm",
	} {
		w.send(method, path+"?at=3", adminToken, `{"title":"Now"}`).is(400)
	}
	if title := w.send(http.MethodGet, "/api/tasks/"+task, adminToken, "").is(200).text("title"); title == "Now" {
		t.Error("a refused request changed the task")
	}
	w.send(http.MethodPatch, "/api/tasks/"+task+"?x=3", adminToken, `{"title":"Now"}`).is(200)
}

// project and projectId are the same filter in every read that has one of them.
func TestProjectHasTwoNames(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	w.task(project)
	for range 3 {
		w.task(other)
	}
	native, older := api.Routes()
	read := 0
	for _, r := range slices.Concat(native, older) {
		has := func(name string) bool {
			return slices.ContainsFunc(r.Params, func(p route.Param) bool {
				return p.Name == name && p.In == "query"
			})
		}
		if r.Method != http.MethodGet || has("project") == has("projectId") {
			continue
		}
		read++
		path := strings.NewReplacer("{name}", "work", "{id}", "x").Replace(r.Path)
		ask := func(query string) reply { return w.send(http.MethodGet, path+"?"+query, adminToken, "") }
		one, two := ask("project="+project), ask("projectId="+project)
		if one.status != two.status || string(one.body) != string(two.body) {
			t.Errorf("%s answers %d %s with project, and %d %s with projectId", r.Path, one.status, one.body,
				two.status, two.body)
		}
		ask("project=" + project + "&projectId=" + other).is(400)
		if both := ask("project=" + project + "&projectId=" + project); string(both.body) != string(one.body) {
			t.Errorf("%s answers something else if both names are given: %s", r.Path, both.body)
		}
	}
	if read < 10 {
		t.Fatalf("only %d reads have the filter", read)
	}
	if n := len(w.send(http.MethodGet, "/api/tasks?project="+url.QueryEscape(project), adminToken, "").is(200).
		array()); n != 1 {
		t.Errorf("it lists %d tasks of the project, want 1", n)
	}
}

// What older clients read is in the table of routes.
func TestOlderReads(t *testing.T) {
	native, older := api.Routes()
	known := map[string]bool{}
	for _, r := range slices.Concat(native, older) {
		known[r.Method+" "+r.Path] = true
	}
	for _, r := range older {
		if pattern := r.Method + " " + r.Path; r.Method == http.MethodGet && strings.HasPrefix(r.Path, "/api/") &&
			!compat.IsOlderRead(pattern) {
			t.Errorf("%s is for older clients only, and refuses what it does not know", pattern)
		}
	}
}
