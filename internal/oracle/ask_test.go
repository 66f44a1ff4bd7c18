package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// told returns a Judge that has read a story.
func told(t *testing.T, s *story) *Judge {
	t.Helper()
	j := New()
	for line := range bytes.Lines(s.export()) {
		if err := j.Line(line); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// asks returns a command of a source, with a valid credential.
func (s *story) asks(source, id, body string) Command {
	command := Command{
		ID:     id,
		Body:   json.RawMessage(body),
		Source: source,
		At:     s.now.Add(time.Second),
	}
	if strings.HasPrefix(source, "/users/") {
		command.Access = "admin"
	} else {
		command.Generation = 1
	}
	return command
}

// The documents determine the result of a command: an event, "already so", or a refusal with a code.
func TestAsk(t *testing.T) {
	s := base(t)
	s.start(pull, "pull", "e", 1, 1)
	s.report(work, "needs-input", `,"inputId":"i1","options":["yes","no"]`)
	s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":1}`)
	s.task("old", "")
	s.add(admin, "task.deleted", `{"taskId":"old"}`)
	s.spawn("done", `"role":"worker","strategy":"simple","taskIds":["free"],"started":["free"],`+byDefault("W"))
	s.kill("done")
	noFault(t, s)
	j := told(t, s)
	for _, x := range []struct {
		source, id, body string
		want             string
	}{
		{admin, "project:create", `{"name":"New"}`, "event"},
		{admin, "project:create", `{"name":" "}`, codeInvalid},
		{admin, "project:delete", `{"projectId":"p1"}`, codeRule},
		{admin, "project:delete", `{"projectId":"p9"}`, codeFound},
		{orch, "project:delete", `{"projectId":"p1"}`, codeAllowed},
		{work, "task:create", `{"title":"Found","parentId":"b"}`, "event"},
		{work, "task:create", `{"title":"Found","parentId":"other"}`, codeInvalid},
		{work, "task:create", `{"title":"Found","dependencies":["old"]}`, codeFound},
		{work, "task:create", `{"title":"Found","parentId":"d","dependencies":["b"]}`, codeInvalid},
		{admin, "task:update", `{"taskId":"b","dependencies":["c"]}`, codeInvalid}, // c depends on b
		{admin, "task:update", `{"taskId":"b","parentId":"b","before":"none"}`, codeInvalid},
		{admin, "task:update", `{"taskId":"b","parentId":"b","before":"none"}`, codeFound},
		{orch, "task:update", `{"taskId":"b","status":"cancelled"}`, codeAllowed},
		{admin, "task:update", `{"taskId":"b","status":"in_progress"}`, "already"},
		{work, "task:complete", `{"taskId":"b"}`, codeAllowed},
		{orch, "task:complete", `{"taskId":"b"}`, codeRule}, // d below it is open
		{orch, "task:complete", `{"taskId":"b","force":true}`, "event"},
		{orch, "task:reopen", `{"taskId":"b"}`, codeRule},
		{orch, "task:complete", `{"taskId":"other"}`, codeAllowed},
		{admin, "task:complete", `{"taskId":"other","project":"p1"}`, codeInvalid},
		{orch, "session:message", `{"sessionId":"work","text":"Go on"}`, "event"},
		{work, "session:message", `{"sessionId":"orch","text":"Which?","about":"b"}`, "event"},
		{work, "session:message", `{"text":"Which?"}`, "event"},
		{pull, "session:message", `{"text":"Which?"}`, codeAllowed},
		{work, "session:message", `{"sessionId":"pull","text":"Which?"}`, codeAllowed},
		{orch, "session:message", `{"sessionId":"pull","text":"Which?"}`, codeAllowed},
		{admin, "session:message", `{"sessionId":"pull","text":" "}`, codeInvalid},
		{admin, "session:message", `{"sessionId":"pull","text":"x","about":"other"}`, codeFound},
		{admin, "session:message", `{"sessionId":"none","text":"x"}`, codeFound},
		{admin, "session:message", `{"sessionId":"done","text":"x"}`, codeConflict},
		{orch, "session:kill", `{"sessionId":"work"}`, "event"},
		{orch, "session:kill", `{"sessionId":"pull"}`, codeAllowed},
		{admin, "session:kill", `{"sessionId":"done"}`, "already"},
		{admin, "session:update", `{"sessionId":"done","status":"idle"}`, codeAllowed},
		{orch, "session:spawn", `{"taskIds":["d"]}`, "event"},
		{orch, "session:spawn", `{}`, codeInvalid},
		{orch, "session:spawn", `{"taskIds":["d"],"allowedCommands":["audit:head"]}`, codeInvalid},
		{admin, "session:spawn", `{"project":"p1","taskIds":["c"],"strict":true}`, codeRule},
		{admin, "session:spawn", `{"project":"p1","strategy":"queue","queue":"pull"}`, codeConflict},
		{work, "report:progress", `{"message":"m","taskIds":["b"]}`, "event"},
		{work, "report:progress", `{"message":"m","taskIds":["e"]}`, codeAllowed},
		{work, "report:progress", `{}`, codeInvalid},
		{source("done"), "report:progress", `{"message":"m"}`, codeAllowed}, // a late report needs a time
		{pull, "queue:start", `{}`, "already"},
		{pull, "queue:complete", `{"taskId":"f"}`, codeConflict},
		{pull, "queue:skip", `{}`, "event"},
		{work, "queue:start", `{}`, codeAllowed},
		{admin, "queue:push", `{"sessionId":"pull","taskId":"e"}`, codeConflict},
		{system, "queue:return", `{"project":"p1","queue":"pull","taskId":"e"}`, codeRule},
		{system, "session:lost", `{"sessionId":"work","silentFor":59999,"lease":60000}`, codeRule},
		{system, "session:lost", `{"sessionId":"work","silentFor":60000,"lease":60000}`, "event"},
		{system, "session:timed-out", `{"sessionId":"pull"}`, codeRule},
		{admin, "session:lost", `{"sessionId":"work","silentFor":60000,"lease":60000}`, codeAllowed},
		{orch, "input:answer", `{"inputId":"i1","answer":"yes"}`, "event"},
		{orch, "input:answer", `{"inputId":"i1","answer":"perhaps"}`, codeInvalid},
		{pull, "input:received", `{"inputId":"i1"}`, codeAllowed},
		{work, "input:received", `{"inputId":"i1"}`, codeRule},
		{admin, "token:create", `{"name":"eve","kind":"admin"}`, codeConflict},
		{admin, "session:register", `{"project":"p1","sessionId":"parent"}`, codeInvalid},
		{admin, "session:register", `{"project":"p1","sessionId":"parents"}`, "event"},
		{admin, "token:revoke", `{"name":"admin"}`, codeRule},
		{admin, "template:delete", `{"templateId":"execute-tree"}`, codeRule},
		{admin, "template:reset", `{"templateId":"execute-tree"}`, "already"},
		{"/runners/r1", "task:create", `{"title":"Found"}`, codeAllowed},
	} {
		t.Run(fmt.Sprint(x.id, x.body), func(t *testing.T) {
			answer := j.Ask(s.asks(x.source, x.id, x.body))
			ok := slices.Contains(answer.Codes, x.want)
			switch x.want {
			case "event":
				ok = answer.Event
			case "already":
				ok = answer.Already
			}
			// A caller that may not use the command gets no other code.
			exact := x.want != codeAllowed || len(answer.Codes) == 1
			if !ok || !exact || len(answer.Codes) > 0 && (answer.Event || answer.Already) {
				t.Errorf("%s asks for %s %s: %s, want %s", x.source, x.id, x.body, answer, x.want)
			}
		})
	}
	if v := j.Verdict(); len(v.Faults) > 0 || v.Events != uint64(len(s.lines)) {
		t.Errorf("asking changed the verdict: %+v", v)
	}
}

// An invalid credential permits nothing.
func TestAskWithBadCredentials(t *testing.T) {
	s := base(t)
	s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":1}`)
	j := told(t, s)
	good := s.asks("/users/eve", "project:create", `{"name":"New"}`)
	good.Generation = 1
	another, reader, unknown := good, good, good
	another.Generation, reader.Access, unknown.Source = 2, "read-only", "/users/ann"
	spoken := s.asks(work, "report:progress", `{"message":"m"}`)
	revoked := spoken
	revoked.Generation = 2
	for n, command := range []Command{good, spoken} {
		if answer := j.Ask(command); !answer.Event || !j.Permits(command) {
			t.Errorf("good %d: %s", n, answer)
		}
	}
	for n, command := range []Command{another, reader, unknown, revoked} {
		if answer := j.Ask(command); !slices.Contains(answer.Codes, codeAllowed) || j.Permits(command) {
			t.Errorf("bad %d: %s", n, answer)
		}
	}
}

// Every command that may become an event can be asked for, and every event comes from such a command.
func TestEveryCommandHasAnAsk(t *testing.T) {
	var made []string
	for _, blank := range known {
		for _, id := range blank().commands() {
			if id != "report:" && asks[id] == nil {
				t.Errorf("%s cannot be asked for", id)
			}
			made = append(made, id)
		}
	}
	for id := range asks {
		_, ok := rowOf[id]
		// Several commands have the same payload; its values determine the command.
		several := []string{"orchestrator:init", "worker:init", "task:complete", "task:block"}
		if !ok || !slices.Contains(made, id) && !strings.HasPrefix(id, "report:") && !slices.Contains(several, id) {
			t.Errorf("%s can be asked for, but becomes no event", id)
		}
	}
	for rule := range codesOf {
		if !slices.Contains(rules, rule) {
			t.Errorf("%q has codes, but is no rule", rule)
		}
	}
}

// Tells notices an event that differs from the one of its command.
func TestTells(t *testing.T) {
	s := base(t)
	before := told(t, s)
	command := s.asks(orch, "session:spawn", `{"taskIds":["d"],"strategy":"tree"}`)
	spawned := func(more string) []byte {
		s := base(t)
		s.add(orch, "session.spawned", `{"sessionId":"x","name":"x","role":"worker","spawnedBy":"orch",`+more+`}`)
		return s.bodies[len(s.bodies)-1]
	}
	good := `"strategy":"tree","taskIds":["d"],"started":["d"],` + byDefault("T")
	if wrong := before.Tells(command, spawned(good)); wrong != "" {
		t.Errorf("the event of the command: %s", wrong)
	}
	for name, more := range map[string]string{
		"another strategy": `"strategy":"simple","taskIds":["d"],"started":["d"],` + byDefault("W"),
		"other tasks":      `"strategy":"tree","taskIds":["b"],` + byDefault("T"),
		"a list":           `"strategy":"tree","taskIds":["d"],"started":["d"],` + only("T", "task:get"),
		"a timeout":        good + `,"timeout":1000`,
	} {
		if wrong := before.Tells(command, spawned(more)); wrong == "" {
			t.Errorf("an event with %s is accepted as that of the command", name)
		}
	}
	if wrong := before.Tells(
		s.asks(work, "session:spawn", `{"taskIds":["d"],"strategy":"tree"}`),
		spawned(good),
	); wrong == "" {
		t.Error("an event of a refused command is accepted")
	}
}

// Events that a clone reads do not change the original.
func TestCloneIsApart(t *testing.T) {
	s := base(t)
	s.start(pull, "pull", "e", 1, 1)
	first := told(t, s)
	clone := first.Clone()
	start := s.asks(pull, "queue:complete", `{}`)
	n := len(s.lines)
	s.item(pull, "completed", "pull", "e", "pull", "")
	s.report(work, "progress", `,"taskIds":["b"]`)
	s.kill("work")
	for _, line := range s.lines[n:] {
		text, err := json.Marshal(line)
		if err == nil {
			err = clone.Line(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if v := clone.Verdict(); len(v.Faults) > 0 {
		t.Fatalf("%+v", v.Faults)
	}
	if answer := first.Ask(start); !answer.Event {
		t.Errorf("the original has read the events of its clone: %s", answer)
	}
	if answer := clone.Ask(start); !slices.Contains(answer.Codes, codeConflict) {
		t.Errorf("the clone has not read its events: %s", answer)
	}
	was, is := first.State(), clone.State()
	if was.Tasks[1].Says != "" || is.Tasks[1].Says != "working" || was.Sessions[1].Ended || !is.Sessions[1].Ended {
		t.Errorf("%+v\n%+v", was.Tasks[1], is.Sessions[1])
	}
}
