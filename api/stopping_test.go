package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service"
)

// When the server stops, waiting calls are told at once to retry; other calls are executed as usual.
func TestWaitersLearnOfStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopping, stop := context.WithCancel(t.Context())
		w := openInside(t, func(c *setup) { c.Stopping = stopping })
		project := w.project()
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
		_, asker := w.session(adminToken, project, w.task(project), ``)
		question := w.ask(asker, "Which?", ``)
		var waiting []<-chan reply
		for range 20 {
			token := w.queueSession(project, "q")
			waiting = append(waiting, later(func() reply { return w.do(token, "queue:start?wait=25s", `{}`) }))
		}
		after := fmt.Sprint(w.log.head() + 1)
		waiting = append(waiting,
			later(func() reply { return w.send(http.MethodGet, "/api/inputs/"+question+"?wait=25s", asker, "") }),
			later(func() reply { return w.send(http.MethodGet, "/api/projects?minSeq="+after, adminToken, "") }))
		time.Sleep(time.Second) // the writer may wait for more callers before it decides
		for _, one := range waiting {
			still(t, one)
		}
		stop()
		for _, one := range waiting {
			r := at(t, one).refused(503, service.CodeStopping, "")
			if r.header.Get("Retry-After") != "1" || r.header.Get("Connection") != "close" {
				t.Errorf("%v", r.header)
			}
		}
		// Calls that arrive now no longer wait.
		token := w.queueSession(project, "q")
		at(
			t,
			later(func() reply { return w.do(token, "queue:start?wait=25s", `{}`) }),
		).refused(
			503,
			service.CodeStopping,
			"",
		)
		w.send(http.MethodGet, "/api/audit/export", adminToken, "").refused(503, service.CodeStopping, "")
		w.do(token, "report:progress", `{"message":"done before the end"}`).is(200)
	})
}

// A stopping server does not wait for a body that does not arrive.
func TestStopDoesNotWaitForBodies(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	w := open(t, func(c *setup) { c.Stopping = stopping })
	for _, path := range []string{"/api/commands/project:create", "/api/projects", "/api/manifests"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		// Less than the time limit for a body: a later answer would be too late.
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		// The server sends "continue" when it begins to read the body.
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n", path, adminToken)
		if err != nil {
			t.Fatal(err)
		}
		from := bufio.NewReader(conn)
		if line, err := from.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("%s: %q, %v", path, line, err)
		}
		if _, err := from.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		defer func() {
			resp, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _ = resp.Body.Close(); resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}()
	}
	stop()
}

// A server that cannot write refusals or long texts is not ready, and gives the reason.
func TestReadyNamesUnwritableStreams(t *testing.T) {
	var broken error
	w := openInside(t, func(c *setup) { c.Ready = func() error { return broken } })
	w.send(http.MethodGet, "/readyz", "", "").is(200)
	broken = errors.New("the disk is full")
	r := w.send(http.MethodGet, "/readyz", "", "").refused(503, "UNAVAILABLE", "")
	if r.text("why") != broken.Error() {
		t.Errorf("%s", r.body)
	}
}
