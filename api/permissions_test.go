package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"maestro/internal/oracle"
	"maestro/service"
)

// The columns of the tests below. Beside the table's:
// E: a worker whose list is whoami, task:get, report:progress
// F: an orchestrator whose list is task:list, task:complete
// Z: a worker that was killed: it reads itself, its task and its questions
// D: a deleted session, G: a well-signed token of a session that never was: neither may do anything
// N: a second, named admin token, which may do what U may; A: an auditor's token
// R: a read-only token of the project, X: one of another project
// V: an orchestrator of another project, P: a queue worker of another project
const columns = "WQTOUEFZDGNARXVP"

type write struct{ id, body, first, who string }

// writes has a good body of each command, and a second one of some. first are commands that the admin, or the runner
// terminal, executes before, as "id body; terminal id body". who names the columns that may use it, by the oracle's
// table; for some bodies they differ.
var writes = withCells([]write{
	{"session:register", `{SELF}`, "", ""},
	{"session:complete", `{"sessionId":"ME"}`, "", ""},
	{"track-file", `{"sessionId":"ME","file":"a.go"}`, "", ""},
	{"worker:init", `{"sessionId":"ME","manifestDigest":"DIGEST"}`, "", ""},
	{"orchestrator:init", `{"sessionId":"ME","manifestDigest":"DIGEST"}`, "", ""},
	{"report:progress", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"report:blocked", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"report:error", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"report:needs-input", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"report:complete", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"report:complete", `{"message":"m"}`, "", "WQTOVP"}, // of itself, wherever it is
	{"task:report:progress", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"task:report:blocked", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"task:report:error", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"task:report:needs-input", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"task:report:complete", `{"message":"m","taskIds":["OWN"]}`, "", ""},
	{"task:create", `{"project":"PROJECT","title":"x"}`, "", ""},
	{"task:update", `{"taskId":"OWN","title":"x"}`, "", ""},
	{"task:complete", `{"taskId":"OWN"}`, "", ""},
	{"task:block", `{"taskId":"OWN","reason":"r"}`, "", ""},
	{"task:reopen", `{"taskId":"BLOCKED"}`, "", ""},
	{"task:delete", `{"taskId":"BLOCKED"}`, "", ""},
	{"session:spawn", `{"project":"PROJECT","taskIds":["OWN"]}`, "", ""},
	{"session:kill", `{"sessionId":"CHILD"}`, "", ""},
	{"session:message", `{"sessionId":"LEAD","text":"t","about":"OWN"}`, "", ""},
	{"session:update", `{"sessionId":"CHILD","name":"n"}`, "", ""},
	{
		"session:resume", `{"sessionId":"CHILD"}`,
		`terminal session:claim {"sessionId":"CHILD"}; session:kill {"sessionId":"CHILD"}`, "",
	},
	// Nobody but a runner says what becomes of a run.
	{"session:claim", `{"sessionId":"CHILD"}`, "", ""},
	{"session:exited", `{"sessionId":"CHILD","run":1}`, `terminal session:claim {"sessionId":"CHILD"}`, ""},
	{"session:usage", `{"sessionId":"CHILD","run":1,"turns":1}`, "", ""},
	{"sandbox:blocked", `{"sessionId":"CHILD","run":1,"command":"rm","reason":"r"}`, "", ""},
	{"preflight:failed", `{"sessionId":"CHILD","run":1,"check":"disk","message":"full"}`, "", ""},
	{"session:stuck", `{"sessionId":"CHILD","run":1,"kind":"loop"}`, "", ""},
	{"queue:start", `{"sessionId":"PULLER"}`, "", ""},
	{"queue:complete", `{"sessionId":"PULLER"}`, `queue:start {"sessionId":"PULLER"}`, ""},
	{"queue:fail", `{"sessionId":"PULLER"}`, `queue:start {"sessionId":"PULLER"}`, ""},
	{"queue:skip", `{"sessionId":"PULLER"}`, "", ""},
	{"queue:skip", `{"sessionId":"PULLER"}`, `queue:start {"sessionId":"PULLER"}`, ""},
	{"queue:push", `{"sessionId":"PULLER","taskId":"BLOCKED"}`, "", ""},
	{"queue:push", `{"project":"PROJECT","queue":"SHARED","taskId":"OWN"}`, "", "U"},
	{
		"queue:skip", `{"project":"PROJECT","queue":"SHARED"}`,
		`queue:push {"project":"PROJECT","queue":"SHARED","taskId":"OWN"}`, "U",
	},
	{"project:create", `{"name":"n"}`, "", "OUV"},
	{"project:delete", `{"projectId":"EMPTY"}`, "", ""},
	{"input:answer", `{"inputId":"QUESTION","answer":"a"}`, "", ""},
	{"session:note", `{"sessionId":"ME","message":"m"}`, "", ""},
	{"input:received", `{"inputId":"MINE"}`, "", ""},
	{"queue:create", `{"project":"PROJECT","queue":"fresh"}`, "", ""},
	{"queue:requeue", `{"taskId":"OWN","queue":"PULLER"}`, `queue:skip {"sessionId":"PULLER"}`, ""},
	{"queue:move", `{"taskId":"OWN","queue":"PULLER"}`, `queue:push {"sessionId":"PULLER","taskId":"BLOCKED"}`, ""},
	{"queue:remove", `{"taskId":"OWN","queue":"PULLER"}`, "", ""},
	{"queue:delete", `{"project":"PROJECT","queue":"fresh"}`, `queue:create {"project":"PROJECT","queue":"fresh"}`, ""},
	{"project:update", `{"projectId":"PROJECT","name":"n"}`, "", ""},
	{"session:delete", `{"sessionId":"CHILD"}`, "", ""},
	{"session:link", `{"sessionId":"CHILD","taskId":"BLOCKED"}`, "", ""},
	{"session:unlink", `{"sessionId":"CHILD","taskId":"OWN"}`, "", ""},
	{"template:create", `{"name":"n","role":"worker","content":"c"}`, "", ""},
	{"template:update", `{"templateId":"execute-simple","content":"c"}`, "", ""},
	{
		"template:reset", `{"templateId":"execute-simple"}`,
		`template:update {"templateId":"execute-simple","content":"c"}`, "",
	},
	{"template:delete", `{"templateId":"TEMPLATE"}`, "", ""},
	{"token:create", `{"name":"new-PROJECT","kind":"auditor"}`, "", ""},
	{"token:revoke", `{"name":"old-PROJECT"}`, `token:create {"name":"old-PROJECT","kind":"auditor"}`, ""},
	{"token:revoke", `{"sessionId":"CHILD"}`, "", ""},
	{"audit:redact", `{"text":"DIGEST","reason":"it held a password"}`, "", ""},
	{"token:used", `{"name":"admin","address":"192.0.2.1"}`, "", ""},
	{"webhook:create", `{"url":"https://example.org/"}`, "", ""},
	{"webhook:update", `{"webhookId":"HOOK","name":"n"}`, "", ""},
	{"webhook:resume", `{"webhookId":"HOOK","skip":true}`, "", ""},
	{"webhook:delete", `{"webhookId":"HOOK"}`, "", ""},
	{"webhook:park", `{"webhookId":"HOOK","why":"gone","failures":1,"failingFor":1,"patience":1}`, "", ""},
	// Nobody can use the system's commands over HTTP, even if their deadline has passed.
	{"session:lost", `{"sessionId":"CHILD","silentFor":60000,"lease":60000}`, "", ""},
	{"session:recovered", `{"sessionId":"CHILD"}`, "", ""},
	{"session:timed-out", `{"sessionId":"CHILD"}`, "", ""},
	{"queue:return", `{"project":"PROJECT","queue":"PULLER","taskId":"OWN"}`, `queue:start {"sessionId":"PULLER"}`, ""},
	{
		"queue:quarantine", `{"project":"PROJECT","queue":"PULLER","taskId":"OWN"}`,
		`queue:start {"sessionId":"PULLER"}`, "",
	},
})

