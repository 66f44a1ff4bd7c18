package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/sandbox"
	"maestro/workers/socket"
)

// allowedCall is what a CLI says about a call that nothing forbids.
const allowedCall = `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},` +
	`"tool_use_id":"call_1","cwd":"/w"}`

// newJudged returns a judge with a mailbox, whose decisions take a time.
func newJudged(t *testing.T, took *time.Duration) (*judge, *course) {
	t.Helper()
	c := newCourse(t)
	began := time.Now()
	looks := 0
	return &judge{
		dirs: sandbox.Dirs{
			Workspace:   "/w",
			Target:      "/t",
			Home:        "/h",
			MaestroHome: "/h/.maestro",
		},
		decisions: c.d,
		mail:      newMailbox(nil, "sess_1", slog.New(slog.DiscardHandler), nil, nil),
		blocked:   func(_, _, _ string) {},
		seen:      func(agent.HookCall) {},
		now: func() time.Time {
			if looks++; looks == 1 {
				return began
			}
			return began.Add(*took)
		},
	}, c
}

// A hook that has waited in vain has denied the call: then no decision says that it is allowed. A supervisor that was
// stopped for a while decides so late.
func TestLateDecisionDenies(t *testing.T) {
	for took, allowed := range map[time.Duration]bool{time.Second: true, agent.HookClock(false) + time.Second: false} {
		j, c := newJudged(t, &took)
		w := httptest.NewRecorder()
		j.serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(allowedCall)))
		if got := strings.Contains(w.Body.String(), `"exitCode":0`); got != allowed {
			t.Errorf("after %s, it answered %s", took, w.Body)
		}
		if got := strings.Contains(c.log.String(), `"allowed":true`); got != allowed {
			t.Errorf("after %s, it recorded %s", took, c.log.String())
		}
	}
}

// The patience of a hook begins before its turn does, and a hook that ended has denied its call: what is recorded last
// is what it did.
func TestDecisionOfAHookThatGaveUp(t *testing.T) {
	took := time.Second
	last := func(c *course) string {
		lines := strings.Split(strings.TrimSpace(c.log.String()), "\n")
		return lines[len(lines)-1]
	}
	request := func(ctx context.Context) *http.Request {
		return httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(allowedCall))
	}
	for waits, allowed := range map[time.Duration]bool{time.Minute: true, -time.Minute: false} {
		j, c := newJudged(t, &took)
		r := request(t.Context())
		r.Header.Set(wire.HeaderDeadline, time.Now().Add(waits).UTC().Format(time.RFC3339Nano))
		w := httptest.NewRecorder()
		j.serve(w, r)
		if got := strings.Contains(last(c), `"allowed":true`); got != allowed {
			t.Errorf("with %s left, it recorded %s, and answered %s", waits, last(c), w.Body)
		}
	}
	// It ends while it is decided about its call, and the connection says so before net/http does.
	path := filepath.Join(t.TempDir(), "hook.sock")
	listener, err := socket.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for _, ends := range []bool{false, runtime.GOOS == "linux"} { // elsewhere it is not known
		hook, err := socket.Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if ends {
			_ = hook.Close()
		}
		j, c := newJudged(t, &took)
		j.serve(httptest.NewRecorder(), request(context.WithValue(t.Context(), connKey{}, conn)))
		if got := strings.Contains(last(c), `"allowed":true`); got == ends {
			t.Errorf("a hook that ends (%t): it recorded %s", ends, last(c))
		}
		_, _ = hook.Close(), conn.Close()
	}
	// It ends between the record and the answer.
	j, c := newJudged(t, &took)
	blocked := ""
	j.blocked = func(_, _, reason string) { blocked = reason }
	j.serve(gone{httptest.NewRecorder()}, request(t.Context()))
	if strings.Contains(last(c), `"allowed":true`) || blocked != tooLate {
		t.Errorf("it recorded %s, blocked: %q", c.log.String(), blocked)
	}
	call, err := agent.ParseHook([]byte(allowedCall))
	if err != nil {
		t.Fatal(err)
	}
	c.d.shown("1", call.Key, "Bash", "ls", false)
	c.d.returned("1", false)
	if len(c.told) == 0 {
		t.Error("a call that ran without the permission that its hook did not get was not noticed")
	}
}

