package api_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/internal/testing/race"
)

// tasksWaiting creates n tasks that each depend on the same others, and returns a list of their ids as JSON.
func (w *world) tasksWaiting(project string, n, others int) string {
	w.Helper()
	quoted := func(ids []string) string { return `["` + strings.Join(ids, `","`) + `"]` }
	awaited := make([]string, others)
	for i := range awaited {
		awaited[i] = w.task(project)
	}
	ids := make([]string, n)
	for i := range ids {
		body := `{"project":"` + project + `","title":"T","dependencies":` + quoted(awaited) + `}`
		ids[i] = w.do(adminToken, "task:create", body).is(http.StatusOK).text("event", "data", "taskId")
	}
	return quoted(ids)
}

// commandsLeft returns what is left of an actor's quota of commands and of its project's, as `audit can` shows it.
func (w *world) commandsLeft(actor, command string) map[string]int64 {
	w.Helper()
	var told struct {
		Limits []struct {
			Name string `json:"name"`
			Left int64  `json:"left"`
		} `json:"limits"`
	}
	w.send(http.MethodGet, "/api/audit/can?actor="+actor+"&command="+command, adminToken, "").
		is(http.StatusOK).into(&told)
	left := map[string]int64{}
	for _, limit := range told.Limits {
		if strings.HasSuffix(limit.Name, "-commands") {
			left[limit.Name] = limit.Left
		}
	}
	return left
}

// Calls, dry runs and refused ones too, are charged for their work: both accounts pay, and may go into debt. A small
// call costs one to three commands.
func TestCallsAreChargedByTheirWork(t *testing.T) {
	race.Without(t)
	const calls = 3
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-commands=1/1000", "project-commands=1/5000"))
		project := w.project()
		small := w.tasksWaiting(project, 20, 3)
		large := w.tasksWaiting(project, 500, 50)
		for name, c := range map[string]struct {
			id, body string
			status   int
			most     int64 // that each call may cost
			least    int64
		}{
			"an honest spawn": {"session:spawn", `{"force":true,"taskIds":` + small + `}`, http.StatusOK, 3, 1},
			"its dry run": {
				"session:spawn?dryRun=true", `{"force":true,"taskIds":` + small + `}`, http.StatusOK, 3, 1,
			},
			"a large spawn": {"session:spawn", `{"force":true,"taskIds":` + large + `}`, http.StatusOK, 400, 250},
			"its dry run too": {
				"session:spawn?dryRun=true", `{"force":true,"taskIds":` + large + `}`, http.StatusOK, 400, 250,
			},
			"a refused dry run": {
				"session:spawn?dryRun=true", `{"taskIds":` + large + `}`, http.StatusUnprocessableEntity,
				400, 250,
			},
		} {
			id, token := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
			before := w.commandsLeft(id, "session:spawn")
			for range calls {
				w.do(token, c.id, c.body).is(c.status)
			}
			after := w.commandsLeft(id, "session:spawn")
			for _, limit := range []string{"session-commands", "project-commands"} {
				cost := before[limit] - after[limit]
				if cost < calls*c.least || cost > calls*c.most {
					t.Errorf(
						"%s: %d calls cost %d of %s, want %d to %d each", name, calls, cost, limit, c.least, c.most,
					)
				}
			}
		}
		_, token := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
		tried := 0
		for w.do(token, "session:spawn?dryRun=true", `{"force":true,"taskIds":`+large+`}`).status == http.StatusOK {
			tried++
		}
		if tried == 0 || tried > 20 {
			t.Errorf("%d large dry runs for 1,000 commands", tried)
		}
		time.Sleep(w.do(token, "report:progress", note).limited("session-commands"))
		w.do(token, "report:progress", note).is(http.StatusOK)
		for range 30 { // admins are not limited
			w.do(adminToken, "session:spawn?dryRun=true", `{"project":"`+project+`","force":true,"taskIds":`+large+`}`).
				is(http.StatusOK)
		}
	})
}
