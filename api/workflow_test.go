package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api/client"
	"maestro/api/export"
	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

// TestStatusWorkflowExample plays docs/spec/003-manifest-schema.md, "Status Workflow Example".
func TestStatusWorkflowExample(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	shows := func(step, status string, says any) {
		t.Helper()
		r := w.send(http.MethodGet, "/api/tasks/"+task, adminToken, "").is(200)
		if r.text("status") != status || r.at("sessionStatus") != says {
			t.Errorf("%s: status %v, sessionStatus %v", step, r.at("status"), r.at("sessionStatus"))
		}
	}
	shows("1 created", "todo", nil)
	id, worker := w.session(adminToken, project, task, ``)
	shows("2 spawned", "in_progress", nil)
	w.do(worker, "report:progress", `{"message":"Implementing feature","taskIds":["`+task+`"]}`).is(200)
	shows("3 working", "in_progress", "working")
	w.do(worker, "report:blocked", `{"message":"Need API credentials","taskIds":["`+task+`"]}`).is(200)
	shows("4 blocked", "in_progress", "blocked")
	w.do(worker, "task:complete", `{"taskId":"`+task+`"}`).refused(403, "NOT_ALLOWED", "")
	shows("5 unblocked by the user, who changes nothing", "in_progress", "blocked")
	w.do(worker, "report:complete", `{"message":"All criteria met","taskIds":["`+task+`"]}`).is(200)
	shows("6 said to be done", "in_progress", "completed")
	status := w.send(http.MethodGet, "/api/projects/"+project+"/status", adminToken, "").is(200)
	if open, ok := status.at("unconfirmed").([]any); !ok || len(open) != 1 || open[0] != task {
		t.Errorf("unconfirmed: %s", status.body)
	}
	w.do(adminToken, "task:complete", `{"taskId":"`+task+`"}`).is(200)
	shows("7 confirmed", "completed", "completed")

	timeline := w.send(http.MethodGet, "/api/sessions/"+id+"/timeline", worker, "").is(200).array()
	var types []string
	for _, entry := range timeline {
		types = append(types, entry.(map[string]any)["type"].(string))
	}
	if got := strings.Join(types, " "); got != "session_started task_started progress task_blocked task_completed" {
		t.Errorf("the session's timeline: %s", got)
	}
	if newest := w.send(http.MethodGet, "/api/sessions/"+id+"/timeline?limit=2", worker,
		"").is(200).array(); len(newest) != 2 {
		t.Errorf("limit=2 gives %d", len(newest))
	}
	w.send(http.MethodGet, "/api/sessions/"+id+"/timeline?limit=x", worker, "").refused(400, "VALIDATION_ERROR",
		"limit")
}