// begins are rows that change nothing if the session is already running.
var begins = []string{"session:register", "worker:init", "orchestrator:init"}

// reads is written in the same way.
var reads = []struct{ path, who string }{
	{"/api/whoami", "WQTOUEFZARXVP"},
	{"/api/commands", "WQTOUEFZARXVP"},
	{"/api/projects/PROJECT/status", "WQTOUEFAR"},
	{"/api/tasks", "WQTOUFARXVP"},
	{"/api/tasks?projectId=PROJECT", "WQTOUFAR"},
	{"/api/tasks/OWN", "WQTOUEZAR"},
	{"/api/tasks/OWN/timeline", "WQTOUEAR"},
	{"/api/tasks/OWN/children", "WQTOUAR"},
	{"/api/tasks/OWN/tree", "TOUAR"},
	{"/api/projects/PROJECT/tree", "TOUAR"},
	{"/api/sessions", "OUARXV"},
	{"/api/sessions?projectId=PROJECT", "OUAR"},
	{"/api/sessions/CHILD", "WQTOUAR"},
	{"/api/sessions/CHILD/timeline", "WQTOUAR"},
	{"/api/sessions/CHILD/mail", "OUAR"},
	{"/api/sessions/ME/mail", "WQTOUEFZAR"},
	{"/api/queues", "QUARXP"},
	{"/api/queues?projectId=PROJECT", "QUAR"},
	{"/api/queues/PULLER?projectId=PROJECT", "QUAR"},
	{"/api/queues/SHARED?projectId=PROJECT", "QUAR"},
	{"/api/sessions/PULLER/queue", "QUAR"},
	{"/api/sessions/PULLER/queue/items", "QUAR"},
	{"/api/sessions/PULLER/queue/top", "QUAR"},
	{"/api/projects", "OUARXV"},
	{"/api/projects/PROJECT", "OUAR"},
	{"/api/inbox", "OUARXV"},
	{"/api/inbox?projectId=PROJECT", "OUAR"},
	{"/api/inbox/count", "OUARXV"},
	{"/api/inputs", "OUARXV"},
	{"/api/inputs?projectId=PROJECT", "OUAR"},
	{"/api/inputs?sessionId=ME", "WQTOUEFZARXV"}, // only those of the session itself
	{"/api/inputs/QUESTION", "OUAR"},
	{"/api/inputs/MINE", "WQTOUZAR"},
	{"/api/since", "OUARXV"},
	{"/api/since?projectId=PROJECT", "OUAR"},
	{"/api/why/OWN", "OUAR"},
	{"/api/why/CHILD", "OUAR"},
	{"/api/why/QUESTION", "OUAR"},
	{"/api/why/PULLER%2FOWN", "OUAR"},
	{"/api/audit/head", "UA"},
	{"/api/audit/export", "UA"},
	{"/api/audit/verify", "UA"},
	{"/api/audit/denials", "UA"},
	{"/api/audit/can?actor=admin&command=task:list", "UA"},
	{"/api/tokens", "UA"},
	{"/api/webhooks", "UA"},
	{"/api/webhooks/HOOK", "UA"},
	{"/api/webhooks/HOOK/secret", "U"},
	{"/api/backup", "U"},
}

