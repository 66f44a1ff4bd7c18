package service

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// whoami returns what a session is told about itself, and checks that it may use every command that it is told to run.
func (s *stage) whoami(c *Caller) wire.Whoami {
	s.Helper()
	var body wire.Whoami
	if err := s.Look(s.Context(), c, func(v View) (err error) {
		body, err = v.GetWhoami()
		return err
	}); err != nil {
		s.Fatal(err)
	}
	if body.Ended == "" && !mayRunAll(s.permits(c), body.Next) {
		s.Errorf("%s is told to run a command that it may not use: %s", c.By, body.Next)
	}
	return body
}

// spawned returns the caller of a session that is spawned with these fields.
func (s *stage) spawned(by *Caller, fields string) *Caller {
	s.Helper()
	return s.caller(s.do(by, "session:spawn", `{"project":"`+s.alpha+`"`+fields+`}`).Token)
}

// system executes a command of a passed deadline.
func (s *stage) system(command commands.Command) {
	s.Helper()
	s.keys++
	request := engine.Request{By: commands.System(), Command: command, Key: fmt.Sprint("key ", s.keys)}
	if _, err := s.Handler.Do(s.Context(), request); err != nil {
		s.Fatal(err)
	}
}

// A session is told its tasks, and at each step what is next.
func TestWhoamiSaysWhatIsNext(t *testing.T) {
	s := newStage(t)
	other := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"U"}`)
	tasks := fmt.Sprintf(`,"taskIds":[%q,%q]`, s.task, other)
	worker := s.spawned(s.lead, tasks)
	next := func(c *Caller, want string) wire.Whoami {
		t.Helper()
		body := s.whoami(c)
		if body.Next != want {
			t.Errorf("%s is told: %s\nwant: %s", c.By, body.Next, want)
		}
		return body
	}
	report := func(task string) string {
		return "work on " + task + ", then `maestro report complete \"<summary>\" --task " + task + "`"
	}
	s.do(worker, "session:register", `{}`)
	next(worker, report(s.task))
	s.do(worker, "report:complete", `{"message":"m","taskIds":["`+s.task+`"]}`)
	body := next(worker, report(other))
	if len(body.Tasks) != 2 || body.Tasks[0].ID != s.task || body.Tasks[0].Says != "completed" ||
		body.Tasks[0].Status != "in_progress" || body.Tasks[1].Title != "U" || body.SpawnedBy != s.leadName ||
		body.ProjectName != "Alpha" || body.Status != "running" {
		t.Errorf("whoami says %+v", body)
	}
	s.do(worker, "report:needs-input", `{"message":"Which?"}`)
	next(worker, "your question is open: `maestro input wait` waits for the answer")
	s.do(worker, "report:complete", `{"message":"m","taskIds":["`+other+`"]}`)
	s.do(s.admin(), "session:kill", `{"sessionId":"`+worker.By.Name+`","reason":"wrong plan"}`)
	body = next(worker, "stop: nothing that you do is accepted any more")
	if !regexp.MustCompile(`^the user killed it at \S+: wrong plan$`).MatchString(body.Ended) {
		t.Errorf("its end: %s", body.Ended)
	}

	done := s.spawned(s.lead, tasks)
	s.do(done, "session:register", `{}`)
	for _, task := range []string{s.task, other} {
		s.do(done, "report:complete", `{"message":"m","taskIds":["`+task+`"]}`)
	}
	next(done, "everything is reported: end with `maestro session complete`")
	s.do(done, "session:complete", `{}`)
	next(done, "stop: you reported that you are done")
	s.do(s.lead, "session:kill", `{"sessionId":"`+done.By.Name+`"}`)
	if body := s.whoami(done); !strings.HasPrefix(body.Ended, "session '"+s.leadName+"' killed it at ") {
		t.Errorf("its end: %s", body.Ended)
	}

	puller := s.spawned(s.admin(), tasks+`,"strategy":"queue"`)
	s.do(puller, "session:register", `{}`)
	next(puller, "`maestro queue start` takes the next item")
	s.do(puller, "queue:start", `{}`)
	body = next(puller, "work on "+s.task+", then `maestro queue complete --task "+s.task+"`")
	if len(body.Tasks) != 2 || !body.Tasks[0].Held || body.Tasks[1].Held || body.Queue == "" {
		t.Errorf("the held item is %+v", body)
	}
	s.do(s.admin(), "task:block", `{"taskId":"`+s.task+`"}`)
	next(puller, "task "+s.task+" is blocked: `maestro input wait` tells you when it is unblocked")
	s.do(s.admin(), "task:reopen", `{"taskId":"`+s.task+`"}`)
	s.system(&commands.LoseSession{SessionID: puller.By.Name, SilentFor: 60_000, Lease: 60_000})
	if body := s.whoami(puller); !strings.HasPrefix(body.Lost, "you have been lost since ") {
		t.Errorf("lost: %s", body.Lost)
	}
	s.system(&commands.RecoverSession{SessionID: puller.By.Name})
	if body := s.whoami(puller); !strings.HasPrefix(body.Lost, "you were lost, and heard again at ") {
		t.Errorf("heard again: %s", body.Lost)
	}
	if body := s.whoami(puller); strings.Contains(body.Lost, "another session's") {
		t.Errorf("it holds its item, and is told: %s", body.Lost)
	}
	s.do(puller, "queue:skip", `{}`)
	if body := s.whoami(puller); !strings.HasSuffix(body.Lost, "; an item that you held may be another session's now") {
		t.Errorf("it holds no item: %s", body.Lost)
	}

	listed := s.spawned(s.admin(), tasks+`,"allowedCommands":["whoami"]`)
	s.do(listed, "session:register", `{}`)
	next(listed, "work on "+s.task+", then `maestro session complete`")
	s.do(s.lead, "session:register", `{}`)
	next(s.lead, "nothing below "+s.task+" is open, and sessions of yours are at work: `maestro inbox --wait` waits "+
		"for what needs you; `maestro session list --mine --active` shows them; `maestro session kill <sessionId>` "+
		"ends one; `maestro status` shows what they report")
	goal := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"Goal"}`)
	lead := s.spawned(s.admin(), `,"taskIds":["`+goal+`"],"role":"orchestrator"`)
	s.do(lead, "session:register", `{}`)
	next(lead, "nothing is planned below "+goal+": `maestro task create \"<title>\" --parent "+goal+"` adds a task; "+
		"`maestro session spawn --task-ids <taskId>` gives one to a worker; `maestro status` shows the project")
	part := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"Part","parentId":"`+goal+`"}`)
	s.do(lead, "session:register", `{}`)
	doer := s.spawned(lead, `,"taskIds":["`+part+`"]`)
	s.do(doer, "session:register", `{}`)
	s.do(lead, "task:complete", `{"taskId":"`+part+`"}`)
	next(lead, "nothing below "+goal+" is open, and sessions of yours are at work: `maestro inbox --wait` waits for "+
		"what needs you; `maestro session list --mine --active` shows them; `maestro session kill <sessionId>` ends "+
		"one; `maestro status` shows what they report")
	s.do(s.admin(), "task:block", `{"taskId":"`+goal+`"}`)
	silent := s.spawned(s.admin(), `,"taskIds":["`+goal+`"],"role":"orchestrator"`)
	s.do(silent, "session:register", `{}`)
	next(silent, "task "+goal+" is blocked: `maestro input wait` tells you when it is unblocked; "+
		"`maestro inbox --wait` also returns for whatever else needs you")
	s.do(s.admin(), "task:reopen", `{"taskId":"`+goal+`"}`)
	s.do(s.admin(), "session:complete", `{"sessionId":"`+doer.By.Name+`"}`)
	next(doer, "stop: the user completed your session")
	next(lead, "everything below "+goal+" is done: check the task itself against its criteria, then `maestro report "+
		"complete \"<summary>\" --task "+goal+"`")
	asks := s.spawned(s.admin(), `,"taskIds":["`+goal+`"],"role":"orchestrator"`)
	s.do(asks, "session:register", `{}`)
	s.do(asks, "report:needs-input", `{"message":"Which?"}`)
	next(asks, "your question is open: `maestro input wait` waits for the answer; `maestro inbox --wait` also returns "+
		"for whatever else needs you")
	below := s.spawned(lead, `,"taskIds":["`+goal+`"]`)
	s.do(below, "session:register", `{}`)
	s.do(s.admin(), "task:update", `{"taskId":"`+goal+`","status":"cancelled"}`)
	next(below, "task "+goal+" is cancelled, so nobody needs work on it: end with `maestro session complete`")
	next(lead, "task "+goal+" is cancelled, so nobody needs work on it; `maestro session list --mine` shows the "+
		"sessions that go on, and `maestro session kill <sessionId>` ends one; then end with "+
		"`maestro session complete`")
	s.do(s.admin(), "session:kill", `{"sessionId":"`+below.By.Name+`"}`)
	next(lead, "task "+goal+" is cancelled, so nobody needs work on it: end with `maestro session complete`")
	next(s.admin(), "`maestro inbox` shows what needs you")
}

