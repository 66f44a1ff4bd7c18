package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/service"
	"maestro/service/wire"
)

// limits changes the limits of a server.
func limits(t *testing.T, texts ...string) func(*setup) {
	t.Helper()
	l := limitsOf(t, texts...)
	return func(c *setup) { c.Limits = *l }
}

func limitsOf(t *testing.T, texts ...string) *service.Limits {
	t.Helper()
	var l service.Limits
	for _, text := range texts {
		if err := l.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	return &l
}

// limited checks a 429 and returns its Retry-After.
func (r reply) limited(limit string) time.Duration {
	r.Helper()
	r.refused(http.StatusTooManyRequests, "RATE_LIMITED", "")
	if got := r.text("details", "limit"); got != limit {
		r.Errorf("it is over the limit %q, want %q", got, limit)
	}
	seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		r.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	}
	return time.Duration(seconds) * time.Second
}

// into reads the answer into a value.
func (r reply) into(value any) {
	r.Helper()
	if err := json.Unmarshal(r.body, value); err != nil {
		r.Fatal(err)
	}
}

const note = `{"message":"m"}`

// TestCommandsOfOneSessionAreLimited: a session that floods the server gets 429, others notice nothing, and it can
// continue after Retry-After.
func TestCommandsOfOneSessionAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-commands=0.1/20", "session-spawns=0"))
		project := w.project()
		_, hostile := w.session(adminToken, project, w.task(project), "")
		_, honest := w.session(adminToken, project, w.task(project), "")
		for range 20 {
			w.do(hostile, "report:progress", note).is(200)
		}
		head := w.log.head()
		denied := len(w.denied(""))
		after := w.do(hostile, "report:progress", note).limited("session-commands")
		w.do(hostile, "report:progress", `{"broken`).limited("session-commands") // before it is parsed
		w.do(hostile, "task:complete", `{}`).limited("session-commands")         // before it is permitted
		w.send(http.MethodPost, "/api/sessions/x/timeline", hostile, note).limited("session-commands")
		if w.log.head() != head || len(w.denied("")) != denied {
			t.Error("a call over a limit left something behind")
		}
		w.send(http.MethodGet, "/api/whoami", hostile, "").is(200) // a limit of its own
		w.do(honest, "report:progress", note).is(200)
		w.do(adminToken, "project:create", `{"name":"P"}`).is(200)
		time.Sleep(after)
		w.do(hostile, "report:progress", note).is(200)
	})
}

