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
	const most = 82 // about 35 are the test's own, and 11 the race detector's
	if got := testing.AllocsPerRun(500, reporter(t)); got > most {
		t.Errorf("a report takes %v allocations, want at most %d", got, most)
	}
}

// reporter returns a function that has a session report on its task.
func reporter(b testing.TB) (report func()) {
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
	do := func(token, id, body string) string {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/api/commands/"+id, strings.NewReader(body))
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
	cut := func(text, from string) string {
		_, rest, _ := strings.Cut(text, from)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	project := cut(do(adminToken, "project:create", `{"name":"P"}`), `"projectId":"`)
	task := cut(do(adminToken, "task:create", `{"project":"`+project+`","title":"T"}`), `"taskId":"`)
	token := cut(do(adminToken, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`), `"token":"`)
	return func() {
		do(token, "report:progress", `{"message":"Implementing authentication endpoints","taskIds":["`+task+`"]}`)
	}
}
