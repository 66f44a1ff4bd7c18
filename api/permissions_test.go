package api_test

import (
	"net/http"
	"strings"
	"testing"

	"maestro/api"
)

// The columns of the tests below. Beside the table's:
// E: a worker whose list is whoami, task:get, report:progress
// F: an orchestrator whose list is task:list, task:complete
// Z: a worker that was killed: it reads, and its reports are taken as late ones
// D: a deleted session, G: a well-signed token of a session that never was: neither may do anything
const columns = "WQTOUEFZDG"

// writes is transcribed by hand from contract.md, "Who may do what".
var writes = []struct{ id, who, body string }{
	{"session:register", "WQTOUEF", `{SELF}`},
	{"session:complete", "WQTOUEF", `{"sessionId":"ME"}`},
	{"track-file", "WQTOUEF", `{"sessionId":"ME","file":"a.go"}`},
	{"report:progress", "WQTOEZ", `{"message":"m","taskIds":["OWN"]}`},
	{"report:blocked", "WQTOZ", `{"message":"m","taskIds":["OWN"]}`},
	{"report:error", "WQTOZ", `{"message":"m","taskIds":["OWN"]}`},
	{"report:needs-input", "WQTOZ", `{"message":"m","taskIds":["OWN"]}`},
	{"report:complete", "WQTOZ", `{"message":"m"}`},
	{"task:report:progress", "WQTOEZ", `{"message":"m","taskIds":["OWN"]}`},
	{"task:report:blocked", "WQTOZ", `{"message":"m","taskIds":["OWN"]}`},
	{"task:report:error", "WQTOZ", `{"message":"m","taskIds":["OWN"]}`},
	{"task:report:needs-input", "WQTOZ", `{"message":"m","taskIds":["OWN"]}`},
	{"task:report:complete", "WQTOZ", `{"message":"m","taskIds":["OWN"]}`},
	{"task:create", "WQTOU", `{"project":"PROJECT","title":"x"}`},
	{"task:update", "OU", `{"taskId":"OWN","title":"x"}`},
	{"task:complete", "OUF", `{"taskId":"OWN"}`},
	{"task:block", "OU", `{"taskId":"OWN","reason":"r"}`},
	{"task:reopen", "OU", `{"taskId":"BLOCKED"}`},
	{"task:delete", "U", `{"taskId":"BLOCKED"}`},
	{"session:spawn", "OU", `{"project":"PROJECT","taskIds":["OWN"]}`},
	{"session:kill", "OU", `{"sessionId":"CHILD"}`},
	{"session:update", "OU", `{"sessionId":"CHILD","name":"n"}`},
	{"project:create", "OU", `{"name":"n"}`},
	{"project:delete", "OU", `{"projectId":"EMPTY"}`},
	{"session:note", "WQTOU", `{"sessionId":"ME","message":"m"}`},
	{"project:update", "U", `{"projectId":"PROJECT","name":"n"}`},
	{"session:delete", "U", `{"sessionId":"CHILD"}`},
	{"session:link", "U", `{"sessionId":"CHILD","taskId":"BLOCKED"}`},
	{"session:unlink", "U", `{"sessionId":"CHILD","taskId":"OWN"}`},
}

// reads is transcribed in the same way.
var reads = []struct{ path, who string }{
	{"/api/whoami", "WQTOUEFZ"},
	{"/api/commands", "WQTOUEFZ"},
	{"/api/projects/PROJECT/status", "WQTOUEFZ"},
	{"/api/tasks", "WQTOUFZ"},
	{"/api/tasks?projectId=PROJECT", "WQTOUFZ"},
	{"/api/tasks/OWN", "WQTOUEZ"},
	{"/api/tasks/OWN/timeline", "WQTOUEZ"},
	{"/api/tasks/OWN/children", "WQTOUZ"},
	{"/api/tasks/OWN/tree", "TOU"},
	{"/api/projects/PROJECT/tree", "TOU"},
	{"/api/sessions", "OU"},
	{"/api/sessions/CHILD", "WQTOUZ"},
	{"/api/sessions/CHILD/timeline", "WQTOUZ"},
	{"/api/projects", "OU"},
	{"/api/projects/PROJECT", "OU"},
	{"/api/audit/head", "U"},
	{"/api/audit/export", "U"},
	{"/api/audit/verify", "U"},
	{"/api/backup", "U"},
}

