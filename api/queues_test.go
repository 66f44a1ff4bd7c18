package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"maestro/service/wire"
)

// puller creates what a queue session of older clients starts with: a project, n tasks, and a session spawned with
// them.
func (o old) puller(n int) (project, session string, tasks []string) {
	o.Helper()
	project = o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	for range n {
		tasks = append(tasks,
			o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id"))
	}
	body, err := json.Marshal(map[string]any{"projectId": project, "taskIds": tasks, "strategy": "queue"})
	if err != nil {
		o.Fatal(err)
	}
	session = o.call("POST", "/api/sessions/spawn", string(body)).is(201).text("sessionId")
	return project, session, tasks
}

// exactly checks that an object has these keys and, beside them, only members that older clients do not know.
func exactly(t *testing.T, where string, object any, keys, ours string) {
	t.Helper()
	known := append(strings.Fields(keys), strings.Fields(ours)...)
	fields, ok := object.(map[string]any)
	if !ok {
		t.Fatalf("%s is %v, not an object", where, object)
	}
	for _, key := range strings.Fields(keys) {
		if _, there := fields[key]; !there {
			t.Errorf("%s has no %s: %v", where, key, fields)
		}
	}
	for key := range fields {
		if !slices.Contains(known, key) {
			t.Errorf("%s has %s: %v", where, key, fields)
		}
	}
}

const ourItem = "title queue sessionId sessionName attempts"

// TestOldQueue plays section 6.
func TestOldQueue(t *testing.T) {
	o := old{open(t, authOff)}
	project, session, tasks := o.puller(3)
	path := "/api/sessions/" + session + "/queue"
	get := func(rest string) reply { t.Helper(); return o.call("GET", path+rest, "").is(200) }
	post := func(rest, body string) reply { t.Helper(); return o.call("POST", path+rest, body) }
	says := func(task string) any {
		t.Helper()
		return o.call("GET", "/api/tasks/"+task, "").is(200).at("sessionStatus")
	}
	stats := func(total, queued, processing, completed, failed, skipped int) string {
		return fmt.Sprintf(`{"total":%d,"queued":%d,"processing":%d,"completed":%d,"failed":%d,"skipped":%d}`, total,
			queued, processing, completed, failed, skipped)
	}
	queued := func(task string) string { return `{"taskId":"` + task + `","status":"queued","addedAt":"NUMBER"}` }
	started := func(task string) string {
		return `{"taskId":"` + task + `","status":"processing","addedAt":"NUMBER","startedAt":"NUMBER"}`
	}

	// Spawn makes the queue out of taskIds, in order, and moves no task.
	shown := get("")
	like(t, "queue",
		`{"queue":{"sessionId":"`+session+`","strategy":"queue","items":[`+
			queued(tasks[0])+`,`+queued(tasks[1])+`,`+queued(tasks[2])+`],
	  "currentIndex":-1,"createdAt":"NUMBER","updatedAt":"NUMBER"},"stats":`+stats(3, 3, 0, 0, 0, 0)+`}`,
		any(shown.object()))
	exactly(t, "an item", shown.at("queue", "items").([]any)[0], "taskId status addedAt", "title queue attempts")
	like(t, "items",
		`{"items":[`+queued(tasks[0])+`,`+queued(tasks[1])+`,`+queued(tasks[2])+`],"stats":`+
			stats(3, 3, 0, 0, 0, 0)+`}`, any(get("/items").object()))
	for _, id := range tasks {
		task := o.call("GET", "/api/tasks/"+id, "").is(200)
		like(t, "a task that waits in the queue", `{"status":"todo","startedAt":null,"sessionIds":["`+session+`"]}`,
			any(task.object()))
		if task.at("sessionStatus") != nil {
			t.Errorf("a task has a status of the session before it is started: %s", task.body)
		}
	}
	like(t, "top", `{"hasMore":true,"item":`+queued(tasks[0])+`}`, any(get("/top").object()))

	// Without a held item.
	for _, step := range []string{"/complete", "/fail"} {
		o.domainError(post(step, `{}`), 400, "VALIDATION_ERROR",
			`No item currently being processed. Run "start" first.`)
	}

	// With a held item: the next one is shown, but cannot be started.
	like(t, "start", `{"success":true,"item":`+started(tasks[0])+`,"message":"Started processing task `+tasks[0]+`"}`,
		any(post("/start", "").is(200).object()))
	if _, there := get("").object()["empty"]; there || says(tasks[0]) != "working" {
		t.Errorf("after start: %v", says(tasks[0]))
	}
	like(t, "its task", `{"status":"in_progress","sessionStatus":"working"}`,
		any(o.call("GET", "/api/tasks/"+tasks[0], "").is(200).object()))
	like(t, "the next", `{"hasMore":true,"item":`+queued(tasks[1])+`}`, any(get("/top").object()))
	like(t, "held", `{"queue":{"currentIndex":0},"stats":`+stats(3, 2, 1, 0, 0, 0)+`}`, any(get("").object()))
	o.domainOrRouteError(post("/start", `{}`), 400, "Already processing task "+tasks[0]+". Complete or fail it first.")

	done := post("/complete", "").is(200)
	like(t, "complete",
		`{"success":true,"completedItem":{"taskId":"`+tasks[0]+`","status":"completed","addedAt":"NUMBER",
	  "startedAt":"NUMBER","completedAt":"NUMBER"},
	  "nextItem":`+queued(tasks[1])+`,"hasMore":true,"message":"Completed `+tasks[0]+`. Next: `+tasks[1]+`"}`,
		any(done.object()))
	exactly(t, "a step", any(done.object()), "success completedItem nextItem hasMore message", "")
	exactly(t, "a completed item", done.at("completedItem"), "taskId status addedAt startedAt completedAt", ourItem)
	like(t, "its task", `{"status":"in_progress","sessionStatus":"completed"}`,
		any(o.call("GET", "/api/tasks/"+tasks[0], "").is(200).object()))

	post("/start", `{}`).is(200)
	if get("").at("queue", "currentIndex") != float64(1) {
		t.Errorf("with the second item held: %s", get("").body)
	}
	failed := post("/fail", `{"reason":"r"}`).is(200)
	like(t, "fail",
		`{"success":true,"failedItem":{"taskId":"`+tasks[1]+`","status":"failed","addedAt":"NUMBER",
	  "startedAt":"NUMBER","completedAt":"NUMBER","failReason":"r"},
	  "nextItem":`+queued(tasks[2])+`,"hasMore":true,"message":"Failed `+tasks[1]+`. Next: `+tasks[2]+`"}`,
		any(failed.object()))
	exactly(t, "a failed item", failed.at("failedItem"), "taskId status addedAt startedAt completedAt failReason",
		ourItem)
	if says(tasks[1]) != "failed" {
		t.Errorf("a failed item's task has the status %v", says(tasks[1]))
	}

	// The last one: with nothing left queued, start is no error while it is held.
	post("/start", "").is(200)
	for range 2 {
		like(t, "nothing left to start",
			`{"success":true,"item":null,"empty":true,"message":"Queue is empty — no items to process"}`,
			any(post("/start", "").is(200).object()))
		like(t, "nothing left at the top",
			`{"hasMore":false,"item":null,"message":"Queue is empty - all tasks processed"}`, any(get("/top").object()))
	}
	// Skip clears sessionStatus: docs/contract.md, "queue and statuses", differs there from docs/http-api-compat.md,
	// "6. Session queue".
	skipped := post("/skip", "").is(200)
	like(t, "skip",
		`{"success":true,"skippedItem":{"taskId":"`+tasks[2]+`","status":"skipped"},"nextItem":null,"hasMore":false,`+
			`"message":"Skipped `+tasks[2]+`. Queue is empty."}`, any(skipped.object()))
	if says(tasks[2]) != nil {
		t.Errorf("a skipped item's task has the status %v", says(tasks[2]))
	}
	o.domainError(post("/skip", ""), 400, "VALIDATION_ERROR", "No items left in queue to skip")
	like(t, "an empty queue",
		`{"success":true,"item":null,"empty":true,"message":"Queue is empty — no items to process"}`,
		any(post("/start", "").is(200).object()))
	like(t, "all", `{"queue":{"currentIndex":-1},"stats":`+stats(3, 0, 0, 1, 1, 1)+`}`, any(get("").object()))

	// Push: only tasks that were never pushed, whether their items are done or not.
	o.routeError(post("/push", `{}`), 400, "VALIDATION_ERROR", "taskId is required")
	o.routeError(post("/push", ``), 400, "VALIDATION_ERROR", "taskId is required")
	o.domainError(post("/push", `{"taskId":"`+tasks[0]+`"}`), 400, "VALIDATION_ERROR",
		"Task "+tasks[0]+" already in queue")
	o.domainError(post("/push", `{"taskId":"task_x"}`), 404, "NOT_FOUND", "Task with id 'task_x' not found")
	more := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"More"}`).is(201).text("id")
	pushed := post("/push", `{"taskId":"`+more+`","other":1}`).is(200)
	like(t, "push", `{"success":true,"item":`+queued(more)+`}`, any(pushed.object()))
	exactly(t, "a push", any(pushed.object()), "success item", "")
	o.domainError(post("/push", `{"taskId":"`+more+`"}`), 400, "VALIDATION_ERROR", "Task "+more+" already in queue")
	like(t, "at the end", `{"stats":`+stats(4, 1, 0, 1, 1, 1)+`}`, any(get("/items").object()))
	// Skip with nothing held: the next one.
	like(t, "skip the next",
		`{"skippedItem":{"taskId":"`+more+`","status":"skipped"},"message":"Skipped `+more+`. Queue is empty."}`,
		any(post("/skip", "").is(200).object()))

	last := get("").at("queue", "items").([]any)
	for i, want := range []string{tasks[0], tasks[1], tasks[2], more} {
		if last[i].(map[string]any)["taskId"] != want {
			t.Errorf("item %d is %v, not %s: the order of the queue is that of the pushes", i, last[i], want)
		}
	}
	if got := o.send(http.MethodGet, "/api/audit/verify", "", "", wire.HeaderClient,
		"test").is(200); len(got.at("faults").([]any)) != 0 {
		t.Errorf("the audit of old clients' log: %s", got.body)
	}
}

// domainOrRouteError is a 400 for which the recorded answers do not say who raised it.
func (o old) domainOrRouteError(r reply, status int, message string) {
	o.Helper()
	r.refused(status, "VALIDATION_ERROR", message)
	if r.text("message") != message {
		o.Errorf("expected %q: %s", message, r.body)
	}
}

func TestOldQueueOfAnotherSession(t *testing.T) {
	o := old{open(t, authOff)}
	project, gone, _ := o.puller(1)
	task := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id")
	simple := o.call("POST", "/api/sessions/spawn",
		`{"projectId":"`+project+`","taskIds":["`+task+`"]}`).is(201).text("sessionId")
	never := o.call("POST", "/api/sessions",
		`{"projectId":"`+project+`","taskIds":["`+task+`"],"strategy":"queue"}`).is(201).text("id")
	o.call("DELETE", "/api/sessions/"+gone, "").is(200)
	before := o.log.head()
	for _, call := range [][3]string{
		{"GET", "", ""},
		{"GET", "/items", ""},
		{"GET", "/top", ""},
		{"POST", "/start", ""},
		{"POST", "/complete", ""},
		{"POST", "/fail", `{"reason":"r"}`},
		{"POST", "/skip", ""},
		{"POST", "/push", `{"taskId":"` + task + `"}`},
		{"POST", "/push", `{}`},
	} {
		at := func(session string) reply { return o.call(call[0], "/api/sessions/"+session+"/queue"+call[1], call[2]) }
		o.domainError(at("sess_x"), 404, "NOT_FOUND", "Session with id 'sess_x' not found")
		o.domainError(at(gone), 404, "NOT_FOUND", "Session with id '"+gone+"' not found")
		o.domainError(at(simple), 400, "VALIDATION_ERROR", "Session "+simple+" does not use queue strategy")
		o.domainError(at(never), 404, "NOT_FOUND", "Queue with id '"+never+"' not found")
	}
	if o.log.head() != before {
		t.Error("a refused call left an event")
	}
	// With a credential, a caller that is not a queue worker learns nothing about queues.
	_, token := o.session("", project, task, ``)
	_, worker := o.session("", project, task, `,"strategy":"queue"`)
	for _, path := range []string{"/api/sessions/" + never + "/queue", "/api/sessions/" + simple + "/queue/top"} {
		if r := o.send("GET", path, token, "").refused(403, "NOT_ALLOWED",
			"is not allowed for worker (simple strategy)"); !strings.HasPrefix(r.text("rule"), "queue:") {
			t.Errorf("the rule: %s", r.body)
		}
	}
	o.send("POST", "/api/sessions/"+simple+"/queue/start", token, "").refused(403, "NOT_ALLOWED", "")
	o.send("POST", "/api/sessions/"+never+"/queue/start", worker, "").refused(404, "NOT_FOUND", "Queue")
	mine, pulling := o.session("", project, task, `,"strategy":"queue"`)
	o.send("POST", "/api/sessions/"+mine+"/queue/start", worker, "").refused(403, "NOT_ALLOWED",
		"may not act as session")
	o.send("POST", "/api/sessions/"+mine+"/queue/start", pulling, "").is(200)
}

// TestOldQueueActsAsSession: without a credential, calls below a session's queue act as that session.
func TestOldQueueActsAsSession(t *testing.T) {
	o := old{open(t, authOff)}
	_, session, tasks := o.puller(2)
	for _, step := range []string{"start", "complete", "start", "fail"} {
		o.call("POST", "/api/sessions/"+session+"/queue/"+step, "").is(200)
		if e := o.last(); !strings.HasSuffix(e.Source, "/sessions/"+session) || e.Authn != "none" {
			t.Errorf("%s came from %s, known by %s", step, e.Source, e.Authn)
		}
	}
	// A session's list without queue commands applies there too.
	project := o.call("GET", "/api/tasks/"+tasks[0], "").is(200).text("projectId")
	narrow, _ := o.session("", project, tasks[0], `,"strategy":"queue","allowedCommands":["queue:top","queue:start"]`)
	o.call("GET", "/api/sessions/"+narrow+"/queue/top", "").is(200)
	o.call("POST", "/api/sessions/"+narrow+"/queue/start", "").is(200)
	if r := o.call("POST", "/api/sessions/"+narrow+"/queue/complete", "").refused(403, "NOT_ALLOWED",
		"queue:complete"); r.text("rule") != "queue:complete" || r.text("next") == "" {
		t.Errorf("the refusal: %s", r.body)
	}
}

func TestItemsThatWait(t *testing.T) {
	o := old{open(t, authOff)}
	project := o.project()
	first := o.task(project)
	waits := o.do(adminToken, "task:create",
		`{"project":"`+project+`","title":"W","dependencies":["`+first+`"]}`).is(200).text("event", "data", "taskId")
	second := o.task(project)
	session, _ := o.session(adminToken, project, waits, `,"strategy":"queue"`)
	path := "/api/sessions/" + session + "/queue"
	top := o.call("GET", path+"/top", "").is(200)
	if top.at("hasMore") != false || top.at("item") != nil ||
		!strings.Contains(top.text("message"), "wait for other tasks") || top.at("waiting") != float64(1) {
		t.Errorf("a waiting item: %s", top.body)
	}
	like(t, "nothing to start", `{"success":true,"item":null,"empty":true}`,
		any(o.call("POST", path+"/start", "").is(200).object()))
	o.call("POST", path+"/push", `{"taskId":"`+second+`"}`).is(200)
	top = o.call("GET", path+"/top", "").is(200)
	if top.text("item", "taskId") != second || top.at("passedOver") != float64(1) {
		t.Errorf("the top: %s", top.body)
	}
	items := o.call("GET", path+"/items", "").is(200).at("items").([]any)
	if got := items[0].(map[string]any)["waits"]; got != "waits for "+first {
		t.Errorf("an item that is passed over has %v", got)
	}
	o.do(adminToken, "task:complete", `{"taskId":"`+first+`"}`).is(200)
	like(t, "the first again", `{"item":{"taskId":"`+waits+`"}}`, any(o.call("GET", path+"/top", "").is(200).object()))
}

func TestQueuesOfAProject(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task, away := w.task(project), w.task(other)
	w.do(adminToken, "queue:create",
		`{"project":"`+project+`","queue":"shared","trustReports":true,"maxAttempts":5}`).is(200)
	one, first := w.session(adminToken, project, task, `,"strategy":"queue","queue":"shared"`)
	_, second := w.session(adminToken, project, task, `,"strategy":"queue","queue":"shared"`)
	_, stranger := w.session(adminToken, other, away, `,"strategy":"queue"`)
	list := w.send(http.MethodGet, "/api/queues", first, "").is(200).array()
	like(t, "queues",
		`[{"projectId":"`+project+`","name":"shared","trustReports":true,"maxAttempts":5,"createdAt":"NUMBER",`+
			`"createdBy":"/users/admin","ready":1,"waiting":0,"stats":{"total":1,"queued":1}}]`, any(list))
	w.do(first, "queue:start", `{}`).is(200)
	// An item that another session holds cannot be completed, and the error names the holder.
	w.do(second, "queue:complete", `{"taskId":"`+task+`"}`).refused(409, "CONFLICT",
		"holds no item")
	if r := w.do(second, "queue:start", `{}`).is(200); r.at("event") != nil {
		t.Errorf("an item with two holders: %s", r.body)
	}
	held := w.send(http.MethodGet, "/api/queues/shared", second, "").is(200)
	like(t, "the queue",
		`{"name":"shared","items":[{"taskId":"`+task+`","status":"processing","sessionId":"`+one+`","attempts":1}]}`,
		any(held.object()))
	for query, want := range map[string]int{"?status=processing": 1, "?status=queued": 0, "?status=none": 0} {
		if got := w.send(http.MethodGet, "/api/queues/shared"+query, second,
			"").is(200).at("items").([]any); len(got) != want {
			t.Errorf("%s shows %d items", query, len(got))
		}
	}
	w.send(http.MethodGet, "/api/queues/shared", stranger, "").refused(404, "NOT_FOUND",
		"There is no queue 'shared' in project ")
	w.send(http.MethodGet, "/api/queues/shared?projectId="+project, stranger, "").refused(403, "NOT_ALLOWED",
		"may not touch project")
	w.send(http.MethodGet, "/api/queues?projectId="+project, stranger, "").refused(403, "NOT_ALLOWED", "")
	w.send(http.MethodGet, "/api/queues/none?projectId="+project, adminToken, "").refused(404, "NOT_FOUND",
		"There is no queue 'none' in project ")
	w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","taskIds":["`+task+`"],"strategy":"queue","queue":"none"}`).refused(404, "NOT_FOUND",
		"There is no queue")
	w.do(first, "queue:complete", `{}`).is(200)
	w.do(second, "queue:push", `{"taskId":"`+away+`"}`).refused(400, "VALIDATION_ERROR", "is not in project")
}

