package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"maestro/service"
	"maestro/service/wire"
)

// The shapes below are those of docs/http-api-compat.md. A value in capitals stands for "any value of that sort":
// NUMBER, TEXT, ID; a recorded null must be null.

// like checks that a value has every key of the recorded one, with a value of the same kind, or with the same value.
func like(t *testing.T, where string, recorded string, got any) {
	t.Helper()
	var want any
	if err := json.Unmarshal([]byte(recorded), &want); err != nil {
		t.Fatalf("%s: the recorded shape: %v", where, err)
	}
	compare(t, where, want, got)
}

func compare(t *testing.T, where string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s is %v, not an object", where, got)
			return
		}
		for key, value := range want {
			if _, there := object[key]; !there {
				t.Errorf("%s has no %s: %v", where, key, got)
				continue
			}
			compare(t, where+"."+key, value, object[key])
		}
	case []any:
		array, ok := got.([]any)
		if !ok || len(array) != len(want) {
			t.Errorf("%s is %v, expected %v", where, got, want)
			return
		}
		for i := range want {
			compare(t, fmt.Sprintf("%s[%d]", where, i), want[i], array[i])
		}
	case string:
		text, isText := got.(string)
		number, isNumber := got.(float64)
		switch want {
		case "NUMBER":
			if !isNumber || number == 0 {
				t.Errorf("%s is %v, not a number", where, got)
			}
		case "ID", "TEXT":
			if !isText || text == "" {
				t.Errorf("%s is %v, not a text", where, got)
			}
		default:
			if text != want {
				t.Errorf("%s is %v, expected %q", where, got, want)
			}
		}
	default:
		if got != want {
			t.Errorf("%s is %v, expected %v", where, got, want)
		}
	}
}

// old sends requests as older clients do: without a token, to a server with auth off.
type old struct{ *world }

func (o old) call(method, path, body string) reply {
	o.Helper()
	return o.send(method, path, "", body)
}

// domainError checks an error of the domain, routeError one of the route.
func (o old) domainError(r reply, status int, code, message string) {
	o.Helper()
	r.refused(status, code, message)
	if r.text("message") != message || r.at("statusCode") != float64(status) {
		o.Errorf("expected %q with statusCode: %s", message, r.body)
	}
}

func (o old) routeError(r reply, status int, code, message string) {
	o.Helper()
	r.refused(status, code, message)
	if r.text("message") != message || r.at("statusCode") != nil {
		o.Errorf("expected %q without statusCode: %s", message, r.body)
	}
}

func TestOldHealth(t *testing.T) {
	o := old{open(t, authOff)}
	r := o.call("GET", "/health", "").is(200)
	like(t, "health", `{"status":"ok","timestamp":"NUMBER"}`, any(r.object()))
	if _, ok := r.at("uptime").(float64); !ok {
		t.Errorf("uptime: %s", r.body)
	}
	if got := r.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
}

const oldProject = `{"id":"ID","name":"Alpha","workingDir":"/srv/alpha","description":"","createdAt":"NUMBER",` +
	`"updatedAt":"NUMBER"}`

