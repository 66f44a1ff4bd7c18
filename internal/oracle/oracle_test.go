package oracle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// noFault fails the test if the story has one.
func noFault(t *testing.T, s *story) {
	t.Helper()
	v := s.verdict()
	for _, f := range v.Faults {
		t.Errorf("sequence %d, rule %s: %s\n%s", f.Sequence, f.Rule, f.What, s.bodies[f.Sequence-1])
	}
	if n := uint64(len(s.lines)); v.Events != n || v.Judged != n {
		t.Errorf("%d events were read and %d judged, of %d", v.Events, v.Judged, n)
	}
}

// A long story without a fault. It has every type of event.
func TestGoodStory(t *testing.T) {
	s := base(t)
	workStory(s)
	orchestratorStory(s)
	queueStory(s)
	namedQueueStory(s)
	manifestsStory(s)
	endsStory(s)
	tokensStory(s)
	templatesStory(s)
	webhooksStory(s)
	runsStory(s)
	noFault(t, s)

	told := map[string]bool{}
	for _, body := range s.bodies {
		var e event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		told[e.Type] = true
	}
	for name := range known {
		if !told[name] {
			t.Errorf("the story has no %s", name)
		}
	}
}

// workStory: a worker reports, asks, and is answered.
func workStory(s *story) {
	s.add(work, "session.registered", `{"sessionId":"work"}`)
	s.report(work, "progress", `,"taskIds":["b","d"]`)
	s.add(
		work,
		"task.created",
		`{"taskId":"own","title":"Found on the way","priority":"low","parentId":"a","dependencies":["d"]}`,
	)
	s.report(work, "blocked", `,"taskIds":["own"]`)
	s.report(work, "error", "")
	s.report(work, "needs-input", `,"taskIds":["b"],"inputId":"i1","options":["yes","no"]`)
	asked := s.last
	s.add(
		orch,
		"input.answered",
		`{"inputId":"i1","sessionId":"work","taskIds":["b"],"answer":"perhaps","other":true}`,
		s.because(asked),
	)
	s.add(work, "input.delivered", `{"inputId":"i1","sessionId":"work"}`, s.because(s.last))
	s.add(work, "session.messaged", `{"sessionId":"orch","messageId":"m1","text":"Which branch?","about":"b"}`)
	s.add(orch, "session.messaged", `{"sessionId":"work","messageId":"m2","text":"main"}`)
	s.add(work, "input.delivered", `{"inputId":"m2","sessionId":"work"}`, s.because(s.last))
	s.add(admin, "session.messaged", `{"sessionId":"work","messageId":"m3","text":"Hurry"}`)
	s.report(work, "needs-input", `,"inputId":"i2","options":["yes","no"]`)
	s.add(admin, "input.answered", `{"inputId":"i2","sessionId":"work","answer":"no"}`, s.because(s.last))
	s.report(work, "needs-input", ``)
	s.add(work, "session.file_tracked", `{"sessionId":"work","file":"main.go"}`)
	s.add(work, "session.noted", `{"sessionId":"work","type":"milestone","message":"half-way"}`)
	s.report(work, "complete", `,"taskIds":["b"]`)
	s.report(work, "complete", `,"sessionCompleted":true`)
	s.report(work, "progress", `,"taskIds":["b"],"afterDone":true`)
	s.report(work, "complete", `,"taskIds":["b"]`)
}

