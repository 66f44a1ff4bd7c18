package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"maestro/service/wire"
)

// logOf is a log that several goroutines write.
type logOf struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logOf) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logOf) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// At level debug the log has each request with its route, and neither a credential, nor a body, nor a path's own words.
func TestRequestsAreLogged(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		log := &logOf{}
		w := open(t, func(c *setup) {
			c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
		})
		w.send(http.MethodPost, "/api/commands/project:create", adminToken, `{"name":"Hush-hush"}`)
		w.send(http.MethodPost, "/api/commands/secret-word", adminToken, `{}`)
		w.send(http.MethodGet, "/api/tasks/task_secret?q=secret-query", adminToken, "")
		w.send(http.MethodGet, "/secret-path", "wrong-credential", "")
		w.send("BREW", "/api/tasks", adminToken, "")
		got := log.String()
		if level == slog.LevelInfo {
			if strings.Contains(got, "msg=request") {
				t.Errorf("at level info the log has\n%s", got)
			}
			continue
		}
		made := regexp.MustCompile(`id=[a-z0-9]{8}-`)
		got = made.ReplaceAllString(got, "id=")
		for _, want := range []string{
			"msg=request id=1 method=POST route=/api/commands/project:create status=200 took=",
			"msg=request id=2 method=POST route=/api/commands/{id} status=404 took=",
			"msg=request id=3 method=GET route=/api/tasks/{id} status=404 took=",
			"msg=request id=4 method=other route=other status=",
			"msg=request id=5 method=other route=other status=405 took=",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("the log lacks %q:\n%s", want, got)
			}
		}
		for _, secret := range []string{adminToken, "Hush", "secret", "wrong-credential", "BREW"} {
			if strings.Contains(got, secret) {
				t.Errorf("the log has %q:\n%s", secret, got)
			}
		}
	}
}

// Every answer has the id of its request: the caller's if that is safe, and otherwise a new one.
func TestRequestsHaveIDs(t *testing.T) {
	w := openInside(t, nil)
	made := regexp.MustCompile(`^[a-z0-9]{8}-\d+$`)
	seen := map[string]bool{}
	for _, path := range []string{"/healthz", "/api/projects", "/nowhere", "/metrics"} {
		for _, given := range []string{
			"", "two words", "line\u00a0end", strings.Repeat("x", 65), `"quoted"`, "level=ERROR", "a.b", "é",
		} {
			id := w.sendHeader(http.MethodGet, path, "", http.Header{wire.HeaderRequestID: {given}}).
				header.Get(wire.HeaderRequestID)
			if !made.MatchString(id) || seen[id] {
				t.Errorf("%s, given %q: the id is %q, seen before: %v", path, given, id, seen[id])
			}
			seen[id] = true
		}
		twice := w.sendHeader(http.MethodGet, path, "", http.Header{wire.HeaderRequestID: {"one", "two"}})
		if id := twice.header.Get(wire.HeaderRequestID); !made.MatchString(id) {
			t.Errorf("%s, two ids: the id is %q", path, id)
		}
		for _, given := range []string{"x", "Trace_1-2", strings.Repeat("x", 64)} {
			r := w.sendHeader(http.MethodGet, path, "", http.Header{wire.HeaderRequestID: {given}})
			if got := r.header[wire.HeaderRequestID]; len(got) != 1 || got[0] != given {
				t.Errorf("%s, given %q: the id is %q", path, given, got)
			}
		}
	}
}
