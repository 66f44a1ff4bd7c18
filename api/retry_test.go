package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/service"
	"maestro/service/wire"
)

// A retry gets the first answer again, but includes the secret only while its caller may still use the command in the
// project of the event.
func TestRetryHidesSecret(t *testing.T) {
	type secrets struct {
		*world
		project, orchestrator, token string
	}
	kill := func(x secrets) { x.do(adminToken, "session:kill", `{"sessionId":"`+x.orchestrator+`"}`).is(200) }
	remove := func(x secrets, session string) {
		x.do(adminToken, "session:kill", `{"sessionId":"`+session+`"}`).is(200)
		x.do(adminToken, "session:delete", `{"sessionId":"`+session+`"}`).is(200)
	}
	for _, c := range []struct {
		name string
		// elsewhere: the session is spawned in a project that its spawner created.
		elsewhere bool
		// change happens between the spawn and its retry; session is the spawned one, in project.
		change func(x secrets, project, session string)
		hidden bool
	}{
		{"nothing has changed", false, func(secrets, string, string) {}, false},
		{"nothing has changed elsewhere", true, func(secrets, string, string) {}, false},
		{"its caller has ended", false, func(x secrets, _, _ string) { kill(x) }, true},
		{"its caller has ended, elsewhere", true, func(x secrets, _, _ string) { kill(x) }, true},
		{"its caller may no longer work there", true, func(x secrets, project, session string) {
			remove(x, session)
			x.do(adminToken, "project:delete", `{"projectId":"`+project+`"}`).is(200)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openInside(t, nil)
				x := secrets{world: w, project: w.project()}
				x.orchestrator, x.token = w.session(adminToken, x.project, w.task(x.project), `,"role":"orchestrator"`)
				project := x.project
				if c.elsewhere {
					made := w.do(x.token, "project:create", `{"name":"Own"}`).is(200)
					project = made.text("event", "data", "projectId")
				}
				spawn := func() reply {
					t.Helper()
					body := `{"project":"` + project + `","strategy":"queue"}`
					return w.do(x.token, "session:spawn", body, wire.HeaderKey, "spawn").is(200)
				}
				first := spawn()
				session := first.text("event", "data", "sessionId")
				if first.text("token") != service.SessionToken(serverKey, session, 1) {
					t.Fatalf("the first answer is %s", first.body)
				}
				c.change(x, project, session)
				again := spawn()
				_, shown := again.object()["token"]
				retried := again.header.Get(wire.HeaderRetried) == "true"
				if !retried || again.text("event", "id") != first.text("event", "id") {
					t.Errorf("the answer to the retry: %s", again.body)
				}
				if shown == c.hidden || strings.Contains(string(again.body), "mss_") == c.hidden {
					t.Errorf("the secret is shown: %t: %s", shown, again.body)
				}
			})
		})
	}
}

// The route of older clients refuses a caller that may no longer spawn, and reveals the secret in no other way.
func TestOlderRouteRetryHidesSecret(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	id, token := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	body := `{"projectId":"` + project + `","taskIds":["` + task + `"],"spawnSource":"session",` +
		`"sessionId":"` + id + `"}`
	spawn := func() reply {
		t.Helper()
		return w.send(http.MethodPost, "/api/sessions/spawn", token, body, wire.HeaderKey, "spawn")
	}
	first := spawn().is(201)
	if again := spawn().is(201); again.text("token") == "" || again.text("token") != first.text("token") {
		t.Errorf("the same caller gets %s, and then %s", first.body, again.body)
	}
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
	if again := spawn(); strings.Contains(string(again.body), "mss_") {
		t.Errorf("an ended session gets %s", again.body)
	}
}

// slow starts a command whose body is incomplete, and returns a function that completes it.
func (w *world) slow(token, id, body string) (finish func() reply) {
	w.Helper()
	return w.slowly(http.MethodPost, "/api/commands/"+id, token, body)
}

// slowly starts a request whose body is incomplete, and returns a function that completes it.
func (w *world) slowly(method, path, token, body string) (finish func() reply) {
	w.Helper()
	reader, writer := io.Pipe()
	req, err := http.NewRequestWithContext(w.Context(), method, w.url+path, reader)
	if err != nil {
		w.Fatal(err)
	}
	req.ContentLength = int64(len(body))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	answered := make(chan reply, 1)
	go func() {
		resp, err := w.client.Do(req)
		if err != nil {
			w.Errorf("%s %s: %v", method, path, err)
			answered <- reply{T: w.T}
			return
		}
		defer func() { _ = resp.Body.Close() }()
		answer, _ := io.ReadAll(resp.Body)
		_ = reader.Close() // an early answer leaves the body unread
		answered <- reply{w.T, resp.StatusCode, resp.Header, resp.Trailer, answer}
	}()
	synctest.Wait()
	return func() reply {
		_, _ = io.WriteString(writer, body)
		_ = writer.Close()
		return <-answered
	}
}

// A request whose secret is revoked meanwhile is not executed as the holder of the next secret.
func TestRequestKeepsItsAuthentication(t *testing.T) {
	for name, made := range map[string]string{"the same": "admin", "another": "auditor"} {
		t.Run("a token, and "+name+" kind", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openInside(t, nil)
				old := w.token("ci", "admin")
				finish := w.slow(old, "project:create", `{"name":"Late"}`)
				w.do(adminToken, "token:revoke", `{"name":"ci"}`).is(200)
				w.token("ci", made)
				before := w.last().ID
				finish().refused(401, "UNAUTHENTICATED", "The token was revoked")
				if w.last().ID != before {
					t.Error("it was executed as the new token")
				}
			})
		})
	}
	t.Run("a session", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, nil)
			project := w.project()
			id, old := w.session(adminToken, project, w.task(project), "")
			finish := w.slow(old, "report:progress", `{"message":"m"}`)
			next := w.do(adminToken, "token:revoke", `{"sessionId":"`+id+`"}`).is(200).text("token")
			finish().refused(401, "UNAUTHENTICATED", "The token was revoked")
			w.do(next, "report:progress", `{"message":"m"}`).is(200)
		})
	})
}
