package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"maestro/engine"
	"maestro/internal/testing/race"
	"maestro/service"
	"maestro/service/wire"
)

// BenchmarkReport is the hot route without the network: a session's report, permitted, decided, appended and answered.
func BenchmarkReport(b *testing.B) {
	report := reporter(b)
	b.SetParallelism(128)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			report()
		}
	})
}

// A report over HTTP takes few allocations: nearly all calls are reports.
func TestReportAllocations(t *testing.T) {
	race.Without(t)
	const most = 80 // about 35 are the test's own, and 7 the request id and headers
	if got := testing.AllocsPerRun(500, reporter(t)); got > most {
		t.Errorf("a report takes %v allocations, want at most %d", got, most)
	}
}

// BenchmarkPage is a page of 100 tasks without the network: found, shown and rendered.
func BenchmarkPage(b *testing.B) {
	page := pager(b)
	b.ReportAllocs()
	for b.Loop() {
		page()
	}
}

// pager returns a function that reads a page of 100 tasks of a larger project.
func pager(b testing.TB) (page func()) {
	b.Helper()
	do := benchCalls(b)
	project := cut(do(http.MethodPost, adminToken, "/api/commands/project:create", `{"name":"P"}`), `"projectId":"`)
	for i := range 150 {
		body := fmt.Sprintf(`{"project":%q,"title":"Task %d"}`, project, i)
		do(http.MethodPost, adminToken, "/api/commands/task:create", body)
	}
	return func() { do(http.MethodGet, adminToken, "/api/tasks?limit=100&projectId="+project, "") }
}

// A page takes little memory beside its answer: what a portion of views and the rendered text take is used again.
func TestPageAllocations(t *testing.T) {
	const most = 500 // of 100 tasks
	if got := testing.AllocsPerRun(100, pager(t)); got > most {
		t.Errorf("a page takes %v allocations, want at most %d", got, most)
	}
}

// reporter returns a function that has a session report on its task.
func reporter(b testing.TB) (report func()) {
	b.Helper()
	do := benchCalls(b)
	command := func(token, id, body string) string { return do(http.MethodPost, token, "/api/commands/"+id, body) }
	project := cut(command(adminToken, "project:create", `{"name":"P"}`), `"projectId":"`)
	task := cut(command(adminToken, "task:create", `{"project":"`+project+`","title":"T"}`), `"taskId":"`)
	token := cut(command(adminToken, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`), `"token":"`)
	return func() {
		command(token, "report:progress",
			`{"message":"Implementing authentication endpoints","taskIds":["`+task+`"]}`)
	}
}

// cut returns what stands between a text and the next quote.
func cut(text, from string) string {
	_, rest, _ := strings.Cut(text, from)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// benchCalls returns a function that calls an API over a log in memory.
func benchCalls(b testing.TB) func(method, token, path, body string) string {
	b.Helper()
	log := &memoryLog{}
	handler, err := engine.Open(b.Context(), engine.Config{Log: log, Now: time.Now, After: time.After})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(handler.Close)
	var limits service.Limits
	for _, name := range []string{
		"session-commands", "session-bytes", "session-parallel", "project-commands", "project-bytes",
	} {
		if err := limits.Set(name + "=0"); err != nil { // one session sends more than its limits allow
			b.Fatal(err)
		}
	}
	h, err := setup{serviceConfig: service.Config{
		Limits:  limits,
		Handler: handler,
		Log:     log,
		Keys:    service.Keys{AdminToken: []byte(adminToken), ServerKey: serverKey},
	}}.open()
	if err != nil {
		b.Fatal(err)
	}
	var keys atomic.Int64
	return func(method, token, path, body string) string {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(wire.HeaderKey, fmt.Sprint("k", keys.Add(1)))
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, r)
		if recorder.Code != http.StatusOK {
			b.Fatal(recorder.Code, recorder.Body)
		}
		return recorder.Body.String()
	}
}