// TestEachRateIsLimited drives one caller over each rate.
func TestEachRateIsLimited(t *testing.T) {
	for _, c := range []struct {
		limit string // NAME=VALUE, which is met by the third call
		call  func(w *world, project, token string) reply
	}{
		{"session-commands=1/2", func(w *world, _, token string) reply { return w.do(token, "report:progress", note) }},
		{"session-bytes=1/30", func(w *world, _, token string) reply { return w.do(token, "report:progress", note) }},
		{"session-reads=1/2", func(w *world, _, token string) reply {
			return w.send(http.MethodGet, "/api/whoami", token, "")
		}},
		{"session-reads=1/2", func(w *world, _, token string) reply { // which writes nothing itself
			return w.send(http.MethodPost, wire.MCPPath, token, ping, "Accept", accept)
		}},
		{"session-reads=1/4", func(w *world, _, token string) reply { // the message is one, and what it reads another
			return w.send(http.MethodPost, wire.MCPPath, token, callOf("whoami", "{}"), "Accept", accept)
		}},
		{"project-commands=1/2", func(w *world, _, token string) reply { return w.do(token, "report:progress", note) }},
		{"project-bytes=1/30", func(w *world, _, token string) reply { return w.do(token, "report:progress", note) }},
		{"project-reads=1/2", func(w *world, _, token string) reply {
			return w.send(http.MethodGet, "/api/whoami", token, "")
		}},
		{"session-spawns=1/2", func(w *world, project, token string) reply {
			return w.do(token, "session:spawn", `{"project":"`+project+`","taskIds":["`+w.task(project)+`"]}`)
		}},
		{"session-creates=1/2", func(w *world, _, token string) reply {
			return w.do(token, "project:create", `{"name":"P"}`)
		}},
		{"project-creates=1/2", func(w *world, _, token string) reply {
			return w.send(http.MethodPost, "/api/projects", token, `{"name":"P"}`)
		}},
		{"project-spawns=1/2", func(w *world, project, token string) reply {
			body := `{"projectId":"` + project + `","taskIds":["` + w.task(project) + `"]}`
			return w.send(http.MethodPost, "/api/sessions/spawn", token, body)
		}},
	} {
		t.Run(c.limit, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Over a project's limit, a session goes on at ten times the price; here it cannot afford that.
				all := []string{c.limit}
				if strings.HasPrefix(c.limit, "project-") {
					poor := strings.NewReplacer("project", "session", "/2", "/9", "/30", "/90")
					all = append(all, poor.Replace(c.limit))
				}
				w := openInside(t, limits(t, all...))
				project := w.project()
				_, token := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
				name, _, _ := strings.Cut(c.limit, "=")
				for i := range 2 {
					if r := c.call(w, project, token); r.status >= 300 {
						t.Fatalf("call %d: %d %s", i+1, r.status, r.body)
					}
				}
				time.Sleep(c.call(w, project, token).limited(name))
				if r := c.call(w, project, token); r.status >= 300 {
					t.Errorf("after Retry-After: %d %s", r.status, r.body)
				}
			})
		})
	}
}

// TestReadersAreLimited bounds auditors and read-only tokens too, and not the admin.
func TestReadersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "reader-reads=1/2"))
		reader := w.token("eyes", "auditor")
		for range 2 {
			w.send(http.MethodGet, "/api/projects", reader, "").is(200)
		}
		w.send(http.MethodGet, "/api/projects", reader, "").limited("reader-reads")
		for range 100 {
			w.send(http.MethodGet, "/api/projects", adminToken, "").is(200)
		}
	})
}

// TestOpenCallsAreLimited: waiting calls are bounded.
func TestOpenCallsAreLimited(t *testing.T) {
	for _, limit := range []string{"session-waits", "project-waits", "server-waits"} {
		synctest.Test(t, func(t *testing.T) {
			w := openInside(t, limits(t, limit+"=2"))
			project := w.project()
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"work"}`).is(200)
			token := w.queueSession(project, "work")
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() { w.do(token, "queue:start?wait=5s", `{}`).is(200) })
			}
			synctest.Wait()
			w.do(token, "queue:start?wait=5s", `{}`).limited(limit)
			w.do(token, "report:progress", note).is(200) // a waiting session can still send other calls
			all.Wait()
			all.Go(func() { w.do(token, "queue:start?wait=5s", `{}`).is(200) })
			all.Wait()
		})
	}
}

// TestRouteDecidesWhatACallIs: while there is no room for another wait, only calls that would wait are refused,
// whatever their query; while there is no room for another read of the whole log, every such read is refused, and no
// other call.
func TestRouteDecidesWhatACallIs(t *testing.T) {
	over := func(r reply) string {
		if r.status != http.StatusTooManyRequests {
			return ""
		}
		return r.text("details", "limit")
	}
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "server-waits=1", "server-streams=1"))
		project := w.project()
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"work"}`).is(200)
		token := w.queueSession(project, "work")
		h := &held{read: make(chan struct{})}
		var all sync.WaitGroup
		all.Go(func() { w.do(token, "queue:start?wait=25s", `{}`).is(200) })
		all.Go(func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/audit/export", nil)
			r.Header.Set("Authorization", "Bearer "+adminToken)
			w.api.ServeHTTP(&unread{ResponseRecorder: httptest.NewRecorder(), held: h}, r)
		})
		synctest.Wait()
		long := map[string]bool{
			"/api/audit/export": true, "/api/audit/verify": true, "/api/audit/texts": true, "/api/backup": true,
			"/api/since": true, "/api/events": true,
		}
		for _, route := range w.readRoutes() {
			want := ""
			switch {
			case long[route]:
				want = "server-streams"
			case route == "/api/inbox", route == "/api/live": // nothing needs anybody
				want = "server-waits"
			}
			query := "?wait=1s"
			if route == "/api/live" {
				query = "" // it takes none, and always waits
			}
			if got := over(w.send(http.MethodGet, route+query, adminToken, "")); got != want {
				t.Errorf("GET %s is over %q, want %q", route, got, want)
			}
		}
		for _, row := range commands.CurrentRules().Rows() {
			if got := over(w.do(adminToken, row.ID+"?wait=1s", `{}`)); got != "" {
				t.Errorf("%s is over %q", row.ID, got)
			}
		}
		w.do(w.queueSession(project, "work"), "queue:start?wait=1s", `{}`).limited("server-waits")
		_, asker := w.session(adminToken, project, w.task(project), "")
		question := w.ask(asker, "what?", "")
		w.send(http.MethodGet, "/api/inputs/"+question+"?wait=1s", adminToken, "").limited("server-waits")
		close(h.read)
		all.Wait()
	})
}

