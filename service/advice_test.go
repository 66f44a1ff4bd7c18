package service

import (
	"fmt"
	"strings"
	"testing"

	"maestro/projections"
)

// Whoever is refused or warned is told to run only what that caller may run, and to write only to sessions that would
// get the message.
func TestAdviceIsForItsReader(t *testing.T) {
	s := newStage(t)
	task := func(fields string) string {
		return s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"`+fields+`}`)
	}
	begin := func(by *Caller, fields string) *Caller {
		t.Helper()
		c := s.spawned(by, fields)
		s.do(c, "session:register", `{}`)
		return c
	}
	own, other := task(""), task("")
	alone := begin(s.admin(), `,"taskIds":["`+own+`"]`)
	mute := begin(s.admin(), `,"taskIds":["`+own+`"],"allowedCommands":["session:message","task:get"]`)
	s.do(s.admin(), "queue:create", `{"project":"`+s.alpha+`","queue":"work"}`)
	s.do(s.admin(), "queue:push", `{"project":"`+s.alpha+`","queue":"work","taskId":"`+other+`"}`)
	puller := begin(s.admin(), `,"strategy":"queue","queue":"work"`)
	done := begin(s.admin(), `,"strategy":"queue","queue":"work"`)
	s.do(done, "session:complete", `{}`)
	ended := begin(s.admin(), `,"taskIds":["`+own+`"]`)
	s.do(s.admin(), "session:kill", `{"sessionId":"`+ended.By.Name+`"}`)
	below := task(`,"parentId":"` + own + `"`)
	gone := begin(s.lead, `,"taskIds":["`+s.task+`"]`)
	s.do(gone, "session:complete", `{}`)

	const ask = "maestro report needs-input \"<question>\""
	for _, c := range []struct {
		name     string
		by       *Caller
		id, body string
		want     string // in the next step of the refusal, or in a warning
	}{
		{"no spawner to write to", alone, "session:message", `{"text":"m"}`, ask},
		{
			"neither a spawner nor a question", mute,
			"task:complete", `{"taskId":"` + own + `"}`, "ask the user, or whoever spawned",
		},
		{
			"another session to write to", alone, "session:message",
			`{"sessionId":"` + puller.By.Name + `","text":"m"}`, ask,
		},
		{
			"a done session to write to", s.lead, "session:message",
			`{"sessionId":"` + gone.By.Name + `","text":"m"}`, "maestro session spawn",
		},
		{"a worker confirms", alone, "task:complete", `{"taskId":"` + own + `"}`, "maestro report complete"},
		{"a worker spawns", alone, "session:spawn", `{"taskIds":["` + own + `"]}`, "maestro task create"},
		{"a worker removes an item", puller, "queue:remove", `{"queue":"work","taskId":"` + other + `"}`, ask},
		{"a worker moves an item", puller, "queue:move", `{"queue":"work","taskId":"` + other + `"}`, ask},
		{
			"a worker pushes twice", puller, "queue:push", `{"queue":"work","taskId":"` + other + `"}`,
			"maestro queue list",
		},
		{"a session that is done starts an item", done, "queue:start", `{}`, "stop"},
		{"an ended session with another role's command", ended, "session:kill", `{"sessionId":"x"}`, "stop"},
		{"an ended session with a user's command", ended, "token:revoke", `{"name":"t"}`, "stop"},
		{"a session that has ended", ended, "task:create", `{"title":"T"}`, "stop"},
		{"a parent is completed first", s.lead, "task:complete", `{"taskId":"` + own + `"}`, "maestro task complete"},
		{"an orchestrator deletes", s.lead, "task:delete", `{"taskId":"` + below + `"}`, "maestro task block"},
		{
			"an orchestrator changes what another's worker does", s.lead, "task:update",
			`{"taskId":"` + own + `","title":"U"}`, "does not learn of this",
		},
		{
			"an orchestrator changes what its worker does", s.lead, "task:update",
			`{"taskId":"` + s.task + `","title":"U"}`, "maestro session message " + s.workerName,
		},
		{
			"a note that looks like a report", alone, "session:note", `{"type":"error","message":"m"}`,
			"maestro report error",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.keys++
			answer, err := s.try(c.by, c.id, c.body, fmt.Sprint("key ", s.keys))
			advice := answer.Warnings
			if err != nil {
				advice = []string{s.ProblemOf(c.by, err, CallName{}).Next}
				if c.by == ended && !strings.Contains(err.Error(), "has ended: the user killed it") {
					t.Errorf("a session that was killed is not told so first: %v", err)
				}
			}
			if !strings.Contains(strings.Join(advice, "\n"), c.want) {
				t.Errorf("%s is told %q, want %q", c.by.By, advice, c.want)
			}
			for _, text := range advice {
				if !s.follows(c.by, text) {
					t.Errorf("%s cannot follow: %s", c.by.By, text)
				}
			}
		})
	}
}

