package supervisor

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/blank"
	"maestro/workers/preflight"
)

// told is a Console that notes what the supervisor says.
type told []string

func (*told) Saw(agent.Observation) {}

func (x *told) Tell(format string, args ...any) { *x = append(*x, fmt.Sprintf(format, args...)) }

// A fault after the claim waits for an answer. The terminal says which command gives it in another one.
func TestFaultsAfterTheClaimSayHowToAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"asked":"input_1"}`)
	}))
	defer server.Close()
	logger := slog.New(slog.DiscardHandler)
	for answer, again := range map[string]bool{"retry": true, "give up": false} {
		var said told
		s := &supervisor{
			Config:  Config{SessionID: "sess_1", Runner: wire.TerminalRunner},
			Console: &said,
			logger:  logger,
		}
		s.calls = &calls{
			session: client.New(server.URL, "t"),
			runner:  client.New(server.URL, "t"),
			after:   time.After,
			logger:  logger,
		}
		defer s.calls.close()
		s.mail = newMailbox(s.calls, s.SessionID, logger, nil, nil)
		s.mail.came([]wire.Mail{{ID: "input_1", Text: answer}})
		got, err := s.escalate(t.Context(), &preflight.Failure{Message: "The disk is full", Fix: "free some room"}, 1)
		if err != nil || got != again {
			t.Errorf("%s: %t, %v", answer, got, err)
		}
		text := strings.Join(said, "\n")
		for _, part := range []string{
			"The disk is full", "free some room", "from another terminal: `maestro input answer input_1 retry`",
			"`maestro input answer input_1 'give up'`",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in %q", part, text)
			}
		}
	}
}

// The answer whether the agent may do something is the supervisor's: the agent does not get it, and it is read, so that
// the session can end.
func TestAnswersAboutCallsAreRead(t *testing.T) {
	var called []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called = append(called, path.Base(r.URL.Path))
		_, _ = io.WriteString(w, `{"asked":"input_1"}`)
	}))
	defer server.Close()
	logger := slog.New(slog.DiscardHandler)
	for answer, may := range map[string]bool{answerAllow: true, "deny: not now": false} {
		called = nil
		s := &supervisor{Config: Config{SessionID: "sess_1"}, logger: logger, asked: map[string]*askedOnce{}}
		s.secrets.Store(blank.Of("a secret"))
		s.calls = &calls{session: client.New(server.URL, "t"), after: time.After, logger: logger}
		defer s.calls.session.Close()
		s.mail = newMailbox(s.calls, s.SessionID, logger, nil, nil)
		s.mail.came([]wire.Mail{{ID: "input_1", Text: answer}, {ID: "message_1", Text: "Go on"}})
		allowed, reason := s.ask(t.Context(), "May the agent use its tool?", time.Minute)
		if allowed != may || !may && !strings.Contains(reason, answer) {
			t.Errorf("%s: %t, %s", answer, allowed, reason)
		}
		if want := []string{"report:needs-input", "input:received"}; !slices.Equal(called, want) {
			t.Errorf("%s: it calls %q, want %q", answer, called, want)
		}
		if text, _ := s.mail.take(); strings.Contains(text, answer) || !strings.Contains(text, "Go on") {
			t.Errorf("%s: the agent gets %q", answer, text)
		}
	}
}

// Advice names the flag of the command that runs, and none that it does not have.
func TestAdviceNamesTheRunningCommand(t *testing.T) {
	for command, server := range map[string]bool{serves: true, "orchestrator init": false, execs: false} {
		s := &supervisor{Config: Config{Program: "/opt/maestro-2"}, command: command}
		s.options.Network = "none"
		for name, err := range map[string]error{
			"program": s.checkProgram(t.Context()),
			"network": s.checkNetwork(t.Context()),
		} {
			failed, ok := err.(*preflight.Failure) //nolint:errorlint // the checks return it as it is
			if !ok {
				t.Fatalf("%s, %s: %v", command, name, err)
			}
			if name == "network" && strings.Contains(failed.Fix, "--confine off") != server {
				t.Errorf("%s: %s", command, failed.Fix)
			}
			if name == "program" && !strings.Contains(failed.Fix, "run `maestro "+command+"` again") {
				t.Errorf("%s: %s", command, failed.Fix)
			}
		}
		if advice := allowGit(command); !strings.HasSuffix(advice, "`"+command+" --allow-git-config`") {
			t.Error(advice)
		}
	}
}
