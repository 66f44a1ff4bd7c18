package api_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service"
	"maestro/service/wire"
)

func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, withLeases(t, time.Minute))
		stop := w.keepLeases()
		defer stop()
		project := w.project()
		task := w.task(project)
		id, token := w.session(adminToken, project, task, ``)
		quiet, _ := w.session(adminToken, project, task, ``)
		other, _ := w.session(adminToken, project, task, ``)
		beat := func(session, token string) reply {
			return w.send(http.MethodPost, "/api/sessions/"+session+"/heartbeat", token, "")
		}
		head := w.log.head()
		for range 60 {
			if r := beat(id, token).is(204); len(r.body) != 0 || r.header.Get(wire.HeaderSequence) == "" {
				t.Fatalf("a heartbeat answers %q, %v", r.body, r.header)
			}
			time.Sleep(10 * time.Second)
		}
		if w.log.head() != head {
			t.Errorf("heartbeats left %d events", w.log.head()-head)
		}
		// A caller sends heartbeats only for its own session.
		for _, caller := range []string{token, adminToken, w.token("eye", "auditor")} {
			beat(other, caller).refused(403, "NOT_ALLOWED", "")
		}
		beat("none", token).refused(403, "NOT_ALLOWED", "")
		w.send(http.MethodPost, "/api/sessions/"+id+"/heartbeat", "", "").refused(401, "UNAUTHENTICATED", "")
		w.send(http.MethodGet, "/api/sessions/"+id+"/heartbeat", token, "").refused(405, "METHOD_NOT_ALLOWED", "")
		// The short lease does not apply to a session that never sent one.
		beat(id, token).is(204)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if status := w.send(http.MethodGet, "/api/sessions/"+id, adminToken, "").is(200); status.at("lost") == nil &&
			w.count("maestro.session.lost.v1") != 1 {
			t.Errorf("a session whose heartbeats stopped: %s", status.body)
		}
		if lost := w.last(); lost.Data.EventType() != "maestro.session.lost.v1" ||
			!strings.Contains(lost.Source, "/system") {
			t.Errorf("the last event is %s by %s", lost.Data.EventType(), lost.Source)
		}
		beat(id, token).is(204)
		if w.count("maestro.session.recovered.v1") != 1 {
			t.Error("a heartbeat does not recover a lost session")
		}
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if n := w.count("maestro.session.lost.v1"); n != 4 {
			t.Errorf("%d sessions were lost: with heartbeats twice, and %s and another after the long lease", n, quiet)
		}
		// Deleted, or never there: it may do nothing.
		w.do(adminToken, "session:delete", `{"sessionId":"`+id+`"}`).is(200)
		beat(id, token).refused(403, "NOT_ALLOWED", "was deleted")
		beat("sess_ghost", service.SessionToken(serverKey, "sess_ghost", 1)).refused(403, "NOT_ALLOWED",
			"no known permissions")
	})
}

// TestHeardWithoutCredentials: with auth off, the session named in the path or the body is heard; a heartbeat needs a
// credential.
func TestHeardWithoutCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, func(c *setup) {
			withLeases(t, time.Minute)(c)
			c.AuthOff = true
		})
		defer w.keepLeases()()
		project := w.project()
		task := w.task(project)
		spawn := func() string {
			id, token := w.session("", project, task, `,"strategy":"queue"`)
			w.send(http.MethodPost, "/api/sessions/"+id+"/heartbeat", token, "").is(204)
			return id
		}
		byQueue, byTimeline, byEvents, byBody, silent := spawn(), spawn(), spawn(), spawn(), spawn()
		byReads := spawn()
		for range 12 {
			time.Sleep(20 * time.Second)
			w.send(http.MethodPost, "/api/sessions/"+byQueue+"/queue/start", "", "")
			w.send(http.MethodGet, "/api/sessions/"+byReads+"/queue/top", "", "").is(200) // any browser could send it
			w.send(http.MethodPost, "/api/sessions/"+byTimeline+"/timeline", "", `{"message":"m"}`).is(200)
			w.send(http.MethodPost, "/api/sessions/"+byEvents+"/events", "", `{"type":"t"}`).is(200)
			w.send(http.MethodPatch, "/api/tasks/"+task, "",
				`{"sessionStatus":"working","updateSource":"session","sessionId":"`+byBody+`"}`).is(200)
			w.send(http.MethodGet, "/api/sessions/"+silent, "", "").is(200) // the user looks at it
		}
		synctest.Wait()
		if n := w.count("maestro.session.lost.v1"); n != 2 {
			t.Errorf("%d sessions were lost", n)
		}
		w.send(http.MethodGet, "/api/inbox", "", "").is(200)
		if kinds := w.send(http.MethodGet, "/api/inbox?kind=unstarted", "", "").is(200).array(); len(kinds) != 2 {
			t.Errorf("unstarted are %v", kinds)
		}
		w.send(http.MethodPost, "/api/sessions/"+byQueue+"/heartbeat", "", "").refused(403, "NOT_ALLOWED", "")
		// A call that waits without a credential gets only the answers below its own path.
		w.send(http.MethodGet, "/api/sessions/"+silent+"/queue/top", "", "").is(200)
		if w.count("maestro.session.recovered.v1") != 0 {
			t.Error("a read without a credential recovers a lost session")
		}
		w.send(http.MethodPost, "/api/sessions/"+silent+"/timeline", "", `{"message":"m"}`).is(200)
		if w.count("maestro.session.recovered.v1") != 1 {
			t.Error("a call below its queue does not recover a lost session")
		}
	})
}
