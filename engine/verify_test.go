package engine

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// everything returns a world whose log has many types of events. The decision tables test each command by itself.
func everything(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.make(
		"small", "admin", "session:spawn",
		`{"project":"{p}","role":"orchestrator","taskIds":["{t3}"],"allowedCommands":["session:spawn"]}`,
	)
	w.must("small", "session:spawn", `{"role":"orchestrator","taskIds":["{t3}"]}`)
	long := strings.Repeat("long ", events.MaxText/5+1)
	for _, s := range []step{
		{"admin", "project:update", `{"projectId":"{p}","description":"` + long + `"}`},
		{"admin", "task:create", `{"project":"{p}","title":"T","description":"` + long + `","initialPrompt":"` + long +
			`","dependencies":["{t1}","{t1}"],"metadata":{"a": 1}}`},
		{"o", "task:update", `{"taskId":"{t1}","title":" U ","dependencies":[],"status":"blocked"}`},
		{"o", "task:update", `{"taskId":"{t1}","title":"V"}`},
		{"w", "session:register", `{}`},
		{
			"admin", "session:register",
			`{"project":"{p}","sessionId":"mine","role":"orchestrator","strategy":"dag","status":"idle",` +
				`"env":{"A":"1"},"metadata":{},"agentId":"a","allowedCommands":["task:get"]}`,
		},
		{"admin", "session:register", `{"project":"{p}"}`},
		{"o", "session:spawn", `{"role":"orchestrator","taskIds":["{t2}"],"allowedCommands":["session:spawn"]}`},
		{"o", "session:spawn", `{"taskIds":["{t4}"],"context":{"a":1},"skills":["s"],"force":true}`},
		{"o", "session:spawn", `{"name":"N","strategy":"queue","force":true,"model":"opus","agent":"codex"}`},
		{"admin", "session:spawn", `{"project":"{p}","strategy":"queue","manifestDigest":"sha256-` + strings.Repeat("1",
			64) + `"}`},
		{"admin", "session:spawn", `{"project":"{p}","taskIds":["{t2}"],"spawnedBy":"{o}"}`},
		{"admin>begun", "session:spawn", `{"project":"{p}","taskIds":["{t2}"],"manifestDigest":"` + someDigest + `"}`},
		{"begun", "worker:init", `{"manifestDigest":"` + someDigest + `"}`},
		{"admin>boss", "session:spawn", `{"project":"{p}","role":"orchestrator","taskIds":["{t2}"],"manifestDigest":"` +
			someDigest + `"}`},
		{"boss", "orchestrator:init", `{"manifestDigest":"` + someDigest + `"}`},
		{"admin", "session:register", `{"project":"{p}","sessionId":"handmade","manifestDigest":"` + someDigest + `"}`},
		{"admin", "session:update", `{"sessionId":"handmade","manifestDigest":"` + otherDigest + `"}`},
		{"w", "report:progress", `{"message":"` + long + `","taskIds":["{t1}"]}`},
		{"w", "report:blocked", `{"message":"m"}`},
		{"w", "task:report:error", `{"message":"m","taskIds":["{t1}","{t2}"]}`},
		{"w", "report:needs-input", `{"taskIds":["{t1}"]}`},
		{"w", "session:note", `{"message":"` + long + `"}`},
		{"w", "session:note", `{"data":{"a":[1, 2]}}`},
		{"w", "track-file", `{"file":"a.go","taskId":"{t1}"}`},
		{"w", "report:complete", `{"message":"m","taskIds":["{t1}"]}`},
		{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
		{"o", "task:reopen", `{"taskId":"{t1}","reason":"r"}`},
		{"o", "task:block", `{"taskId":"{t1}","reason":"r"}`},
		{"o", "session:update", `{"sessionId":"{w}","name":"N","status":"idle","taskIds":["{t1}"],"env":{"A":"1"}}`},
		{"admin", "session:link", `{"sessionId":"{w}","taskId":"{t2}"}`},
		{"admin", "session:unlink", `{"sessionId":"{w}","taskId":"{t2}"}`},
		{"v", "session:complete", `{}`},
		{"r", "report:complete", `{"message":"done"}`},
		{"o", "session:kill", `{"sessionId":"{w}","reason":"r"}`},
		{"w@1h", "report:error", `{"message":"late","taskIds":["{t1}"]}`},
		{"admin", "session:kill", `{"sessionId":"{k}","failed":true}`},
		{"admin", "session:delete", `{"sessionId":"{k}"}`},
		{"admin", "task:update", `{"taskId":"{t5}","status":"cancelled"}`},
		{"admin", "task:delete", `{"taskId":"{t1}","recursive":true}`},
		{"admin", "task:delete", `{"taskId":"{u1}"}`},
		{"admin", "project:delete", `{"projectId":"{q}"}`},
		{"o", "project:create", `{"name":"Mine"}`},
	} {
		w.change(s)
	}
	for _, s := range lines {
		w.change(s)
	}
	return w
}

const (
	someDigest  = "sha256-1111111111111111111111111111111111111111111111111111111111111111"
	otherDigest = "sha256-2222222222222222222222222222222222222222222222222222222222222222"
)

// lines are the steps of everything about queues, questions, tokens and time.
var lines = []step{
	{"admin", "queue:create", `{"project":"{p}","queue":"main","trustReports":true,"maxAttempts":2}`},
	{"admin", "queue:create", `{"project":"{p}","queue":"side"}`},
	{"admin>a", "session:spawn", `{"project":"{p}","strategy":"queue","queue":"main","taskIds":["{t3}"]}`},
	{"o>b", "session:spawn", `{"strategy":"queue","queue":"main"}`},
	{"o>c", "session:spawn", `{"strategy":"queue","taskIds":["{t3}"]}`},
	{"o>x1", "task:create", `{"title":"X1"}`},
	{"o>x2", "task:create", `{"title":"X2","dependencies":["{x1}"]}`},
	{"o>x3", "task:create", `{"title":"X3"}`},
	{"admin", "queue:push", `{"project":"{p}","queue":"main","taskId":"{x2}"}`},
	{"admin", "queue:push", `{"sessionId":"{a}","taskId":"{x1}"}`},
	{"b", "queue:push", `{"taskId":"{x3}"}`},
	{"c", "queue:push", `{"taskId":"{x3}"}`},
	{"admin", "queue:push", `{"project":"{p}","queue":"{c}","taskId":"{x1}"}`},
	{"a", "queue:start", `{}`},
	{"a", "queue:fail", `{"reason":"r"}`},
	{"admin", "queue:requeue", `{"queue":"main","taskId":"{t3}"}`},
	{"admin", "queue:start", `{"sessionId":"{a}"}`}, // x1, past x2
	{"b", "queue:start", `{}`},                      // x3
	{"b", "report:progress", `{"message":"m","taskIds":["{x3}"]}`},
	{"system", "session:lost", `{"sessionId":"{b}","silentFor":60000,"lease":60000}`},
	{"system", "queue:return", `{"project":"{p}","queue":"main","taskId":"{x3}"}`},
	{"system", "session:recovered", `{"sessionId":"{b}"}`},
	{"b", "queue:start", `{}`}, // x3, again
	{"o", "session:kill", `{"sessionId":"{b}"}`},
	{"system", "queue:quarantine", `{"project":"{p}","queue":"main","taskId":"{x3}"}`},
	{"admin", "queue:requeue", `{"queue":"main","taskId":"{x3}"}`},
	{"a", "queue:complete", `{}`},
	{"a", "queue:start", `{}`}, // x2, which waited for x1
	{"admin", "queue:complete", `{"sessionId":"{a}","taskId":"{x2}"}`},
	{"a", "queue:skip", `{}`},
	{"a", "queue:start", `{}`},
	{"admin", "session:delete", `{"sessionId":"{a}"}`},
	{"system", "queue:return", `{"project":"{p}","queue":"main","taskId":"{x3}"}`},
	{"admin", "queue:skip", `{"project":"{p}","queue":"main"}`},
	{"c", "queue:start", `{}`},
	{"c", "queue:skip", `{}`},
	{"admin", "queue:requeue", `{"queue":"{c}","taskId":"{t3}"}`},
	{"admin", "queue:start", `{"sessionId":"{c}"}`},
	{"admin", "queue:fail", `{"sessionId":"{c}"}`},
	{"admin", "queue:skip", `{"sessionId":"{c}"}`},
	{"c>i1", "report:needs-input", `{"message":"Which?","options":["a","b"],"taskIds":["{x3}"]}`},
	{"c>i2", "report:needs-input", `{"message":"` + strings.Repeat("long ", events.MaxText/5+1) + `"}`},
	{"o", "input:answer", `{"inputId":"{i1}","answer":"neither","other":true}`},
	{"admin", "input:answer", `{"inputId":"{i2}","answer":"so"}`},
	{"c", "input:received", `{"inputId":"{i1}"}`},
	{"c", "report:progress", `{"message":"on we go"}`},
	{"admin", "token:create", `{"name":"ci","kind":"admin"}`},
	{"token:ci", "token:create", `{"name":"eye","kind":"read-only","projectIds":["{p}"]}`},
	{"token:ci", "queue:push", `{"project":"{p}","queue":"side","taskId":"{x1}"}`},
	{"token:ci", "token:revoke", `{"name":"ci"}`},
	{"admin", "token:create", `{"name":"ci","kind":"auditor"}`},
	{"admin", "token:revoke", `{"sessionId":"{c}"}`},
	{"admin", "token:create", `{"name":"boss","kind":"admin","expiresIn":86400000}`},
	{"token:boss", "token:create", `{"name":"deputy","kind":"admin"}`},
	{"token:deputy", "token:create", `{"name":"clerk","kind":"auditor","expiresIn":1000}`},
	{"token:deputy", "token:create", `{"name":"temp","kind":"auditor"}`},
	{"admin", "token:revoke", `{"name":"deputy","keepChildren":true}`},
	{"admin", "token:create", `{"name":"deputy","kind":"admin"}`},
	{"token:boss", "token:create", `{"name":"second","kind":"admin"}`},
	{"token:second", "token:create", `{"name":"third","kind":"auditor"}`},
	{"admin", "token:revoke", `{"name":"boss"}`},
	{"admin>m1", "template:create", `{"name":"Mine","role":"worker","content":"Do it."}`},
	{"admin", "template:update", `{"templateId":"execute-tree","content":"Climb."}`},
	{"admin", "template:update", `{"templateId":"{m1}","name":"Ours"}`},
	{"admin", "template:reset", `{"templateId":"execute-tree"}`},
	{"admin", "template:delete", `{"templateId":"{m1}"}`},
	{"o>d", "session:spawn", `{"strategy":"queue","queue":"side","timeout":60000}`},
	{"o", "session:update", `{"sessionId":"{d}","status":"working"}`},
	{"d", "queue:start", `{}`},
	{"time", "", "61s"},
	{"system", "session:timed-out", `{"sessionId":"{d}"}`},
	{"system", "queue:return", `{"project":"{p}","queue":"side","taskId":"{x1}"}`},
}

// change takes a step that changes something.
func (w *world) change(s step) {
	w.t.Helper()
	before := w.log.head()
	w.take(s)
	if s[0] != "time" && w.log.head() != before+1 {
		w.t.Fatalf("%v changed nothing", s)
	}
}

func verify(t testing.TB, messages []events.Message) Verdict {
	t.Helper()
	v := NewVerifier()
	for _, m := range messages {
		if !v.Event(m) {
			break
		}
	}
	verdict, err := v.Verdict()
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// The command behind every event, decided again on the state before it, gives the same event; and the Handler shows the
// same views as a rebuilt state.
func TestVerifyClean(t *testing.T) {
	w := everything(t)
	verdict := verify(t, w.log.messages)
	if len(verdict.Faults) != 0 || verdict.Events != w.log.head() || verdict.Decided != w.log.head() ||
		verdict.Unauthenticated != 0 {
		t.Errorf("%+v", verdict)
	}
	w.h.View(func(s *projections.State) {
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if verdict.Views != events.BodyHash(b) || verdict.Head != s.Head() {
			t.Error("the audit rebuilds a state that differs from the Handler's")
		}
	})
}

// forge changes the event at an index and recomputes the chain after it, as the owner of the disk could.
func forge(t testing.TB, log []events.Message, index int, edit func(e *events.Event)) []events.Message {
	t.Helper()
	return rewrite(t, log, func(i int, e *events.Event) {
		if i == index {
			edit(e)
		}
	})
}

// rewrite edits the events of a log, and recomputes the chain.
func rewrite(t testing.TB, log []events.Message, edit func(index int, e *events.Event)) []events.Message {
	t.Helper()
	forged := slices.Clone(log)
	var hash events.Hash
	for i, m := range forged {
		e, err := events.Decode(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		edit(i, e)
		e.PrevHash = hash
		body, err := e.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		kind, id := e.Data.Aggregate()
		forged[i] = events.Message{Sequence: m.Sequence, Subject: events.Subject(e.Project, kind, id), Body: body}
		hash = events.Next(hash, events.BodyHash(body))
	}
	return forged
}

// find returns the index of the first event of a type, or of the nth.
func find(t testing.TB, log []events.Message, eventType string, nth int) int {
	t.Helper()
	for i, m := range log {
		if bytes.Contains(m.Body, []byte(`"type":"maestro.`+eventType+`.v1"`)) {
			if nth--; nth < 0 {
				return i
			}
		}
	}
	t.Fatalf("the log has no %s", eventType)
	return -1
}

func TestVerifyCatches(t *testing.T) {
	w := everything(t)
	log := w.log.messages
	worker := projections.SessionSource(w.ids["p"], w.ids["w"])
	report, statusChanged, spawned := find(
		t, log, "session.reported", 0,
	), find(
		t, log, "task.status_changed", 0,
	), find(
		t, log, "session.spawned", 1,
	)
	started, returned := find(t, log, "queue.item_started", 0), find(t, log, "queue.item_returned", 0)
	lost, answered := find(t, log, "session.lost", 0), find(t, log, "input.answered", 0)
	asked := -1
	for i, m := range log {
		if d, ok := dataOf(t, m).(*events.SessionReported); ok && d.InputID == w.ids["i1"] {
			asked = i
		}
	}
	for _, c := range []struct {
		name  string
		index int
		edit  func(e *events.Event)
		says  string
	}{
		{"nothing: a log that is chained anew without a change is the log", 3, func(*events.Event) {}, ""},
		{
			"a worker that completes a task", statusChanged, func(e *events.Event) { e.Source = worker },
			"task:complete was not permitted",
		},
		{"a report on another's task", report, func(e *events.Event) {
			e.Data = &events.SessionReported{
				SessionID: w.ids["w"],
				Kind:      events.ReportProgress,
				Message:   "m",
				TaskIDs:   []string{w.ids["t3"]},
			}
		}, "would be refused"},
		{"a report in another's name", report, func(e *events.Event) {
			e.Data = &events.SessionReported{SessionID: w.ids["v"], Kind: events.ReportProgress, Message: "m"}
		}, "would become another event"},
		{"more permissions than the role has", spawned, func(e *events.Event) {
			d := e.Data.(*events.SessionSpawned)
			d.Permissions.Commands = append(d.Permissions.Commands, "task:update")
		}, "would become another event"},
		{"permissions by a list that no one may give", spawned, func(e *events.Event) {
			e.Data.(*events.SessionSpawned).Permissions = events.Permissions{
				Commands: []string{"task:update"},
				Explicit: true,
			}
		}, "would be refused"},
		{
			"a task started that was not to be", spawned,
			func(e *events.Event) { e.Data.(*events.SessionSpawned).Started = nil }, "would become another event",
		},
		{
			"another status before", statusChanged,
			func(e *events.Event) { e.Data.(*events.TaskStatusChanged).From = events.TaskTodo },
			"would become another event",
		},
		{"a status nobody can set so", statusChanged, func(e *events.Event) {
			e.Data.(*events.TaskStatusChanged).To = events.TaskCancelled
		}, "no command becomes this"},
		{"what changes nothing", statusChanged, func(e *events.Event) {
			e.Data = &events.TaskStatusChanged{
				TaskID: w.ids["t3"], From: events.TaskInProgress,
				To: events.TaskInProgress,
			}
		}, "would be refused"},
		{"rules that nobody knows", report, func(e *events.Event) { e.Rules = "99" }, `rules "99"`},
		{"no rules", report, func(e *events.Event) { e.Rules = "" }, `rules ""`},
		{"nobody's source", report, func(e *events.Event) { e.Source = "/somebody" }, "an unknown actor"},
		{"a runner that reports", report, func(e *events.Event) { e.Source = "/runners/r" }, "not permitted"},
		{"the system that reports", report, func(e *events.Event) { e.Source = "/system" }, "not permitted"},
		{
			"time going back", report, func(e *events.Event) { e.Time = e.Time.Add(-time.Hour) },
			"before that of the event before it",
		},
		{
			"an id again", report, func(e *events.Event) { e.ID = uuid.MustParse(idOf(t, log[0])) },
			"stands at sequence 1 already",
		},
		{
			"an id that is not of this command's", find(t, log, "task.created", 0),
			func(e *events.Event) { e.ID[0] ^= 1 },
			"would become another event",
		},
		{
			"a project made under another's name", 0, func(e *events.Event) { e.Project = "other" },
			"would be filed under",
		},
		{
			"a project updated under another's name", find(t, log, "project.updated", 0),
			func(e *events.Event) { e.Project = w.ids["q"] }, "would be filed under",
		},
		{
			"a cause that was not", report, func(e *events.Event) { e.CausationID = idOf(t, log[0]) },
			"would have another cause",
		},
		{"no cause", report, func(e *events.Event) { e.CausationID = "" }, "would have another cause"},
		{
			"another chain of causes", report, func(e *events.Event) { e.CorrelationID = idOf(t, log[0]) },
			"would have another cause",
		},
		{
			"a cause of what a person began", spawned - 1, func(e *events.Event) { e.CausationID = idOf(t, log[0]) },
			"would have another cause",
		},
		{"an item started by its session's cause", started, func(e *events.Event) {
			e.CausationID = idOf(t,
				log[spawned])
		}, "would have another cause"},
		{"an item started that is not the first", started, func(e *events.Event) {
			e.Data.(*events.QueueItemStarted).TaskID = w.ids["x1"]
		}, "would become another event"},
		{
			"an item started once more than it was", started,
			func(e *events.Event) { e.Data.(*events.QueueItemStarted).Attempt = 2 }, "would become another event",
		},
		{"an item started by who holds one", find(t, log, "queue.item_failed", 0), func(e *events.Event) {
			e.Data = &events.QueueItemStarted{
				Queue:     "main",
				TaskID:    w.ids["x1"],
				SessionID: w.ids["a"],
				Attempt:   1,
			}
		}, "would change nothing"},
		{"an item completed by who does not hold it", find(t, log, "queue.item_completed", 0), func(e *events.Event) {
			e.Source = projections.SessionSource(w.ids["p"], w.ids["c"])
			e.Data.(*events.QueueItemCompleted).SessionID = w.ids["c"]
		}, "queue:complete would be refused"},
		{
			"an item returned by a user", returned, func(e *events.Event) { e.Source = "/users/admin" },
			"queue:return was not permitted",
		},
		{"an item returned without its cause", returned, func(e *events.Event) {
			e.CausationID, e.CorrelationID = "",
				""
		}, "would have another cause"},
		{
			"an item returned for another reason", returned,
			func(e *events.Event) { e.Data.(*events.QueueItemReturned).Reason = "stopped" },
			"would become another event",
		},
		{"an item quarantined that may go back", returned, func(e *events.Event) {
			d := e.Data.(*events.QueueItemReturned)
			e.Data = &events.QueueItemQuarantined{
				Queue:     d.Queue,
				TaskID:    d.TaskID,
				SessionID: d.SessionID,
				Attempt:   d.Attempt,
				Reason:    d.Reason,
			}
		}, "would be refused"},
		{
			"a session lost within its lease", lost, func(e *events.Event) { e.Data.(*events.SessionLost).LastHeard++ },
			"would be refused",
		},
		{"a session lost by an orchestrator", lost, func(e *events.Event) {
			e.Source = projections.SessionSource(w.ids["p"], w.ids["o"])
		}, "session:lost was not permitted"},
		{"a session recovered that was not lost", find(t, log, "session.recovered", 0), func(e *events.Event) {
			e.Data.(*events.SessionRecovered).SessionID = w.ids["a"]
		}, "would change nothing"},
		{
			"a session timed out too early", find(t, log, "session.timed_out", 0),
			func(e *events.Event) { e.Data.(*events.SessionTimedOut).Deadline-- }, "would become another event",
		},
		{"an answer of one who may not", answered, func(e *events.Event) {
			e.Source = projections.SessionSource(w.ids["p"], w.ids["small"])
		}, "input:answer was not permitted"},
		{
			"an answer that is none of the options", answered,
			func(e *events.Event) { e.Data.(*events.InputAnswered).Other = false }, "would be refused",
		},
		{"an answer without the question as its cause", answered, func(e *events.Event) {
			e.CausationID = idOf(t,
				log[spawned])
		}, "would have another cause"},
		{"an answer received by another", find(t, log, "input.delivered", 0), func(e *events.Event) {
			e.Source = projections.SessionSource(w.ids["p"], w.ids["o"])
		}, "input:received would be refused"},
		{
			"another's token", find(t, log, "token.created", 3), func(e *events.Event) { e.Source = "/users/nobody" },
			"The token 'nobody' is not valid",
		},
		{
			"an auditor that writes", find(t, log, "token.created", 3),
			func(e *events.Event) { e.Source = "/users/auditor" },
			"is not valid",
		},
		{
			"a token that was revoked", find(t, log, "token.created", 4),
			func(e *events.Event) { e.Source = "/users/ci" },
			"The token 'ci' is not valid",
		},
		{
			"a generation left out", find(t, log, "token.created", 4),
			func(e *events.Event) { e.Data.(*events.TokenCreated).Generation++ }, "would become another event",
		},
		{
			"a question without an id", asked, func(e *events.Event) { e.Data.(*events.SessionReported).InputID = "" },
			"would become another event",
		},
		{
			"rules of another time", asked, func(e *events.Event) { e.Rules = "1" },
			"it names rules 1, but an earlier event",
		},
		{
			"the rules just before", report, func(e *events.Event) { e.Rules = "2" },
			"it names rules 2, but an earlier event",
		},
		{
			"a project that does not exist", find(t, log, "task.created", 0),
			func(e *events.Event) { e.Project = "none" },
			"would be refused",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			verdict := verify(t, forge(t, log, c.index, c.edit))
			if c.says == "" {
				if len(verdict.Faults) != 0 {
					t.Errorf("%+v", verdict.Faults)
				}
				return
			}
			if len(verdict.Faults) == 0 || verdict.Faults[0].Sequence != uint64(c.index)+1 ||
				!strings.Contains(verdict.Faults[0].What, c.says) {
				t.Errorf("found %+v, want %q at %d first", verdict.Faults, c.says, c.index+1)
			}
		})
	}
}

// A changed byte in a body is found at the latest by the next event's link, unless the chain was recomputed.
func TestVerifyCatchesFlips(t *testing.T) {
	log := newWorld(t).log.messages
	for index := range log[:len(log)-1] {
		for at := 0; at < len(log[index].Body); at += 37 {
			flipped := slices.Clone(log)
			flipped[index].Body = slices.Clone(log[index].Body)
			flipped[index].Body[at] ^= 0x04
			if verdict := verify(t, flipped); len(verdict.Faults) == 0 || verdict.Faults[0].Sequence > uint64(index)+2 {
				t.Fatalf("byte %d of event %d flipped: %+v", at, index+1, verdict.Faults)
			}
		}
	}
	for name, log := range map[string][]events.Message{
		"one left out":     slices.Delete(slices.Clone(log), 3, 4),
		"two swapped":      append(append(slices.Clone(log[:3]), log[4], log[3]), log[5:]...),
		"one stands twice": slices.Insert(slices.Clone(log), 3, log[2]),
		"the first cut":    slices.Clone(log[1:]),
	} {
		for i := range log {
			log[i].Sequence = uint64(i) + 1
		}
		if verdict := verify(t, log); len(verdict.Faults) == 0 {
			t.Errorf("%s: nothing found", name)
		}
	}
}

func TestVerifySubjectAndAuthn(t *testing.T) {
	log := slices.Clone(newWorld(t).log.messages)
	log[2].Subject = "maestro.ev.other.task.x"
	if faults := verify(t, log).Faults; len(faults) != 1 ||
		!strings.Contains(faults[0].What, "stored under the subject maestro.ev.other") {
		t.Errorf("%+v", faults)
	}
	unauthenticated := forge(t, newWorld(t).log.messages, 1, func(e *events.Event) { e.Authn = commands.AuthnNone })
	if verdict := verify(t, unauthenticated); verdict.Unauthenticated != 1 || len(verdict.Faults) != 0 {
		t.Errorf("%+v", verdict)
	}
	v := NewVerifier()
	for range 3 * maxFaults {
		v.Fault(1, FaultChain, "again")
	}
	if verdict, err := v.Verdict(); err != nil || len(verdict.Faults) != maxFaults ||
		verdict.FaultsMore != 2*maxFaults {
		t.Errorf("%d faults and %d more, %v", len(verdict.Faults), verdict.FaultsMore, err)
	}
}

func idOf(t testing.TB, m events.Message) string {
	t.Helper()
	e, err := events.Decode(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	return e.ID.String()
}

func dataOf(t testing.TB, m events.Message) events.Data {
	t.Helper()
	e, err := events.Decode(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	return e.Data
}

// Events decided by version 1 of the rules are judged by version 1, in which a spawn with the queue strategy created no
// queue, and a report no question.
func TestVerifyOldRules(t *testing.T) {
	w := newWorld(t)
	w.must("w", "report:needs-input", `{"message":"Which?"}`)
	log := w.log.messages
	spawned, asked := find(t, log, "session.spawned", 4), len(log)-1
	if dataOf(t, log[spawned]).(*events.SessionSpawned).SessionID != w.ids["k"] {
		t.Fatal("the event is not that of the queue worker")
	}
	as := func(rules string) []events.Message {
		return rewrite(t, log, func(i int, e *events.Event) {
			e.Rules = rules
			if d, spawns := e.Data.(*events.SessionSpawned); spawns { // by its table, which had other lists
				table, _ := commands.Rules(rules)
				d.Permissions.Commands = table.Defaults(commands.RoleSetOf(d.Role, d.Strategy))
			}
			switch i {
			case spawned:
				d := e.Data.(*events.SessionSpawned)
				d.Queue, d.Queued = "", nil
			case asked:
				e.Data.(*events.SessionReported).InputID = ""
			}
		})
	}
	if verdict := verify(t, as("1")); len(verdict.Faults) != 0 || verdict.Decided != uint64(len(log)) {
		t.Errorf("by their own rules: %+v", verdict.Faults)
	}
	if verdict := verify(t, as(commands.RulesVersion)); len(verdict.Faults) != 2 {
		t.Errorf("by the rules of today: %+v", verdict.Faults)
	}
}

// Causes as read from the log: the chain from a push to the item's end, with a holder that was lost in between.
func TestCauses(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for _, s := range []step{
		named, puller("a"), pushTo("t1"), starts("a"), lose("a"), giveUp("t1"), hears("a"), starts("a"),
		{"a>i", "report:needs-input", `{"message":"Which?"}`},
		{"admin", "input:answer", `{"inputId":"{i}","answer":"so"}`},
		{"a", "input:received", `{"inputId":"{i}"}`},
		{"a", "queue:complete", `{}`},
	} {
		w.change(s)
		ids = append(ids, idOf(t, w.log.messages[w.log.head()-1]))
	}
	const created, spawned, pushed, started, lost, returned, heard, again, asked, answered, received, completed = 0, 1,
		2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	for _, c := range []struct{ event, cause, first int }{
		{created, -1, -1},
		{spawned, -1, -1},
		{pushed, -1, -1},
		{started, pushed, pushed},
		{lost, spawned, spawned},
		{returned, lost, spawned},
		{heard, lost, spawned},
		{again, returned, spawned},
		{asked, spawned, spawned},
		{answered, asked, spawned},
		{received, answered, spawned},
		{completed, again, spawned},
	} {
		e, err := events.Decode(w.log.messages[int(w.log.head())-len(ids)+c.event].Body)
		if err != nil {
			t.Fatal(err)
		}
		id := func(i int) string {
			if i < 0 {
				return ""
			}
			return ids[i]
		}
		if e.CausationID != id(c.cause) || e.CorrelationID != id(c.first) {
			t.Errorf(
				"%s has the cause %d of the chain of %d, want %d and %d", e.Data.EventType(),
				slices.Index(ids, e.CausationID), slices.Index(ids, e.CorrelationID), c.cause, c.first,
			)
		}
	}
}

func TestActorsAndSources(t *testing.T) {
	for _, actor := range []commands.Actor{
		commands.Admin(commands.AuthnToken), commands.SessionActor("p", "s", commands.AuthnSocket),
		{Kind: commands.ActorRunner, Name: "r", Authn: commands.AuthnToken},
		{
			Kind:  commands.ActorSystem,
			Authn: commands.AuthnNone,
		},
	} {
		back, err := commands.ActorOf(&events.Event{Source: actor.Source(), Authn: actor.Authn})
		if err != nil || back.Kind != actor.Kind || back.Name != actor.Name || back.Project != actor.Project ||
			back.Authn != actor.Authn ||
			back.Access != actor.Access {
			t.Errorf("%+v reads as %+v, %v", actor, back, err)
		}
	}
}

// Something that no server writes is a fault even if the decision is the same: unknown fields, another time zone, and a
// time so late that no later event can have one. Empty fields and another order of members are not faults.
func TestVerifyCatchesWhatNoServerWrites(t *testing.T) {
	log := newWorld(t).log.messages
	at := len(log) - 1
	last := func(from, to string) []events.Message {
		body := bytes.Replace(log[at].Body, []byte(from), []byte(to), 1)
		if bytes.Equal(body, log[at].Body) {
			t.Fatalf("%s has no %s", body, from)
		}
		forged := slices.Clone(log)
		forged[at].Body = body
		return forged
	}
	event, err := events.Decode(log[at].Body)
	if err != nil {
		t.Fatal(err)
	}
	east := event.Time.In(time.FixedZone("", 2*60*60)).Format("2006-01-02T15:04:05.000Z07:00")
	stored := event.Time.UTC().Format("2006-01-02T15:04:05.000Z")
	for _, c := range []struct{ name, from, to, says string }{
		{"a field of the event", `{"specversion"`, `{"smuggled":"x","specversion"`, `the field "smuggled"`},
		{"a field of its data", `"data":{`, `"data":{"smuggled":{"a":1},`, `the field "data.smuggled"`},
		{"an empty field", `"data":{`, `"data":{"former":[],`, ""},
		{"a time of another zone", stored, east, "its time is written as"},
		{"the end of time", stored, "9999-12-31T23:59:59.999Z", "outside the range that a server writes"},
	} {
		verdict := verify(t, last(c.from, c.to))
		var said []string
		for _, fault := range verdict.Faults {
			said = append(said, fault.What)
		}
		if all := strings.Join(said, "; "); c.says == "" && all != "" || !strings.Contains(all, c.says) {
			t.Errorf("%s: found %q, want %q", c.name, all, c.says)
		}
	}
}
