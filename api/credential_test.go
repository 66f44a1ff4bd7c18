package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"maestro/service/wire"
)

// Only a session itself, and a caller that could spawn it, gets its secret, and only while the session lives.
func TestWhoGetsASessionCredential(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	lead, leadToken := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	id, token := w.session(leadToken, project, task, ``)
	given, _ := w.session(adminToken, project, task, `,"spawnedBy":"`+lead+`"`)
	stranger, strangerToken := w.session(adminToken, project, task, ``)
	_, otherLead := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	ask := func(session, by string) reply {
		return w.send(http.MethodGet, "/api/sessions/"+session+"/credential", by, "")
	}
	for _, by := range []string{adminToken, leadToken, token, w.token("deputy", "admin")} {
		if got := ask(id, by).is(200).text("token"); got != token {
			t.Errorf("%s gets %q", by, got)
		}
	}
	for _, by := range []string{
		strangerToken, otherLead, w.token("eye", "auditor"), w.token("reader", "read-only", project), "",
	} {
		if r := ask(id, by); r.status < 400 || strings.Contains(string(r.body), token) {
			t.Errorf("%s gets %d %s", by, r.status, r.body)
		}
	}
	if got := ask(lead, leadToken).is(200).text("token"); got != leadToken {
		t.Errorf("the orchestrator, of itself, gets %q", got)
	}
	ask(given, leadToken).refused(403, "NOT_ALLOWED", "did not spawn")
	ask("sess_nobody", adminToken).refused(404, "NOT_FOUND", "")

	// A new secret replaces a revoked one; after the session's end there is none.
	newer := w.do(adminToken, "token:revoke", `{"sessionId":"`+stranger+`"}`).is(200).text("token")
	if got := ask(stranger, adminToken).is(200).text("token"); got != newer || got == strangerToken {
		t.Errorf("after the revocation: %q, not %q", got, newer)
	}
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`","reason":"wrong turn"}`).is(200)
	ask(id, adminToken).refused(403, "NOT_ALLOWED", "has ended")
}

// The answer to a heartbeat has the lease, and says whether the session has ended.
func TestHeartbeatAnswerHasLease(t *testing.T) {
	w := open(t, withLeases(t, 42*time.Second))
	project := w.project()
	id, token := w.session(adminToken, project, w.task(project), ``)
	beat := func() http.Header {
		return w.send(http.MethodPost, "/api/sessions/"+id+"/heartbeat", token, "").is(204).header
	}
	if h := beat(); h.Get(wire.HeaderLease) != "42s" || h.Get(wire.HeaderEnded) != "" {
		t.Errorf("%v", h)
	}
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
	if h := beat(); h.Get(wire.HeaderEnded) != "true" {
		t.Errorf("after its end: %v", h)
	}
}
