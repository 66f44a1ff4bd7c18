package hook

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/socket"
)

// asked runs the hook against a supervisor that gives an answer.
func asked(t *testing.T, status int, body string) (code int, stdout, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.sock")
	listener, err := socket.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if call, err := io.ReadAll(r.Body); err != nil || string(call) != "a call" || r.URL.Path != wire.HookPath {
			t.Errorf("the supervisor is asked %s with %q, %v", r.URL, call, err)
		}
		if _, err := time.Parse(time.RFC3339Nano, r.Header.Get(wire.HeaderDeadline)); err != nil {
			t.Errorf("the supervisor is not told until when its hook waits: %s", err)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	defer serving.Wait()
	defer func() { _ = server.Close() }()
	var out, problems strings.Builder
	code = Main(t.Context(), []string{"--socket", path}, strings.NewReader("a call"), &out, &problems)
	return code, out.String(), problems.String()
}

// A call runs only if the supervisor says that it may. Every denial has a reason: some programs let a call run without.
func TestOnlyADecisionAllows(t *testing.T) {
	for name, test := range map[string]struct {
		status  int
		body    string
		allowed bool
		says    string
	}{
		"allowed":                    {200, `{"decision":"allow","exitCode":0,"stdout":"mail"}`, true, "mail"},
		"denied":                     {200, `{"decision":"deny","exitCode":2,"stderr":"outside\n"}`, false, "outside"},
		"an older supervisor allows": {200, `{"exitCode":0}`, true, ""},
		"an older supervisor denies": {200, `{"exitCode":2,"stderr":"outside\n"}`, false, "outside"},

		"nothing":                      {200, ``, false, "cannot be read"},
		"no JSON":                      {200, `allow`, false, "cannot be read"},
		"no object":                    {200, `"allow"`, false, "cannot be read"},
		"null":                         {200, `null`, false, "no exit code"},
		"an empty object":              {200, `{}`, false, "no exit code"},
		"something else":               {200, `{"isError":false,"message":"welcome"}`, false, "no exit code"},
		"an allowance without a code":  {200, `{"decision":"allow"}`, false, "no exit code"},
		"an allowance with a failure":  {200, `{"decision":"allow","exitCode":1}`, false, "no decision"},
		"a denial that would allow":    {200, `{"decision":"deny","exitCode":0}`, false, "no decision"},
		"an unknown decision":          {200, `{"decision":"ask","exitCode":0}`, false, "no decision"},
		"a code that only warns":       {200, `{"exitCode":1}`, false, "no decision"},
		"two answers":                  {200, `{"decision":"allow","exitCode":0}{}`, false, "cannot be read"},
		"an allowance that is refused": {403, `{"decision":"allow","exitCode":0}`, false, "403"},
		"a refusal":                    {403, `{"message":"another session's"}`, false, "another session's"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := asked(t, test.status, test.body)
			want, says := agent.ExitDenied, stderr
			if test.allowed {
				want, says = 0, stdout
			}
			if code != want || !strings.Contains(says, test.says) || !test.allowed && strings.TrimSpace(stderr) == "" {
				t.Errorf("it ended with %d, said %q and %q", code, stdout, stderr)
			}
		})
	}
}

// A hook that reaches no supervisor denies.
func TestNoSupervisorDenies(t *testing.T) {
	for _, args := range [][]string{
		nil, {"--socket", filepath.Join(t.TempDir(), "none.sock")}, {"--unknown"},
	} {
		var said strings.Builder
		if code := Main(t.Context(), args, strings.NewReader("{}"), io.Discard, &said); code != agent.ExitDenied ||
			said.Len() == 0 {
			t.Errorf("%q: it ended with %d and said %q", args, code, said.String())
		}
	}
}

// Every answer of a supervisor names its decision.
func TestAnswersNameTheirDecision(t *testing.T) {
	for _, answer := range []wire.HookAnswer{{}, {Stdout: "mail"}, {Stderr: "outside", ExitCode: agent.ExitDenied}} {
		content, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		want := wire.HookAllow
		if answer.ExitCode != 0 {
			want = wire.HookDeny
		}
		if got, err := decisionIn(content); err != nil || got.Decision != want || got.Stdout != answer.Stdout {
			t.Errorf("%s is read as %+v, %v", content, got, err)
		}
	}
}