// orchestratorStory: an orchestrator decides, reopens, spawns another, and creates a project of its own.
func orchestratorStory(s *story) {
	s.status(orch, "b", "in_progress", "completed")
	s.reopen(orch, "b", "completed", "m1")
	reopened := s.last
	s.status(orch, "b", "in_progress", "blocked")
	s.add(
		orch,
		"task.updated",
		`{"taskId":"b","title":"B","status":{"from":"blocked","to":"in_progress"},"dependencies":["free"],`+
			`"notice":{"mailId":"m2","sessionIds":["work"]}}`,
	)
	s.add(work, "input.delivered", `{"inputId":"m1","sessionId":"work"}`, s.because(reopened))
	s.cancel(admin, "own", "todo")
	s.add(orch, "session.updated", `{"sessionId":"work","status":"working","taskIds":["b","a"]}`)
	s.report(orch, "progress", `,"taskIds":["f"]`)
	s.add(orch, "project.created", `{"projectId":"p3","name":"Three"}`, with("partitionkey", "p3"))
	s.add(orch, "task.created", `{"taskId":"t3","title":"In three","priority":"low"}`, with("partitionkey", "p3"))
	s.add(
		orch,
		"session.spawned",
		`{"sessionId":"far","name":"far","role":"worker","strategy":"tree","taskIds":["t3"],"started":["t3"],`+
			`"spawnedBy":"orch",`+only("T", "task:tree", "report:progress", "session:list")+`}`,
		with("partitionkey", "p3"),
	)
	s.add(
		"/projects/p3/sessions/far",
		"session.reported",
		`{"sessionId":"far","kind":"progress","taskIds":["t3"]}`,
		with("partitionkey", "p3"),
	)
	s.add(
		orch,
		"session.spawned",
		`{"sessionId":"orch2","name":"o","role":"orchestrator","strategy":"dag","spawnedBy":"orch",`+
			only("O", "task:create", "session:kill", "session:spawn")+`}`,
	)
	// by the user for the orchestrator
	s.spawn("for", `"role":"worker","strategy":"simple","spawnedBy":"orch",`+only("W", "since", "report:progress"))
	s.add(orch, "session.killed", `{"sessionId":"for","status":"failed"}`)
	s.add(source("orch2"), "session.spawned", `{"sessionId":"low","name":"low","role":"worker","strategy":"simple",`+
		`"spawnedBy":"orch2",`+only("W")+`}`)
	s.add(orch, "session.killed", `{"sessionId":"low","status":"stopped"}`)
	s.add(orch, "session.killed", `{"sessionId":"far","status":"failed"}`, with("partitionkey", "p3"))
	s.add(admin, "session.deleted", `{"sessionId":"far"}`, with("partitionkey", "p3"))
	s.add(admin, "task.deleted", `{"taskId":"t3"}`, with("partitionkey", "p3"))
	s.add(orch, "project.deleted", `{"projectId":"p3"}`, with("partitionkey", "p3"))
}

// manifestsStory: sessions start with their latest manifest, each in its own role.
func manifestsStory(s *story) {
	first, second := `"manifestDigest":"sha256-`+strings.Repeat(
		"1",
		64,
	)+`"`, `"manifestDigest":"sha256-`+strings.Repeat(
		"2",
		64,
	)+`"`
	s.spawn("m1", `"role":"orchestrator","strategy":"dag",`+first+`,`+byDefault("O"))
	s.add(source("m1"), "session.registered", `{"sessionId":"m1","role":"orchestrator",`+first+`}`)
	s.add(
		source("m1"),
		"session.spawned",
		`{"sessionId":"m2","name":"m2","role":"worker","strategy":"tree","spawnedBy":"m1",`+first+`,`+byDefault(
			"T",
		)+`}`,
	)
	s.add(source("m1"), "session.updated", `{"sessionId":"m2",`+second+`}`)
	s.add(source("m2"), "session.registered", `{"sessionId":"m2","role":"worker",`+second+`}`)
	s.add(
		admin,
		"session.registered",
		`{"sessionId":"m3","created":{"role":"worker","strategy":"simple","status":"idle",`+only("W")+`},`+first+`}`,
	)
	s.add(source("m3"), "session.registered", `{"sessionId":"m3","role":"worker",`+first+`}`)
	s.add(admin, "session.updated", `{"sessionId":"work",`+second+`}`)
	for _, id := range []string{"m1", "m2", "m3"} {
		s.kill(id)
	}
}