func TestOldProjects(t *testing.T) {
	o := old{open(t, authOff)}
	if got := o.call("GET", "/api/projects", "").is(200).array(); len(got) != 0 {
		t.Errorf("no projects: %v", got)
	}
	created := o.call("POST", "/api/projects", `{"name":" Alpha ","workingDir":"/srv/alpha","unknown":1}`).is(201)
	like(t, "created", oldProject, any(created.object()))
	id := created.text("id")
	like(t, "got", oldProject, any(o.call("GET", "/api/projects/"+id, "").is(200).object()))
	like(t, "listed", "["+oldProject+"]", any(o.call("GET", "/api/projects", "").is(200).array()))
	like(t, "updated", strings.Replace(oldProject, `"description":""`, `"description":"d"`, 1),
		any(o.call("PUT", "/api/projects/"+id, `{"description":"d"}`).is(200).object()))

	o.domainError(o.call("POST", "/api/projects", `{"name":" "}`), 400, "VALIDATION_ERROR", "Project name is required")
	o.domainError(o.call("POST", "/api/projects", `{}`), 400, "VALIDATION_ERROR", "Project name is required")
	o.domainError(o.call("PUT", "/api/projects/"+id, `{"name":" "}`), 400, "VALIDATION_ERROR",
		"Project name cannot be empty")
	for _, call := range [][2]string{{"GET", ""}, {"PUT", `{"name":"x"}`}, {"DELETE", ""}} {
		o.domainError(o.call(call[0], "/api/projects/proj_x", call[1]), 404, "NOT_FOUND",
			"Project with id 'proj_x' not found")
	}
	task := o.call("POST", "/api/tasks", `{"projectId":"`+id+`","title":"T"}`).is(201).text("id")
	session := o.call("POST", "/api/sessions", `{"projectId":"`+id+`","taskIds":[]}`).is(201).text("id")
	o.domainError(o.call("DELETE", "/api/projects/"+id, ""), 422, "BUSINESS_RULE_ERROR",
		"Cannot delete project with existing tasks")
	like(t, "task deleted", `{"success":true,"id":"`+task+`"}`,
		any(o.call("DELETE", "/api/tasks/"+task, "").is(200).object()))
	o.domainError(o.call("DELETE", "/api/projects/"+id, ""), 422, "BUSINESS_RULE_ERROR",
		"Cannot delete project with existing sessions")
	like(t, "session deleted", `{"success":true,"id":"`+session+`"}`,
		any(o.call("DELETE", "/api/sessions/"+session, "").is(200).object()))
	like(t, "deleted", `{"success":true,"id":"`+id+`"}`,
		any(o.call("DELETE", "/api/projects/"+id, "").is(200).object()))
	o.call("GET", "/api/projects/"+id, "").is(404)
}

const oldTask = `{"id":"ID","projectId":"ID","parentId":null,"title":"T1","description":"",
 "status":"todo","priority":"medium",
 "createdAt":"NUMBER","updatedAt":"NUMBER","startedAt":null,"completedAt":null,"initialPrompt":"",
 "sessionIds":[],"skillIds":[],"agentIds":[],"dependencies":[]}`