// Who may only read gets no tool that may do anything, and a call that changes files says which.
func TestToolsOfWhoMayOnlyRead(t *testing.T) {
	took := time.Second
	for _, test := range []struct {
		mode, tool, input string
		allowed           bool
	}{
		{"", "mcp__tracker__close", `{}`, true},
		{modeReadOnly, "mcp__tracker__close", `{}`, false},
		{modeReadOnly, "ANewTool", `{}`, false},
		{modeReadOnly, "Read", `{"file_path":"/t/x"}`, true},
		{modeReadOnly, "WebFetch", `{"url":"https://example.org"}`, true},
		{modeReadOnly, "Write", `{"file_path":"/t/x"}`, false},
		{"", "Write", `{"file_path":"/tmp/x"}`, true},
		{"", "Write", `{"path_of_another_version":"/etc/passwd"}`, false},
	} {
		j, _ := newJudged(t, &took)
		j.mode = test.mode
		w := httptest.NewRecorder()
		j.serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(
			`{"hook_event_name":"PreToolUse","tool_name":"`+test.tool+`","tool_input":`+test.input+
				`,"tool_use_id":"call_1","cwd":"/w"}`)))
		if got := strings.Contains(w.Body.String(), `"exitCode":0`); got != test.allowed {
			t.Errorf("%+v: %s", test, w.Body)
		}
	}
}

// In interactive mode, Maestro's own commands need no permission, except answers.
func TestCommandsOfMaestroAreHarmless(t *testing.T) {
	for line, harmless := range map[string]bool{
		`maestro report progress "it's done"`:              true,
		`maestro report progress "reads the user's input"`: true,
		`maestro input answer inp_1 allow`:                 false,
		`maestro --json "input" answer inp_1 allow`:        false,
		`maestro --server x in"put" answer inp_1 allow`:    false,
		`maestro status; rm -rf src`:                       false,
		`maestro --json task list --mine`:                  true,
		`maestro task report progress task_x "half"`:       true,
		`maestro session spawn --task-ids task_x`:          true,
		`maestro input wait --timeout 1h`:                  true,
		`maestro worker init`:                              true,
		`maestro worker init --launch`:                     false,
		`maestro worker init --{launch,json}`:              false,
		`maestro worker init --laun[c]h`:                   false,
		`maestro worker init --"launch"`:                   false,
		`maestro worker init $X`:                           false,
		`maestro report progress "costs 5 {a,b} *?"`:       true,
		`maestro report progress 'a; b'`:                   true,
		`maestro report progress x > y`:                    false,
		`A=b maestro status`:                               false,
		`maestro status &`:                                 false,
		`maestro session exec sess_x -- make deploy`:       false,
		`maestro --json session exec sess_x -- make`:       false,
		`maestro session "exec" sess_x -- make`:            false,
		`maestro session --json exec sess_x -- make`:       false,
		`maestro -o table session exec sess_x -- make`:     false,
		`maestro manifest generate --file x`:               false,
		`maestro serve`:                                    false,
		`maestro mcp`:                                      false,
		`maestro task edit task_x`:                         false,
		`maestro-x`:                                        false,
		``:                                                 false,
	} {
		if ofMaestro(line) != harmless {
			t.Errorf("%s: harmless %t", line, !harmless)
		}
	}
}

// gone is the connection of a hook that has ended.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, errors.New("nobody reads that") }

// Mail that a hook did not get comes with another call.
func TestMailComesAgain(t *testing.T) {
	took := time.Second
	j, _ := newJudged(t, &took)
	mail := []wire.Mail{{
		ID:   "msg_1",
		Kind: wire.MailMessage,
		From: "/users/admin",
		Text: "hurry",
	}}
	j.mail.came(mail)
	j.serve(gone{httptest.NewRecorder()},
		httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(allowedCall)))
	j.mail.came(mail) // the server lists it until it was received
	if text, _ := j.mail.take(); !strings.Contains(text, "hurry") {
		t.Errorf("the next call gets %q", text)
	}
}

// The documents name the limits of the hook. They are declared once: workers/agent/hooklimits.go.
func TestDocumentsNameLimitsOfHook(t *testing.T) {
	for name, want := range map[string]string{
		"contract.md": fmt.Sprintf("answers within %.0f s; in mode interactive, once the question is answered, "+
			"within %.0f minutes", agent.LineWithin.Seconds(), agent.AnswersWithin.Minutes()),
		"decisions/0113-drivers.md": fmt.Sprintf("`timeout -k 1 %.0f /path/maestro hook", agent.LineWithin.Seconds()),
	} {
		content, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), want) {
			t.Errorf("docs/%s does not say: %s", name, want)
		}
	}
}