// The routes of a queue give its items page by page, and name the one that a session holds by its place on the page.
func TestQueueIsPaged(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	tasks := []string{w.task(project), w.task(project), w.task(project)}
	session, token := w.session(adminToken, project, tasks[0], `,"strategy":"queue"`)
	for _, task := range tasks[1:] {
		w.do(token, "queue:push", `{"taskId":"`+task+`"}`).is(200)
	}
	w.do(token, "queue:start", `{}`).is(200)
	for path, at := range map[string][]string{
		"/api/sessions/" + session + "/queue?":                   {"queue"},
		"/api/sessions/" + session + "/queue/items?":             {},
		"/api/queues/" + session + "?projectId=" + project + "&": {},
	} {
		var found []string
		for cursor := ""; ; {
			r := w.send(http.MethodGet, path+"limit=2"+cursor, adminToken, "").is(200)
			items := r.at(append(slices.Clone(at), "items")...).([]any)
			for _, item := range items {
				found = append(found, item.(map[string]any)["taskId"].(string))
			}
			if len(at) > 0 {
				holds := slices.Index(found, tasks[0]) - len(found) + len(items)
				if got := r.at("queue", "currentIndex"); got != float64(max(holds, -1)) {
					t.Errorf("%s%s: the session holds item %v", path, cursor, got)
				}
			}
			next := r.header.Get(wire.HeaderNext)
			if more := r.at(append(slices.Clone(at), "itemsMore")...); (next != "") != (more == float64(1)) {
				t.Errorf("%s%s: %v more, and the next page is %q", path, cursor, more, next)
			}
			if next == "" {
				break
			}
			cursor = "&cursor=" + next
		}
		if !slices.Equal(found, tasks) {
			t.Errorf("the pages of %s show %q", path, found)
		}
	}
	whole := w.send(http.MethodGet, "/api/sessions/"+session+"/queue", adminToken, "").is(200)
	if len(whole.at("queue", "items").([]any)) != 3 || whole.header.Get(wire.HeaderNext) != "" {
		t.Errorf("without a limit: %s", whole.body)
	}
}