// stage is a project with a caller of one column in it.
type stage struct {
	token string
	names *strings.Replacer
}

func (w *world) stage(column rune) stage {
	w.Helper()
	project := w.project()
	own, blocked := w.task(project), w.task(project)
	w.do(adminToken, "task:block", `{"taskId":"`+blocked+`"}`).is(200)
	me, token := "", adminToken
	switch column {
	case 'W', 'Z', 'D':
		me, token = w.session(adminToken, project, own, ``)
	case 'Q':
		me, token = w.session(adminToken, project, own, `,"strategy":"queue"`)
	case 'T':
		me, token = w.session(adminToken, project, own, `,"strategy":"tree"`)
	case 'O':
		me, token = w.session(adminToken, project, own, `,"role":"orchestrator"`)
	case 'E':
		me, token = w.session(adminToken, project, own, `,"allowedCommands":["whoami","task:get","report:progress"]`)
	case 'F':
		me, token = w.session(adminToken, project, own, `,"role":"orchestrator","allowedCommands":["task:list","task:complete"]`)
	case 'G':
		me, token = "sess_ghost", api.SessionToken(serverKey, "sess_ghost", 1)
	}
	spawner, maker := adminToken, adminToken
	if column == 'O' {
		spawner, maker = token, token
	}
	child, _ := w.session(spawner, project, own, ``)
	empty := w.do(maker, "project:create", `{"name":"empty"}`).is(200).text("event", "data", "projectId")
	self := ""
	switch column {
	case 'U':
		me, _ = w.session(adminToken, project, own, ``)
		self = `"project":"` + project + `"`
	case 'Z':
		w.do(adminToken, "session:kill", `{"sessionId":"`+me+`"}`).is(200)
	case 'D':
		w.do(adminToken, "session:delete", `{"sessionId":"`+me+`"}`).is(200)
	}
	return stage{token, strings.NewReplacer("SELF", self, "PROJECT", project, "OWN", own, "BLOCKED", blocked, "ME", me, "CHILD", child, "EMPTY", empty)}
}

func TestEveryCellOfThePermissionTable(t *testing.T) {
	w := open(t, nil)
	for _, row := range writes {
		for _, column := range columns {
			s := w.stage(column)
			before := w.log.head()
			r := w.do(s.token, row.id, s.names.Replace(row.body))
			if strings.ContainsRune(row.who, column) {
				if r.status != http.StatusOK {
					t.Errorf("%s by %c: %d %s", row.id, column, r.status, r.body)
				}
				continue
			}
			if r.status != http.StatusForbidden {
				t.Errorf("%s by %c: %d %s", row.id, column, r.status, r.body)
				continue
			}
			r.refused(http.StatusForbidden, "NOT_ALLOWED", "")
			if r.text("rule") == "" {
				t.Errorf("%s by %c: the refusal names no rule: %s", row.id, column, r.body)
			}
			if w.log.head() != before {
				t.Errorf("%s by %c was refused and left an event", row.id, column)
			}
		}
	}
}

func TestEveryReadOfThePermissionTable(t *testing.T) {
	w := open(t, func(c *api.Config) { c.Backup = noBackup })
	for _, column := range columns {
		s := w.stage(column)
		before := w.views()
		for _, row := range reads {
			want := http.StatusForbidden
			if strings.ContainsRune(row.who, column) {
				want = http.StatusOK
			}
			r := w.send(http.MethodGet, s.names.Replace(row.path), s.token, "")
			if r.status != want {
				t.Errorf("%s by %c: %d %s", row.path, column, r.status, r.body)
			} else if want == http.StatusForbidden {
				r.refused(want, "NOT_ALLOWED", "")
			}
		}
		if w.views() != before {
			t.Errorf("reading by %c changed the views", column)
		}
	}
}