// follows reports whether a caller may run everything that a text tells it to run. It finds out by itself what a
// message needs.
func (s *stage) follows(c *Caller, text string) (follows bool) {
	if !mayRunAll(s.permits(c), text) {
		return false
	}
	follows = true
	for _, line := range strings.Split(text, "`maestro session message ")[1:] {
		to, _, _ := strings.Cut(line, " ")
		body := `{"sessionId":"` + to + `","text":"m"}`
		if to == "parent" {
			body = `{"text":"m"}`
		}
		dry := *c
		dry.Meta = Meta{}
		_, err := s.try(&dry, "session:message", body, fmt.Sprint("message ", s.keys))
		follows = follows && err == nil
	}
	return follows
}

// A session that said that it is done is told neither to wait nor to ask: it is over.
func TestNoWaitAfterTheEnd(t *testing.T) {
	s := newStage(t)
	other := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`)
	done := s.spawned(s.admin(), `,"taskIds":["`+other+`"]`)
	s.do(done, "report:needs-input", `{"message":"Which?"}`)
	for _, c := range []struct{ id, body string }{
		{"session:complete", `{}`},
		{"report:needs-input", `{"message":"Which?"}`},
		{"report:complete", `{"message":"m","taskIds":["` + other + `"]}`},
		{"report:complete", `{"message":"m"}`},
		{"session:message", `{"text":"m"}`},
		{"session:message", `{"sessionId":"` + s.workerName + `","text":"m"}`},
		{"session:kill", `{"sessionId":"` + s.workerName + `"}`},
	} {
		s.keys++
		answer, err := s.try(done, c.id, c.body, fmt.Sprint("key ", s.keys))
		advice := answer.Warnings
		if err != nil {
			advice = []string{s.ProblemOf(done, err, CallName{}).Next}
		}
		for _, text := range advice {
			if strings.Contains(text, "input wait") || strings.Contains(text, "needs-input") {
				t.Errorf("%s: %s", c.id, text)
			}
		}
	}
}

// What advice lets its reader do to a session is what the commands accept.
func TestAdviceAsksTheDecisions(t *testing.T) {
	s := newStage(t)
	begin := func(by *Caller, fields string) *Caller {
		t.Helper()
		c := s.spawned(by, fields)
		s.do(c, "session:register", `{}`)
		return c
	}
	task := func() string { return s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`) }
	own, other := task(), task()
	alone := begin(s.admin(), `,"taskIds":["`+own+`"]`)
	done := begin(s.lead, `,"taskIds":["`+s.task+`"]`)
	s.do(done, "session:complete", `{}`)
	ended := begin(s.lead, `,"taskIds":["`+s.task+`"]`)
	s.do(s.admin(), "session:kill", `{"sessionId":"`+ended.By.Name+`"}`)
	full := map[string]string{ // what each command needs beside the session
		"kill": "", "complete": "", "register": "", "update": `,"name":"N"`, "message": `,"text":"m"`,
		"unlink": `,"taskId":"` + other + `"`, "delete": "",
	}
	callers := map[string]*Caller{
		"admin": s.admin(), "lead": s.lead, "alone": alone, "done": done, "ended": ended,
	}
	accepted := 0
	for name, by := range callers {
		for _, to := range []string{s.lead.By.Name, alone.By.Name, done.By.Name, ended.By.Name, s.workerName} {
			for verb, more := range full {
				s.keys++
				caller := *by
				caller.Meta = Meta{Key: fmt.Sprint("dry ", s.keys)}
				body := `{"sessionId":"` + to + `"` + more + `}`
				_, err := s.Do(s.Context(), &caller, Call{
					ID:      "session:" + verb,
					Length:  int64(len(body)),
					Body:    func() ([]byte, error) { return []byte(body), nil },
					Drop:    func() {},
					Options: Options{DryRun: true},
				})
				var may bool
				s.Handler.View(func(state *projections.State) { may = s.At(state, by).mayDoTo(verb, to) })
				if may != (err == nil) {
					t.Errorf("%s may %s %s, as advice has it: %t; the command: %v", name, verb, to, may, err)
				}
				if err == nil {
					accepted++
				}
			}
		}
	}
	if accepted < 20 {
		t.Errorf("only %d commands are accepted", accepted)
	}
}
