package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/service/wire"
)

// denied returns the recorded refusals that a query finds.
func (w *world) denied(query string) []engine.Denial {
	w.Helper()
	var list []engine.Denial
	if err := json.Unmarshal(w.send(http.MethodGet, "/api/audit/denials"+query, adminToken, "").is(200).body,
		&list); err != nil {
		w.Fatal(err)
	}
	return list
}

func TestRefusalsAreRecorded(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task, foreign := w.task(project), w.task(other)
	id, token := w.session(adminToken, project, task, ``)
	auditor := w.token("eye", "auditor")
	source := "/projects/" + project + "/sessions/" + id
	head := w.log.head()

	// The same command twice; a read; a read of another project; a body that names another session.
	for range 2 {
		w.do(token, "task:complete", `{"taskId":"`+task+`"}`).refused(403, "NOT_ALLOWED", "")
	}
	w.send(http.MethodGet, "/api/sessions", token, "").refused(403, "NOT_ALLOWED", "")
	w.send(http.MethodGet, "/api/tasks/"+foreign, token, "").refused(403, "NOT_ALLOWED", "")
	w.send(http.MethodGet, "/api/audit/export", token, "").refused(403, "NOT_ALLOWED", "")
	w.send(http.MethodPatch, "/api/tasks/"+task, token, `{"status":"completed","updateSource":"user"}`).refused(403,
		"NOT_ALLOWED", "")
	w.do(auditor, "task:complete", `{"taskId":"`+task+`"}`).refused(403, "NOT_ALLOWED", "")
	want := []struct {
		actor, command, rule, target string
		count                        int
	}{
		{source, "task:complete", "task:complete", `{"taskId":"` + task + `"}`, 2},
		{source, "session:list", "session:list", "", 1},
		{source, "task:get", "task:get", "", 1},
		{source, "audit:export", "audit:export", "", 1},
		{source, "PATCH /api/tasks/" + task, "", "", 1},
		{"/users/eye", "task:complete", "task:complete", `{"taskId":"` + task + `"}`, 1},
	}
	list := w.denied("")
	if len(list) != len(want) {
		t.Fatalf("%d refusals are recorded, of %d: %+v", len(list), len(want), list)
	}
	for i, d := range list {
		if d.Actor != want[i].actor || d.Command != want[i].command || d.Rule != want[i].rule ||
			d.Count != want[i].count || string(d.Target) != want[i].target {
			t.Errorf("record %d is %+v, expected %+v", i, d, want[i])
		}
		if d.Sequence != head || d.Code != "NOT_ALLOWED" || d.Message == "" || d.Why == "" ||
			d.Rules != commands.RulesVersion || d.First == 0 || d.Last < d.First || d.Authn != "token" {
			t.Errorf("record %d is %+v, decided at %d", i, d, head)
		}
		if strings.HasPrefix(d.Actor, "/projects") && d.Project != project {
			t.Errorf("record %d is of project %q", i, d.Project)
		}
	}
	if w.log.head() != head {
		t.Error("a refusal left an event")
	}
	for query, n := range map[string]int{
		"?actor=" + id: 5, "?actor=" + source: 5, "?actor=eye": 1, "?actor=none": 0, "?command=task:complete": 2,
		"?project=" + project: 5,
		"?project=" + other:   0, "?limit=2": 2, "?actor=" + id + "&command=task:get": 1,
	} {
		if got := w.denied(query); len(got) != n {
			t.Errorf("%s finds %d refusals, not %d", query, len(got), n)
		}
	}
	w.send(http.MethodGet, "/api/audit/denials?limit=0", auditor, "").refused(400, "VALIDATION_ERROR",
		"from 1 to 10000")
	if got := w.denied("?limit=1"); got[0].Actor != "/users/eye" {
		t.Errorf("the newest is %+v", got[0])
	}
	// Auditors read them, sessions do not, and that is recorded too.
	w.send(http.MethodGet, "/api/audit/denials", auditor, "").is(200)
	w.send(http.MethodGet, "/api/audit/denials", token, "").refused(403, "NOT_ALLOWED", "audit:denials")
	if got := w.denied("?command=audit:denials"); len(got) != 1 || got[0].Rule != "audit:denials" {
		t.Errorf("%+v", got)
	}
	// A request that is not a command, and is not refused for lack of permission, is not recorded.
	before := len(w.denied(""))
	w.send(http.MethodGet, "/api/tasks/none", token, "").refused(404, "NOT_FOUND", "")
	w.send(http.MethodGet, "/api/whoami", "garbage", "").refused(401, "UNAUTHENTICATED", "")
	w.send(http.MethodGet, "/api/since?from=x", adminToken, "").refused(400, "VALIDATION_ERROR", "")
	if got := len(w.denied("")); got != before {
		t.Errorf("%d records more", got-before)
	}
	// A command that is invalid is a refusal as well: the log of refusals says so.
	w.do(token, "task:create", `{"title":" "}`).refused(400, "VALIDATION_ERROR", "")
	if got := w.denied("?command=task:create"); len(got) != 1 || got[0].Code != "VALIDATION_ERROR" {
		t.Errorf("an invalid command: %+v", got)
	}
}