func TestASessionStaysInItsProject(t *testing.T) {
	w := open(t, nil)
	mine, other := w.project(), w.project()
	task, foreign := w.task(mine), w.task(other)
	_, worker := w.session(adminToken, mine, task, ``)
	_, orchestrator := w.session(adminToken, mine, task, `,"role":"orchestrator"`)
	stranger, _ := w.session(adminToken, other, foreign, ``)

	for _, path := range []string{"/api/tasks/" + foreign, "/api/tasks?projectId=" + other, "/api/projects/" + other + "/status", "/api/sessions/" + stranger} {
		w.send(http.MethodGet, path, worker, "").refused(403, "NOT_ALLOWED", "")
	}
	for _, path := range []string{"/api/tasks/none", "/api/projects/none/status", "/api/sessions/none"} {
		w.send(http.MethodGet, path, worker, "").refused(404, "NOT_FOUND", "not found")
	}
	if got := w.send(http.MethodGet, "/api/tasks", worker, "").is(200).array(); len(got) != 1 {
		t.Errorf("a worker sees %d tasks, and its project has one", len(got))
	}
	if got := w.send(http.MethodGet, "/api/tasks", adminToken, "").is(200).array(); len(got) != 2 {
		t.Errorf("the admin sees %d tasks of two", len(got))
	}
	w.do(orchestrator, "task:create", `{"project":"`+other+`","title":"x"}`).refused(403, "NOT_ALLOWED", "")
	w.do(worker, "report:progress", `{"message":"m","taskIds":["`+foreign+`"]}`).refused(403, "NOT_ALLOWED", "")
	w.do(worker, "session:note", `{"sessionId":"`+stranger+`","message":"m"}`).refused(403, "NOT_ALLOWED", "")
	w.do(orchestrator, "session:kill", `{"sessionId":"`+stranger+`"}`).refused(403, "NOT_ALLOWED", "")
	w.do(orchestrator, "task:update", `{"taskId":"`+task+`","status":"cancelled"}`).refused(403, "NOT_ALLOWED", "cancelled")
	w.do(orchestrator, "project:delete", `{"projectId":"`+other+`"}`).refused(403, "NOT_ALLOWED", "")

	created := w.do(orchestrator, "project:create", `{"name":"its own"}`).is(200).text("event", "data", "projectId")
	w.do(orchestrator, "task:create", `{"project":"`+created+`","title":"x"}`).is(200)
	if got := w.send(http.MethodGet, "/api/projects", orchestrator, "").is(200).array(); len(got) != 2 {
		t.Errorf("an orchestrator sees %d projects, its own and the one that it created", len(got))
	}
}

func TestWhoamiAndCommands(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	id, token := w.session(adminToken, project, w.task(project), ``)
	me := w.send(http.MethodGet, "/api/whoami", token, "").is(200)
	for key, want := range map[string]string{"actor": id, "kind": "session", "role": "worker", "strategy": "simple", "project": project, "session": id, "authn": "token"} {
		if me.text(key) != want {
			t.Errorf("%s is %q, not %q", key, me.text(key), want)
		}
	}
	admin := w.send(http.MethodGet, "/api/whoami", adminToken, "").is(200)
	if admin.text("actor") != "admin" || admin.text("role") != "user" || admin.text("kind") != "user" {
		t.Errorf("the admin is %s", admin.body)
	}
	mine := w.send(http.MethodGet, "/api/commands", token, "").is(200)
	allowed, ok := mine.at("allowedCommands").([]any)
	if !ok || len(allowed) == 0 || allowed[0] != "whoami" || mine.text("role") != "worker" || mine.text("strategy") != "simple" {
		t.Errorf("a worker's commands: %s", mine.body)
	}
	hidden, _ := mine.at("hiddenCommands").([]any)
	both := map[any]int{}
	for _, id := range append(allowed, hidden...) {
		both[id]++
	}
	for id, n := range both {
		if n != 1 {
			t.Errorf("%v stands in %d lists", id, n)
		}
	}
	if both["task:update"] != 1 || both["session:lost"] != 0 || both["session:claim"] != 0 || both["task:report:progress"] != 0 {
		t.Errorf("the lists are wrong: %s", mine.body)
	}
	if w.send(http.MethodGet, "/api/commands", adminToken, "").is(200).text("role") != "user" {
		t.Error("the admin's role is user")
	}
}