func TestOldTasks(t *testing.T) {
	o := old{open(t, authOff)}
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	created := o.call("POST", "/api/tasks",
		`{"projectId":"`+project+`","title":" T1 ","status":"completed","other":{}}`).is(201)
	like(t, "created", oldTask, any(created.object()))
	for _, key := range []string{"sessionStatus", "model"} {
		if _, there := created.object()[key]; there {
			t.Errorf("%s is present before it is set", key)
		}
	}
	task := created.text("id")
	child := o.call("POST", "/api/tasks",
		`{"projectId":"`+project+`","title":"C","parentId":"`+task+`","model":"opus","priority":"critical",`+
			`"skillIds":["s"],"initialPrompt":"p"}`).is(201)
	like(t, "child",
		`{"parentId":"`+task+`","model":"opus","priority":"critical","skillIds":["s"],"initialPrompt":"p"}`,
		any(child.object()))
	like(t, "got", oldTask, any(o.call("GET", "/api/tasks/"+task, "").is(200).object()))

	for query, want := range map[string]int{
		"": 2, "?projectId=" + project: 2, "?parentId=null": 1, "?parentId=" + task: 1, "?status=todo": 2,
		"?status=todo&parentId=null&projectId=" + project: 1, "?projectId=none": 0, "?status=none": 0,
		"?parentId=none": 0, "?sessionId=none": 0,
	} {
		if got := o.call("GET", "/api/tasks"+query, "").is(200).array(); len(got) != want {
			t.Errorf("%s lists %d tasks, expected %d", query, len(got), want)
		}
	}
	if got := o.call("GET", "/api/tasks/"+task+"/children", "").is(200).array(); len(got) != 1 {
		t.Errorf("children: %v", got)
	}
	o.domainError(o.call("GET", "/api/tasks/task_x/children", ""), 404, "NOT_FOUND", "Task with id 'task_x' not found")

	o.domainError(o.call("POST", "/api/tasks", `{}`), 400, "VALIDATION_ERROR", "Project ID is required")
	o.domainError(o.call("POST", "/api/tasks", `{"projectId":"x"}`), 400, "VALIDATION_ERROR", "Task title is required")
	o.domainError(o.call("POST", "/api/tasks", `{"projectId":"x","title":"T","parentId":"y"}`), 404, "NOT_FOUND",
		"Project with id 'x' not found")
	o.domainError(o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T","parentId":"y"}`), 404,
		"NOT_FOUND", "Parent task with id 'y' not found")
	o.domainError(o.call("PATCH", "/api/tasks/"+task, `{"title":" "}`), 400, "VALIDATION_ERROR",
		"Task title cannot be empty")
	for _, call := range [][2]string{{"GET", ""}, {"PATCH", `{}`}, {"DELETE", ""}} {
		o.domainError(o.call(call[0], "/api/tasks/task_x", call[1]), 404, "NOT_FOUND",
			"Task with id 'task_x' not found")
	}

	o.call("PATCH", "/api/tasks/"+task, `{}`).is(200)
	moved := o.call("PATCH", "/api/tasks/"+task,
		`{"status":"in_progress","title":"T2","description":"d","skillIds":["a"],"agentIds":["b"],"model":"haiku",`+
			`"parentId":"x","dependencies":["y"]}`).is(200)
	like(t, "moved",
		`{"status":"in_progress","title":"T2","description":"d","skillIds":["a"],"agentIds":["b"],"model":"haiku",`+
			`"startedAt":"NUMBER","completedAt":null,"parentId":null,"dependencies":[]}`, any(moved.object()))
	done := o.call("PATCH", "/api/tasks/"+task, `{"status":"completed"}`).is(200)
	back := o.call("PATCH", "/api/tasks/"+task, `{"status":"todo"}`).is(200)
	if back.at("completedAt") != done.at("completedAt") || back.at("startedAt") != moved.at("startedAt") {
		t.Errorf("times were cleared: %s", back.body)
	}

	session := o.call("POST", "/api/sessions", `{"projectId":"`+project+`","taskIds":["`+task+`"]}`).is(201).text("id")
	for _, says := range []string{"working", "needs_input", "blocked", "completed", "failed"} {
		got := o.call("PATCH", "/api/tasks/"+task,
			`{"sessionStatus":"`+says+`","title":"dropped","updateSource":"session","sessionId":"`+session+`"}`).is(200)
		like(t, says, `{"sessionStatus":"`+says+`","title":"T2","status":"todo"}`, any(got.object()))
	}
	if got := o.call("GET", "/api/sessions/"+session, "").is(200).at("timeline").([]any); len(got) != 2 {
		t.Errorf("a sessionStatus without words is on the timeline: %v", got)
	}
	o.call("PATCH", "/api/tasks/"+task,
		`{"title":"dropped","updateSource":"session","sessionId":"`+session+`"}`).is(200)

	entry := o.call("POST", "/api/tasks/"+task+"/timeline",
		`{"message":"hello\nthere","sessionId":"`+session+`"}`).is(200)
	like(t, "entry",
		`{"success":true,"taskId":"`+task+`","sessionId":"`+session+`","message":"hello\nthere","type":"progress"}`,
		any(entry.object()))
	path := "/api/tasks/" + task + "/timeline"
	o.routeError(o.call("POST", path, `{"sessionId":"x"}`), 400, "VALIDATION_ERROR", "message is required")
	o.routeError(o.call("POST", path, `{"message":"x"}`), 400, "VALIDATION_ERROR", "sessionId is required")
	o.domainError(o.call("POST", "/api/tasks/task_x/timeline", `{"message":"x","sessionId":"sess_x"}`), 404,
		"NOT_FOUND", "Task with id 'task_x' not found")
	o.domainError(o.call("POST", path, `{"message":"x","sessionId":"sess_x"}`), 404, "NOT_FOUND",
		"Session with id 'sess_x' not found")

	linked := o.call("PATCH", "/api/tasks/"+child.text("id"), `{"sessionIds":["`+session+`"]}`).is(200)
	like(t, "linked", `{"sessionIds":["`+session+`"]}`, any(linked.object()))
	like(t, "unlinked", `{"sessionIds":[]}`,
		any(o.call("PATCH", "/api/tasks/"+child.text("id"), `{"sessionIds":[]}`).is(200).object()))

	o.call("DELETE", "/api/tasks/"+task, "").is(200)
	like(t, "orphan", `{"parentId":"`+task+`"}`,
		any(o.call("GET", "/api/tasks/"+child.text("id"), "").is(200).object()))
}

