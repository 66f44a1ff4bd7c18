package prompt

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"maestro/events"
	"maestro/workers/manifest"
)

// TestReadOnly: a worker that may only read is told so, and no step asks it to change or record a file, or to create
// tasks. Its list is that of the commands that it may use.
func TestReadOnly(t *testing.T) {
	for _, kind := range kinds {
		if kind.role != events.RoleWorker {
			continue
		}
		for _, mode := range []manifest.PermissionMode{manifest.AcceptEdits, manifest.ReadOnly} {
			m := full(kind.role, kind.strategy)
			m.Session.PermissionMode, m.Session.AllowedCommands = mode, nil
			system, _ := prompts(t, m, session)
			workflow, _, ok := strings.Cut(string(system), "</workflow>")
			if !ok {
				t.Fatalf("%s", system)
			}
			if reads := mode == manifest.ReadOnly; strings.Contains(workflow, "change no file") != reads ||
				strings.Contains(workflow, "track-file") == reads {
				t.Errorf("%s, %s: %s", kind.name, mode, workflow)
			}
			for _, id := range Lines(true, axesFor(t, m).Commands) { // as `maestro commands` lists them
				if !bytes.Contains(system, []byte(`<command name="`+id+`"`)) {
					t.Errorf("%s, %s: the list lacks %s, which the session may use", kind.name, mode, id)
				}
			}
			listed := bytes.Contains(system, []byte(`<command name="task:create"`))
			if listed == (mode == manifest.ReadOnly) {
				t.Errorf("%s, %s: the list has task:create: %t", kind.name, mode, listed)
			}
			if !bytes.Contains(system, []byte("<workflow>")) {
				t.Errorf("%s has no workflow", kind.name)
			}
		}
	}
}

// TestLimitedSessions: the complete prompts of a read-only and of a restricted session. Each phase has a step that the
// session can take, the last one ends the session, and no step names a command that it lacks.
func TestLimitedSessions(t *testing.T) {
	restricted := []string{"task:get", "report:progress"}
	named := regexp.MustCompile("`maestro ([a-z-]+)(?: ([a-z-]+))?")
	for _, kind := range kinds {
		for name, limit := range map[string]func(*manifest.Manifest){
			"read-only":  func(m *manifest.Manifest) { m.Session.PermissionMode = manifest.ReadOnly },
			"restricted": func(m *manifest.Manifest) { m.Session.AllowedCommands = &restricted },
		} {
			m := full(kind.role, kind.strategy)
			m.Session.AllowedCommands = nil
			limit(m)
			system, _ := prompts(t, m, session)
			golden(t, kind.name+"."+name+".xml", system)
			workflow, _, _ := strings.Cut(string(system), "</workflow>")
			for _, stale := range []string{"every minute", "5m", "--strict"} {
				if strings.Contains(workflow, stale) {
					t.Errorf("%s, %s: the prompt says %q", kind.name, name, stale)
				}
			}
			if !strings.Contains(workflow[strings.Index(workflow, `name="complete"`):], "`maestro session complete`") {
				t.Errorf("%s, %s does not end: %s", kind.name, name, workflow)
			}
			if kind.role == events.RoleWorker &&
				strings.Contains(workflow, "You have no command for a final report.") != (name == "restricted") {
				t.Errorf("%s, %s is not told where its result goes: %s", kind.name, name, workflow)
			}
			may := axesFor(t, m)
			for _, words := range named.FindAllStringSubmatch(workflow, -1) {
				if !may.may(words[1]) && !may.may(words[1]+":"+words[2]) {
					t.Errorf("%s, %s: the prompt names %s", kind.name, name, words[0])
				}
			}
			for _, lacks := range []struct{ id, words string }{
				{"task:create", "Split the goal"},
				{"task:create", "get an edge"},
				{"queue:start", "the item that you hold"},
				{"queue:start", "The queue says"},
				{"task:update", "change the task"},
				{"session:spawn", "Start "},
				{"session:spawn", "Prepare "},
			} {
				if !may.may(lacks.id) && strings.Contains(workflow, lacks.words) {
					t.Errorf("%s, %s may not %s, but is told: %s", kind.name, name, lacks.id, lacks.words)
				}
			}
			waits := strings.Contains(workflow, "`maestro input wait`; after exit 7, wait again")
			if waits != (name == "read-only") {
				t.Errorf("%s, %s says how to wait when blocked: %t", kind.name, name, waits)
			}
		}
	}
}

