package cli

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/internal/testing/standin"
	"maestro/service/wire"
	"maestro/workers/outbox"
)

// saying is a server that answers each request as instructed, and records the requests.
type saying struct {
	env   map[string]string
	asked []string
	keys  []string
	said  []bool
	// answer returns the status and body for a request.
	answer func(asked string) (int, string)
}

func newSaying(t *testing.T) *saying {
	t.Helper()
	s := &saying{}
	server := httptest.NewServer(standin.Identified(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked := strings.TrimSpace(r.URL.Path + " " + string(text))
		s.asked = append(s.asked, asked)
		s.keys = append(s.keys, r.Header.Get(wire.HeaderKey))
		s.said = append(s.said, r.Header.Get(wire.HeaderOccurredAt) != "")
		status, body := s.answer(asked)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}, "mss_s.1.x", "mss_s.0.older", "msu_somebody"))
	t.Cleanup(server.Close)
	s.env = map[string]string{
		"MAESTRO_API_URL": server.URL,
		"MAESTRO_TOKEN":   "mss_s.1.x",
		"MAESTRO_HOME":    filepath.Join(t.TempDir(), "home"),
	}
	return s
}

func (s *saying) always(status int, body string) {
	s.asked, s.keys, s.said = nil, nil, nil
	s.answer = func(string) (int, string) { return status, body }
}

const (
	taken  = `{"sequence":7,"event":null}`
	saysNo = `{"error":true,"code":"CODE","message":"no to that","why":"because"}`
)

func report(message string) string {
	return fmt.Sprintf(`/api/commands/report:progress {"message":%q}`, message)
}

// A report that the server cannot accept now is kept, with its key, and delivered before the next command.
func TestKeptCommandsGoFirst(t *testing.T) {
	for _, status := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		s := newSaying(t)
		s.always(status, saysNo)
		got := runHere(t, s.env, "report", "progress", "one")
		if got.code != ExitDone ||
			got.stdout != "report:progress kept, 1 waiting: no to that. It is sent with your next command, in order\n" {
			t.Errorf("%d: %+v", status, got)
		}
		key := s.keys[0]
		// The server is still unavailable: the second report is not even tried.
		got = runHere(t, s.env, "report", "progress", "two", "--key", "k2")
		if got.code != ExitDone || !strings.Contains(got.stdout, "kept, 2 waiting: no to that") ||
			!slices.Equal(s.asked, []string{report("one"), report("one")}) {
			t.Errorf("%d: %+v, asked %q", status, got, s.asked)
		}
		s.always(http.StatusOK, taken)
		got = runHere(t, s.env, "report", "progress", "three", "--key", "k3")
		if got.code != ExitDone || got.stderr != "maestro: delivered 2 kept commands\n" {
			t.Errorf("%d: %+v", status, got)
		}
		if !slices.Equal(s.asked, []string{report("one"), report("two"), report("three")}) ||
			!slices.Equal(s.keys, []string{key, "k2", "k3"}) ||
			!slices.Equal(s.said, []bool{true, true, false}) {
			t.Errorf("%d: asked %q with %q, %v", status, s.asked, s.keys, s.said)
		}
	}
}

// A server that cannot identify itself now is sent nothing: a report is kept, and a user gets the error.
func TestKeptWhileServerIsUnidentified(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		s := newSaying(t)
		s.always(http.StatusOK, taken)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.asked = append(s.asked, r.URL.Path)
			w.Header().Set("Retry-After", "60") // longer than the command line waits
			w.WriteHeader(status)
			_, _ = io.WriteString(w, saysNo)
		}))
		t.Cleanup(server.Close)
		free := s.env["MAESTRO_API_URL"]
		s.env["MAESTRO_API_URL"] = server.URL
		got := runHere(t, s.env, "report", "progress", "one")
		if got.code != ExitDone ||
			got.stdout != "report:progress kept, 1 waiting: no to that. It is sent with your next command, in order\n" {
			t.Errorf("%d: %+v", status, got)
		}
		got = runHere(t, s.env, "task", "get", "t")
		if got.code != ExitFailed || !strings.Contains(got.stderr, "no to that") {
			t.Errorf("%d: a read: %+v", status, got)
		}
		for _, asked := range s.asked {
			if asked != wire.IdentityPath {
				t.Errorf("%d: the server received %s", status, asked)
			}
		}
		s.asked = nil
		s.env["MAESTRO_API_URL"] = free
		got = runHere(t, s.env, "report", "progress", "two")
		if got.code != ExitDone || !slices.Equal(s.asked, []string{report("one"), report("two")}) {
			t.Errorf("%d: %+v, asked %q", status, got, s.asked)
		}
	}
}