func TestOldSessions(t *testing.T) {
	o := old{open(t, authOff)}
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	task := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id")
	other := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T2"}`).is(201).text("id")

	created := o.call("POST", "/api/sessions",
		`{"id":"sess_own","projectId":"`+project+`","taskIds":["`+task+`"],"name":"Worker one","status":"running",`+
			`"strategy":"simple","env":{"A":"b"},"metadata":{"role":"worker"},"agentId":"a1"}`).is(201)
	like(t, "created",
		`{"id":"sess_own","projectId":"`+project+`","taskIds":["`+task+`"],"name":"Worker one",
	 "env":{"A":"b"},"strategy":"simple","status":"running",
	 "startedAt":"NUMBER","lastActivity":"NUMBER","completedAt":null,"hostname":"box","platform":"linux",
	 "events":[],"agentId":"a1",
	 "timeline":[{"id":"ID","type":"session_started","timestamp":"NUMBER","message":"Session created"},
	             {"id":"ID","type":"task_started","timestamp":"NUMBER","taskId":"`+task+`",
	              "message":"Started working on task"}],
	 "metadata":{"role":"worker"}}`, any(created.object()))
	like(t, "its task", `{"sessionIds":["sess_own"],"status":"todo"}`,
		any(o.call("GET", "/api/tasks/"+task, "").is(200).object()))
	plain := o.call("POST", "/api/sessions", `{"projectId":"`+project+`","taskId":"`+task+`"}`).is(201)
	like(t, "plain",
		`{"id":"ID","name":"Unnamed Session","status":"idle","strategy":"simple","env":{},"taskIds":["`+task+`"]}`,
		any(plain.object()))
	for _, key := range []string{"metadata", "agentId"} {
		if _, there := plain.object()[key]; there {
			t.Errorf("%s, which was not sent", key)
		}
	}
	o.routeError(o.call("POST", "/api/sessions", `{}`), 400, "VALIDATION_ERROR", "taskIds is required")
	o.routeError(o.call("POST", "/api/sessions", `{"taskIds":[]}`), 400, "VALIDATION_ERROR", "Project ID is required")
	o.domainError(o.call("POST", "/api/sessions", `{"taskIds":["task_x"],"projectId":"proj_x"}`), 404, "NOT_FOUND",
		"Project with id 'proj_x' not found")
	o.domainError(o.call("POST", "/api/sessions", `{"taskIds":["task_x"],"projectId":"`+project+`"}`), 404, "NOT_FOUND",
		"Task with id 'task_x' not found")
	for _, call := range [][2]string{{"GET", ""}, {"PATCH", `{}`}, {"PATCH", `{"status":"running"}`}, {"DELETE", ""}} {
		r := o.call(call[0], "/api/sessions/sess_x", call[1])
		o.domainError(r, 404, "NOT_FOUND", "Session with id 'sess_x' not found")
	}

	for query, want := range map[string]int{
		"": 2, "?projectId=" + project: 2, "?taskId=" + task: 2, "?taskId=none": 0,
		"?status=idle": 1, "?active=true": 2, "?status=none": 0, "?projectId=none": 0,
	} {
		if got := o.call("GET", "/api/sessions"+query, "").is(200).array(); len(got) != want {
			t.Errorf("%s lists %d sessions, expected %d", query, len(got), want)
		}
	}

	event := o.call("POST", "/api/sessions/sess_own/events", `{"type":"anything","data":{"a":[1]}}`).is(200)
	like(t, "event", `{"events":[{"id":"ID","timestamp":"NUMBER","type":"anything","data":{"a":[1]}}]}`,
		any(event.object()))
	file := o.call("POST", "/api/sessions/sess_own/events",
		`{"type":"file_modified","data":{"file":"src/a.go","timestamp":"2026-02-02T10:00:00.000Z"}}`).is(200)
	files, _ := file.at("events").([]any)
	like(t, "file",
		`{"id":"ID","timestamp":"NUMBER","type":"file_modified","data":{"file":"src/a.go",`+
			`"timestamp":"2026-02-02T10:00:00.000Z"}}`, files[1])
	bare := o.call("POST", "/api/sessions/sess_own/events", `{"type":"bare"}`).is(200)
	bares, _ := bare.at("events").([]any)
	if _, there := bares[2].(map[string]any)["data"]; there {
		t.Errorf("data that was not sent: %v", bares[2])
	}
	o.routeError(o.call("POST", "/api/sessions/sess_own/events", `{"data":1}`), 400, "VALIDATION_ERROR",
		"type is required")
	o.domainError(o.call("POST", "/api/sessions/sess_x/events", `{"type":"x"}`), 404, "NOT_FOUND",
		"Session with id 'sess_x' not found")

	entry := o.call("POST", "/api/sessions/sess_own/timeline",
		`{"message":"two\nlines","taskId":"anything","metadata":{"m":1}}`).is(200)
	entries, _ := entry.at("timeline").([]any)
	like(t, "entry",
		`{"id":"ID","type":"progress","timestamp":"NUMBER","message":"two\nlines","taskId":"anything",`+
			`"metadata":{"m":1}}`, entries[len(entries)-1])
	o.routeError(o.call("POST", "/api/sessions/sess_own/timeline", `{"message":""}`), 400, "VALIDATION_ERROR",
		"message is required")
	o.domainError(o.call("POST", "/api/sessions/sess_x/timeline", `{"message":"m"}`), 404, "NOT_FOUND",
		"Session with id 'sess_x' not found")

	added := o.call("POST", "/api/sessions/sess_own/tasks/"+other, "").is(200)
	like(t, "added", `{"taskIds":["`+task+`","`+other+`"]}`, any(added.object()))
	entries, _ = added.at("timeline").([]any)
	like(t, "added entry", `{"type":"task_started","message":"Added task to session","taskId":"`+other+`"}`,
		entries[len(entries)-1])
	removed := o.call("DELETE", "/api/sessions/sess_own/tasks/"+other, "").is(200)
	like(t, "removed", `{"taskIds":["`+task+`"]}`, any(removed.object()))
	entries, _ = removed.at("timeline").([]any)
	like(t, "removed entry", `{"type":"task_completed","message":"Removed task from session","taskId":"`+other+`"}`,
		entries[len(entries)-1])
	like(t, "task without it", `{"sessionIds":[]}`, any(o.call("GET", "/api/tasks/"+other, "").is(200).object()))

	patched := o.call("PATCH", "/api/sessions/sess_own",
		`{"env":{"C":"d"},"agentId":"a2","taskIds":["`+other+`"],"status":"working","name":"ignored",`+
			`"events":[{"type":"e","data":1}],"timeline":[{"message":"appended","type":"milestone"}]}`).is(200)
	like(t, "patched",
		`{"env":{"A":"b","C":"d"},"agentId":"a2","taskIds":["`+other+`"],"status":"working","name":"Worker one"}`,
		any(patched.object()))
	entries, _ = patched.at("timeline").([]any)
	like(t, "appended", `{"type":"milestone","message":"appended"}`, entries[len(entries)-1])

	for status, want := range map[string]string{"completed": "completed", "failed": "failed", "stopped": "stopped"} {
		id := o.call("POST", "/api/sessions",
			`{"projectId":"`+project+`","taskIds":[],"status":"running"}`).is(201).text("id")
		like(t, status, `{"status":"`+want+`","completedAt":"NUMBER"}`,
			any(o.call("PATCH", "/api/sessions/"+id, `{"status":"`+status+`","completedAt":1}`).is(200).object()))
	}
	like(t, "running", `{"status":"running","completedAt":null}`,
		any(o.call("PATCH", "/api/sessions/"+plain.text("id"), `{"status":"running"}`).is(200).object()))
}