func TestRetryIsSameCommand(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	body := `{"project":"` + project + `","taskIds":["` + task + `"]}`
	first := w.do(adminToken, "session:spawn", body, wire.HeaderKey, "k1").is(200)
	before := w.log.head()
	second := w.do(adminToken, "session:spawn", `{ "taskIds":["`+task+`"], "project":"`+project+`" }`,
		wire.HeaderKey, "k1").is(200)
	if string(first.body) != string(second.body) {
		t.Errorf("a retry gets\n%s\nafter\n%s", second.body, first.body)
	}
	if first.header.Get(wire.HeaderRetried) != "" || second.header.Get(wire.HeaderRetried) != "true" {
		t.Errorf("Maestro-Retried: %q, %q", first.header.Get(wire.HeaderRetried), second.header.Get(wire.HeaderRetried))
	}
	w.do(adminToken, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"],"name":"other"}`,
		wire.HeaderKey, "k1").refused(409, "KEY_REUSED", "k1")
	if w.log.head() != before {
		t.Error("a retry left an event")
	}
	token := first.text("token")
	w.do(token, "task:create", `{"title":"x"}`, wire.HeaderKey, "k2").is(200)
	w.do(adminToken, "task:create", `{"project":"`+project+`","title":"x"}`, wire.HeaderKey, "k2").is(200)
	if w.log.head() != before+2 {
		t.Errorf("two actors with one key made %d events", w.log.head()-before)
	}
	// An older route with a key, and an older route that executes two commands.
	created := w.send(http.MethodPost, "/api/projects", adminToken, `{"name":"A"}`, wire.HeaderKey, "k3").is(201)
	again := w.send(http.MethodPost, "/api/projects", adminToken, `{"name":"A"}`, wire.HeaderKey, "k3").is(201)
	if created.text("id") != again.text("id") {
		t.Error("a retried POST made a second project")
	}
	_, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	before = w.log.head()
	for range 2 {
		w.send(http.MethodPatch, "/api/tasks/"+task, orchestrator, `{"status":"completed","sessionStatus":"completed"}`,
			wire.HeaderKey, "k4").is(200)
	}
	if w.log.head() != before+2 {
		t.Errorf("a retried PATCH of two commands made %d events", w.log.head()-before)
	}
	w.send(http.MethodPost, "/api/projects", adminToken, `{"name":"B"}`, wire.HeaderKey, "k3").refused(409,
		"KEY_REUSED", "")
	w.do(adminToken, "task:complete", `{"taskId":"`+task+`"}`, wire.HeaderKey, strings.Repeat("k", 201)).refused(400,
		"VALIDATION_ERROR", wire.HeaderKey)
}

func TestAlreadySo(t *testing.T) {
	w := open(t, nil)
	task := w.task(w.project())
	w.do(adminToken, "task:complete", `{"taskId":"`+task+`"}`).is(200)
	head := w.log.head()
	r := w.do(adminToken, "task:complete", `{"taskId":"`+task+`"}`).is(200)
	if r.at("event") != nil || r.at("sequence") != float64(head) || w.log.head() != head {
		t.Errorf("already so: %s", r.body)
	}
}

func TestCommandAttributes(t *testing.T) {
	w := open(t, nil)
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	project := w.project()
	_, token := w.session(adminToken, project, w.task(project), ``)
	said := len(w.log.messages)
	zone := time.FixedZone("", 3600)
	const stored = "2006-01-02T15:04:05.000Z"
	at := time.Now()
	r := w.do(token, "report:progress", `{"message":"x"}`, wire.HeaderOccurredAt, at.In(zone).Format(time.RFC3339Nano),
		wire.HeaderTraceParent, trace).is(200)
	if r.text("event", "occurredat") != at.UTC().Format(stored) || r.text("event", "traceparent") != trace {
		t.Errorf("the event, said at %s: %s", at, r.body)
	}
	if body := w.log.messages[said].Body; !strings.Contains(string(r.body), string(body)) {
		t.Error("the answer does not contain the stored bytes")
	}
	// Only commands that may be kept in an outbox accept a time of their own; no other kept command is accepted.
	for _, row := range commands.CurrentRules().Rows() {
		if commands.MayWait(row.ID) {
			continue
		}
		w.do(adminToken, row.ID, `{}`, wire.HeaderOccurredAt, "2026-02-03T04:05:06Z").refused(400, "VALIDATION_ERROR",
			"does not take Maestro-Occurred-At")
	}
	w.do(adminToken, "project:create", `{"name":"x"}`, wire.HeaderOccurredAt, "yesterday").refused(400,
		"VALIDATION_ERROR", wire.HeaderOccurredAt)
	w.do(adminToken, "project:create", `{"name":"x"}`, wire.HeaderOccurredAt, "9999-12-31T23:59:59-01:00").refused(400,
		"VALIDATION_ERROR", wire.HeaderOccurredAt)
	r = w.do(adminToken, "project:create", `{"name":"x"}`, wire.HeaderTraceParent, "garbage").is(200)
	if made := r.text("event", "traceparent"); made == "" || events.TraceParent(made) != made {
		t.Errorf("in the place of garbage: %q", made)
	}
	if r := w.do(adminToken, "project:create", `{"name":"x"}`).is(200); r.at("event", "traceparent") != nil {
		t.Errorf("nobody sent a trace: %s", r.body)
	}
}

