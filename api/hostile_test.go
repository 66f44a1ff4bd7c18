package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service"
)

// answerOf reads an answer, and fails the test if there is none.
func answerOf(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// A head that comes slowly, byte by byte or not at all, holds its connection for ten seconds.
func TestSlowHeadsAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		dial := serve(t, w.api, &service.Limits{})
		for what, head := range map[string]string{
			"byte by byte": "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 1000),
			"nothing":      "",
			"a beginning":  "GET /heal",
		} {
			c := dial()
			began := time.Now()
			var writing sync.WaitGroup
			writing.Go(func() {
				for i := range head {
					if _, err := io.WriteString(c, head[i:i+1]); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			answer, _ := io.ReadAll(c) // the server closes it
			if took := time.Since(began); took > 15*time.Second || strings.HasPrefix(string(answer), "HTTP/1.1 200") {
				t.Errorf("%s: the connection stays for %s and answers %q", what, took, answer)
			}
			_ = c.Close()
			writing.Wait()
		}
	})
}

// A body without an end is refused at the limit of a body, and its connection ends. So is one that its sender is not
// known for.
func TestEndlessBodiesAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		dial := serve(t, w.api, &service.Limits{})
		before := w.log.head()
		for what, test := range map[string]struct {
			token string
			every time.Duration
			want  []int
		}{
			"at once":            {adminToken, 0, []int{http.StatusRequestEntityTooLarge}},
			"slowly":             {adminToken, time.Second, []int{http.StatusRequestTimeout, http.StatusBadRequest}},
			"of an unknown user": {"nonsense", 0, []int{http.StatusUnauthorized}},
		} {
			c := dial()
			began := time.Now()
			var writing sync.WaitGroup
			writing.Go(func() {
				_, _ = io.WriteString(c, "POST /api/commands/project:create HTTP/1.1\r\nHost: localhost\r\n"+
					"Authorization: Bearer "+test.token+"\r\nContent-Type: application/json\r\n"+
					"Transfer-Encoding: chunked\r\n\r\n")
				part := strings.Repeat(" ", 16<<10)
				for {
					if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(part), part); err != nil {
						return
					}
					time.Sleep(test.every)
				}
			})
			reader := bufio.NewReader(c)
			response, err := http.ReadResponse(reader, nil)
			if err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_, _ = io.Copy(io.Discard, reader) // until the server closes it
			}
			if took := time.Since(began); took > 45*time.Second {
				t.Errorf("%s: the connection stays for %s", what, took)
			}
			status := 0
			if err == nil {
				status = response.StatusCode
			}
			known := status == 0 && test.every > 0
			for _, want := range test.want {
				known = known || status == want
			}
			if !known {
				t.Errorf("%s: it answers %d, %v", what, status, err)
			}
			_ = c.Close()
			writing.Wait()
		}
		if w.log.head() != before {
			t.Error("it wrote")
		}
	})
}

// Ten thousand connections that send nothing leave room for a caller with a credential: the longest idle give way.
func TestTenThousandIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l service.Limits
		if err := l.Set("server-connections=500"); err != nil {
			t.Fatal(err)
		}
		w := openInside(t, nil)
		dial := serve(t, w.api, &l)
		call := func(c net.Conn) {
			_, err := io.WriteString(c, "GET /api/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+
				adminToken+"\r\n\r\n")
			if err != nil {
				t.Error(err)
			}
		}
		for range 10_000 {
			dial()
		}
		synctest.Wait()
		c := dial()
		go call(c)
		if response := answerOf(t, c); response.StatusCode != http.StatusOK {
			t.Errorf("it answers %d", response.StatusCode)
		}
	})
}

// The limits of a credential hold for its streams: the live views count as waiting calls. Other credentials, and the
// other calls of the same one, are served.
func TestStreamsAreLimited(t *testing.T) {
	for _, test := range []struct{ limit, by string }{
		{"session-waits", "session"},
		{"reader-waits", "auditor"},
		{"admin-waits", "admin"},
		{"server-waits", "admin"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, test.limit+"=2"))
			project := w.project()
			token := ""
			if test.by == "session" {
				_, token = w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
			} else {
				token = w.token("streams", test.by)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/api/live", nil)
					if err != nil {
						t.Error(err)
						return
					}
					request.Header.Set("Authorization", "Bearer "+token)
					if response, err := w.client.Do(request); err != nil || response.StatusCode != http.StatusOK {
						t.Errorf("%s: %v, %v", test.limit, response, err)
					}
				})
			}
			synctest.Wait()
			w.send(http.MethodGet, "/api/live", token, "").limited(test.limit)
			w.send(http.MethodGet, "/api/inbox?wait=5s", token, "").limited(test.limit)
			w.send(http.MethodGet, "/api/whoami", token, "").is(200)
			if test.limit != "server-waits" {
				w.send(http.MethodGet, "/api/live", w.token("other", "auditor"), "").is(200)
			}
			cancel()
			all.Wait()
			synctest.Wait()
			w.send(http.MethodGet, "/api/live", token, "").is(200)
		})
	}
}
