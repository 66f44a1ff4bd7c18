package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api"
	"maestro/commands"
)

// entries returns a body that puts n entries on a session's timeline.
func entries(n int) string {
	return `{"timeline":[` + strings.TrimSuffix(strings.Repeat(`{"message":"m"},`, n), ",") + `]}`
}

// charged returns what a call cost a session, and how many events it added to the log.
func (w *world) charged(session string, call func()) (commands, events int) {
	w.Helper()
	const limit = "session-commands"
	left, head := w.commandsLeft(session, "session:note")[limit], w.log.head()
	call()
	return int(left - w.commandsLeft(session, "session:note")[limit]), int(w.log.head() - head)
}

// paying is a call of a route by a session. {p} is the project, {t} a task, {me} the caller.
type paying struct {
	// by is who calls: a worker, a queue worker or an orchestrator with three sessions below it.
	by, route, path, body string
	// events is how many events it causes, 0 if it is refused or causes none.
	events int
}

// whatWrites has each route that writes, and each option that turns one command into several.
var whatWrites = []paying{
	{"O", "POST /api/projects", "/api/projects", `{"name":"P"}`, 1},
	{"O", "PUT /api/projects/{id}", "/api/projects/{p}", `{"name":"P"}`, 0},
	{"O", "DELETE /api/projects/{id}", "/api/projects/{p}", "", 0},
	{"O", "POST /api/tasks", "/api/tasks", `{"projectId":"{p}","title":"T"}`, 1},
	{
		"O", "PATCH /api/tasks/{id}", "/api/tasks/{t}",
		`{"title":"U","sessionStatus":"working","updateSource":"","sessionId":"{me}"}`, 2,
	},
	{"O", "PATCH /api/tasks/{id}", "/api/tasks/{t}", `{"sessionIds":["{me}"]}`, 0},
	{"O", "DELETE /api/tasks/{id}", "/api/tasks/{t}", "", 0},
	{"O", "POST /api/sessions", "/api/sessions", `{"projectId":"{p}","taskIds":["{t}"]}`, 0},
	{"W", "PATCH /api/sessions/{id}", "/api/sessions/{me}", entries(150), 150},
	{
		"W", "PATCH /api/sessions/{id}", "/api/sessions/{me}",
		`{"events":[{"type":"a"},{"type":"file_modified","data":{"file":"f"}}],` +
			`"timeline":[{"message":"m"}]}`, 3,
	},
	{"O", "DELETE /api/sessions/{id}", "/api/sessions/{me}", "", 0},
	{"O", "POST /api/sessions/{id}/tasks/{taskId}", "/api/sessions/{me}/tasks/{t}", "", 0},
	{"O", "DELETE /api/sessions/{id}/tasks/{taskId}", "/api/sessions/{me}/tasks/{t}", "", 0},
	{"O", "POST /api/sessions/spawn", "/api/sessions/spawn", `{"projectId":"{p}","taskIds":["{t}"]}`, 1},
	{"W", "POST /api/sessions/{id}/timeline", "/api/sessions/{me}/timeline", `{"message":"m"}`, 1},
	{"W", "POST /api/sessions/{id}/events", "/api/sessions/{me}/events", `{"type":"a"}`, 1},
	{"W", "POST /api/tasks/{id}/timeline", "/api/tasks/{t}/timeline", `{"message":"m","sessionId":"{me}"}`, 1},
	{"W", "POST /api/sessions/{id}/heartbeat", "/api/sessions/{me}/heartbeat", "", 0},
	{"Q", "POST /api/sessions/{id}/queue/push", "/api/sessions/{me}/queue/push", `{"taskId":"{t}"}`, 1},
	{"Q", "POST /api/sessions/{id}/queue/start", "/api/sessions/{me}/queue/start", "", 1},
	{"Q", "POST /api/sessions/{id}/queue/complete", "/api/sessions/{me}/queue/complete", "", 1},
	{"Q", "POST /api/sessions/{id}/queue/fail", "/api/sessions/{me}/queue/fail", `{}`, 0},
	{"Q", "POST /api/sessions/{id}/queue/skip", "/api/sessions/{me}/queue/skip", "", 0},
	{"O", "POST /api/templates", "/api/templates", `{"name":"n","role":"worker","content":"c"}`, 0},
	{"O", "PUT /api/templates/{id}", "/api/templates/x", `{"name":"n"}`, 0},
	{"O", "POST /api/templates/{id}/reset", "/api/templates/x/reset", "", 0},
	{"O", "DELETE /api/templates/{id}", "/api/templates/x", "", 0},
	{"O", "POST /api/skills/{id}/reload", "/api/skills/x/reload", "", 0}, // it writes nothing
	{"O", "POST /api/manifests", "/api/manifests", `{}`, 0},
	{"O", "POST /api/manifests/generate", "/api/manifests/generate", `{"project":"{p}","taskIds":["{t}"]}`, 0},
	{"O", "POST /api/webhooks/{id}/test", "/api/webhooks/x/test", "", 0},
	{"O", "POST /api/clock/confirm", "/api/clock/confirm", "", 0},
	{"O", "POST /api/login-codes", "/api/login-codes", "", 0},
	{"O", "DELETE /api/logins/{id}", "/api/logins/x", "", 0},
	{"Q", "command", "/api/commands/queue:start?wait=25s", `{}`, 0},
	{"O", "command", "/api/commands/session:spawn", `{"taskIds":["{t}"]}`, 1},
	{"W", "command", "/api/commands/report:progress", `{"message":"m","taskIds":["{t}"]}`, 1},
	{"O", "command", "/api/commands/session:message?all=true", `{"text":"Stop"}`, 3},
	{"O", "command", "/api/commands/session:kill?tree=true", `{"sessionId":"{below}"}`, 3},
}