func TestWriteAnswerHasNewestEntries(t *testing.T) {
	o := old{open(t, authOff)}
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	id := o.call("POST", "/api/sessions", `{"projectId":"`+project+`","taskIds":[]}`).is(201).text("id")
	var last reply
	for i := range 150 {
		last = o.call("POST", "/api/sessions/"+id+"/timeline", fmt.Sprintf(`{"message":"m%d"}`, i)).is(200)
	}
	entries, _ := last.at("timeline").([]any)
	if len(entries) != 100 {
		t.Fatalf("%d entries", len(entries))
	}
	like(t, "the last", `{"message":"m149"}`, entries[99])
	if all, _ := o.call("GET", "/api/sessions/"+id, "").is(200).at("timeline").([]any); len(all) != 151 {
		t.Errorf("GET has %d entries", len(all))
	}
	if brief,
		_ := o.call("GET", "/api/sessions?brief=true",
		"").is(200).array()[0].(map[string]any)["timeline"].([]any); len(brief) != 0 {
		t.Errorf("brief has %d entries", len(brief))
	}
}

func TestOldSpawn(t *testing.T) {
	o := old{open(t, authOff)}
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	task := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id")
	spawn := func(fields string) reply {
		t.Helper()
		return o.call("POST", "/api/sessions/spawn", `{"projectId":"`+project+`","taskIds":["`+task+`"]`+fields+`}`)
	}
	got := spawn("").is(201)
	id := got.text("sessionId")
	session := `{"id":"` + id + `","projectId":"` + project + `","taskIds":["` + task + `"],"name":"Worker for ` +
		task + `",
	  "env":{"MAESTRO_SESSION_ID":"` + id + `","MAESTRO_SERVER_URL":"` + o.url + `","MAESTRO_STRATEGY":"simple"},
	  "strategy":"simple","status":"spawning","startedAt":"NUMBER","lastActivity":"NUMBER","completedAt":null,
	  "hostname":"box","platform":"linux","events":[],
	  "timeline":[{"type":"session_started","message":"Session created"},
	              {"type":"task_started","taskId":"` + task + `","message":"Started working on task"}],
	  "metadata":{"skills":[],"spawnedBy":null,"spawnSource":"ui","role":"worker","strategy":"simple","context":{}}}`
	like(t, "spawned",
		`{"success":true,"sessionId":"`+id+`","message":"Spawn request sent to Agents UI","session":`+session+`}`,
		any(got.object()))
	like(t, "stored", session, any(o.call("GET", "/api/sessions/"+id, "").is(200).object()))
	if got.text("token") != service.SessionToken(serverKey, id, 1) {
		t.Errorf("token %q", got.text("token"))
	}

	child := spawn(`,"spawnSource":"session","sessionId":"` + id +
		`","sessionName":"Child","skills":["s"],"context":{"a":1}`).is(201)
	like(t, "child",
		`{"session":{"name":"Child","metadata":{"skills":["s"],"spawnedBy":"`+id+`","spawnSource":"session",`+
			`"context":{"a":1}}}}`, any(child.object()))
	for _, given := range []string{``, `,"strategy":"simple"`} {
		boss := spawn(`,"role":"orchestrator"` + given).is(201)
		simple := `{"name":"Orchestrator for ` + task + `","strategy":"simple","env":{"MAESTRO_STRATEGY":"simple"},` +
			`"metadata":{"role":"orchestrator","strategy":"simple"}}`
		like(t, "orchestrator", simple, boss.at("session"))
		path := "/api/sessions/" + boss.text("sessionId")
		like(t, "stored orchestrator", simple, any(o.call("GET", path, "").is(200).object()))
		ours := o.send("GET", path, "", "", wire.HeaderClient, "test").is(200)
		like(t, "an orchestrator to our own clients", `{"strategy":"default"}`, any(ours.object()))
	}
	like(t, "queue", `{"session":{"strategy":"queue","env":{"MAESTRO_STRATEGY":"queue"}}}`,
		any(spawn(`,"strategy":"queue"`).is(201).object()))

	post := func(body string) reply { return o.call("POST", "/api/sessions/spawn", body) }
	o.routeError(post(`{}`), 400, "missing_project_id", "projectId is required")
	for _, tasks := range []string{``, `,"taskIds":[]`, `,"taskIds":"x"`, `,"taskIds":null`} {
		o.routeError(post(`{"projectId":"p"`+tasks+`}`), 400, "invalid_task_ids", "taskIds must be a non-empty array")
	}
	some := `{"projectId":"p","taskIds":["task_x"]`
	o.routeError(post(some+`,"spawnSource":"me"}`), 400, "invalid_spawn_source",
		`spawnSource must be "ui" or "session"`)
	o.routeError(post(some+`,"spawnSource":"session"}`), 400, "missing_session_id",
		`sessionId is required when spawnSource is "session"`)
	o.routeError(post(some+`,"spawnSource":"session","sessionId":"sess_x","role":"boss"}`), 404,
		"parent_session_not_found", "Parent session sess_x not found")
	o.routeError(post(some+`,"role":"boss"}`), 400, "invalid_role", `role must be "worker" or "orchestrator"`)
	missing := post(some + `}`)
	o.routeError(missing, 404, "task_not_found", "Task task_x not found")
	if missing.text("details", "taskId") != "task_x" {
		t.Errorf("details: %s", missing.body)
	}
	o.routeError(post(`{"projectId":"proj_x","taskIds":["`+task+`"],"strategy":"none"}`), 404, "project_not_found",
		"Project proj_x not found")
	o.routeError(spawn(`,"strategy":"none"`), 400, "invalid_strategy", `strategy must be "simple", "queue", or "tree"`)
}

