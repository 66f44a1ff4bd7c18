package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
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