// queueStory: items in order; one fails, is requeued and skipped, and one waits for its dependency.
func queueStory(s *story) {
	s.start(pull, "pull", "e", 1, 1) // c waits for b
	s.item(pull, "completed", "pull", "e", "pull", "")
	s.start(pull, "pull", "f", 1, 1)
	s.item(pull, "failed", "pull", "f", "pull", `,"reason":"no key"`)
	s.item(pull, "skipped", "pull", "g", "pull", "") // the next one, not held
	s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"f"}`)
	s.add(pull, "queue.item_pushed", `{"queue":"pull","taskId":"d"}`)
	s.start(pull, "pull", "f", 1, 1)
	s.item(pull, "skipped", "pull", "f", "pull", `,"held":true`)
	s.status(admin, "b", "in_progress", "completed")
	s.add(
		admin,
		"queue.item_started",
		`{"queue":"pull","taskId":"c","sessionId":"pull","attempt":1}`,
	) // by the user for the session
}

// namedQueueStory: several sessions pull from one queue that trusts reports; the items of lost and ended ones return.
func namedQueueStory(s *story) {
	s.add(admin, "queue.created", `{"queue":"pool","trustReports":true,"maxAttempts":2}`)
	for _, id := range []string{"q1", "q2", "q3"} {
		s.task(id, "")
		s.add(admin, "queue.item_pushed", `{"queue":"pool","taskId":"`+id+`"}`)
	}
	s.task("q4", `,"dependencies":["q3"]`)
	s.spawn(
		"h1",
		`"role":"worker","strategy":"queue","queue":"pool","taskIds":["q2","q4"],"queued":["q4"],`+
			`"unmetDependencies":["q3"],`+byDefault("Q"),
	)
	s.puller("h2", "pool").puller("h3", "pool")
	s.start(source("h1"), "pool", "q1", 1, 0).start(source("h2"), "pool", "q2", 1, 0)
	s.lose("h2").item(system, "returned", "pool", "q2", "h2", `,"attempt":1,"reason":"lost"`)
	s.kill("h1").item(system, "returned", "pool", "q1", "h1", `,"attempt":1,"reason":"stopped"`)
	s.start(source("h3"), "pool", "q1", 2, 0) // returned later, but pushed earlier
	s.add(system, "session.recovered", `{"sessionId":"h2"}`, with("authn", nil))
	s.start(source("h2"), "pool", "q2", 2, 0)
	s.item(source("h2"), "completed", "pool", "q2", "h2", "")
	s.add(admin, "session.deleted", `{"sessionId":"h3"}`)
	s.item(system, "quarantined", "pool", "q1", "h3", `,"attempt":2,"reason":"deleted"`)
	s.start(source("h2"), "pool", "q3", 1, 0)
	s.item(source("h2"), "completed", "pool", "q3", "h2", "")
	s.start(source("h2"), "pool", "q4", 1, 0) // its holder reported q3 as done
	s.item(source("h2"), "skipped", "pool", "q4", "h2", `,"held":true`)
	s.task("q5", "").add(admin, "queue.item_pushed", `{"queue":"pool","taskId":"q5"}`)
	s.add(admin, "task.deleted", `{"taskId":"q5"}`)
	s.add(admin, "queue.item_requeued", `{"queue":"pool","taskId":"q1"}`)
	s.start(source("h2"), "pool", "q1", 1, 0)
	changedQueueStory(s)
}

// changedQueueStory: items move and are removed, and the queue is deleted and created again.
func changedQueueStory(s *story) {
	s.add(admin, "queue.created", `{"queue":"moved","maxAttempts":3}`)
	for _, id := range []string{"m1", "m2", "m3"} {
		s.task(id, "")
		s.add(admin, "queue.item_pushed", `{"queue":"moved","taskId":"`+id+`"}`)
	}
	s.add(admin, "queue.item_moved", `{"queue":"moved","taskId":"m3","before":"m1"}`)
	s.add(admin, "queue.item_moved", `{"queue":"moved","taskId":"m1"}`)
	s.puller("h4", "moved").start(source("h4"), "moved", "m3", 1, 0)
	s.item(source("h4"), "completed", "moved", "m3", "h4", "")
	s.add(admin, "queue.item_removed", `{"queue":"moved","taskId":"m2"}`)
	s.start(source("h4"), "moved", "m1", 1, 0)
	s.item(source("h4"), "failed", "moved", "m1", "h4", "")
	s.add(admin, "queue.deleted", `{"queue":"moved"}`)
	s.add(admin, "queue.created", `{"queue":"moved","maxAttempts":3}`)
	s.add(admin, "queue.item_pushed", `{"queue":"moved","taskId":"m1"}`)
	s.start(source("h4"), "moved", "m1", 1, 0)
}

// A session that skips the item that it holds loses its report on the task. A session that skips the next item in line,
// without holding it, keeps its report.
func TestSkipWithoutHoldingKeepsReport(t *testing.T) {
	s := base(t)
	s.add(admin, "queue.created", `{"queue":"pool","trustReports":true,"maxAttempts":2}`)
	s.task("q1", "").task("q2", `,"dependencies":["q1"]`)
	s.spawn("h1", `"role":"worker","strategy":"queue","queue":"pool","taskIds":["q1","q2"],"queued":["q1","q2"],`+
		`"unmetDependencies":[],`+byDefault("Q"))
	s.report(source("h1"), "complete", `,"taskIds":["q1"]`)
	s.item(source("h1"), "skipped", "pool", "q1", "h1", "")
	s.start(source("h1"), "pool", "q2", 1, 0)
	noFault(t, s)
}

// endsStory: a session times out, and its later reports are late.
func endsStory(s *story) {
	s.wait(time.Hour)
	s.add(system, "session.timed_out", fmt.Sprintf(`{"sessionId":"pull","deadline":%d}`, s.deadline("pull", time.Hour)))
	s.item(system, "returned", "pull", "c", "pull", `,"attempt":1,"reason":"failed"`)
	s.late(pull, 10*time.Second, "complete", `,"taskIds":["c"]`)
	s.late(pull, 10*time.Second, "needs-input", ``)
	s.add(
		admin,
		"session.registered",
		`{"sessionId":"hand","created":{"name":"hand","role":"worker","strategy":"simple","status":"running",`+
			`"taskIds":["free"],`+byDefault("W")+`}}`,
	)
	s.add(admin, "session.task_linked", `{"sessionId":"hand","taskId":"d"}`)
	s.add(admin, "session.task_unlinked", `{"sessionId":"hand","taskId":"d"}`)
	s.add(source("hand"), "session.completed", `{"sessionId":"hand"}`)
	s.add(admin, "task.deleted", `{"taskId":"b","recursive":true,"descendants":["d"]}`)
	s.add(admin, "project.updated", `{"projectId":"p1","name":"Uno"}`)
}

func tokensStory(s *story) {
	s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":1}`)
	s.add("/users/eve", "token.created", `{"name":"ci","kind":"read-only","projectIds":["p1"],"generation":1}`)
	s.add(admin, "token.revoked", `{"name":"eve","generation":1}`)
	s.add(admin, "token.revoked", `{"name":"eve","generation":1,"children":["ci"]}`)
	s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":2}`)
	s.add(system, "token.used", `{"name":"admin","address":"192.0.2.1"}`)
	s.add(system, "token.used", `{"name":"eve","generation":2,"address":"192.0.2.1"}`)
	s.add(system, "token.used", fmt.Sprintf(`{"name":"eve","generation":2,"address":"127.0.0.1","loginUntil":%d}`,
		int64(4e12)))
	s.add(admin, "text.redacted", `{"text":"sha256-`+strings.Repeat("a", 64)+`","reason":"it held a password"}`)
	s.add("/users/eve", "token.revoked", `{"sessionId":"work","generation":2}`, with("partitionkey", "p1"))
	s.add("/users/eve", "task.created", `{"taskId":"last","title":"Last","priority":"low"}`)
}