// TestOldClientCalls plays what the earlier command line sends (section 9).
func TestOldClientCalls(t *testing.T) {
	o := old{open(t, authOff)}
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	task := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id")
	o.call("GET", "/api/sessions/sess_cli", "").is(404)
	o.call("POST", "/api/sessions",
		`{"id":"sess_cli","projectId":"`+project+`","taskIds":["`+task+`"],"name":"n","status":"running",`+
			`"strategy":"simple","metadata":{"role":"worker"}}`).is(201)
	o.call("PATCH", "/api/sessions/sess_cli", `{"status":"running"}`).is(200)
	for _, kind := range [][2]string{{"working", "progress"}, {"blocked", "task_blocked"}, {
		"needs_input",
		"needs_input",
	}, {"failed", "error"}, {"completed", "task_completed"}} {
		o.call("PATCH", "/api/tasks/"+task,
			`{"sessionStatus":"`+kind[0]+`","updateSource":"session","sessionId":"sess_cli"}`).is(200)
		o.call("POST", "/api/sessions/sess_cli/timeline",
			`{"type":"`+kind[1]+`","message":"m","taskId":"`+task+`"}`).is(200)
	}
	o.call("PATCH", "/api/tasks/"+task, `{"status":"completed"}`).is(200)
	o.call("POST", "/api/sessions/sess_cli/timeline",
		`{"type":"task_status_changed","message":"Status changed to completed","taskId":"`+task+`"}`).is(403)
	o.call("PATCH", "/api/sessions/sess_cli", `{"status":"completed","completedAt":1}`).is(200)
	var types []string
	for _, entry := range o.call("GET", "/api/sessions/sess_cli", "").is(200).at("timeline").([]any) {
		types = append(types, entry.(map[string]any)["type"].(string))
	}
	want := []string{
		"session_started", "task_started", "progress", "task_blocked", "needs_input", "error",
		"task_completed", "session_completed", // only the system writes task_status_changed
	}
	if !slices.Equal(types, want) {
		t.Errorf("the timeline is %v", types)
	}
	if got := o.send(http.MethodGet, "/api/audit/verify", "", "", wire.HeaderClient,
		"test").is(200); len(got.at("faults").([]any)) != 0 {
		t.Errorf("the audit of old clients' log: %s", got.body)
	}
}