// TestEveryCommandOfACallIsCharged: by whatever route commands arrive, their session pays for each event, for at most
// one command that causes none, and for a long answer.
func TestEveryCommandOfACallIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-commands=0.001/10000", "project-commands=0.001/100000"))
		project := w.project()
		task := w.task(project)
		type caller struct{ id, token string }
		callers := map[string]caller{}
		for by, fields := range map[string]string{"W": "", "Q": `,"strategy":"queue"`, "O": `,"role":"orchestrator"`} {
			id, token := w.session(adminToken, project, task, fields)
			callers[by] = caller{id, token}
		}
		w.do(callers["Q"].token, "queue:start", `{}`).is(200)
		w.do(callers["Q"].token, "queue:complete", `{}`).is(200)
		below, token := w.session(callers["O"].token, project, task, `,"role":"orchestrator"`)
		for range 2 {
			w.session(token, project, task, "")
		}
		tried := map[string]bool{}
		for _, c := range whatWrites {
			tried[c.route] = true
			method, _, _ := strings.Cut(c.route, " ")
			if c.route == "command" {
				method = http.MethodPost
			}
			names := strings.NewReplacer("{p}", project, "{t}", task, "{me}", callers[c.by].id, "{below}", below)
			if c.by == "Q" { // its own task is completed
				names = strings.NewReplacer("{t}", w.task(project), "{me}", callers[c.by].id)
			}
			var r reply
			paid, events := w.charged(callers[c.by].id, func() {
				r = w.send(method, names.Replace(c.path), callers[c.by].token, names.Replace(c.body))
			})
			if events != c.events || c.events > 0 && r.status/100 != 2 {
				t.Errorf("%s: %d events, not %d: %d %.500s", c.path, events, c.events, r.status, r.body)
			}
			waited := strings.Contains(c.path, "wait=") && c.events == 0 // it tried again at the end
			paid -= len(r.body) / (16 << 10)                             // it also pays for its answer
			if paid != max(events, 1) && (!waited || paid != 2) {
				t.Errorf("%s: %d commands were charged for %d events: %d", c.path, paid, events, r.status)
			}
		}
		routes, err := api.WriteRoutes()
		if err != nil || len(routes) < 20 {
			t.Fatal(routes, err)
		}
		for _, route := range routes {
			if !tried[route] {
				t.Errorf("%s is in no row", route)
			}
		}
	})
}