// A retry is answered with the trace of the first attempt: a trace is no part of what was asked. Whoever reads the
// event later sees the same bytes.
func TestTraceIsKept(t *testing.T) {
	w := open(t, nil)
	const first = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	const second = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	project := w.project()
	here := regexp.MustCompile(`id: (\S+)`).FindSubmatch(
		w.send(http.MethodGet, "/api/live?follow=false&after=now", adminToken, "").is(200).body)
	for i, trace := range []string{first, second, "garbage", ""} {
		headers := []string{wire.HeaderKey, "once", wire.HeaderTraceParent, trace}
		r := w.do(adminToken, "task:create", `{"project":"`+project+`","title":"T"}`, headers...).is(200)
		if got := r.text("event", "traceparent"); got != first {
			t.Errorf("attempt %d, trace %q: the event has %q", i+1, trace, got)
		}
		if retried := r.header.Get(wire.HeaderRetried) == "true"; retried != (i > 0) {
			t.Errorf("attempt %d is a retry: %v", i+1, retried)
		}
	}
	body := w.log.messages[len(w.log.messages)-1].Body
	for _, path := range []string{
		"/api/audit/export", "/api/live?follow=false&after=" + string(here[1]), "/api/events?type=task",
	} {
		r := w.send(http.MethodGet, path, adminToken, "").is(200)
		if path != "/api/events?type=task" && !strings.Contains(string(r.body), string(body)) {
			t.Errorf("%s does not show the stored bytes: %s", path, r.body)
		}
		if !strings.Contains(string(r.body), first) {
			t.Errorf("%s does not show the trace: %s", path, r.body)
		}
	}
}

func TestReadYourWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memoryLog{}
		handler, err := engine.Open(t.Context(), engine.Config{Log: log, Now: time.Now, After: time.After})
		if err != nil {
			t.Fatal(err)
		}
		defer handler.Close()
		h, err := setup{serviceConfig: service.Config{
			Handler: handler,
			Log:     log,
			Keys:    service.Keys{AdminToken: []byte(adminToken), ServerKey: serverKey},
		}}.open()
		if err != nil {
			t.Fatal(err)
		}
		get := func(minSeq string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, "http://localhost/api/projects?minSeq="+minSeq, nil)
			r.Header.Set("Authorization", "Bearer "+adminToken)
			recorder := httptest.NewRecorder()
			h.ServeHTTP(recorder, r)
			return recorder
		}
		waited := make(chan *httptest.ResponseRecorder)
		go func() { waited <- get("1") }()
		synctest.Wait()
		_, err = handler.Do(t.Context(), engine.Request{
			By:      commands.Admin("token"),
			Command: &commands.CreateProject{Name: "A"},
			Key:     "k",
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := <-waited; r.Code != 200 || !strings.Contains(r.Body.String(), `"A"`) ||
			r.Header().Get(wire.HeaderSequence) != "1" {
			t.Errorf("a read with minSeq=1: %d %s", r.Code, r.Body)
		}
		start := time.Now()
		r := get("2")
		if r.Code != http.StatusGatewayTimeout || time.Since(start) != 5*time.Second ||
			!strings.Contains(r.Body.String(), `"head":1`) {
			t.Errorf("after %s: %d %s", time.Since(start), r.Code, r.Body)
		}
		if r := get("x"); r.Code != 400 {
			t.Errorf("minSeq=x: %d", r.Code)
		}
	})
}

