package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service/wire"
)

// pagesOf reads a list in pages of two, and returns the kind and task of each item.
func (w *world) pagesOf(path string) (found []string) {
	w.Helper()
	for next := ""; ; {
		r := w.send(http.MethodGet, path+"&limit=2"+next, adminToken, "").is(200)
		for _, item := range r.array() {
			about := item.(map[string]any)
			found = append(found, fmt.Sprint(about["kind"], " ", about["taskId"]))
		}
		cursor := r.header.Get(wire.HeaderNext)
		if cursor == "" {
			return found
		}
		next = "&cursor=" + url.QueryEscape(cursor)
	}
}

// The server sorts the whole inbox by urgency, over all pages: what holds up a session comes first, even if it is the
// newest.
func TestInboxByUrgency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		for range 3 {
			id := w.task(project)
			w.do(adminToken, "task:block", `{"taskId":"`+id+`"}`).is(200)
			time.Sleep(time.Second)
		}
		urgent := w.task(project)
		w.do(adminToken, "task:update", `{"taskId":"`+urgent+`","priority":"critical"}`).is(200)
		w.do(adminToken, "task:block", `{"taskId":"`+urgent+`"}`).is(200)
		time.Sleep(time.Second)
		own := w.task(project)
		_, token := w.session(adminToken, project, own, ``)
		w.ask(token, "How?", ``)
		first := []string{"question " + own, "blocked " + urgent}
		oldest := w.pagesOf("/api/inbox?sort=")
		slices.Reverse(oldest)
		if !slices.Equal(oldest[:2], first) {
			t.Fatalf("the longest wait stands last: %v, want %v first", oldest, first)
		}
		found := w.pagesOf("/api/inbox?sort=urgency")
		slices.Reverse(oldest)
		if want := slices.Concat(first, oldest[:3]); !slices.Equal(found, want) {
			t.Errorf("by urgency: %v, want %v", found, want)
		}
		w.send(http.MethodGet, "/api/inbox?sort=size", adminToken, "").is(400)
	})
}

// Each list has exactly the items that its filter selects, so that clients need not filter it.
func TestFiltersOfLists(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	done, working := w.task(project), w.task(project)
	lead, leads := w.session(adminToken, project, done, `,"role":"orchestrator"`)
	ended, reporter := w.session(leads, project, done, ``)
	living, _ := w.session(leads, project, working, ``)
	w.do(reporter, "report:complete", `{"message":"m","taskIds":["`+done+`"]}`).is(200)
	w.do(adminToken, "session:kill", `{"sessionId":"`+ended+`"}`).is(200)
	puller, _ := w.session(adminToken, project, working, `,"strategy":"queue"`)
	ids := func(path string) (found []string) {
		t.Helper()
		for _, item := range w.send(http.MethodGet, path, adminToken, "").is(200).array() {
			found = append(found, item.(map[string]any)["id"].(string))
		}
		return found
	}
	for _, c := range []struct {
		path string
		want []string
	}{
		{"/api/tasks?unconfirmed=true", []string{done}},
		{"/api/sessions?spawnedBy=" + lead, []string{ended, living}},
		{"/api/sessions?living=true&spawnedBy=" + lead, []string{living}},
		{"/api/sessions?living=true", []string{lead, living, puller}},
		{"/api/projects?name=nothing", nil},
	} {
		found := ids(c.path)
		slices.Sort(found) // sessions may begin within the same millisecond
		if slices.Sort(c.want); !slices.Equal(found, c.want) {
			t.Errorf("%s gives %v, want %v", c.path, found, c.want)
		}
	}
	w.send(http.MethodGet, "/api/tasks?unconfirmed=yes", adminToken, "").is(400)
	for status, items := range map[string]int{"": 1, "queued": 1, "failed": 0} {
		body := w.send(http.MethodGet, "/api/sessions/"+puller+"/queue?status="+status, adminToken, "").is(200).object()
		if found := body["queue"].(map[string]any)["items"].([]any); len(found) != items {
			t.Errorf("with status %q the queue has %d items, want %d", status, len(found), items)
		}
	}
	w.do(adminToken, "task:complete", `{"taskId":"`+done+`"}`).is(200)
	if left := ids("/api/tasks?unconfirmed=true"); left != nil {
		t.Errorf("confirmed, and still unconfirmed: %v", left)
	}
}

// A filter that names nothing is refused, so that an empty list does not result from a typo. Older clients get the
// empty list that they expect, of the lists that they know.
func TestUnknownFilterValuesAreRefused(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	session, _ := w.session(adminToken, project, task, ``)
	for path, kind := range map[string]string{
		"/api/tasks?projectId=nosuch":       "Project",
		"/api/tasks?parentId=nosuch":        "Task",
		"/api/tasks?sessionId=nosuch":       "Session",
		"/api/sessions?projectId=nosuch":    "Project",
		"/api/sessions?taskId=nosuch":       "Task",
		"/api/sessions?spawnedBy=nosuch":    "Session",
		"/api/inputs?projectId=nosuch":      "Project",
		"/api/inputs?sessionId=nosuch":      "Session",
		"/api/inbox?projectId=nosuch":       "Project",
		"/api/inbox?sessionId=nosuch":       "Session",
		"/api/queues?projectId=nosuch":      "Project",
		"/api/since?projectId=nosuch":       "Project",
		"/api/audit/denials?project=nosuch": "Project",
	} {
		w.send(http.MethodGet, path, adminToken, "", wire.HeaderClient, "test").
			refused(404, "NOT_FOUND", kind+" with id 'nosuch' not found")
	}
	for _, path := range []string{
		"/api/tasks?projectId=nosuch", "/api/tasks?parentId=nosuch",
		"/api/sessions?projectId=nosuch", "/api/sessions?taskId=nosuch",
	} {
		if got := w.send(http.MethodGet, path, adminToken, "").is(200).array(); len(got) != 0 {
			t.Errorf("%s to an older client: %v", path, got)
		}
	}
	// A deleted session is a known name, and so is the word for no parent.
	w.do(adminToken, "session:delete", `{"sessionId":"`+session+`"}`).is(200)
	w.do(adminToken, "task:delete", `{"taskId":"`+task+`"}`).is(200)
	for _, path := range []string{
		"/api/tasks?sessionId=" + session, "/api/tasks?parentId=" + task, "/api/tasks?parentId=null",
		"/api/sessions?taskId=" + task,
	} {
		w.send(http.MethodGet, path, adminToken, "", wire.HeaderClient, "test").is(200)
	}
}
