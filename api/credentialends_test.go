package api_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api"
)

// A credential that is revoked, replaced or expires while a body arrives is not valid any more: whatever the route, the
// call changes nothing, and the answer says why.
func TestEveryRouteAsksAfterItsBody(t *testing.T) {
	writes, err := api.WriteRoutes()
	if err != nil || len(writes) < 25 {
		t.Fatal(err, writes)
	}
	for _, command := range []string{"task:create", "token:create", "session:spawn", "report:progress", "whoami"} {
		writes = append(writes, "POST /api/commands/"+command)
	}
	for _, c := range []struct{ name, why string }{
		{"an admin token expires", "The token has expired"},
		{"an auditor token expires", "The token has expired"},
		{"a token is revoked", "The token was revoked"},
		{"the secret of a session is replaced", "The token was revoked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openManifestsInside(t)
				project := w.project()
				task := w.task(project)
				other, _ := w.session(adminToken, project, task, ``)
				body := goodFor(project, task, ``)
				for i, route := range writes {
					method, path, _ := strings.Cut(route, " ")
					path = strings.NewReplacer("{id}", map[string]string{
						"tasks": task, "projects": project, "sessions": other, "templates": "execute-simple",
						"skills": "x",
					}[strings.Split(path, "/")[2]], "{taskId}", task).Replace(path)
					var token string
					var end func()
					switch name := "t" + strconv.Itoa(i); c.name {
					case "an admin token expires", "an auditor token expires":
						kind := strings.Fields(c.name)[1]
						token = w.do(adminToken, "token:create",
							`{"name":"`+name+`","kind":"`+kind+`","expiresIn":1000}`).is(200).text("token")
						end = func() { time.Sleep(2 * time.Second) }
					case "a token is revoked":
						token = w.token(name, "admin")
						end = func() { w.do(adminToken, "token:revoke", `{"name":"`+name+`"}`).is(200) }
					default:
						var id string
						id, token = w.session(adminToken, project, task, `,"role":"orchestrator"`)
						end = func() { w.do(adminToken, "token:revoke", `{"sessionId":"`+id+`"}`).is(200) }
					}
					finish := w.slowly(method, path, token, body)
					end()
					head, blobs := w.last().ID, len(w.blobs.blobs)
					r := finish()
					if r.status == http.StatusForbidden && strings.Contains(string(r.body), "the auditor token") {
						continue // whatever its body is: nobody waited for that
					}
					if r.status != http.StatusUnauthorized || !strings.Contains(string(r.body), c.why) {
						t.Errorf("%s: %d %s", route, r.status, r.body)
					}
					if w.last().ID != head || len(w.blobs.blobs) != blobs {
						t.Errorf("%s changed something", route)
					}
				}
			})
		})
	}
}

// A call that needs no body is answered in the same way if its credential ends while it waits.
func TestARefusedReadOfAnEndedCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		w.project()
		token := w.do(adminToken, "token:create", `{"name":"ci","kind":"admin","expiresIn":1000}`).is(200).text("token")
		finish := w.slow(token, "project:create", `{"name":"Late"}`)
		time.Sleep(time.Second)
		refused := finish().refused(401, "UNAUTHENTICATED", "The token has expired")
		if next, _ := refused.object()["next"].(string); !strings.HasPrefix(next, "ask for another one") {
			t.Errorf("who has an expired token is told: %q", next)
		}
	})
}

// A long answer that its caller reads slowly ends with the caller's right to it: the connection is cut, so that nobody
// takes the part for the whole.
func TestASlowlyReadAnswerEndsWithItsCredential(t *testing.T) {
	const tasks = 300
	text := strings.Repeat("x", 4000)
	for name, end := range map[string]func(w *world, id string){
		"nothing": func(*world, string) {},
		"revoked": func(w *world, id string) {
			w.do(adminToken, "token:revoke", `{"sessionId":"`+id+`"}`).is(200)
		},
		"killed": func(w *world, id string) {
			w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openInside(t, limits(t))
				project := w.project()
				for range tasks {
					w.do(adminToken, "task:create",
						`{"project":"`+project+`","title":"T","description":"`+text+`"}`).is(200)
				}
				id, token := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
				conn := serve(t, w.api, limitsOf(t))()
				var got bytes.Buffer
				request(t, conn, token, "GET /api/tasks?projectId="+project, 0, "")
				if _, err := io.CopyN(&got, conn, 1000); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // the server waits until more is read
				end(w, id)
				whole := readAnswer(t, conn, &got)
				if want := name == "nothing"; whole != want || !want && got.Len() > 400_000 {
					t.Errorf("%d bytes arrived; whole: %t", got.Len(), whole)
				}
			})
		})
	}
}

// readAnswer reads the rest of an answer in chunks, and reports whether its end arrived.
func readAnswer(t *testing.T, conn net.Conn, into *bytes.Buffer) (whole bool) {
	t.Helper()
	part := make([]byte, 32<<10)
	for {
		n, err := conn.Read(part)
		into.Write(part[:n])
		if bytes.HasSuffix(into.Bytes(), []byte("\r\n0\r\n\r\n")) {
			return true
		}
		if err != nil {
			return false
		}
	}
}