// The answer to a kept command decides whether the command continues to wait.
func TestAnswerToKept(t *testing.T) {
	tests := []struct {
		status int
		body   string
		waits  bool
	}{
		{200, taken, false},
		{400, saysNo, false},
		{401, saysNo, true},
		{403, saysNo, false},
		{404, saysNo, false},
		{404, "<html>some other server", true},
		{302, "", true},
		{200, "<html>some other server", true},
		{408, saysNo, true},
		{409, saysNo, false},
		{413, saysNo, false},
		{422, saysNo, false},
		{429, saysNo, true},
		{500, saysNo, true},
		{503, saysNo, true},
		{504, saysNo, true},
	}
	for _, test := range tests {
		s := newSaying(t)
		s.always(http.StatusServiceUnavailable, saysNo)
		_ = runHere(t, s.env, "report", "progress", "one")
		s.always(test.status, test.body)
		s.answer = func(asked string) (int, string) {
			if asked == report("one") {
				return test.status, test.body
			}
			return http.StatusOK, "[]"
		}
		// A read continues, whatever that answer was.
		got := runHere(t, s.env, "task", "list", "--json")
		waits := strings.Contains(got.stderr, "1 earlier command is still waiting")
		if got.code != ExitDone || len(s.asked) != 2 || test.waits != waits {
			t.Errorf("%d: %+v, asked %q", test.status, got, s.asked)
		}
		refused := test.status >= 400 && !test.waits
		if refused != strings.Contains(got.stderr, "a kept command was refused: report:progress “one” of") ||
			refused != strings.Contains(got.stderr, "why:  because") {
			t.Errorf("%d: %s", test.status, got.stderr)
		}
		s.always(http.StatusOK, taken)
		_ = runHere(t, s.env, "session", "note", "end")
		if waited := slices.Contains(s.asked, report("one")); waited != test.waits {
			t.Errorf("%d: afterwards the requests are %q", test.status, s.asked)
		}
	}
}

// Other failures of a report are errors for the caller, and a user's command is never kept.
func TestNotKept(t *testing.T) {
	for status, want := range map[int]int{
		400: ExitInvalid, 401: ExitNotAllowed, 403: ExitNotAllowed, 404: ExitNotFound,
		409: ExitConflict, 429: ExitFailed, 500: ExitFailed,
	} {
		s := newSaying(t)
		s.always(status, saysNo)
		if got := runHere(t, s.env, "report", "progress", "one"); got.code != want || got.stdout != "" {
			t.Errorf("%d: %+v", status, got)
		}
		s.always(http.StatusOK, taken)
		if got := runHere(t, s.env, "report", "progress", "two"); got.code != ExitDone || len(s.asked) != 1 {
			t.Errorf("%d: %+v, asked %q", status, got, s.asked)
		}
	}
	s := newSaying(t)
	s.always(http.StatusServiceUnavailable, saysNo)
	s.env["MAESTRO_TOKEN"] = "msu_somebody"
	if got := runHere(t, s.env, "report", "progress", "one"); got.code != ExitFailed {
		t.Errorf("a user: %+v", got)
	}
	// A session without a home cannot keep anything.
	s.env["MAESTRO_TOKEN"], s.env["MAESTRO_HOME"], s.env["HOME"] = "mss_s.1.x", "", ""
	if got := runHere(
		t,
		s.env,
		"report",
		"progress",
		"one",
	); got.code != ExitFailed || !strings.Contains(got.stderr, "NOT kept") ||
		!strings.Contains(got.stderr, "set MAESTRO_HOME") {
		t.Errorf("without a home: %+v", got)
	}
}

// A question with --wait is not kept, and says so. Without --wait it is.
func TestWaitedQuestionIsNotKept(t *testing.T) {
	s := newSaying(t)
	s.always(http.StatusServiceUnavailable, saysNo)
	for _, line := range [][]string{
		{"report", "needs-input", "Which?", "--wait"},
		{"report", "needs-input", "Which?", "--wait", "--key", "k"},
		{"task", "report", "needs-input", "task_k3f9x2m7qa", "Which?", "--wait"},
	} {
		got := runHere(t, s.env, line...)
		if got.code == 0 || !strings.Contains(got.stderr, "The question is NOT kept") ||
			!strings.Contains(got.stderr, "next: run the same command again once the server answers") {
			t.Errorf("%v: %+v", line, got)
		}
	}
	if _, err := os.Stat(filepath.Join(s.env["MAESTRO_HOME"], "outbox")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is kept: %v", err)
	}
	if got := runHere(t, s.env, "report", "needs-input", "Which?"); !strings.Contains(got.stdout, "kept, 1 waiting") {
		t.Errorf("without --wait: %+v", got)
	}
}

