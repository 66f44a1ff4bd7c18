package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/service/wire"
)

// TestStartReturnsItem: the answer to queue:start contains everything to show, and is no longer in a queue of 900
// items than in a short one.
func TestStartReturnsItem(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
	ground := w.task(project)
	waits := w.do(adminToken, "task:create",
		`{"project":"`+project+`","title":"W","dependencies":["`+ground+`"]}`).text("event", "data", "taskId")
	push := func(task string) {
		w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+task+`"}`).is(200)
	}
	push(waits)
	token := w.queueSession(project, "q")
	if r := w.do(token, "queue:start", `{}`).
		is(200); r.at("start", "item") != nil ||
		r.at("start", "waiting") != 1.0 ||
		r.text("start", "queue") != "q" {
		t.Errorf("with nothing to start: %s", r.body)
	}
	first := w.do(adminToken, "task:create",
		`{"project":"`+project+`","title":"`+strings.Repeat("title", 30)+`"}`).text("event", "data", "taskId")
	push(first)
	for range 900 {
		push(w.task(project))
	}
	started := w.do(token, "queue:start", `{}`, wire.HeaderKey, "k").is(200)
	held := w.do(token, "queue:start", `{}`).is(200)
	again := w.do(token, "queue:start", `{}`, wire.HeaderKey, "k").is(200)
	var queue struct {
		Items []map[string]any `json:"items"`
	}
	list := w.send(http.MethodGet, "/api/queues/q?projectId="+project, token, "").is(200)
	if err := json.Unmarshal(list.body, &queue); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(queue.Items, func(item map[string]any) bool { return item["taskId"] == first })
	for name, r := range map[string]reply{"started": started, "held": held, "asked again": again} {
		if got, want := fmt.Sprint(r.at("start", "item")), fmt.Sprint(queue.Items[i]); got != want {
			t.Errorf("%s: the item is %s, in its queue it is %s", name, got, want)
		}
		if r.at("start", "waiting") != 1.0 || (r.at("start", "held") == true) != (name == "held") {
			t.Errorf("%s: %s", name, r.body)
		}
		if len(r.body) > 2048 {
			t.Errorf("%s: the answer has %d bytes, and the queue %d", name, len(r.body), len(list.body))
		}
	}
	if r := w.do(token, "queue:start?dryRun=true", `{}`).is(200); r.object()["start"] != nil {
		t.Errorf("a dry run starts nothing: %s", r.body)
	}
}

// TestTopOfNamedQueue: a caller that names a queue and a session that pulls from it see the same next item, also
// after an item was returned.
func TestTopOfNamedQueue(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
	same := func(session string, passedOver int) {
		t.Helper()
		named := w.send(http.MethodGet, "/api/queues/q/top?projectId="+project, adminToken, "").is(200)
		pulled := w.send(http.MethodGet, "/api/sessions/"+session+"/queue/top", adminToken, "",
			wire.HeaderClient, "test").is(200)
		if string(named.body) != string(pulled.body) {
			t.Errorf("named: %s\npulled from: %s", named.body, pulled.body)
		}
		if named.at("passedOver") != float64(passedOver) {
			t.Errorf("%d are passed over: %s", passedOver, named.body)
		}
	}
	ground, item := w.task(project), w.task(project)
	waits := w.do(adminToken, "task:create",
		`{"project":"`+project+`","title":"W","dependencies":["`+ground+`"]}`).text("event", "data", "taskId")
	watcher := w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","strategy":"queue","queue":"q"}`).is(200).text("event", "data", "sessionId")
	same(watcher, 0)
	for _, task := range []string{waits, item} {
		w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+task+`"}`).is(200)
	}
	same(watcher, 1)
	r := w.do(adminToken, "session:spawn", `{"project":"`+project+`","strategy":"queue","queue":"q"}`).is(200)
	w.do(r.text("token"), "queue:start", `{}`).is(200)
	same(watcher, 1)
	w.do(adminToken, "session:kill", `{"sessionId":"`+r.text("event", "data", "sessionId")+`"}`).is(200)
	w.system(&commands.ReturnItem{ProjectRef: commands.ProjectRef{Project: project}, Queue: "q", TaskID: item})
	same(watcher, 0) // returned items come before waiting ones
	w.send(http.MethodGet, "/api/queues/none/top?projectId="+project, adminToken, "").
		refused(404, "NOT_FOUND", "none")
	_, token := w.session(adminToken, project, ground, "")
	w.send(http.MethodGet, "/api/queues/q/top", token, "").refused(403, "NOT_ALLOWED", "queue:top")
}