// failingDenials is a store that fails when it is told to.
type failingDenials struct {
	memoryDenials
	broken atomic.Bool
}

func (f *failingDenials) StoreDenials(ctx context.Context, records []engine.StoredDenial) error {
	if f.broken.Load() {
		return errors.New("the disk is full")
	}
	return f.memoryDenials.StoreDenials(ctx, records)
}

// TestUnrecordableRefusalIsNotAnswered: it is not answered, because a caller could otherwise try without leaving a
// record.
func TestUnrecordableRefusalIsNotAnswered(t *testing.T) {
	store := &failingDenials{}
	denials, err := engine.OpenDenials(t.Context(), store, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(denials.Close)
	w := open(t, func(c *setup) { c.Denials = denials })
	project := w.project()
	_, token := w.session(adminToken, project, w.task(project), ``)
	store.broken.Store(true)
	for _, path := range []string{"/api/sessions", "/api/audit/export", "/api/sessions/x/queue"} {
		w.send(http.MethodGet, path, token, "").refused(503, "UNAVAILABLE", "")
	}
	store.broken.Store(false)
	w.send(http.MethodGet, "/api/sessions", token, "").refused(403, "NOT_ALLOWED", "")
}

// TestRefusedKeptCommandIsListed: its text can be found, because its session got exit code 0.
func TestRefusedKeptCommandIsListed(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task, foreign := w.task(project), w.task(other)
	_, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	_, stranger := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	id, token := w.session(orchestrator, project, task, ``)
	refused := func(token string) []any {
		t.Helper()
		return w.send(http.MethodGet, "/api/inbox?kind=refused", token, "").is(200).array()
	}
	const said = "2026-02-03T04:05:06.789Z"
	// Not kept, not in the inbox.
	w.do(token, "report:progress", `{"message":"not kept","taskIds":["`+foreign+`"]}`).refused(403, "NOT_ALLOWED", "")
	if got := refused(adminToken); len(got) != 0 {
		t.Errorf("what was not kept is in the inbox: %v", got)
	}
	for range 2 { // each kept one has a record of its own
		w.do(token, "report:progress", `{"message":"half of it is done","taskIds":["`+foreign+`"]}`,
			wire.HeaderOccurredAt, said, wire.HeaderKey, "kept-1").refused(403, "NOT_ALLOWED", "")
	}
	w.do(token, "track-file", `{"file":""}`, wire.HeaderOccurredAt, said).refused(400, "VALIDATION_ERROR", "")
	got := refused(adminToken)
	if len(got) != 3 {
		t.Fatalf("%d kept commands are in the inbox: %v", len(got), got)
	}
	item := got[0].(map[string]any)
	if item["kind"] != "refused" || item["sessionId"] != id || item["projectId"] != project ||
		fmt.Sprint(item["next"]) != "[maestro session message "+id+" \"…\" maestro audit denials --actor "+id+"]" ||
		!strings.Contains(item["message"].(string),
			"report:progress was kept and then refused: Session '"+id+"' may not report on task") ||
		!strings.HasSuffix(item["message"].(string), ": “half of it is done”") {
		t.Errorf("the item: %v", item)
	}
	for _, d := range w.denied("?actor=" + id)[1:] {
		if !d.Kept || d.OccurredAt != 1770091506789 || d.Key == "" || d.Count != 1 || d.Command == "report:progress" &&
			d.Text != "half of it is done" {
			t.Errorf("the record: %+v", d)
		}
	}
	if len(refused(orchestrator)) != 3 || len(refused(stranger)) != 0 {
		t.Errorf("its spawner finds %d, another orchestrator %d", len(refused(orchestrator)), len(refused(stranger)))
	}
	if got := w.send(http.MethodGet, "/api/inbox?kind=refused&projectId="+other, adminToken,
		"").is(200).array(); len(got) != 0 {
		t.Errorf("the item is in another project's inbox: %v", got)
	}
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
	if len(refused(adminToken)) != 3 {
		t.Error("the item disappeared with the end of its session")
	}
	w.do(adminToken, "session:delete", `{"sessionId":"`+id+`"}`).is(200)
	if got := refused(adminToken); len(got) != 0 {
		t.Errorf("the item is still in the inbox after its session was deleted: %v", got)
	}
}

func TestCallersAndCommands(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task, foreign := w.task(project), w.task(other)
	worker, _ := w.session(adminToken, project, task, ``)
	orchestrator, boss := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	queue, _ := w.session(adminToken, project, task, `,"strategy":"queue"`)
	child, asker := w.session(boss, project, task, ``)
	question := w.ask(asker, "Which?", ``)
	w.token("eye", "auditor")
	w.token("reader", "read-only", project)
	before := w.log.head()
	for _, c := range []struct {
		actor, command, target string
		allowed                bool
		why                    string
	}{
		{"admin", "task:delete", task, true, "the table allows it to: user"},
		{"admin", "report:progress", task, false, "it is for"},
		{worker, "task:complete", task, false, "it is for: orchestrator, user"},
		{worker, "report:progress", task, true, ""},
		{worker, "report:progress", foreign, false, "may not touch project"},
		{"/projects/" + project + "/sessions/" + worker, "task:get", task, true, ""},
		{worker, "task:get", foreign, false, "own project"},
		{worker, "queue:start", "", false, "it is for: queue worker, user"},
		{queue, "queue:start", "", true, ""},
		{orchestrator, "task:complete", task, true, ""},
		{orchestrator, "session:kill", child, true, ""},
		{orchestrator, "session:kill", worker, false, "did not spawn"},
		{orchestrator, "input:answer", question, true, ""},
		{worker, "input:received", question, false, "own questions"},
		{"eye", "audit:export", "", true, ""},
		{"eye", "task:complete", task, false, "writes nothing"},
		{"reader", "task:get", task, true, ""},
		{"reader", "task:get", foreign, false, "reads its own projects"},
		{"reader", "token:list", "", false, "reads its own projects"},
		{"/users/reader", "inbox", project, true, ""},
		{"/users/admin", "task:delete", task, true, ""},
		{"system", "session:lost", child, true, ""},
		{"system", "task:complete", task, false, "it is for"},
		{"runner", "session:claim", child, false, "claimed by the runner"},
		{"/runners/terminal", "session:claim", child, true, ""},
		{"admin", "session:lost", child, false, "it is for: system"},
	} {
		r := w.send(http.MethodGet, "/api/audit/can?actor="+c.actor+"&command="+c.command+"&target="+c.target,
			adminToken, "").is(200)
		if r.at("allowed") != c.allowed || !strings.Contains(r.text("why"), c.why) ||
			r.text("row", "id") != c.command || r.text("row", "rules") == "" || r.text("row", "who") == "" {
			t.Errorf("%s %s %s: %s", c.actor, c.command, c.target, r.body)
		}
	}
	for query, status := range map[string]int{
		"":                                    400,
		"?actor=admin":                        200,
		"?actor=admin&command=task:explode":   404,
		"?command=whoami":                     400,
		"?actor=nobody&command=whoami":        404,
		"?actor=/users/nobody&command=whoami": 404,

		"?actor=admin&command=task:complete&target=task_nope":             404,
		"?actor=admin&command=task:get&target=task_nope":                  404,
		"?actor=admin&command=queue:push&target=nope&project=" + project:  404,
		"?actor=admin&command=project:update&target=" + task:              400,
		"?actor=admin&command=token:revoke&target=" + "eye":               200,
		"?actor=admin&command=template:update&target=coordinate-default":  200,
		"?actor=admin&command=session:spawn&target=" + task:               200,
		"?actor=admin&command=queue:create&target=new&project=" + project: 200,
	} {
		w.send(http.MethodGet, "/api/audit/can"+query, adminToken, "").is(status)
	}
	if w.log.head() != before || len(w.denied("")) != 0 {
		t.Error("audit can changed something")
	}
}

// TestEqualRefusalsAreOneRecord: equal refusals within a minute share a record, and one actor's records do not displace
// another's.
func TestEqualRefusalsAreOneRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		task := w.task(project)
		_, token := w.session(adminToken, project, task, ``)
		_, loud := w.session(adminToken, project, task, ``)
		refuse := func() { w.send(http.MethodGet, "/api/sessions", token, "").is(403) }
		refuse()
		time.Sleep(59 * time.Second)
		refuse()
		if got := w.denied(""); len(got) != 1 || got[0].Count != 2 || got[0].Last-got[0].First != 59_000 {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Second)
		refuse()
		if got := w.denied(""); len(got) != 2 || got[1].Count != 1 {
			t.Errorf("%+v", got)
		}
		for i := range 100 {
			w.send(http.MethodGet, "/api/tasks/"+task+"/tree?minSeq="+strings.Repeat("0", 1+i%26), loud, "").is(403)
			w.do(loud, "task:complete", `{"taskId":"task_`+strings.Repeat("x", i)+`"}`).is(403)
		}
		if got := w.denied("?command=session:list"); len(got) != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// TestListsOfRefusalsAreBounded: a page has a thousand records unless more are requested, the inbox some of each
// session, and texts are cut.
func TestListsOfRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		task, foreign := w.task(project), w.task(w.project())
		loud, loudToken := w.session(adminToken, project, task, ``)
		quiet, quietToken := w.session(adminToken, project, task, ``)
		const said = "2026-02-03T04:05:06.789Z"
		long := strings.Repeat("long ", 12<<10)
		w.do(quietToken, "report:progress", `{"message":"from the quiet one","taskIds":["`+foreign+`"]}`,
			wire.HeaderOccurredAt, said).is(403)
		for n := range 1100 {
			if n%50 == 0 {
				time.Sleep(time.Minute)
			}
			message := "short"
			if n%100 == 0 || n >= 1060 { // among the newest, and among the counted ones
				message = long
			}
			body := `{"message":"` + message + `","taskIds":["` + foreign + `"]}`
			w.do(loudToken, "report:progress", body, wire.HeaderOccurredAt, said).is(403)
			w.do(loudToken, "task:complete", fmt.Sprintf(`{"taskId":"none-%d"}`, n)).is(403)
		}
		for query, most := range map[string]int{
			"": 1000, "?limit=5000": 2001, "?limit=7": 7, "?actor=" + quiet: 1, "?actor=" + loud: 1000,
		} {
			if got := len(w.denied(query)); got != most {
				t.Errorf("%s lists %d", query, got)
			}
		}
		of := map[string][]string{}
		for _, item := range w.send(http.MethodGet, "/api/inbox?kind=refused", adminToken, "").is(200).array() {
			x := item.(map[string]any)
			of[x["sessionId"].(string)] = append(of[x["sessionId"].(string)], x["message"].(string))
		}
		more := 0
		for _, message := range of[loud] {
			if len(message) > 2<<10 {
				t.Errorf("an item of %d bytes", len(message))
			}
			if strings.HasPrefix(message, "980 more kept commands were refused") {
				more++
			}
		}
		if len(of[quiet]) != 1 || len(of[loud]) != 21 || more != 1 {
			t.Errorf("the inbox has %d of the quiet session, %d of the loud one, %d with a count",
				len(of[quiet]), len(of[loud]), more)
		}
		// The answer does not repeat the whole text that a caller sent.
		answer := w.do(loudToken, "task:complete", `{"taskId":"`+strings.Repeat("x", 100<<10)+`"}`)
		if len(answer.body) > 10<<10 {
			t.Errorf("an error of %d bytes", len(answer.body))
		}
	})
}
