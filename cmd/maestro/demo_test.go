package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"maestro/examples"
	"maestro/internal/cli"
	"maestro/internal/demo"
	"maestro/service/wire"
	"maestro/workers/processes"
)

// demoLease is longer than the lease of `maestro demo`, because heartbeats are slower on a machine that runs other
// tests.
const demoLease = 30 * time.Second

// TestFleetByScript runs the fleet of `maestro demo` with the real binary. The judge must find every promised fact in
// the log, and must notice each one that is removed from the log.
func TestFleetByScript(t *testing.T) {
	t.Parallel()
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	dir := t.TempDir()
	evidence, err := demo.Run(t.Context(), demo.Options{
		Binary: binary,
		Plan:   examples.Plan,
		Dir:    dir,
		Lease:  demoLease,
		Out:    &out,
	})
	t.Logf("%s", &out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "rm -r "+dir+"\n") {
		t.Error("the demonstration does not say what it leaves behind")
	}
	for _, fact := range demo.Judge(evidence) {
		if fact.Err != nil {
			t.Errorf("%s: %v", fact.Name, fact.Err)
		}
		if !strings.Contains(out.String(), "✓ "+fact.Name+" ") {
			t.Errorf("the demonstration does not say: %s", fact.Name)
		}
	}
	for _, plant := range plantsOfFleet() {
		t.Run(plant.fact+" "+plant.name, func(t *testing.T) {
			planted := evidence
			if plant.log != nil {
				planted.Log = changed(t, evidence.Log, plant.log)
			}
			if plant.evidence != nil {
				plant.evidence(&planted)
			}
			facts := demo.Judge(planted)
			i := slices.IndexFunc(facts, func(f demo.Fact) bool { return f.Name == plant.fact })
			if i < 0 || facts[i].Err == nil || !strings.Contains(facts[i].Err.Error(), plant.want) {
				t.Errorf("the judge says %+v, expected is a fault with %q", facts[i], plant.want)
			}
		})
	}
}