// TestEveryStepCanBeTaken: whatever a session may use, each step that tells it to report, say or ask something names a
// command for it, or says who does it instead.
func TestEveryStepCanBeTaken(t *testing.T) {
	tells := regexp.MustCompile(`(?i)(^|[^"'“] )(report (it|the|which|what|on|how)|say (what|which)|` +
		`ask (which|with)|pass on as)\b`)
	can := regexp.MustCompile("`maestro (report|input|session (note|message|complete)|queue fail|" +
		"task (reopen|block))|hoever|see \"report\"|Do not report")
	for _, kind := range kinds {
		m := full(kind.role, kind.strategy)
		m.Session.AllowedCommands = nil
		all := axesFor(t, m).shown()
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 0))
			some := []string{}
			for _, id := range all {
				if r.IntN(3) == 0 {
					some = append(some, id)
				}
			}
			m.Session.AllowedCommands = &some
			system, _ := prompts(t, m, session)
			workflow, _, _ := strings.Cut(string(system), "</workflow>")
			for line := range strings.Lines(workflow[strings.Index(workflow, "<workflow>"):]) {
				if tells.MatchString(line) && !can.MatchString(line) {
					t.Errorf("%s, seed %d, may %v: nothing to do it with: %s", kind.name, seed, some, line)
				}
			}
		}
	}
}

func axesFor(t *testing.T, m *manifest.Manifest) axes {
	t.Helper()
	a, err := axesOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestInitialPrompt: the initial prompt of the primary task is shown with the task, and nowhere else.
func TestInitialPrompt(t *testing.T) {
	m := full("worker", "simple")
	m.Context.Custom = json.RawMessage(
		`{"initialPrompt":"Start <here>","other":1,"predecessor":{"last":["a: one","b: two"],` +
			`"words":[{"kind":"complete","taskIds":["t1","t2"],"text":"it <works>","cut":true},{"kind":"message",` +
			`"told":true,"text":"well"}]}}`)
	_, task := prompts(t, m, session)
	primary, rest, _ := strings.Cut(string(task), "</task>")
	if !strings.Contains(primary, "<initial_prompt>Start &lt;here&gt;</initial_prompt>") ||
		strings.Contains(rest, "Start") || !strings.Contains(rest, `<entry name="other">1</entry>`) {
		t.Errorf("%s", task)
	}
	for _, want := range []string{
		"<entry name=\"last\">a: one\nb: two</entry>",
		`<word kind="complete" tasks="t1,t2" cut="true">it &lt;works&gt;</word>`,
		`<told kind="message">well</told>`,
	} {
		if !strings.Contains(rest, want) {
			t.Errorf("a predecessor is not shown as %s: %s", want, rest)
		}
	}
}

// A session that cannot read its tasks is not told to compare them with the prompt.
func TestNothingIsNewerThanThePrompt(t *testing.T) {
	for allowed, told := range map[string]bool{"task:get": true, "report:progress": false} {
		m := full(events.RoleWorker, events.StrategySimple)
		m.Session.AllowedCommands = &[]string{allowed}
		system, _ := prompts(t, m, session)
		if bytes.Contains(system, []byte("the prompt is older")) != told || bytes.Contains(system, []byte("is newer")) {
			t.Errorf("with %s: %s", allowed, system)
		}
	}
}

// A queue worker that cannot say that an item failed, or cannot complete it, is told how to go on all the same.
func TestQueueWorkersWithoutAllEnds(t *testing.T) {
	for allowed, told := range map[string]string{
		"queue:start queue:complete":  "If it cannot be done, do not complete the item. End your session",
		"queue:start report:complete": "You have no command that completes the item.",
	} {
		m := full(events.RoleWorker, events.StrategyQueue)
		list := strings.Fields(allowed)
		m.Session.AllowedCommands = &list
		system, _ := prompts(t, m, session)
		if !strings.Contains(string(system), told) {
			t.Errorf("with %s: %s", allowed, system)
		}
		begins := strings.Contains(string(system), "begin again")
		if begins != strings.Contains(allowed, "queue:complete") {
			t.Errorf("with %s it begins again: %t", allowed, begins)
		}
	}
}
