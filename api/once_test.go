package api_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"maestro/events"
	"maestro/service/wire"
)

// sendHeader makes a request with headers as they are given, repeated ones too.
func (w *world) sendHeader(method, path, body string, header http.Header) reply {
	w.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	maps.Copy(req.Header, header)
	for name, value := range map[string]string{
		"Authorization": "Bearer " + adminToken,
		"Content-Type":  "application/json",
	} {
		if req.Header[name] == nil {
			req.Header.Set(name, value)
		}
	}
	answer, err := w.client.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	r := reply{w.T, answer.StatusCode, answer.Header, answer.Trailer, said}
	published().checkAnswer(w.T, method, path, body, r)
	return r
}

// A request may have each header and each query parameter only once, because a second value would not be checked. A
// repeated traceparent is replaced by a new one.
func TestRepeatedParametersAreRefused(t *testing.T) {
	w := openInside(t, nil)
	project := w.project()
	newTask := `{"projectId":"` + project + `","title":"T"}`
	head := w.log.head()
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/api/commands/task:create", `{"project":"` + project + `","title":"T"}`},
		{http.MethodPost, "/api/tasks", newTask},
		{http.MethodPost, "/api/manifests", `{}`},
		{http.MethodGet, "/api/tasks", ""},
		{http.MethodGet, "/api/since", ""},
		{http.MethodGet, "/api/whoami", ""},
	} {
		for name, values := range map[string][]string{
			wire.HeaderKey:        {"one", "two"},
			wire.HeaderOccurredAt: {"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
			wire.HeaderClient:     {"maestro", "maestro"},
			"Content-Type":        {"application/json", "text/plain"},
		} {
			w.sendHeader(c.method, c.path, c.body, http.Header{name: values}).
				refused(400, "VALIDATION_ERROR", "more than one "+name+" header")
		}
		for _, query := range []string{"projectId=a&projectId=" + project, "dryRun=true&dryRun=true", "x=1&x=1"} {
			w.sendHeader(c.method, c.path+"?"+query, c.body, nil).refused(400, "VALIDATION_ERROR",
				"more than once")
		}
		w.sendHeader(c.method, c.path+"?limit=%zz", c.body, nil).refused(400, "VALIDATION_ERROR",
			"The query cannot be read")
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/api/tasks", newTask},
		{http.MethodPost, "/api/sessions/spawn", `{"projectId":"` + project + `","taskIds":[]}`},
		{http.MethodDelete, "/api/projects/" + project, ""},
		{http.MethodPost, "/api/manifests", `{}`},
	} {
		for _, value := range []string{"true", "false", ""} {
			w.sendHeader(c.method, c.path+"?dryRun="+value, c.body, nil).refused(400, "VALIDATION_ERROR",
				"This route has no dry run")
		}
	}
	if w.log.head() != head {
		t.Errorf("%d events of refused requests", w.log.head()-head)
	}
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	w.sendHeader(http.MethodPost, "/api/tasks", newTask, http.Header{wire.HeaderTraceParent: {trace, trace}}).is(201)
	if got := w.last().TraceParent; got == trace || events.TraceParent(got) != got || got == "" {
		t.Errorf("a repeated traceparent is used: %q", got)
	}
}