// TestCommandsPerCallAreLimited: a call above it is refused before any of it is done, with the number. A user ends any
// number of sessions.
func TestCommandsPerCallAreLimited(t *testing.T) {
	most := int(commands.LimitCallCommands.Value)
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		task := w.task(project)
		id, token := w.session(adminToken, project, task, "")
		lead, leadToken := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		top, _ := w.session(leadToken, project, task, `,"role":"orchestrator"`)
		for range most {
			w.do(adminToken, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"],"spawnedBy":"`+top+`"}`).
				is(200)
		}
		refused := func(call func() reply) {
			t.Helper()
			var r reply
			paid, events := w.charged(id, func() { r = call() })
			r.refused(422, "LIMIT_EXCEEDED", "limit call-commands")
			if events != 0 || paid > 1 || !strings.Contains(r.text("message"), "has "+strconv.Itoa(most+1)) {
				t.Errorf("%d events, and %d commands were charged: %s", events, paid, r.body)
			}
		}
		for _, body := range []string{
			entries(most + 1),
			strings.Replace(entries(most), "{", `{"events":[{"type":"a"}],`, 1),
			strings.Replace(entries(most), "{", `{"status":"completed",`, 1),
		} {
			refused(func() reply { return w.send(http.MethodPatch, "/api/sessions/"+id, token, body) })
			refused(func() reply { return w.send(http.MethodPatch, "/api/sessions/"+id, adminToken, body) })
		}
		refused(func() reply { return w.do(leadToken, "session:kill?tree=true", `{"sessionId":"`+top+`"}`) })
		refused(func() reply {
			return w.do(leadToken, "session:kill?tree=true&dryRun=true", `{"sessionId":"`+top+`"}`)
		})
		w.do(token, "session:kill?tree=true", `{"sessionId":"`+top+`"}`).refused(403, "NOT_ALLOWED", "")
		_, events := w.charged(lead, func() {
			w.do(adminToken, "session:kill?tree=true", `{"sessionId":"`+top+`"}`).is(200)
		})
		if events != most+1 {
			t.Errorf("a user ended %d sessions", events)
		}
		if _, events := w.charged(id, func() {
			w.send(http.MethodPatch, "/api/sessions/"+id, token, entries(most)).is(200)
		}); events != most {
			t.Errorf("%d events of a call at the limit", events)
		}
	})
}

// TestBudgetEndsWithinCall: if its caller cannot pay for all commands of a call, none is executed, and commands
// that were not executed cost nothing. A call of more commands than a burst is admitted when the caller has no debt.
func TestBudgetEndsWithinCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-commands=1/50"))
		project := w.project()
		task := w.task(project)
		id, token := w.session(adminToken, project, task, "")
		patch := func(body string) reply { return w.send(http.MethodPatch, "/api/sessions/"+id, token, body) }
		if paid, events := w.charged(id, func() { patch(entries(30)).is(200) }); paid != 30 || events != 30 {
			t.Errorf("%d commands were charged for %d events", paid, events)
		}
		var after time.Duration
		if _, events := w.charged(id, func() { after = patch(entries(30)).limited("session-commands") }); events != 0 {
			t.Errorf("%d events of a call that was not charged", events)
		}
		time.Sleep(after)
		patch(entries(30)).is(200)
		time.Sleep(time.Minute)
		paid, events := w.charged(id, func() { // the first one is not permitted
			patch(`{"taskIds":["` + task + `"],` + strings.TrimPrefix(entries(30), "{")).is(403)
		})
		if paid != 1 || events != 0 {
			t.Errorf("refused at once: %d commands were charged for %d events", paid, events)
		}
		time.Sleep(time.Minute)
		paid, events = w.charged(id, func() { // the second fails: there is no such task
			patch(`{"timeline":[{"message":"m"},{"message":"m","taskId":"` + strings.Repeat("x", 200) + `"},` +
				strings.TrimPrefix(entries(20), `{"timeline":[`)).is(400)
		})
		if paid != events+1 {
			t.Errorf("failed after %d events: %d commands were charged", events, paid)
		}
		time.Sleep(time.Minute)
		patch(entries(80)).is(200)
		if after := w.do(token, "report:progress", note).limited("session-commands"); after < 25*time.Second {
			t.Errorf("after 80 commands of 50 the next is accepted after %s", after)
		}
	})
}
