package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service/wire"
)

// The tool watch answers all that the live views have, in however many parts they come, and ends. One that is too long
// is refused like any other answer.
func TestWatchIsTheLiveViews(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	model := w.model(adminToken)
	text := strings.Repeat("x", 60<<10)
	grow := func(tasks int) {
		for range tasks {
			w.do(adminToken, "task:create", `{"project":"`+project+`","title":"x","description":"`+text+`"}`).is(200)
		}
	}
	grow(10)
	for arguments, query := range map[string]string{
		`{}`:            "",
		`{"after":"1"}`: "&after=1",
		`{"project":"` + project + `","kinds":"task"}`: "&project=" + project + "&kinds=task",
	} {
		native := w.send(http.MethodGet, "/api/live?follow=false"+query, adminToken, "").is(200)
		if parts := bytes.Count(native.body, []byte("\n\n")); parts < 4 {
			t.Fatalf("%s: the route answers in %d parts", arguments, parts)
		}
		got, failed := tool(t, model, "watch", json.RawMessage(arguments))
		if failed || got[0]+"\n" != string(native.body) {
			t.Errorf("%s: the tool answers %d bytes, the route %d:\n%.300s", arguments, len(got[0]),
				len(native.body), got[0])
		}
	}
	grow(70)
	got, failed := tool(t, model, "watch", nil)
	if !failed || len(got) != 1 || !strings.HasPrefix(got[0], "TOO_LARGE: ") {
		t.Errorf("views of 5 MB: failed %t, %d bytes", failed, len(got[0]))
	}
	got, failed = tool(t, model, "watch", map[string]any{"kinds": "project"})
	if failed || !strings.Contains(got[0], project) {
		t.Errorf("the projects alone: %q", got)
	}
}

// What is kept of the answers to messages whose clients do not read counts against the limit for answers. Calls that
// have no room are told so, and the others are complete.
func TestUnreadToolAnswersHoldLittle(t *testing.T) {
	t.Parallel()
	const calls = 40
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-parallel=0", "session-reads=0", "session-answers=3000000"))
		project := w.project()
		_, token := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
		text := strings.Repeat("x", 60<<10)
		const tasks = 10
		for range tasks {
			w.do(adminToken, "task:create", `{"project":"`+project+`","title":"x","description":"`+text+`"}`).is(200)
		}
		h := &held{read: make(chan struct{})}
		answers := make([]*unread, calls)
		var all sync.WaitGroup
		for i := range answers {
			answers[i] = &unread{ResponseRecorder: httptest.NewRecorder(), held: h}
			r := mcpRequest(w.Context(), token, callOf("task_list", `{"projectId":"`+project+`"}`))
			all.Go(func() { w.api.ServeHTTP(answers[i], r) })
		}
		synctest.Wait()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		h.mu.Lock()
		if h.bytes > 6_000_000 {
			t.Errorf("%d bytes are kept for a caller that does not read", h.bytes)
		}
		h.mu.Unlock()
		close(h.read)
		all.Wait()
		whole, refused := 0, 0
		for _, a := range answers {
			switch {
			case strings.Count(a.Body.String(), text) == tasks:
				whole++
			case strings.Contains(a.Body.String(), "RATE_LIMITED"):
				refused++
			default:
				t.Errorf("an answer of %d bytes with status %d: %.300s", a.Body.Len(), a.Code, a.Body)
			}
		}
		if whole == 0 || refused == 0 {
			t.Errorf("%d answers are complete, %d calls were refused", whole, refused)
		}
		last := httptest.NewRecorder() // nothing is counted any more
		w.api.ServeHTTP(last, mcpRequest(w.Context(), token, callOf("task_list", `{"projectId":"`+project+`"}`)))
		if strings.Count(last.Body.String(), text) != tasks {
			t.Errorf("after all were read: %.300s", last.Body)
		}
	})
}

// mcpRequest is a message to be handled directly.
func mcpRequest(ctx context.Context, token, body string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+wire.MCPPath, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	return r
}

// A call whose client leaves ends what it asked for, which then takes no place of the caller's next call.
func TestLeftToolEndsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-waits=1"))
		project := w.project()
		_, token := w.session(adminToken, project, w.task(project), ``)
		wait := func() (leave context.CancelFunc, ended <-chan string) {
			ctx, cancel := context.WithCancel(w.Context())
			done := make(chan string, 1)
			go func() {
				answer := httptest.NewRecorder()
				w.api.ServeHTTP(answer, mcpRequest(ctx, token, callOf("input_wait", `{}`)))
				done <- answer.Body.String()
			}()
			synctest.Wait()
			return cancel, done
		}
		leave, _ := wait()
		_, second := wait()
		if got := <-second; !strings.Contains(got, "RATE_LIMITED") {
			t.Fatalf("a second call that waits: %s", got)
		}
		leave()
		synctest.Wait()
		leave, third := wait()
		select {
		case got := <-third:
			t.Errorf("after the first client left: %s", got)
		default:
		}
		leave()
		synctest.Wait()
	})
}

// The login of a browser is refused in words, and a token beside it counts.
func TestMCPTakesNoLogin(t *testing.T) {
	w := open(t, nil)
	b := w.logIn(adminToken)
	b.sends(http.MethodPost, wire.MCPPath, ping, "Accept", accept).refused(403, "LOGIN_NOT_ALLOWED", "")
	b.sends(http.MethodPost, wire.MCPPath, ping, "Accept", accept, "Authorization", "Bearer "+adminToken).is(200)
}

// The log names the requests of a call by the id of its message.
func TestRequestsOfACallHaveItsID(t *testing.T) {
	log := &logOf{}
	w := open(t, func(c *setup) {
		c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	w.send(http.MethodPost, wire.MCPPath, adminToken, callOf("project_create", `{"name":"x"}`), "Accept", accept,
		wire.HeaderRequestID, "mine").is(200)
	for _, want := range []string{"/mcp status=200", "/api/commands/project:create status=200"} {
		if want = "msg=request id=mine method=POST route=" + want; !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
}

// A text with characters that HTML escapes gets no longer on its way: it counts as it was sent.
func TestToolsTakeLongTexts(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	_, token := w.session(adminToken, project, w.task(project), ``)
	text := strings.Repeat("<", 300<<10)
	for _, more := range []string{"", `,"idempotencyKey":"k"`} {
		r := w.send(http.MethodPost, wire.MCPPath, token, callOf("report_progress", `{"message":"`+text+`"`+more+`}`),
			"Accept", accept).is(200)
		if bytes.Contains(r.body, []byte("TOO_LARGE: The body")) {
			t.Errorf("%q: %.300s", more, r.body)
		}
	}
}
