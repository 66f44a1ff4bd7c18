package api_test

import (
	"fmt"
	"strings"
	"time"

	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

// endClaims are further claims: how sessions end and what they report, and where we are stricter than the page.
var endClaims = []claim{
	// Stricter than the page: a session that was stopped or failed has ended, and nothing brings it back.
	{"Status `completed`, `failed` or `stopped` sets `completedAt`", func(o *oldWorld) {
		for _, status := range []string{"failed", "stopped"} {
			o.session = o.call("POST", "/api/sessions", `{"projectId":"`+o.project+`","taskIds":[]}`).is(201).text("id")
			path := "/api/sessions/" + o.session
			ended := o.call("PATCH", path, `{"status":"`+status+`"}`).is(200)
			if at, ok := ended.at("completedAt").(float64); !ok || at < 9e11 {
				o.Errorf("%s: completedAt is %v", status, ended.at("completedAt"))
			}
			time.Sleep(time.Second)
			o.call("PATCH", path, `{"status":"running"}`).refused(403, "NOT_ALLOWED", "has ended")
			o.call("PATCH", path, `{"status":"idle"}`).refused(403, "NOT_ALLOWED", "has ended")
			o.asSession("POST", path+"/events", `{"type":"t"}`).refused(403, "NOT_ALLOWED", "has ended")
			o.asSession("POST", path+"/timeline", `{"message":"m"}`).refused(403, "NOT_ALLOWED", "has ended")
			if after := o.call("GET", path, "").is(200); after.text("status") != status ||
				after.at("completedAt") != ended.at("completedAt") {
				o.Errorf("%s: %s, completed at %v", status, after.text("status"), after.at("completedAt"))
			}
		}
	}},
	// Here, a status that it has already is no change.
	{"sets `completedAt` to the server's time every time", func(o *oldWorld) {
		path := "/api/sessions/" + o.session
		done := o.call("PATCH", path, `{"status":"completed"}`).is(200)
		head := o.log.head()
		time.Sleep(time.Second)
		again := o.call("PATCH", path, `{"status":"completed"}`).is(200)
		if again.at("completedAt") != done.at("completedAt") || o.log.head() != head {
			o.Errorf("completed at %v, then at %v", done.at("completedAt"), again.at("completedAt"))
		}
	}},
	{"An empty body `{}` is accepted and changes only `updatedAt`", func(o *oldWorld) { // here, it changes nothing
		before := o.call("GET", "/api/tasks/"+o.task, "").is(200)
		head := o.log.head()
		time.Sleep(time.Second)
		after := o.call("PATCH", "/api/tasks/"+o.task, `{}`).is(200)
		if string(after.body) != string(before.body) || o.log.head() != head {
			o.Errorf("%s, and then\n%s", before.body, after.body)
		}
	}},
	{"`status` values in use: spawning, idle, working, running, completed, failed, stopped", func(o *oldWorld) {
		for _, status := range []string{
			"spawning", "idle", "working", "running", "completed", "failed", "stopped",
		} {
			body := `{"projectId":"` + o.project + `","taskIds":["` + o.task + `"],"status":"` + status + `"}`
			made := o.call("POST", "/api/sessions", body, wire.HeaderKey, status).is(201)
			stored := o.call("GET", "/api/sessions/"+made.text("id"), "").is(200)
			for what, r := range map[string]reply{"the answer": made, "the session": stored} {
				like(o.T, what, `{"status":"`+status+`","taskIds":["`+o.task+`"],
					"timeline":[{"message":"Session created"},{"type":"task_started","taskId":"`+o.task+`"}]}`,
					any(map[string]any{
						"status": r.at("status"), "taskIds": r.at("taskIds"), "timeline": r.at("timeline").([]any)[:2],
					}))
				over := status == "completed" || status == "failed" || status == "stopped"
				if at, ok := r.at("completedAt").(float64); ok != over || over && at < 9e11 {
					o.Errorf("%s is %s, completed at %v", what, status, r.at("completedAt"))
				}
			}
			again := o.call("POST", "/api/sessions", body, wire.HeaderKey, status).is(201)
			if again.text("id") != made.text("id") {
				o.Errorf("%s: a retry made session %s beside %s", status, again.text("id"), made.text("id"))
			}
		}
		o.call("POST", "/api/sessions", `{"projectId":"`+o.project+`","taskIds":[],"status":"odd"}`).
			refused(400, "VALIDATION_ERROR", "")
	}},
	// Stricter than the page: from any other content no prompt can be made, and each session that has it would fail.
	{"`POST /api/templates` (`name`, `role`, `content`) 201", func(o *oldWorld) {
		const unusable = "The template cannot be used: "
		id := o.template()
		for _, content := range []string{"c", "Do your tasks.", strings.ReplaceAll(builtIn, "{{", "maestro ")} {
			content = jsonText(content)
			o.call("POST", "/api/templates", `{"name":"n","role":"worker","content":`+content+`}`).
				refused(400, "VALIDATION_ERROR", unusable)
			o.call("PUT", "/api/templates/"+id, `{"content":`+content+`}`).refused(400, "VALIDATION_ERROR", unusable)
		}
		like(o.T, "the template", `{"content":`+jsonText(builtIn+"\n")+`}`, any(o.call("PUT", "/api/templates/"+id,
			`{"content":`+jsonText(builtIn+"\n")+`}`).is(200).object()))
	}},
	{"Without `--task`: one timeline entry, and for\n  `complete` also `PATCH /api/sessions/:id`", func(o *oldWorld) {
		timeline := "/api/sessions/" + o.session + "/timeline"
		second := o.call("POST", "/api/tasks", `{"projectId":"`+o.project+`","title":"Second"}`).is(201).text("id")
		o.call("POST", "/api/sessions/"+o.session+"/tasks/"+second, "").is(200)
		for _, kind := range [][2]string{
			{"working", "progress"},
			{"blocked", "task_blocked"},
			{"failed", "error"},
			{"needs_input", "needs_input"},
			{"completed", "task_completed"},
		} {
			for _, task := range []string{o.task, second} {
				like(o.T, kind[0], `{"sessionStatus":"`+kind[0]+`"}`, any(o.says(task, kind[0]).is(200).object()))
				o.adds(timeline, kind[1], "about "+kind[0], task)
				like(o.T, kind[0], `{"sessionStatus":"`+kind[0]+`","status":"todo"}`,
					any(o.call("GET", "/api/tasks/"+task, "").is(200).object()))
			}
			if kind[0] != "completed" {
				o.adds(timeline, kind[1], "all "+kind[0], "")
			}
		}
		o.adds(timeline, "task_completed", "all done", "")
		o.asSession("PATCH", "/api/sessions/"+o.session, `{"status":"completed"}`).is(200)
		like(o.T, "the session", `{"status":"completed"}`,
			any(o.call("GET", "/api/sessions/"+o.session, "").is(200).object()))
	}},
	// With a session's token, the words are a report: they are where those of our own command line are, no other task
	// can be meant, and nothing else writes an entry of such a type.
	{"then\n  `POST /api/sessions/:id/timeline` `{\"type\",\"message\",\"taskId\"}`", func(o *oldWorld) {
		timeline := "/api/sessions/" + o.session + "/timeline"
		o.says(o.task, "completed").is(200)
		o.adds(timeline, "task_completed", "All green", o.task)
		if result := o.call("GET", "/api/tasks/"+o.task, "").is(200).text("result", "text"); result != "All green" {
			o.Errorf("the result of the task is %q", result)
		}
		r := o.asSession("POST", "/api/tasks/"+o.task+"/timeline",
			`{"type":"needs_input","message":"Which?","sessionId":"`+o.session+`"}`)
		if o.off {
			r.is(200) // a note, as before: nobody is known to ask
			return
		}
		r.is(200)
		inbox := o.call("GET", "/api/inbox?kind=question", "").is(200).array()
		if len(inbox) != 1 || !strings.Contains(fmt.Sprint(inbox), "Which?") {
			o.Errorf("the inbox has %v", inbox)
		}
		for _, m := range o.log.messages {
			if strings.Contains(string(m.Body), "session.noted") {
				o.Errorf("it is a note: %s", m.Body)
			}
		}
		o.asSession("PATCH", "/api/sessions/"+o.session,
			`{"timeline":[{"type":"error","message":"It is red","taskId":"`+o.task+`"}]}`).is(200)
		like(o.T, "the task", `{"sessionStatus":"failed"}`,
			any(o.call("GET", "/api/tasks/"+o.task, "").is(200).object()))
		if said, ok := o.last().Data.(*events.SessionReported); !ok || said.Message != "It is red" {
			o.Errorf("the newest event is %+v", o.last().Data)
		}
		foreign := o.call("POST", "/api/tasks", `{"projectId":"`+o.project+`","title":"F"}`).is(201).text("id")
		for _, kind := range []string{"task_completed", "task_blocked", "error", "needs_input"} {
			o.asSession("POST", timeline, `{"type":"`+kind+`","message":"m","taskId":"`+foreign+`"}`).
				refused(403, "NOT_ALLOWED", "may not report on task")
			o.asSession("POST", "/api/sessions/"+o.session+"/events", `{"type":"`+kind+`","data":1}`).
				refused(403, "NOT_ALLOWED", "may not write a note of type")
			o.do(service.SessionToken(serverKey, o.session, 1), "session:note", `{"type":"`+kind+`","message":"m"}`).
				refused(403, "NOT_ALLOWED", "may not write a note of type")
		}
	}},
	{"Body: `projectId`, `taskIds` (not empty)", func(o *oldWorld) { // stricter than the page: not any task
		o.call("PATCH", "/api/tasks/"+o.task, `{"status":"cancelled"}`).is(200)
		for _, path := range []string{"/api/sessions", "/api/sessions/spawn"} {
			r := o.call("POST", path, `{"projectId":"`+o.project+`","taskIds":["`+o.task+`"]}`).is(422)
			if !strings.Contains(string(r.body), "is cancelled") {
				o.Errorf("%s: %s", path, r.body)
			}
		}
	}},
	{"`skills`, `strategy`, `templateId`.", func(o *oldWorld) { // here, it is absent unless a spawn names a template
		for given, want := range map[string]string{``: "", `,"templateId":"execute-queue"`: "execute-queue"} {
			session := o.do(adminToken, "session:spawn",
				`{"project":"`+o.project+`","taskIds":["`+o.task+`"]`+given+`}`).is(200).
				text("event", "data", "sessionId")
			manifest := o.call("GET", "/api/sessions/"+session+"/manifest", "").is(200)
			if got, ok := manifest.object()["templateId"]; ok != (want != "") || ok && got != want {
				o.Errorf("with %q the manifest has the template %v", given, got)
			}
		}
	}},
}

// adds adds an entry of a type to the session's timeline, as a report of the older command line does.
func (o *oldWorld) adds(timeline, kind, message, task string) {
	o.Helper()
	about := ""
	if task != "" {
		about = `,"taskId":"` + task + `"`
	}
	entries := o.asSession("POST", timeline, `{"type":"`+kind+`","message":"`+message+`"`+about+`}`).is(200).
		at("timeline").([]any)
	added := `{"type":"` + kind + `","message":"` + message + `"` + about + `}`
	for len(entries) > 0 && strings.HasPrefix(entries[len(entries)-1].(map[string]any)["type"].(string), "session_") {
		entries = entries[:len(entries)-1] // the report ended the session
	}
	like(o.T, "the newest entry", added, entries[len(entries)-1])
}
