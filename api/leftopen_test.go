package api_test

import (
	"fmt"
	"slices"
	"testing"

	"maestro/projections"
	"maestro/service/wire"
)

// TestCompletingASessionNamesItsOpenTasks: the answer to a session that completes itself names its tasks that it did
// not report as completed.
func TestCompletingASessionNamesItsOpenTasks(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	said, done, left := w.task(project), w.task(project), w.task(project)
	named := func(r reply) []any {
		ids, _ := r.object()["leavesOpen"].([]any)
		return ids
	}
	for _, command := range []string{"report:complete", "session:complete"} {
		_, token := w.session(adminToken, project, said+`","`+done+`","`+left, "")
		w.do(token, "report:complete", `{"message":"m","taskIds":["`+said+`"]}`).is(200)
		w.do(adminToken, "task:complete", `{"taskId":"`+done+`"}`).is(200)
		body := `{}`
		if command == "report:complete" {
			body = `{"message":"all of it"}`
		}
		r := w.do(token, command, body).is(200)
		if ids := named(r); !slices.Equal(ids, []any{left}) {
			t.Errorf("%s leaves %v open, want %s", command, ids, left)
		}
		w.do(adminToken, "task:reopen", `{"taskId":"`+done+`"}`).is(200)
	}
	many := ""
	for i := range projections.MostNamed + 2 {
		if i > 0 {
			many += `","`
		}
		many += w.task(project)
	}
	_, token := w.session(adminToken, project, many, "")
	r := w.do(token, "session:complete", `{}`).is(200)
	if got := fmt.Sprint(len(named(r)), r.object()["leavesOpenMore"]); got != fmt.Sprint(projections.MostNamed, 2) {
		t.Errorf("of many tasks it names and counts %s", got)
	}
	_, token = w.session(adminToken, project, said, "")
	w.do(token, "report:complete", `{"message":"m","taskIds":["`+said+`"]}`).is(200)
	if r := w.do(token, "session:complete", `{}`).is(200); r.object()["leavesOpen"] != nil {
		t.Errorf("nothing is left open: %s", r.body)
	}
}

// TestALastCommandIfFinished: a session that asks for it is not ended while it has unread mail or holds an item, and a
// dry run says so. A command that was kept does not ask, and the user is not asked.
func TestALastCommandIfFinished(t *testing.T) {
	for _, last := range []struct{ id, body string }{
		{"session:complete", `{}`},
		{"report:complete", `{"message":"all of it"}`},
	} {
		w := open(t, nil)
		project := w.project()
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"work"}`).is(200)
		session, token := w.session(adminToken, project, w.task(project), `,"strategy":"queue","queue":"work"`)
		w.do(token, "queue:start", `{}`).is(200)
		w.do(token, last.id+"?ifFinished=true", last.body).refused(409, "CONFLICT", "it holds an item of queue work")
		w.do(token, last.id+"?ifFinished=true&dryRun=true", last.body).refused(409, "CONFLICT", "it holds an item")
		w.do(token, "report:progress?ifFinished=true", `{"message":"half"}`).is(200)
		w.do(token, "queue:complete", `{}`).is(200)
		sent := w.do(adminToken, "session:message", `{"sessionId":"`+session+`","text":"Wait"}`).is(200)
		w.do(token, last.id+"?ifFinished=true", last.body).refused(409, "CONFLICT", "it has unread mail")
		w.do(token, "input:received", `{"inputId":"`+sent.text("event", "data", "messageId")+`"}`).is(200)
		w.do(token, last.id+"?ifFinished=true", last.body, wire.HeaderKey, "last").is(200)
		w.do(adminToken, "session:message", `{"sessionId":"`+session+`","text":"Too late","force":true}`).is(200)
		w.do(token, last.id+"?ifFinished=true", last.body, wire.HeaderKey, "last").is(200)
	}
	w := open(t, nil)
	project := w.project()
	session, _ := w.session(adminToken, project, w.task(project), "")
	w.do(adminToken, "session:message", `{"sessionId":"`+session+`","text":"Wait"}`).is(200)
	w.do(adminToken, "session:complete?ifFinished=true", `{"sessionId":"`+session+`"}`).is(200)
	kept, token := w.session(adminToken, project, w.task(project), "")
	w.do(adminToken, "session:message", `{"sessionId":"`+kept+`","text":"Wait"}`).is(200)
	w.do(token, "session:complete", `{}`).is(200)
}

// TestAQuestionIfNew: a session that asks for it is told which of its questions asks the same already, until it has
// read the answer.
func TestAQuestionIfNew(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	_, token := w.session(adminToken, project, task, "")
	const route = "report:needs-input?ifNew=true"
	body := `{"message":"Which?","options":["a","b"],"taskIds":["` + task + `"]}`
	first := w.do(token, route, body).is(200)
	id := first.text("event", "data", "inputId")
	if first.object()["asked"] != nil {
		t.Errorf("a new question: %s", first.body)
	}
	head := w.log.head()
	again := func() {
		t.Helper()
		if r := w.do(token, route, body).is(200); r.text("asked") != id || r.object()["event"] != nil {
			t.Errorf("the same question: %s", r.body)
		}
		if got := w.log.head(); got != head {
			t.Errorf("the log grew from %d to %d", head, got)
		}
	}
	again()
	w.do(adminToken, "input:answer", `{"inputId":"`+id+`","answer":"a"}`).is(200)
	head = w.log.head()
	again()
	for _, other := range []string{
		`{"message":"Which one?","options":["a","b"],"taskIds":["` + task + `"]}`,
		`{"message":"Which?","options":["a"],"taskIds":["` + task + `"]}`,
		`{"message":"Which?","options":["a","b"]}`,
	} {
		if r := w.do(token, route, other).is(200); r.text("event", "data", "inputId") == id {
			t.Errorf("another question: %s", r.body)
		}
	}
	w.do(token, "input:received", `{"inputId":"`+id+`"}`).is(200)
	if r := w.do(token, route, body).is(200); r.text("event", "data", "inputId") == id {
		t.Errorf("the same words after the answer was read: %s", r.body)
	}
	_, other := w.session(adminToken, project, task, "")
	if r := w.do(other, route, body).is(200); r.object()["asked"] != nil {
		t.Errorf("the question of another session: %s", r.body)
	}
}
