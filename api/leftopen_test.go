package api_test

import (
	"fmt"
	"slices"
	"testing"

	"maestro/projections"
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