// A session is not sent back to work that has ended, and not to work that it said it cannot do.
func TestWhoamiSendsNobodyBackToWorkThatEnded(t *testing.T) {
	s := newStage(t)
	task := func() string { return s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`) }
	next := func(c *Caller, want string) {
		t.Helper()
		if body := s.whoami(c); body.Next != want {
			t.Errorf("%s is told: %s\nwant: %s", c.By, body.Next, want)
		}
	}
	say := func(c *Caller, kind, task string) {
		t.Helper()
		s.do(c, "report:"+kind, `{"message":"m","taskIds":["`+task+`"]}`)
	}
	begin := func(fields string) *Caller {
		t.Helper()
		c := s.spawned(s.admin(), fields)
		s.do(c, "session:register", `{}`)
		return c
	}

	one, two := task(), task()
	worker := begin(fmt.Sprintf(`,"taskIds":[%q,%q]`, one, two))
	say(worker, "blocked", one)
	next(worker, "work on "+two+", then `maestro report complete \"<summary>\" --task "+two+"`")
	say(worker, "error", two)
	goOn := func(task string) string {
		return "; `maestro report progress \"<message>\" --task " + task + "` says that you go on"
	}
	wait := ": `maestro input wait` tells you when it is unblocked"
	next(worker, "you said that "+one+" is blocked"+wait+goOn(one))
	s.do(s.admin(), "session:message", `{"sessionId":"`+worker.By.Name+`","text":"here","about":"`+one+`"}`)
	next(worker, "work on "+one+", then `maestro report complete \"<summary>\" --task "+one+"`")
	say(worker, "blocked", one)
	s.do(s.admin(), "task:block", `{"taskId":"`+one+`"}`)
	next(worker, "task "+one+" is blocked"+wait)
	s.do(s.admin(), "task:reopen", `{"taskId":"`+one+`"}`)
	next(worker, "work on "+one+", then `maestro report complete \"<summary>\" --task "+one+"`")
	say(worker, "complete", one)
	next(worker, "everything is reported: end with `maestro session complete`")

	whole := begin(fmt.Sprintf(`,"taskIds":[%q]`, task()))
	s.do(whole, "report:blocked", `{"message":"m"}`)
	next(whole, "you said that you cannot continue: `maestro input wait` waits until you hear that you can go on")
	s.do(s.admin(), "session:message", `{"sessionId":"`+whole.By.Name+`","text":"here"}`)
	if body := s.whoami(whole); !strings.HasPrefix(body.Next, "work on ") {
		t.Errorf("after an answer it is told: %s", body.Next)
	}

	deaf := begin(fmt.Sprintf(`,"taskIds":[%q],"allowedCommands":["report:blocked"]`, one))
	say(deaf, "blocked", one)
	next(deaf, "you said that "+one+" is blocked: go on once it is not, or end with `maestro session complete`")

	items := []string{task(), task(), task(), task(), task()}
	puller := begin(`,"strategy":"queue","taskIds":["` + strings.Join(items, `","`) + `"]`)
	step := func(before func(task string), want, after string) {
		t.Helper()
		s.do(puller, "queue:start", `{}`)
		before(items[0])
		next(puller, strings.ReplaceAll(want, "TASK", items[0]))
		s.do(puller, after, `{}`)
		items = items[1:]
	}
	step(func(task string) { s.do(s.admin(), "task:complete", `{"taskId":"`+task+`"}`) },
		"task TASK is completed already: `maestro queue complete --task TASK` completes its item", "queue:complete")
	step(func(task string) { s.do(s.admin(), "task:update", `{"taskId":"`+task+`","status":"cancelled"}`) },
		"task TASK is cancelled: `maestro queue skip --task TASK` skips its item", "queue:skip")
	step(func(task string) { s.do(s.admin(), "task:delete", `{"taskId":"`+task+`","force":true}`) },
		"task TASK was deleted: `maestro queue skip --task TASK` skips its item", "queue:skip")
	step(func(task string) { say(puller, "blocked", task) },
		"you said that TASK is blocked"+wait+goOn("TASK"), "queue:skip")
	step(func(task string) { say(puller, "error", task) },
		"you said that TASK failed: `maestro queue fail \"<reason>\" --task TASK` fails its item", "queue:fail")
	next(puller, "the queue is finished: end with `maestro session complete`")
}

