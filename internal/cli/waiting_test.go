package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"maestro/internal/testing/standin"
	"maestro/service/wire"
)

// A caller that waits for an answer does not notice a restart of the server; a caller whose server is missing from the
// start gets an error.
func TestWaitsThroughARestart(t *testing.T) {
	const question = `{"id":"q","sessionId":"s","question":"Which?","status":"open"}`
	tests := []struct {
		name string
		// says are the answers of the server, call by call; "" breaks the connection.
		says   []string
		code   int
		stdout string
	}{
		{"at once", []string{answeredTo(question)}, ExitDone, "left\n"},
		{"a restart", []string{question, "", "", answeredTo(question)}, ExitDone, "left\n"},
		{"nobody there", []string{"", "", answeredTo(question)}, ExitNoConnection, ""},
	}
	for _, test := range tests {
		var calls atomic.Int64
		server := httptest.NewServer(standin.Identified(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.WriteString(w, `{"sequence":1,"event":null}`)
				return
			}
			n := int(calls.Add(1)) - 1
			if n >= len(test.says) || test.says[n] == "" {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, test.says[n])
		}, "mss_s.1.x"))
		env := map[string]string{
			"MAESTRO_API_URL":    server.URL,
			"MAESTRO_TOKEN":      "mss_s.1.x",
			"MAESTRO_SESSION_ID": "s",
		}
		got := runHere(t, env, "input", "wait", "q")
		server.Close()
		if got.code != test.code || got.stdout != test.stdout {
			t.Errorf("%s: %+v", test.name, got)
		}
		const lost, back = "the connection to the server is lost; trying again\n", "connected again\n"
		if test.name == "a restart" && (strings.Count(got.stderr, lost) != 1 || strings.Count(got.stderr, back) != 1) ||
			test.name != "a restart" && strings.Contains(got.stderr, "trying again") {
			t.Errorf("%s: it says of the server %q", test.name, got.stderr)
		}
		if test.code == ExitNoConnection && !strings.Contains(got.stderr, "maestro input wait q") {
			t.Errorf("%s: the error does not say how to continue: %s", test.name, got.stderr)
		}
	}
}

func answeredTo(question string) string {
	return strings.Replace(question, `"status":"open"`, `"status":"answered","answer":"left"`, 1)
}

// Each piece of mail is confirmed under its own key: a shared key would belong to another command.
func TestMailIsShownUnderItsOwnKey(t *testing.T) {
	var shown []string
	server := httptest.NewServer(standin.Identified(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(wire.HeaderMail, "a,b")
		switch {
		case r.Method == http.MethodPost:
			shown = append(shown, r.Header.Get(wire.HeaderKey))
			_, _ = io.WriteString(w, `{"sequence":1,"event":null}`)
		case r.URL.Path == "/api/sessions/s/mail":
			_, _ = io.WriteString(w, `{"mail":[{"id":"a","kind":"answer","question":"Which?","text":"left"},`+
				`{"id":"b","kind":"message","from":"/users/admin","text":"left"}]}`)
		default:
			_, _ = io.WriteString(w, `{}`)
		}
	}, "mss_s.1.x"))
	defer server.Close()
	env := map[string]string{"MAESTRO_API_URL": server.URL, "MAESTRO_TOKEN": "mss_s.1.x", "MAESTRO_SESSION_ID": "s"}
	got := runHere(t, env, "whoami")
	if got.code != ExitDone || !strings.Contains(got.stderr, "“Which?” is answered: left\n") ||
		!strings.Contains(got.stderr, "message from user admin: left\n") || len(shown) != 2 || shown[0] == shown[1] {
		t.Errorf("%+v; keys %q", got, shown)
	}
}