// webhooksStory: one fails, is parked, moves and is resumed; another is deleted.
func webhooksStory(s *story) {
	s.add(admin, "webhook.created", `{"webhookId":"hook","name":"Chat","url":"https://example.org:8443/in?to=all",`+
		`"projectId":"p1","types":["task","session.lost"],"generation":1}`)
	s.add(admin, "webhook.created", `{"webhookId":"spare","url":"http://10.0.0.1/","generation":1}`)
	s.wait(time.Hour)
	s.add(system, "webhook.parked", `{"webhookId":"hook","why":"failing","failures":5,"failingFor":3600000,`+
		`"patience":3600000,"problem":"it answered 500"}`)
	s.add(admin, "webhook.updated", `{"webhookId":"hook","url":"https://example.org/moved","types":[],"generation":2}`)
	s.add(admin, "webhook.resumed", `{"webhookId":"hook"}`)
	s.add(admin, "webhook.resumed", `{"webhookId":"hook","skipped":true}`)
	s.add(system, "webhook.parked", `{"webhookId":"hook","why":"gone","failures":1}`)
	s.add(system, "webhook.parked", `{"webhookId":"spare","why":"position unknown"}`)
	s.add("/users/eve", "webhook.deleted", `{"webhookId":"spare"}`)
}

// templatesStory: one is created and deleted; a built-in one is changed and reset, more than once.
func templatesStory(s *story) {
	s.add(admin, "template.created", `{"templateId":"mine","name":"Mine","role":"worker","content":"Do it."}`)
	s.add("/users/eve", "template.updated", `{"templateId":"mine","name":"Ours","content":"Do more."}`)
	s.add(admin, "template.updated", `{"templateId":"execute-tree","name":"Climb"}`)
	for range 2 {
		s.add(admin, "template.updated", `{"templateId":"execute-tree","content":"Climb."}`)
		s.add(admin, "template.reset", `{"templateId":"execute-tree"}`)
	}
	s.add(admin, "template.reset", `{"templateId":"mine"}`)
	s.add(admin, "template.deleted", `{"templateId":"mine"}`)
}