// stage is a project with a caller of one column in it.
type stage struct {
	token string
	names *strings.Replacer
}

func (w *world) stage(column rune) stage {
	w.Helper()
	project, away := w.project(), w.project()
	own, blocked, foreign := w.task(project), w.task(project), w.task(away)
	w.do(adminToken, "task:block", `{"taskId":"`+blocked+`"}`).is(200)
	w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"shared"}`).is(200)
	me, token := "", adminToken
	lead, _ := w.session(adminToken, project, own, `,"role":"orchestrator"`)
	led := `,"spawnedBy":"` + lead + `"`
	switch column {
	case 'W', 'Z', 'D':
		me, token = w.session(adminToken, project, own, led)
	case 'Q':
		me, token = w.session(adminToken, project, own, led+`,"strategy":"queue"`)
	case 'T':
		me, token = w.session(adminToken, project, own, led+`,"strategy":"tree"`)
	case 'O':
		me, token = w.session(adminToken, project, own, led+`,"role":"orchestrator"`)
	case 'E':
		me, token = w.session(adminToken, project, own,
			led+`,"allowedCommands":["whoami","task:get","report:progress"]`)
	case 'F':
		me, token = w.session(adminToken, project, own,
			`,"role":"orchestrator","allowedCommands":["task:list","task:complete"]`)
	case 'G':
		me, token = "sess_ghost", service.SessionToken(serverKey, "sess_ghost", 1)
	case 'N':
		token = w.token("ops-"+project, "admin")
	case 'A':
		token = w.token("eye-"+project, "auditor")
	case 'R':
		token = w.token("reader-"+project, "read-only", project)
	case 'X':
		token = w.token("reader-"+project, "read-only", away)
	case 'V':
		_, token = w.session(adminToken, away, foreign, `,"role":"orchestrator"`)
	case 'P':
		_, token = w.session(adminToken, away, foreign, `,"strategy":"queue"`)
	}
	spawner, maker := adminToken, adminToken
	if column == 'O' {
		spawner, maker = token, token
	}
	child, asker := w.session(spawner, project, own, ``)
	question := w.ask(asker, "Which?", ``)
	puller := me
	if column != 'Q' {
		puller, _ = w.session(adminToken, project, own, `,"strategy":"queue"`)
	}
	mine := question
	if strings.ContainsRune("WQTOZ", column) {
		mine = w.ask(token, "How?", ``)
		w.do(adminToken, "input:answer", `{"inputId":"`+mine+`","answer":"so"}`).is(200)
	}
	empty := w.do(maker, "project:create", `{"name":"empty"}`).is(200).text("event", "data", "projectId")
	template := w.do(adminToken, "template:create", `{"name":"t","role":"worker","content":"c"}`).is(200).text("event",
		"data", "templateId")
	hook := w.hook()
	self := ""
	switch column {
	case 'U', 'N', 'A', 'R', 'X':
		me, _ = w.session(adminToken, project, own, ``)
		self = `"project":"` + project + `"`
	case 'V', 'P':
		me, _ = w.session(adminToken, project, own, ``)
		self = `"sessionId":"` + me + `"`
	case 'Z':
		w.do(adminToken, "session:kill", `{"sessionId":"`+me+`"}`).is(200)
	case 'D':
		w.do(adminToken, "session:delete", `{"sessionId":"`+me+`"}`).is(200)
	}
	return stage{
		token,
		strings.NewReplacer("SELF", self, "PROJECT", project, "OWN", own, "BLOCKED", blocked, "ME", me, "CHILD", child,
			"EMPTY", empty, "TEMPLATE", template, "DIGEST", w.manifestOf(me), "PULLER", puller, "SHARED", "shared",
			"HOOK", hook, "QUESTION", question, "MINE", mine, "LEAD", lead),
	}
}

// before executes what comes before a write.
func (w *world) before(row write, s stage) {
	w.Helper()
	for first := range strings.SplitSeq(row.first, "; ") {
		by := adminToken
		first, runs := strings.CutPrefix(first, "terminal ")
		if runs {
			by = service.RunnerToken(serverKey, "terminal", "", service.FirstGeneration)
		}
		if id, body, ok := strings.Cut(first, " "); ok {
			w.do(by, id, s.names.Replace(body)).is(200)
		}
	}
}

// hook returns the id of a webhook, and creates it if there is none.
func (w *world) hook() string {
	w.Helper()
	if hooks := w.send(http.MethodGet, "/api/webhooks", adminToken, "").is(200).array(); len(hooks) > 0 {
		return hooks[0].(map[string]any)["id"].(string)
	}
	made := w.do(adminToken, "webhook:create", `{"url":"https://example.org/"}`).is(200)
	return made.text("event", "data", "webhookId")
}

// token makes a named token and returns its secret.
func (w *world) token(name, kind string, projects ...string) string {
	w.Helper()
	fields, err := json.Marshal(map[string]any{"name": name, "kind": kind, "projectIds": projects})
	if err != nil {
		w.Fatal(err)
	}
	return w.do(adminToken, "token:create", string(fields)).is(200).text("token")
}

// manifestOf returns the digest of a session's manifest; an arbitrary digest if there is no such session.
func (w *world) manifestOf(session string) string {
	w.Helper()
	if r := w.send(http.MethodGet, "/api/sessions/"+session, adminToken, ""); r.status == http.StatusOK {
		return r.text("manifestDigest")
	}
	return "sha256-" + strings.Repeat("0", 64)
}

// ask opens a question of a session and returns its id.
func (w *world) ask(token, question, fields string) string {
	w.Helper()
	return w.do(token, "report:needs-input", `{"message":"`+question+`"`+fields+`}`).is(200).text("event", "data",
		"inputId")
}

// may reports whether a row names a column. The second admin may do the same as the first.
func may(who string, column rune) bool {
	if column == 'N' {
		column = 'U'
	}
	return strings.ContainsRune(who, column)
}

// withCells says who may use a command with a body: W and O by the oracle's table, E and F if they were given it or if
// it is core.
func withCells(rows []write) []write {
	for i, row := range rows {
		if row.who != "" {
			continue
		}
		cells := tableRow(row.id)
		who := strings.TrimRight(cells.Who, "RS") // the letters there mean other columns than here
		id := strings.TrimPrefix(row.id, "task:")
		if strings.Contains(who, "W") && (cells.Core || row.id == "task:get" || id == "report:progress") {
			who += "E"
		}
		if strings.Contains(who, "O") && (cells.Core || row.id == "task:list" || row.id == "task:complete") {
			who += "F"
		}
		rows[i].who = who
	}
	return rows
}

func tableRow(id string) oracle.Row {
	for _, row := range oracle.Table() {
		if row.ID == id {
			return row
		}
	}
	panic("the oracle has no row for " + id)
}

// absent are the rows of the table that have no command yet: every caller gets that answer.
var absent = func() []string {
	var ids []string
	for _, row := range oracle.Table() {
		if row.Event != "" && !slices.ContainsFunc(writes, func(tested write) bool { return tested.id == row.ID }) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}()

func TestEveryCellOfThePermissionTable(t *testing.T) {
	t.Parallel()
	for _, row := range writes {
		t.Run(row.id, func(t *testing.T) {
			t.Parallel()
			w := openInside(t, nil)
			for _, column := range columns {
				s := w.stage(column)
				w.before(row, s)
				before := w.log.head()
				r := w.do(s.token, row.id, s.names.Replace(row.body))
				if may(row.who, column) {
					if r.status != http.StatusOK || r.at("event") == nil && !slices.Contains(begins, row.id) {
						t.Errorf("%s by %c: %d %s", row.id, column, r.status, r.body)
					}
					continue
				}
				if r.status != http.StatusForbidden {
					t.Errorf("%s by %c: %d %s", row.id, column, r.status, r.body)
					continue
				}
				r.refused(http.StatusForbidden, "NOT_ALLOWED", "")
				if rule := r.text("rule"); rule != row.id && "task:"+rule != row.id {
					t.Errorf("%s by %c: the refusal has another rule: %s", row.id, column, r.body)
				}
				// A living caller in the project is refused by the table, not because of the command's target; a queue
				// worker may also be refused because of another queue. A session may confirm its mail whatever its
				// list.
				itsQueue := column == 'Q' && strings.Contains(row.body, "SHARED")
				byTable := strings.HasPrefix(r.text("message"), "Command '")
				if strings.ContainsRune("WQTOEFUNARX", column) && !itsQueue && !byTable &&
					row.id != "input:received" {
					t.Errorf("%s by %c is not refused by the table: %s", row.id, column, r.body)
				}
				if w.log.head() != before {
					t.Errorf("%s by %c was refused and left an event", row.id, column)
				}
			}
		})
	}
	w := openInside(t, nil)
	for _, id := range absent {
		for _, column := range "WOUA" {
			w.do(w.stage(column).token, id, `{}`).refused(http.StatusNotFound, "NOT_FOUND",
				"not available in this version")
		}
	}
}

func TestEveryReadOfThePermissionTable(t *testing.T) {
	w := open(t, func(c *setup) { c.Backup = noBackup })
	for _, column := range columns {
		s := w.stage(column)
		before := w.views()
		for _, row := range reads {
			want := http.StatusForbidden
			if may(row.who, column) {
				want = http.StatusOK
			}
			r := w.send(http.MethodGet, s.names.Replace(row.path), s.token, "")
			if r.status != want {
				t.Errorf("%s by %c: %d %s", row.path, column, r.status, r.body)
			} else if want == http.StatusForbidden {
				r.refused(want, "NOT_ALLOWED", "")
				if r.text("rule") == "" {
					t.Errorf("%s by %c: the refusal names no rule: %s", row.path, column, r.body)
				}
			}
		}
		if w.views() != before {
			t.Errorf("reading by %c changed the views", column)
		}
	}
}

func TestSessionStaysInItsProject(t *testing.T) {
	w := open(t, nil)
	mine, other := w.project(), w.project()
	task, foreign := w.task(mine), w.task(other)
	_, worker := w.session(adminToken, mine, task, ``)
	_, orchestrator := w.session(adminToken, mine, task, `,"role":"orchestrator"`)
	stranger, _ := w.session(adminToken, other, foreign, ``)

	for _, path := range []string{"/api/tasks/" + foreign, "/api/tasks?projectId=" + other, "/api/projects/" + other +
		"/status", "/api/sessions/" + stranger} {
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
	w.do(orchestrator, "task:update", `{"taskId":"`+task+`","status":"cancelled"}`).refused(403, "NOT_ALLOWED",
		"cancelled")
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
	for key, want := range map[string]string{
		"actor":    id,
		"kind":     "session",
		"role":     "worker",
		"strategy": "simple",
		"project":  project,
		"session":  id,
		"authn":    "token",
	} {
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
	if !ok || len(allowed) == 0 || allowed[0] != "whoami" || mine.text("role") != "worker" ||
		mine.text("strategy") != "simple" {
		t.Errorf("a worker's commands: %s", mine.body)
	}
	hidden, _ := mine.at("hiddenCommands").([]any)
	both := map[any]int{}
	for _, id := range append(allowed, hidden...) {
		both[id]++
	}
	for id, n := range both {
		if n != 1 {
			t.Errorf("%v is in %d lists", id, n)
		}
	}
	if both["task:update"] != 1 || both["session:lost"] != 0 || both["session:claim"] != 0 ||
		both["task:report:progress"] != 0 {
		t.Errorf("the lists are wrong: %s", mine.body)
	}
	if w.send(http.MethodGet, "/api/commands", adminToken, "").is(200).text("role") != "user" {
		t.Error("the admin's role is user")
	}
}