// TestCallsInProgressTakeTurns: a session with too many calls in progress waits for its own calls; other sessions do
// not wait.
func TestCallsInProgressTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-parallel=2"))
		project := w.project()
		_, token := w.session(adminToken, project, w.task(project), "")
		_, other := w.session(adminToken, project, w.task(project), "")
		later := fmt.Sprint("/api/whoami?minSeq=", w.log.head()+100) // in progress for five seconds
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { w.send(http.MethodGet, later, token, "").is(504) })
		}
		synctest.Wait()
		time.Sleep(4 * time.Second)
		all.Go(func() { w.send(http.MethodGet, "/api/whoami", token, "").is(200) }) // it gets its turn
		synctest.Wait()
		w.send(http.MethodGet, "/api/whoami", other, "").is(200)
		all.Wait()
		for range 2 {
			all.Go(func() { w.send(http.MethodGet, later, token, "").is(504) })
		}
		synctest.Wait()
		w.send(http.MethodGet, "/api/whoami", token, "").limited("session-parallel")
		all.Wait()
	})
}

// TestOpenObjectsAreLimited: open questions, tasks and sessions are bounded; a retry does not count, and those that end
// make room.
func TestOpenObjectsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exceeded := func(r reply, limit string) {
			t.Helper()
			r.refused(http.StatusTooManyRequests, "QUOTA_EXCEEDED", "")
			if got := r.text("details", "limit"); got != limit || r.header.Get("Retry-After") == "" {
				t.Errorf("over the limit %q, want %q; Retry-After %q", got, limit, r.header.Get("Retry-After"))
			}
		}
		w := openInside(t,
			limits(t, "session-questions=1", "project-questions=2", "project-tasks=5", "project-sessions=3"))
		project := w.project()
		task := w.task(project)
		_, a := w.session(adminToken, project, task, "")
		_, b := w.session(adminToken, project, task, "")
		third, c := w.session(adminToken, project, task, "")
		exceeded(w.do(adminToken, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`),
			"project-sessions")
		body := `{"projectId":"` + project + `","taskIds":[]}`
		exceeded(w.send(http.MethodPost, "/api/sessions", adminToken, body), "project-sessions")

		ask := func(token, key string) reply {
			return w.do(token, "report:needs-input", `{"message":"what?"}`, wire.HeaderKey, key)
		}
		question := ask(a, "one").is(200).text("event", "data", "inputId")
		exceeded(ask(a, "two"), "session-questions")
		ask(a, "one").is(200) // a retry
		ask(b, "one").is(200)
		exceeded(ask(c, "one"), "project-questions")
		w.do(adminToken, "input:answer", `{"inputId":"`+question+`","answer":"yes"}`).is(200)
		ask(c, "one").is(200)

		for range 4 {
			w.task(project)
		}
		exceeded(w.do(a, "task:create", `{"title":"one more"}`), "project-tasks")
		body = `{"projectId":"` + project + `","title":"T"}`
		exceeded(w.send(http.MethodPost, "/api/tasks", adminToken, body), "project-tasks")
		w.do(adminToken, "session:kill", `{"sessionId":"`+third+`"}`).is(200)
		w.session(adminToken, project, task, "")
	})
}

// TestPermissionComesBeforeQuotas: a caller that may not use a command is told that, and not how full a project is.
func TestPermissionComesBeforeQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-questions=1", "project-tasks=1", "project-sessions=1"))
		own, full := w.project(), w.project()
		there := w.task(full)
		id, inside := w.session(adminToken, full, there, "")
		w.do(inside, "report:needs-input", `{"message":"what?"}`).is(200)
		_, outside := w.session(adminToken, own, w.task(own), `,"role":"orchestrator"`)
		reader := w.do(adminToken, "token:create", `{"name":"reader","kind":"auditor"}`).is(200).text("token")
		task := `{"project":"` + full + `","title":"T"}`
		spawn := `{"project":"` + full + `","taskIds":["` + there + `"]}`
		for _, c := range []struct{ token, command, body string }{
			{outside, "task:create", task},
			{outside, "session:spawn", spawn},
			{reader, "task:create", task},
			{reader, "session:spawn", spawn},
			{inside, "session:spawn", spawn},
			{reader, "report:needs-input", `{"sessionId":"` + id + `","message":"what?"}`},
		} {
			denied := len(w.denied(""))
			r := w.do(c.token, c.command, c.body)
			if r.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", c.command, r.status, r.body)
			}
			if len(w.denied("")) != denied+1 {
				t.Errorf("%s: the refusal is not recorded", c.command)
			}
		}
		w.do(adminToken, "task:create", task).refused(http.StatusTooManyRequests, "QUOTA_EXCEEDED", "")
	})
}

// TestLimitsAreShown: `audit can` says which limit applies and what is left, and the limits say how often each was met.
func TestLimitsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, limits(t, "session-commands=10/20"))
		project := w.project()
		id, token := w.session(adminToken, project, w.task(project), "")
		for range 20 {
			w.do(token, "report:progress", note).is(200)
		}
		w.do(token, "report:progress", note).limited("session-commands")
		time.Sleep(500 * time.Millisecond)
		r := w.send(http.MethodGet, "/api/audit/can?actor="+id+"&command=report:progress", adminToken, "").is(200)
		var can wire.Can
		r.into(&can)
		want := wire.CanLimit{
			Name:  "session-commands",
			Limit: "10 a second, 20 at once",
			Value: 10,
			Burst: 20,
			Left:  15,
		}
		if len(can.Limits) == 0 || can.Limits[0] != want {
			t.Errorf("the limits are %+v", can.Limits)
		}
		var all []wire.LimitView
		w.send(http.MethodGet, "/api/audit/limits", adminToken, "").is(200).into(&all)
		for _, limit := range all {
			want := uint64(0)
			if limit.Name == "session-commands" {
				want = 1
			}
			if limit.Refused != want {
				t.Errorf("%s refused %d calls, want %d", limit.Name, limit.Refused, want)
			}
		}
		w.send(http.MethodGet, "/api/audit/limits", token, "").refused(403, "NOT_ALLOWED", "")
	})
}

func TestInvalidLimits(t *testing.T) {
	for _, text := range []string{
		"", "session-commands", "nothing=1", "session-commands=", "session-commands=-1", "session-commands=x",
		"session-commands=NaN", "session-commands=1/", "session-waits=1/2", "session-waits=Inf",
	} {
		if err := new(service.Limits).Set(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