func TestLongTextsAndTheirBlobs(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	long := strings.Repeat("long ", 20_000)
	body, _ := json.Marshal(map[string]string{"project": project, "title": "T", "description": long})
	task := w.do(adminToken, "task:create", string(body)).is(200).text("event", "data", "taskId")
	digest := w.send(http.MethodGet, "/api/tasks/"+task, adminToken, "").is(200).text("blobs", "description")
	_, mine := w.session(adminToken, project, task, ``)
	_, stranger := w.session(adminToken, other, w.task(other), ``)
	_, narrow := w.session(adminToken, project, task, `,"allowedCommands":["session:info"]`)
	for _, token := range []string{adminToken, mine} {
		if got := w.send(http.MethodGet, "/api/blobs/"+digest, token, "").is(200); string(got.body) != long {
			t.Errorf("a blob of %d bytes, stored were %d", len(got.body), len(long))
		}
	}
	for _, token := range []string{stranger, narrow} {
		w.send(http.MethodGet, "/api/blobs/"+digest, token, "").refused(404, "NOT_FOUND", "")
	}
	w.send(http.MethodGet, "/api/blobs/sha256-"+strings.Repeat("0", 64), adminToken, "").refused(404, "NOT_FOUND", "")
	w.send(http.MethodGet, "/api/blobs/..%2Fadmin.token", adminToken, "").refused(400, "VALIDATION_ERROR", "")
}

func TestClient(t *testing.T) {
	w := open(t, nil)
	c := client.New(w.url, adminToken, client.WithVersion("test"))
	defer c.Close()
	answer, err := c.Do(t.Context(), "project:create", map[string]string{"name": "A"}, client.Options{Key: "k"})
	if err != nil || answer.Sequence != 1 || answer.Event == nil || answer.Retried {
		t.Fatalf("%+v %v", answer, err)
	}
	answer, err = c.Do(t.Context(), "project:create", map[string]string{"name": "A"}, client.Options{Key: "k"})
	if err != nil || !answer.Retried {
		t.Errorf("%+v %v", answer, err)
	}
	projects, err := c.Projects(t.Context(), wire.ProjectFilter{})
	if err != nil || len(projects) != 1 || projects[0].Name != "A" {
		t.Errorf("%v %v", projects, err)
	}
	var said *client.Error
	if _, err := c.Project(t.Context(), "none"); !asError(err, &said) || said.Status != 404 ||
		said.Code != "NOT_FOUND" || said.Next == "" {
		t.Errorf("%#v", err)
	}
	if _, err := c.Do(t.Context(), "no:such", nil, client.Options{}); !asError(err, &said) || said.Status != 404 {
		t.Errorf("%#v", err)
	}
	nobody := client.New("http://127.0.0.1:1", "")
	defer nobody.Close()
	var away *client.ConnectionError
	if _, err := nobody.Projects(t.Context(), wire.ProjectFilter{}); !asError(err, &away) {
		t.Errorf("%#v", err)
	}
	foreign := httptest.NewServer(http.NotFoundHandler())
	defer foreign.Close()
	stranger := client.New(foreign.URL, "")
	defer stranger.Close()
	if _, err := stranger.Do(t.Context(), "project:create", nil, client.Options{}); !asError(err, &said) ||
		said.Code != "HTTP_ERROR" {
		t.Errorf("%#v", err)
	}
	stream, err := c.Export(t.Context(), client.Exported{})
	if err != nil {
		t.Fatal(err)
	}
	verdict, err := export.VerifyExport(stream, nil)
	if err != nil || len(verdict.Faults) > 0 || verdict.Events != 1 {
		t.Errorf("a streamed export: %+v %v", verdict, err)
	}
	_ = stream.Close()
	if _, err := c.Export(t.Context(), client.Exported{Project: "proj_none"}); !asError(err, &said) ||
		said.Status != 404 || said.Error() == "" {
		t.Errorf("%#v", err)
	}
	if head, err := c.Head(t.Context()); err != nil || head.Sequence != 1 ||
		head.Hash.IsZero() {
		t.Errorf("%v %v", head, err)
	}
}