// TestFleetWithoutConfinement: where nothing confines agents, the demonstration says so, and all else still holds.
func TestFleetWithoutConfinement(t *testing.T) {
	t.Parallel()
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	evidence, err := demo.Run(t.Context(), demo.Options{
		Binary:  binary,
		Plan:    examples.Plan,
		Dir:     t.TempDir(),
		Lease:   demoLease,
		Confine: "off",
		Out:     &out,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	skipped := 0
	for _, attempt := range evidence.Attempts {
		if attempt.Skipped {
			skipped++
		}
	}
	if skipped == 0 || skipped == len(evidence.Attempts) || !strings.Contains(out.String(), "confines no agent") {
		t.Errorf("%d of %d attempts are skipped\n%s", skipped, len(evidence.Attempts), &out)
	}
}

// unread is a stream whose reader leaves after some writes.
type unread struct{ writes int }

func (u *unread) Write(p []byte) (int, error) {
	if u.writes--; u.writes < 0 {
		return 0, syscall.EPIPE
	}
	return len(p), nil
}

// TestDemoLeavesNothingRunning: when the reader of a demonstration's output leaves, the demonstration and its server
// end.
func TestDemoLeavesNothingRunning(t *testing.T) {
	binary, err := exec.LookPath("maestro")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err = demo.Run(t.Context(), demo.Options{
		Binary: binary,
		Plan:   examples.Plan,
		Dir:    dir,
		Lease:  demoLease,
		Out:    &unread{writes: 6}, // the agents work by then
	})
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the demonstration ends with %v, expected is %v", err, syscall.EPIPE)
	}
	cmd := exec.Command(binary, "status")
	cmd.Env = append(os.Environ(), "MAESTRO_HOME="+filepath.Join(dir, "home"))
	_ = cmd.Run() // its exit code is checked instead
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitNoConnection {
		t.Errorf("exit code %d: a server still answers", code)
	}
	for _, variable := range []string{
		"MAESTRO_HOME=" + filepath.Join(dir, "home"), wire.EnvWorkspace + "=" + filepath.Join(dir, "workspaces"),
	} {
		if left := processes.With(variable); len(left) > 0 {
			t.Errorf("processes of the demonstration still run: %d", left)
		}
	}
}

// entry is a line of an export.
type entry struct {
	Event struct {
		Type, Source, ID string
		OccurredAt       string `json:"occurredat"`
		Data             map[string]any
	} `json:"event"`
}

func (e *entry) text(name string) string {
	text, _ := e.Event.Data[name].(string)
	return text
}

func (e *entry) is(kind string) bool { return e.Event.Type == "maestro."+kind+".v1" }

// plantOfFleet is a fault, the fact that it breaks, and a part of the message that the judge must give.
type plantOfFleet struct {
	fact, name, want string
	// log changes an entry, or reports false to omit it; the number counts the entries of its type.
	log      func(e *entry, number int) (keep bool)
	evidence func(*demo.Evidence)
}

func plantsOfFleet() []plantOfFleet {
	without := func(kind string, from, to int) func(*entry, int) bool {
		return func(e *entry, number int) bool { return !e.is(kind) || number < from || number > to }
	}
	const all = 1 << 20
	return []plantOfFleet{
		{"fleet", "one worker never pulls", "11 workers pulled", withoutOneWorker(), nil},
		{"fleet", "one item is left out", "held up to 11 items", without("queue.item_started", 0, 0), nil},
		{"items", "one is completed by another", "was completed by sess_other", func(e *entry, number int) bool {
			if e.is("queue.item_completed") && number == 3 {
				e.Event.Data["sessionId"] = "sess_other"
			}
			return true
		}, nil},
		{"items", "one is lost", "was completed 0 times", without("queue.item_completed", 16, 16), nil},
		{"items", "one is held by two", "when it was held by", without("queue.item_returned", 0, 0), nil},
		{"kill -9", "one is not killed", "2 workers were killed", without("session.exited", 0, 0), nil},
		{"kill -9", "an item is kept", "no item of its came back", without("queue.item_returned", 1, all), nil},
		{"kill -9", "one does not fail", "did not fail", func(e *entry, _ int) bool {
			if e.is("session.exited") && e.text("signal") != "" {
				delete(e.Event.Data, "status")
			}
			return true
		}, nil},
		{"server", "no report is kept", "no report was made", func(e *entry, _ int) bool {
			return e.Event.OccurredAt == ""
		}, nil},
		{"question", "nobody asks", "nobody asked", func(e *entry, _ int) bool {
			return e.text("kind") != "needs-input"
		}, nil},
		{"question", "nobody answers", "nobody answered", without("input.answered", 0, all), nil},
		{"question", "the answer is not shown", "not shown the answer", withoutMail("input_"), nil},
		{"question", "the answer changes nothing", "does not have the answer", withoutResult("by last name"), nil},
		{"message", "nobody writes", "nobody wrote", without("session.messaged", 0, all), nil},
		{"message", "it is not shown", "not shown the message", withoutMail("msg_"), nil},
		{"message", "it changes nothing", "did not act", withoutResult("Nimbus"), nil},
		{"reopen", "nobody gives a reason", "nobody reopened", func(e *entry, _ int) bool {
			delete(e.Event.Data, "reason")
			return true
		}, nil},
		{"reopen", "it was not said to be done", "had not said", withoutResult("Every page is done"), nil},
		{"reopen", "the reason is not shown", "not shown why", withoutMail("msg_"), nil},
		{"reopen", "the reason changes nothing", "did not do", withoutResult("returns"), nil},
		{"reopen", "nobody confirms it", "nobody confirmed", func(e *entry, _ int) bool {
			return !e.is("task.status_changed") || e.text("to") != "completed"
		}, nil},
		{"refusal", "nobody is refused", "no worker", nil, func(e *demo.Evidence) { e.Refusals = nil }},
		{"boundary", "nobody tries", "nobody tried", nil, func(e *demo.Evidence) { e.Attempts = e.Attempts[1:] }},
		{"boundary", "an attempt succeeds", "it worked", nil, func(e *demo.Evidence) {
			e.Attempts = slices.Clone(e.Attempts)
			e.Attempts[3].Held = false
		}},
		{"boundary", "its supervisor is gone", "did not record", without("session.exited", 0, all), nil},
		{"boundary", "a token is created", "a token was created", func(e *entry, number int) bool {
			if e.is("session.registered") && number == 0 {
				e.Event.Type = "maestro.token.created.v1"
			}
			return true
		}, nil},
		{"boundary", "it writes as another", "wrote as another", func(e *entry, number int) bool {
			if e.is("session.registered") && number == 0 {
				e.Event.Type, e.Event.Data["message"] = "maestro.session.noted.v1", "Written through another's socket"
			}
			return true
		}, nil},
		{"orchestrator", "there is none", "no orchestrator", func(e *entry, _ int) bool {
			return e.text("role") != "orchestrator"
		}, nil},
		{"orchestrator", "one worker is not its own", "has spawned 1", without("session.spawned", 14, 14), nil},
		{"orchestrator", "a worker does not end", "did not report, end", without("session.completed", 0, all), nil},
		{"orchestrator", "it confirms nothing", "did not report, end", func(e *entry, _ int) bool {
			return !e.is("task.status_changed") || !strings.Contains(e.Event.Source, "/sessions/")
		}, nil},
		{"orchestrator", "it reports nothing", "did not report its goal", withoutResult("There is a text"), nil},
		{"confirmed", "a task stays open", "is not completed", without("task.status_changed", 4, 4), nil},
		{"nothing lost", "an event is lost", "is in the log 0 times", without("session.reported", 5, 5), nil},
		{"nothing lost", "nothing is acknowledged", "nothing was acknowledged", nil, func(e *demo.Evidence) {
			e.Acknowledged = nil
		}},
	}
}

// withoutOneWorker omits everything that the first spawned worker takes from the queue.
func withoutOneWorker() func(*entry, int) bool {
	session := ""
	return func(e *entry, number int) bool {
		if e.is("session.spawned") && number == 0 {
			session = e.text("sessionId")
		}
		return !e.is("queue.item_started") || e.text("sessionId") != session
	}
}

// withoutMail omits the events that record that mail with this prefix was shown.
func withoutMail(prefix string) func(*entry, int) bool {
	return func(e *entry, _ int) bool {
		return !e.is("input.delivered") || !strings.HasPrefix(e.text("inputId"), prefix)
	}
}

// withoutResult omits the reports of finished tasks that contain a text.
func withoutResult(text string) func(*entry, int) bool {
	return func(e *entry, _ int) bool {
		return e.text("kind") != "complete" || !strings.Contains(e.text("message"), text)
	}
}

// changed returns an export whose entries a plant has changed.
func changed(t *testing.T, log []byte, plant func(*entry, int) bool) []byte {
	t.Helper()
	var out bytes.Buffer
	count := map[string]int{}
	for line := range bytes.Lines(log) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		number := count[e.Event.Type]
		count[e.Event.Type]++
		if !plant(&e, number) {
			continue
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	return out.Bytes()
}