// deadline returns the time at which a session times out.
func (s *story) deadline(session string, timeout time.Duration) int64 {
	for _, body := range s.bodies {
		var e event
		if err := json.Unmarshal(body, &e); err != nil {
			s.t.Fatal(err)
		}
		if e.ID == s.births[session] {
			return e.Time.Add(timeout).UnixMilli()
		}
	}
	s.t.Fatalf("no session %s", session)
	return 0
}

// By the second rules, a late report has no time, and an orchestrator may give a worker more commands than it has.
func TestSecondRules(t *testing.T) {
	s := base(t).allBy("2")
	s.spawn("for", `"role":"worker","strategy":"simple","spawnedBy":"orch",`+only("W", "since", "report:progress"))
	s.add(orch, "session.killed", `{"sessionId":"for","status":"failed"}`)
	s.report(source("for"), "progress", `,"late":true`)
	s.add(orch, "session.spawned", `{"sessionId":"orch2","name":"o","role":"orchestrator","strategy":"dag",`+
		`"spawnedBy":"orch",`+only("O", "task:create", "session:kill", "session:spawn")+`}`)
	s.add(source("orch2"), "session.spawned", `{"sessionId":"low","name":"low","role":"worker","strategy":"simple",`+
		`"spawnedBy":"orch2",`+formerDefault("W")+`}`)
	s.by("7").add(orch, "session.killed", `{"sessionId":"low","status":"stopped"}`)
	noFault(t, s)
}

// By the first rules, a session with the queue strategy has no queue.
func TestFirstRules(t *testing.T) {
	s := newStory(t)
	s.add(admin, "project.created", `{"projectId":"p1","name":"Old"}`, with("rules", "1"))
	s.spawn("old", `"role":"worker","strategy":"queue",`+formerDefault("Q"), with("rules", "1"))
	if v := s.verdict(); len(v.Faults) > 0 || v.Judged != 2 {
		t.Errorf("%+v", v)
	}
}

