package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// request writes a request in full or, if its body is shorter than length, a part of it.
func request(t *testing.T, c net.Conn, token, line string, length int, body string) {
	t.Helper()
	head := line + " HTTP/1.1\r\nHost: localhost\r\n"
	if token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	if length > 0 {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", length)
	}
	if _, err := io.WriteString(c, head+"\r\n"+body); err != nil {
		t.Error(err)
	}
}

// answered returns the status of the answer, 0 if the connection was closed instead.
func answered(c net.Conn) int {
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// TestAdminCanAlwaysConnect: living and ended sessions hold all connections, in each way in which they can. New
// connections of the admin, of /readyz and of an honest session are still served, and so is a waiting call of the
// honest session.
func TestAdminCanAlwaysConnect(t *testing.T) {
	const total, each = 32, 8
	for name, hold := range map[string]func(t *testing.T, c net.Conn, token string){
		"slow bodies": func(t *testing.T, c net.Conn, token string) {
			request(t, c, token, "POST /api/commands/session:note", 16000, "{")
		},
		"slow bodies of long commands": func(t *testing.T, c net.Conn, token string) {
			request(t, c, token, "POST /api/commands/project:create", 512<<10, "{")
		},
		"slow bodies of streams": func(t *testing.T, c net.Conn, token string) {
			request(t, c, token, "POST /api/audit/export", 16000, "{")
		},
		"slow uploads": func(t *testing.T, c net.Conn, token string) {
			request(t, c, token, "POST /api/manifests", 1<<20, "{")
		},
		"slow bodies of waits": func(t *testing.T, c net.Conn, token string) {
			request(t, c, token, "POST /api/commands/queue:start?wait=25s", 2, "{")
		},
		"waits": func(t *testing.T, c net.Conn, token string) {
			request(t, c, token, "POST /api/commands/queue:start?wait=25s", 2, "{}")
		},
		"reads of what is not there": func(t *testing.T, c net.Conn, token string) {
			request(t, c, token, "GET /api/whoami?minSeq=100000", 0, "")
		},
		"silence": func(*testing.T, net.Conn, string) {},
	} {
		for _, ended := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", ended ", ended), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limited := limits(t, fmt.Sprint("server-connections=", total))
					config := limitsOf(t, fmt.Sprint("server-connections=", total))
					w := openInside(t, limited)
					project, other := w.project(), w.project()
					for _, p := range []string{project, other} {
						w.do(adminToken, "queue:create", `{"project":"`+p+`","queue":"work"}`).is(200)
					}
					honest := w.queueSession(other, "work")
					var hostile []string
					for range total/each + 2 {
						token := w.queueSession(project, "work")
						hostile = append(hostile, token)
						if ended {
							id := w.send(http.MethodGet, "/api/whoami", token, "").is(200).text("session")
							w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
						}
					}
					dial := serve(t, w.api, config)
					waiting := dial()
					request(t, waiting, honest, "POST /api/commands/queue:start?wait=4s", 2, "{}")
					synctest.Wait()
					for range each {
						for _, token := range hostile {
							c := dial()
							hold(t, c, token)
							synctest.Wait()
						}
					}
					for _, call := range []struct{ token, line string }{
						{adminToken, "GET /api/projects"},
						{adminToken, "GET /api/audit/export"},
						{"", "GET /readyz"},
						{honest, "GET /api/whoami"},
					} {
						c := dial()
						began := time.Now()
						request(t, c, call.token, call.line, 0, "")
						if status := answered(c); status != 200 || time.Since(began) > 0 {
							t.Errorf("%s: %d after %s", call.line, status, time.Since(began))
						}
					}
					if status := answered(waiting); status != 200 {
						t.Errorf("the honest session that waits gets %d", status)
					}
				})
			})
		}
	}
}