// plantEntry writes an entry to a session's outbox, as another process on the machine could.
func plantEntry(t *testing.T, dir, session string, number int, e outbox.Entry) {
	t.Helper()
	content, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	box := filepath.Join(dir, "outbox", session)
	if err := os.MkdirAll(box, 0o700); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%012d-%x.json", number, sha256.Sum256(content))
	if err := os.WriteFile(filepath.Join(box, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// An entry that another process put into the outbox is not sent with the session's secret: it is set aside and shown.
func TestForgedIsNotSent(t *testing.T) {
	s := newSaying(t)
	dir := s.env["MAESTRO_HOME"]
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	forged := outbox.Entry{
		Command:    "task:complete",
		Body:       json.RawMessage(`{"taskId":"task_x"}`),
		Key:        "forged",
		OccurredAt: time.Unix(1, 0).UTC(),
		Proof:      "00",
	}
	plantEntry(t, dir, "s", 1, forged)
	forged.Command, forged.Body = "report:progress", json.RawMessage(`{"message":"forged"}`)
	plantEntry(t, dir, "s", 2, forged)
	s.always(http.StatusOK, taken)
	got := runHere(t, s.env, "report", "progress", "mine")
	if slices.ContainsFunc(
		s.asked,
		func(asked string) bool { return strings.Contains(asked, "task_x") || strings.Contains(asked, "forged") },
	) {
		t.Errorf("it was delivered: %q", s.asked)
	}
	for _, want := range []string{
		"'task:complete', key 'forged': this command does not wait", "nothing proves that the session wrote it",
		"outbox/s/damaged/000000000002-",
	} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q: %s", want, got.stderr)
		}
	}
	s.always(http.StatusOK, "[]")
	for _, args := range [][]string{{"inbox"}, {"inbox", "--json"}, {"inbox", "--kind", "set-aside"}} {
		if got := runHere(t, s.env, args...); !strings.Contains(
			got.stdout, "2 kept commands set aside and not delivered",
		) || strings.Contains(got.stdout, "Nothing") || got.stderr != "" {
			t.Errorf("%q does not show the entry: %+v", args, got)
		}
	}
	if got := runHere(t, s.env, "inbox", "--kind", "quarantined"); got.stdout != "" ||
		got.stderr != "Nothing of this kind needs you\n" {
		t.Errorf("the inbox of another kind: %+v", got)
	}
}

// Of many commands that will not be sent, a session names some, and says where the others are.
func TestManySetAside(t *testing.T) {
	s := newSaying(t)
	s.always(http.StatusServiceUnavailable, saysNo)
	_ = runHere(t, s.env, "report", "progress", "one")
	for i := range 12 {
		stray := filepath.Join(s.env["MAESTRO_HOME"], "outbox", "s", fmt.Sprint("stray ", i))
		if err := os.WriteFile(stray, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.always(http.StatusOK, taken)
	got := runHere(t, s.env, "report", "progress", "two")
	if !strings.Contains(got.stderr, "maestro: 2 more are in damaged/ and replaced/ of outbox/s of the home\n") ||
		strings.Count(got.stderr, "it is now in outbox/s/damaged/stray ") != 10 {
		t.Errorf("stderr:\n%s", got.stderr)
	}
}

// A session with a revoked secret cannot tell which entries are forged, so it leaves them where they are.
func TestRevokedSecretSetsNothingAside(t *testing.T) {
	s := newSaying(t)
	s.always(http.StatusServiceUnavailable, saysNo)
	_ = runHere(t, s.env, "report", "progress", "one")
	current := s.env["MAESTRO_TOKEN"]
	s.env["MAESTRO_TOKEN"] = "mss_s.0.older"
	s.always(http.StatusUnauthorized, saysNo)
	if got := runHere(t, s.env, "task", "list"); !strings.Contains(got.stderr, "1 earlier command is still waiting") {
		t.Errorf("%+v", got)
	}
	s.env["MAESTRO_TOKEN"] = current
	s.always(http.StatusOK, taken)
	if got := runHere(t, s.env, "report", "progress", "two"); !slices.Equal(
		s.asked, []string{report("one"), report("two")},
	) {
		t.Errorf("%+v, asked %q", got, s.asked)
	}
}