// A session that holds an item finishes it before it ends, if it can tell the truth about it.
func TestWhoamiSaysWhatComesBeforeTheEnd(t *testing.T) {
	s := newStage(t)
	holder := func(fields string) (c *Caller, task string) {
		t.Helper()
		task = s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`)
		c = s.spawned(s.admin(), `,"strategy":"queue","taskIds":["`+task+`"]`+fields)
		s.do(c, "session:register", `{}`)
		s.do(c, "queue:start", `{}`)
		return c, task
	}
	whole, task := holder("")
	want := "finish the item of task " + task + ": `maestro queue complete --task " + task + "` completes it, " +
		"`maestro queue fail \"<reason>\" --task " + task + "` fails it, " +
		"`maestro queue skip --task " + task + "` skips it"
	if got := s.whoami(whole).BeforeEnd; got != want {
		t.Errorf("before its end: %s", got)
	}
	s.do(whole, "session:complete", `{}`)
	want = "you reported that you are done, and still hold task " + task +
		": `maestro queue complete --task " + task + "` completes its item"
	if got := s.whoami(whole).Next; got != want {
		t.Errorf("after its end: %s", got)
	}
	s.do(whole, "queue:complete", `{}`)
	if got := s.whoami(whole).Next; got != "stop: you reported that you are done" {
		t.Errorf("after its end, without an item: %s", got)
	}

	again, task := holder("")
	s.do(again, "report:complete", `{"message":"m","taskIds":["`+task+`"]}`)
	s.do(again, "session:complete", `{}`)
	s.do(s.admin(), "task:reopen", `{"taskId":"`+task+`","reason":"Needs a test"}`)
	want = "task " + task + ", which you hold, was reopened after you reported that you are done: do what is " +
		"missing, then report it: `maestro queue complete --task " + task + "` completes its item"
	if got := s.whoami(again).Next; got != want {
		t.Errorf("after its task was reopened: %s", got)
	}

	sure, _ := holder(`,"allowedCommands":["queue:start","queue:complete"]`)
	if got := s.whoami(sure).BeforeEnd; got != "" {
		t.Errorf("one that can only complete the item: %s", got)
	}

	reporter, task := holder(`,"allowedCommands":["queue:start","report:complete"]`)
	s.do(reporter, "report:complete", `{"message":"m","taskIds":["`+task+`"]}`)
	want = "you said that " + task +
		" is done: `maestro session complete` ends your session, and the item returns to the queue"
	if got := s.whoami(reporter).Next; got != want {
		t.Errorf("one that cannot complete it: %s", got)
	}
}

// A tree worker is at its end only when the tasks below its own are reported too.
func TestWhoamiCountsTheTree(t *testing.T) {
	s := newStage(t)
	task := func(parent string) string {
		return s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T","parentId":"`+parent+`"}`)
	}
	kid, other := task(s.task), task(s.task)
	below := task(kid)
	s.do(s.admin(), "task:update", `{"taskId":"`+below+`","dependencies":["`+other+`"]}`)
	worker := s.spawned(s.admin(), `,"strategy":"tree","taskIds":["`+s.task+`"]`)
	s.do(worker, "session:register", `{}`)
	for _, step := range []struct{ count, task string }{
		{"3 tasks below yours are not reported yet: ", other},
		{"2 tasks below yours are not reported yet: ", below},
		{"1 task below yours is not reported yet: ", kid},
		{"", s.task},
	} {
		want := step.count + "work on " + step.task + ", then `maestro report complete \"<summary>\" --task " +
			step.task + "`"
		if next := s.whoami(worker).Next; next != want {
			t.Errorf("it is told: %s\nwant: %s", next, want)
		}
		s.do(worker, "report:complete", `{"message":"m","taskIds":["`+step.task+`"]}`)
	}
	if next := s.whoami(worker).Next; next != "everything is reported: end with `maestro session complete`" {
		t.Errorf("at its end it is told: %s", next)
	}
}

// A session with many tasks is told the first ones, and how many more there are.
func TestWhoamiNamesTheFirstTasks(t *testing.T) {
	s := newStage(t)
	ids := make([]string, ownTasksListed+3)
	for i := range ids {
		ids[i] = fmt.Sprintf("%q", s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`))
	}
	worker := s.spawned(s.admin(), `,"taskIds":[`+strings.Join(ids, ",")+`]`)
	if body := s.whoami(worker); len(body.Tasks) != ownTasksListed || body.TasksMore != 3 {
		t.Errorf("%d tasks and %d more", len(body.Tasks), body.TasksMore)
	}
}

// TestWhoamiNamesOnlyWhatItsReaderMayRun: whatever a session may use, its next step names only commands that it may
// run, and no orchestrator that may not confirm tasks is told to wait for what it would confirm.
func TestWhoamiNamesOnlyWhatItsReaderMayRun(t *testing.T) {
	s := newStage(t)
	for _, kind := range []struct {
		role     events.Role
		strategy events.Strategy
	}{
		{events.RoleWorker, events.StrategySimple},
		{events.RoleWorker, events.StrategyTree},
		{events.RoleWorker, events.StrategyQueue},
		{events.RoleOrchestrator, events.StrategyDefault},
	} {
		all := commands.CurrentRules().Defaults(commands.RoleSetOf(kind.role, kind.strategy))
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 0))
			some := []string{"whoami"}
			for _, id := range all {
				if r.IntN(4) == 0 {
					some = append(some, id)
				}
			}
			allowed, err := json.Marshal(some)
			if err != nil {
				t.Fatal(err)
			}
			task := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`)
			c := s.caller(s.do(s.admin(), "session:spawn", fmt.Sprintf(
				`{"project":%q,"role":%q,"strategy":%q,"taskIds":[%q],"allowedCommands":%s}`,
				s.alpha, kind.role, kind.strategy, task, allowed)).Token)
			s.do(c, "session:register", `{}`)
			next := s.whoami(c).Next
			s.Handler.View(func(state *projections.State) {
				v := s.At(state, c)
				if next == "" || !v.mayFollow(next) {
					t.Errorf("%s %s with %v is told: %s", kind.role, kind.strategy, some, next)
				}
				if strings.Contains(next, "waits to be confirmed") && !v.mayUse("task:complete") {
					t.Errorf("%s with %v may confirm nothing: %s", kind.role, some, next)
				}
			})
		}
	}
}
