package api_test

import (
	"net/http"
	"strings"
	"testing"

	"maestro/service/wire"
)

// A command that the table refuses whatever its body is refused before the body is read.
func TestPermissionComesBeforeTheBody(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	ended, endedToken := w.session(adminToken, project, task, ``)
	done := w.do(endedToken, "task:create", `{"title":"before the end"}`, wire.HeaderKey, "k").is(200).text("event",
		"data", "taskId")
	w.do(adminToken, "session:kill", `{"sessionId":"`+ended+`"}`).is(200)
	_, worker := w.session(adminToken, project, task, ``)
	auditor := w.token("eye", "auditor")
	garbage := strings.Repeat(`{"a":`, 100<<10/5)
	long := `{"title":"` + strings.Repeat("x", 100<<10) + `"`
	for _, c := range []struct{ name, token, command, body string }{
		{"an ended session", endedToken, "task:create", garbage},
		{"an ended session, with little", endedToken, "task:create", `{"nothing":`},
		{"a role without the command", worker, "task:complete", garbage},
		{"an auditor", auditor, "task:create", garbage},
		{"an auditor, with an unknown field", auditor, "task:create", `{"field":1}`},
		{"an ended session's text", endedToken, "session:note", long + "}"},
	} {
		before := len(w.denied(""))
		w.do(c.token, c.command, c.body).refused(http.StatusForbidden, "NOT_ALLOWED", "")
		if got := w.denied(""); len(got) != before+1 && got[len(got)-1].Count < 2 {
			t.Errorf("%s: the refusal is not recorded", c.name)
		}
		before = len(w.denied(""))
		w.send(http.MethodPost, "/api/commands/"+c.command+"?dryRun=true", c.token,
			c.body).refused(http.StatusForbidden, "NOT_ALLOWED", "")
		if len(w.denied("")) != before {
			t.Errorf("%s: the refusal of a dry run is recorded", c.name)
		}
	}
	w.send(http.MethodPost, "/api/tasks", auditor, garbage).refused(http.StatusForbidden, "NOT_ALLOWED", "")
	// The retry of an earlier command still gets its answer, and another body under the same key is refused.
	if again := w.do(endedToken, "task:create", `{"title":"before the end"}`, wire.HeaderKey,
		"k").is(200).text("event", "data", "taskId"); again != done {
		t.Errorf("the retry of an ended session gets %s, not %s", again, done)
	}
	w.do(endedToken, "task:create", long+"}", wire.HeaderKey, "k").refused(http.StatusConflict, "KEY_REUSED", "")
	// A caller that may use the command is told what is wrong with the body.
	w.do(worker, "task:create", garbage).refused(http.StatusUnprocessableEntity, "LIMIT_EXCEEDED", "json-depth")
	w.do(worker, "task:create", `{"nothing":`).refused(http.StatusBadRequest, "VALIDATION_ERROR", "")
}

// The limits of a body hold on the older routes too.
func TestBodiesOfOlderRoutesAreBounded(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	names := strings.Repeat(`"n":1,`, 1001) + `"n":1`
	w.send(http.MethodPost, "/api/tasks", adminToken,
		`{"projectId":"`+project+`","title":"T",`+names+`}`).refused(http.StatusUnprocessableEntity, "LIMIT_EXCEEDED",
		"json-names")
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	w.send(http.MethodPost, "/api/tasks", adminToken,
		`{"projectId":"`+project+`","title":"T","x":`+deep+`}`).refused(http.StatusUnprocessableEntity,
		"LIMIT_EXCEEDED", "json-depth")
}
