package api_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service/wire"
)

// TestInboxWait: a call that waits for the inbox is answered when an item appears, because of an event or
// because time has passed, and with an empty list at its timeout.
func TestInboxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, withLeases(t, 6*time.Second))
		defer w.keepLeases()()
		project := w.project()
		task := w.task(project)
		session, worker := w.session(adminToken, project, task, ``)
		w.do(worker, "session:register", `{}`).is(200)
		waiting := func(query string) <-chan []any {
			got := make(chan []any, 1)
			go func() { got <- w.send(http.MethodGet, "/api/inbox?"+query, adminToken, "").is(200).array() }()
			return got
		}
		began := time.Now()
		if items := <-waiting("wait=2s"); len(items) != 0 || time.Since(began) != 2*time.Second {
			t.Errorf("an empty inbox: %v after %s", items, time.Since(began))
		}
		began = time.Now()
		got := waiting("wait=20s&kind=question")
		w.do(worker, "report:progress", `{"message":"no question"}`).is(200)
		time.Sleep(2 * time.Second)
		w.ask(worker, "Which port?", `,"taskIds":["`+task+`"]`)
		items := <-got
		if len(items) != 1 || items[0].(map[string]any)["kind"] != "question" || time.Since(began) > 4*time.Second {
			t.Errorf("a question: %v after %s", items, time.Since(began))
		}
		w.send(http.MethodPost, "/api/sessions/"+session+"/heartbeat", worker, "").is(204)
		items = <-waiting("wait=20s&kind=lost")
		if len(items) != 1 || items[0].(map[string]any)["sessionId"] != session {
			t.Errorf("a silent session: %v", items)
		}
		w.send(http.MethodGet, "/api/inbox?wait=soon", adminToken, "").is(400)
		w.send(http.MethodGet, "/api/inbox?wait=1s&kind=lost&limit=1", adminToken, "", wire.HeaderClient, "x").is(200)
	})
}
