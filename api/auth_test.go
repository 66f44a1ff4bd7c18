package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"maestro/events"
	"maestro/service"
)

func noBackup(_ context.Context, w io.Writer, head events.Head) error {
	_, err := io.WriteString(w, head.String())
	return err
}

func TestCredentials(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	id, token := w.session(adminToken, project, w.task(project), ``)
	if token != service.SessionToken(serverKey, id, 1) {
		t.Errorf("the spawn's answer has the token %q", token)
	}
	for name, bad := range map[string]string{
		"garbage":          "garbage",
		"another key":      service.SessionToken([]byte("another key"), id, 1),
		"other generation": service.SessionToken(serverKey, id, 2),
		"another session":  strings.Replace(token, id, "sess_other", 1),
		"cut":              token[:len(token)-1],
		"prefix alone":     "mss_",
	} {
		r := w.send(http.MethodGet, "/api/whoami", bad, "").refused(401, "UNAUTHENTICATED", "")
		if !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%s: no challenge", name)
		}
	}
	for _, path := range []string{
		"/api/whoami", "/api/projects", "/api/audit/head", "/api/nothing",
		"/api/whoami?token=" + adminToken,
	} {
		w.send(http.MethodGet, path, "", "").refused(401, "UNAUTHENTICATED", "token is required")
	}
	w.send(http.MethodPost, "/api/commands/project:create", "", `{"name":"x"}`).refused(401, "UNAUTHENTICATED", "")
	w.send(http.MethodGet, "/api/whoami", "", "", "Authorization", "Basic "+adminToken).refused(401, "UNAUTHENTICATED",
		"")
	for _, path := range []string{"/health", "/healthz", "/readyz"} {
		w.send(http.MethodGet, path, "", "").is(200)
	}
}

func TestBodyCannotImpersonate(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	_, mine := w.session(adminToken, project, task, ``)
	other, _ := w.session(adminToken, project, task, ``)
	before := w.log.head()
	says := `{"sessionStatus":"working","updateSource":"session","sessionId":"` + other + `"}`
	for _, token := range []string{mine, adminToken} {
		w.send(http.MethodPatch, "/api/tasks/"+task, token, says).refused(403, "NOT_ALLOWED", "")
	}
	w.send(http.MethodPatch, "/api/tasks/"+task, mine, `{"status":"completed","updateSource":"user"}`).refused(403,
		"NOT_ALLOWED", "")
	w.send(http.MethodPost, "/api/sessions/"+other+"/timeline", mine, `{"message":"m"}`).refused(403, "NOT_ALLOWED", "")
	w.send(http.MethodPost, "/api/tasks/"+task+"/timeline", mine,
		`{"message":"m","sessionId":"`+other+`"}`).refused(403, "NOT_ALLOWED", "")
	w.send(http.MethodPatch, "/api/sessions/"+other, mine, `{"status":"completed"}`).refused(403, "NOT_ALLOWED", "")
	if w.log.head() != before {
		t.Error("a refused write left an event")
	}
}

func TestHostAndOrigin(t *testing.T) {
	w := open(t, func(c *setup) { c.AllowedHosts = []string{"maestro.example"} })
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1:3000"} {
		w.send(http.MethodGet, "/health", "", "", "Host", host).refused(403, "HOST_NOT_ALLOWED", host)
	}
	for _, host := range []string{
		"localhost", "LOCALHOST:3000", "127.0.0.1:9", "[::1]:3000", "maestro.example",
		"maestro.example:3000",
	} {
		w.send(http.MethodGet, "/api/whoami", adminToken, "", "Host", host).is(200)
	}
	before := w.log.head()
	for _, origin := range []string{"https://evil.example", "null", "http://127.0.0.1:1"} {
		w.do(adminToken, "project:create", `{"name":"x"}`, "Origin", origin).refused(403, "ORIGIN_NOT_ALLOWED", "")
		if r := w.send(http.MethodOptions, "/api/projects", "", "", "Origin", origin); r.status != 403 ||
			r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("a preflight of %s: %d", origin, r.status)
		}
	}
	if w.log.head() != before {
		t.Error("a page of another origin wrote")
	}
	w.send(http.MethodGet, "/api/whoami", adminToken, "", "Origin", w.url).is(200)
	allowed := w.send(http.MethodGet, "/api/whoami", adminToken, "", "Origin", "https://page.example").is(200)
	if allowed.header.Get("Access-Control-Allow-Origin") != "https://page.example" {
		t.Errorf("CORS: %v", allowed.header)
	}
	r := w.send(http.MethodOptions, "/api/commands/task:create", "", "", "Origin", "https://page.example",
		"Access-Control-Request-Method", "POST").is(204)
	if r.header.Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("a preflight of an allowed origin: %v", r.header)
	}
	if r := w.send(http.MethodGet, "/api/whoami", adminToken, ""); r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("CORS without an origin")
	}
}

func TestAuthOff(t *testing.T) {
	w := open(t, authOff)
	project := w.send(http.MethodPost, "/api/projects", "", `{"name":"Old"}`).is(201).text("id")
	task := w.send(http.MethodPost, "/api/tasks", "", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id")
	session := w.send(http.MethodPost, "/api/sessions/spawn", "",
		`{"projectId":"`+project+`","taskIds":["`+task+`"]}`).is(201).text("sessionId")

	last := func() *events.Event {
		event, err := events.Decode(w.log.messages[w.log.head()-1].Body)
		if err != nil {
			t.Fatal(err)
		}
		if event.Authn != "none" {
			t.Errorf("authn is %q", event.Authn)
		}
		return event
	}
	w.send(http.MethodPatch, "/api/tasks/"+task, "",
		`{"sessionStatus":"working","status":"completed","updateSource":"session","sessionId":"`+session+`"}`).is(200)
	if e := last(); !strings.HasSuffix(e.Source, "/sessions/"+session) {
		t.Errorf("an update of a session came from %s", e.Source)
	}
	if got := w.send(http.MethodGet, "/api/tasks/"+task, "", "").is(200); got.text("sessionStatus") != "working" ||
		got.text("status") != "in_progress" {
		t.Errorf("after it: %s", got.body)
	}
	w.send(http.MethodPost, "/api/sessions/"+session+"/timeline", "", `{"message":"m"}`).is(200)
	if e := last(); !strings.HasSuffix(e.Source, "/sessions/"+session) {
		t.Errorf("a timeline entry came from %s", e.Source)
	}
	w.send(http.MethodPatch, "/api/sessions/"+session, "", `{"status":"running"}`).is(200)
	w.send(http.MethodPatch, "/api/tasks/"+task, "", `{"status":"completed"}`).is(200)
	if e := last(); e.Source != "/users/admin" {
		t.Errorf("an update of the user came from %s", e.Source)
	}
	w.send(http.MethodPatch, "/api/tasks/"+task, "",
		`{"sessionStatus":"working","updateSource":"session","sessionId":"sess_nobody"}`).refused(403, "NOT_ALLOWED",
		"")
	w.send(http.MethodPost, "/api/sessions/sess_nobody/timeline", "", `{"message":"m"}`).refused(404, "NOT_FOUND",
		"Session with id 'sess_nobody' not found")
	w.send(http.MethodGet, "/api/whoami", "garbage", "").refused(401, "UNAUTHENTICATED", "")
}