// The answer to a write of older clients shows no more than the caller may read.
func TestWriteAnswersShowNoMoreThanReads(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.do(adminToken, "task:create", `{"project":"`+project+`","title":"Secret title"}`).is(200).
		text("event", "data", "taskId")
	own := w.task(project)
	id, blind := w.session(adminToken, project, own,
		`,"role":"orchestrator","allowedCommands":["report:progress","session:spawn","session:update"]`)
	says := `{"sessionStatus":"working","updateSource":"session","sessionId":"` + id + `"}`
	w.send(http.MethodGet, "/api/tasks/"+task, blind, "").is(403)
	r := w.send(http.MethodPatch, "/api/tasks/"+task, blind, says).is(200)
	if r.text("id") != task || strings.Contains(string(r.body), "Secret") {
		t.Errorf("a task: %s", r.body)
	}
	child, _ := w.session(blind, project, own, `,"name":"Hidden"`)
	w.send(http.MethodGet, "/api/sessions/"+child, blind, "").is(403)
	r = w.send(http.MethodPatch, "/api/sessions/"+child, blind, `{"env":{"A":"1"}}`).is(200)
	if r.text("id") != child || strings.Contains(string(r.body), "Hidden") {
		t.Errorf("a session: %s", r.body)
	}
	_, sees := w.session(adminToken, project, own, `,"role":"orchestrator"`)
	r = w.send(http.MethodPatch, "/api/tasks/"+task, sees, `{"title":"Another title"}`).is(200)
	if r.text("title") != "Another title" {
		t.Errorf("who may read it is shown %s", r.body)
	}
}

// An older client may spawn on tasks with open dependencies, and is told of them.
func TestOldSpawnWarnsOfDependencies(t *testing.T) {
	o := old{open(t, authOff)}
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	first := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"First"}`).is(201).text("id")
	then := o.do(adminToken, "task:create", `{"project":"`+project+`","title":"Then","dependencies":["`+first+`"]}`).
		is(200).text("event", "data", "taskId")
	spawn := func(task string) any {
		return o.call("POST", "/api/sessions/spawn", `{"projectId":"`+project+`","taskIds":["`+task+`"]}`).is(201).
			object()["warnings"]
	}
	like(t, "of an open dependency", `["its tasks depend on open ones: `+first+`"]`, spawn(then))
	if got := spawn(first); got != nil {
		t.Errorf("a task without dependencies: %v", got)
	}
}