func TestWithheldBodiesEndTheVerdict(t *testing.T) {
	s := base(t)
	s.withhold(2)
	s.report(work, "progress", `,"taskIds":["e"]`) // a withheld event may have given it the task
	v := s.verdict()
	if n := uint64(len(s.lines)); v.Events != n || v.Judged != 1 || v.Withheld != 1 || len(v.Faults) != 0 {
		t.Errorf("%+v", v)
	}
	s.add(system, "task.deleted", `{"taskId":"a"}`)
	s.add(admin, "task.deleted", `{"taskId":"a"}`, with("prevhash", strings.Repeat("00", 32)))
	var found []string
	for _, f := range s.verdict().Faults {
		found = append(found, f.Rule)
	}
	if !slices.Equal(found, []string{ruleSystem, ruleChain, ruleChain}) &&
		!slices.Equal(found, []string{ruleSystem, ruleChain}) {
		t.Errorf("%q", found)
	}
}

func TestUnreadableLines(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":          `{`,
		"unknown member":   `{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `","event":{},"more":1}`,
		"member twice":     `{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `","event":{},"event":{}}`,
		"member as TWICE":  `{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `","event":{},"EVENT":{}}`,
		"no body":          `{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `"}`,
		"no hash":          `{"sequence":1,"event":{}}`,
		"short hash":       `{"sequence":1,"hash":"00","event":{}}`,
		"two objects":      `{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `","event":{}}{}`,
		"body is no event": `{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `","raw":"AAAA"}`,
		"half of a hash": `{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `","bodyhash":"` + strings.Repeat("0",
			64) + `"}`,
		"event with no one": `{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `","event":{"prevhash":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			j := New()
			if err := j.Line([]byte(text)); err == nil {
				t.Fatalf("no error, and %+v", j.Verdict())
			}
			if err := j.Line(base(t).export()); err == nil {
				t.Error("the line after it was read")
			}
		})
	}
}

func TestAtMostAHundredFaults(t *testing.T) {
	s := base(t)
	for range 2 * MaxFaults {
		s.add(work, "task.deleted", `{"taskId":"nobody"}`)
	}
	if v := s.verdict(); len(v.Faults) != MaxFaults || v.Judged != uint64(len(s.lines)) {
		t.Errorf("%d faults, %d judged", len(v.Faults), v.Judged)
	}
}

// The table is transcribed by hand. Without the documents, the test can only check that it agrees with itself.
func TestTableAgreesWithItself(t *testing.T) {
	for _, letter := range []string{"W", "Q", "T", "O"} {
		for _, id := range slices.Concat(defaultList(letter), coreList(letter)) {
			if !mayUse(id, letter) || !mayList(id, letter) {
				t.Errorf("%s is in the list of %s, but its row does not name that letter", id, letter)
			}
		}
		for _, r := range table {
			if mayUse(r.id, letter) && !strings.HasPrefix(r.id, "task:report:") &&
				slices.Contains(defaultList(letter), r.id) == slices.Contains(planned, r.id) {
				t.Errorf("the row of %s names %s, but its list lacks it, or the command is planned", r.id, letter)
			}
		}
	}
	for name, blank := range known {
		for _, id := range blank().commands() {
			if r := rowOf[id]; name != "maestro."+r.event+".v1" && id != "report:" {
				t.Errorf("%s comes from %q, but the row of that command says that it becomes %q", name, id, r.event)
			}
		}
	}
	if len(rowOf) != len(table) {
		t.Error("a command has two rows")
	}
}

func TestVerdictAsJSON(t *testing.T) {
	text, err := json.Marshal(base(t).verdict())
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"events": 14., "judged": 14., "withheld": 0., "faults": []any{}}
	if !reflect.DeepEqual(members, want) {
		t.Errorf("got %s", text)
	}
}
