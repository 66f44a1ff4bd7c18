package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service"
)

// kept counts the connections that a server keeps.
type kept struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

func (k *kept) Close() error {
	if !k.closed.Swap(true) {
		k.open.Add(-1)
	}
	return k.Conn.Close()
}

// counted is serve, with the number of connections and of calls that the server keeps.
func counted(t *testing.T, handler http.Handler, limits *service.Limits) (
	dial func() net.Conn, open, calls *atomic.Int64,
) {
	open, calls = new(atomic.Int64), new(atomic.Int64)
	connect := serveConns(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		defer calls.Add(-1)
		handler.ServeHTTP(w, r)
	}), limits)
	return func() net.Conn {
		ours, theirs := net.Pipe()
		open.Add(1)
		connect(&kept{Conn: theirs, open: open})
		t.Cleanup(func() { _ = ours.Close() })
		return ours
	}, open, calls
}

// post returns a call with a body of about this many bytes.
func post(token string, size int, headers string) string {
	body := ""
	if size > 0 {
		body = `{"message":"` + strings.Repeat("x", size) + `"}`
	}
	return fmt.Sprintf("POST /api/commands/report:progress HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", token, headers, len(body), body)
}

func refusedOnce(t *testing.T, _ *world, dial func() net.Conn, _ string) string {
	first := dial()
	request(t, first, "msu_wrong", "GET /api/projects", 0, "")
	if status := answered(first); status != http.StatusUnauthorized {
		t.Errorf("the first call gets %d", status)
	}
	_ = first.Close()
	return "msu_wrong"
}

func reportedOnce(_ *testing.T, w *world, _ func() net.Conn, token string) string {
	w.do(token, "report:progress", note).is(200)
	return token
}

func callingStill(t *testing.T, _ *world, dial func() net.Conn, token string) string {
	request(t, dial(), token, "GET /api/whoami?minSeq=100000", 0, "") // in progress for five seconds
	return token
}

// TestCallEndsWithItsClient: a call that is delayed, or that waits for its turn, ends at once when its client leaves,
// although its body was not read.
func TestCallEndsWithItsClient(t *testing.T) {
	for name, c := range map[string]struct {
		limit string
		// busy uses up what the call needs, and returns the token of the call.
		busy func(t *testing.T, w *world, dial func() net.Conn, session string) string
		most int
	}{
		"without a valid credential": {"address-calls=0.001/1", refusedOnce, 38 << 10},
		"over a rate":                {"session-commands=0.001/1", reportedOnce, 38 << 10},
		"waiting for its turn":       {"session-parallel=1", callingStill, 10 << 10},
	} {
		for _, size := range []int{0, 10, c.most} {
			for _, headers := range []string{"", "Expect: 100-continue\r\n"} {
				t.Run(fmt.Sprintf("%s, %d bytes %s", name, size, headers), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := openInside(t, limits(t, c.limit))
						project := w.project()
						_, session := w.session(adminToken, project, w.task(project), "")
						dial, open, calls := counted(t, w.api, &service.Limits{})
						token := c.busy(t, w, dial, session)
						synctest.Wait()
						others, busy := open.Load(), calls.Load()
						client, began := dial(), time.Now()
						go func() {
							_, _ = io.WriteString(client, post(token, size, headers))
							_ = client.Close()
						}()
						synctest.Wait()
						if open.Load() != others || calls.Load() != busy || time.Since(began) > 0 {
							t.Errorf("the server keeps %d connections and %d calls of a client that left",
								open.Load()-others, calls.Load()-busy)
						}
					})
				})
			}
		}
	}
}

// TestDelayedCallKeepsItsConnection: a client that waits for its delayed refusal, or for its turn, may use the
// connection for the next call, and loses nothing of a body that arrives meanwhile.
func TestDelayedCallKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-commands=1/1", "session-parallel=1"))
		project := w.project()
		_, token := w.session(adminToken, project, w.task(project), "")
		dial := serve(t, w.api, &service.Limits{})
		client := dial()
		answers := bufio.NewReader(client)
		send := func(want int, wait time.Duration) {
			t.Helper()
			began := time.Now()
			sent := post(token, 12<<10, "")
			go func() {
				for _, part := range []string{sent[:2000], sent[2000:9000], sent[9000:]} {
					time.Sleep(time.Millisecond)
					_, _ = io.WriteString(client, part)
				}
			}()
			response, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			if took := time.Since(began); response.StatusCode != want || response.Close || took/time.Second != wait {
				t.Errorf("%s after %s, and closes: %t", response.Status, took, response.Close)
			}
		}
		send(200, 0)
		send(429, 1)
		other := dial()
		request(t, other, token, "GET /api/whoami?minSeq=100000", 0, "") // in progress for five seconds
		synctest.Wait()
		time.Sleep(3500 * time.Millisecond)
		send(200, 1)
	})
}

// TestClosedConnectionEndsItsCall: a delayed call whose connection is closed to make room ends with it.
func TestClosedConnectionEndsItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-commands=0.001/1"))
		project := w.project()
		_, token := w.session(adminToken, project, w.task(project), "")
		w.do(token, "report:progress", note).is(200)
		dial, open, calls := counted(t, w.api, limitsOf(t, "server-connections=1"))
		delayed := dial()
		_, _ = io.WriteString(delayed, post(token, 10, ""))
		synctest.Wait()
		if calls.Load() != 1 {
			t.Fatalf("%d calls are delayed", calls.Load())
		}
		dial()
		synctest.Wait()
		if open.Load() != 1 || calls.Load() != 0 {
			t.Errorf("the server keeps %d connections and %d calls", open.Load(), calls.Load())
		}
	})
}

// TestDelayedCallsOfOneAreBounded: one session holds a bounded number of delayed calls, and is refused at once above
// it; the refusals of another are delayed nevertheless.
func TestDelayedCallsOfOneAreBounded(t *testing.T) {
	const room, more = 256, 20
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-commands=0.001/1"))
		project := w.project()
		var tokens [2]string
		for i := range tokens {
			_, tokens[i] = w.session(adminToken, project, w.task(project), "")
			w.do(tokens[i], "report:progress", note).is(200)
		}
		dial, open, calls := counted(t, w.api, &service.Limits{})
		refused := func(token string) (closes bool) {
			client := dial()
			_, _ = io.WriteString(client, post(token, 10, ""))
			response, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil || response.StatusCode != http.StatusTooManyRequests {
				t.Errorf("%v, %v", response, err)
				return false
			}
			_, _ = io.Copy(io.Discard, response.Body)
			return response.Close
		}
		var waited, hungUp atomic.Int64
		for range room + more {
			go func() {
				if refused(tokens[0]) {
					hungUp.Add(1)
				} else {
					waited.Add(1)
				}
			}()
		}
		synctest.Wait()
		if calls.Load() != room || open.Load() != room || hungUp.Load() != more || waited.Load() != 0 {
			t.Errorf("%d calls on %d connections are delayed, %d were refused at once, %d waited", calls.Load(),
				open.Load(), hungUp.Load(), waited.Load())
		}
		began := time.Now()
		if refused(tokens[1]) || time.Since(began) < time.Second {
			t.Errorf("another session is refused after %s", time.Since(began))
		}
		synctest.Wait()
		if calls.Load() != 0 || waited.Load() != room {
			t.Errorf("%d calls are still delayed, %d waited", calls.Load(), waited.Load())
		}
	})
}
