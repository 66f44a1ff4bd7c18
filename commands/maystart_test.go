package commands

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"maestro/events"
)

// gives describes how a command gives a task to a session or a queue.
type gives struct {
	ask func(task string, force bool) Command
	// waits means that the task waits there until its dependencies are completed.
	waits bool
	// nothing means that the command passes over a task that may not start.
	nothing bool
}

// giving are the commands whose events give a session or a queue a task.
var giving = map[string]gives{
	"session:spawn": {ask: func(task string, force bool) Command {
		return &SpawnSession{TaskIDs: []string{task}, Force: force}
	}},
	"session:register": {ask: func(task string, force bool) Command {
		return &RegisterSession{Create: true, TaskIDs: []string{task}, Force: force}
	}},
	"session:update": {ask: func(task string, force bool) Command {
		return &UpdateSession{SessionID: "s", TaskIDs: &[]string{"has", task}, Force: force}
	}},
	"session:link": {ask: func(task string, force bool) Command {
		return &LinkTask{SessionID: "s", TaskID: task, Force: force}
	}},
	"queue:push": {waits: true, ask: func(task string, _ bool) Command {
		return &PushItem{QueueRef: QueueRef{Queue: "empty"}, TaskID: task}
	}},
	"queue:requeue": {waits: true, ask: func(task string, _ bool) Command {
		return &RequeueItem{Queue: "skipped", TaskID: task}
	}},
	"queue:start": {nothing: true, ask: func(task string, _ bool) Command {
		return &StartItem{QueueRef: QueueRef{SessionID: "of-" + task}}
	}},
}

// notGiving are the commands whose events name a task and a session or a queue but give no work, with the reason.
var notGiving = map[string]string{
	"worker:init":        "only a registration says which tasks a new session has",
	"orchestrator:init":  "only a registration says which tasks a new session has",
	"session:unlink":     "it takes work away",
	"session:note":       "it says what was done",
	"track-file":         "it says what was done",
	"report:progress":    "it says what was done",
	"report:complete":    "it says what was done",
	"report:blocked":     "it says what was done",
	"report:error":       "it says what was done",
	"report:needs-input": "it says what was done",
	"queue:complete":     "it ends work",
	"input:answer":       "it names the tasks that its session asked about",
	"queue:fail":         "it ends work",
	"queue:skip":         "it ends work",
	"queue:move":         "the item is in the queue already",
	"queue:remove":       "it takes work away",
	"queue:return":       "the item is in the queue already",
	"queue:quarantine":   "it takes work away",
}

// mentions reports whether a payload has one of these fields, at any depth.
func mentions(payload reflect.Type, fields ...string) bool {
	for payload.Kind() == reflect.Pointer {
		payload = payload.Elem()
	}
	if payload.Kind() != reflect.Struct {
		return false
	}
	for i := range payload.NumField() {
		field := payload.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if slices.Contains(fields, name) || mentions(field.Type, fields...) {
			return true
		}
	}
	return false
}

// TestAssigningCommandsCheckDependencies finds these commands by the events that they may become.
func TestAssigningCommandsCheckDependencies(t *testing.T) {
	work := map[string]bool{}
	for _, entry := range events.Catalogue() {
		payload := reflect.TypeOf(entry.New())
		short := strings.TrimSuffix(strings.TrimPrefix(entry.Type, "maestro."), ".v1")
		work[short] = mentions(payload, "taskId", "taskIds") && mentions(payload, "sessionId", "queue")
	}
	for _, row := range CurrentRules().Rows() {
		if !work[row.Events] || row.Alias != "" {
			continue
		}
		given, gives := giving[row.ID]
		if reason := notGiving[row.ID]; gives == (reason != "") {
			t.Errorf("%s may become %s, which names a task and a session or a queue: state whether it gives work",
				row.ID, row.Events)
		}
		if gives {
			t.Run(row.ID, given.test)
		}
	}
}

func (w gives) test(t *testing.T) {
	call := called(Admin(AuthnToken), RulesVersion)
	refused := func(task string, force bool) {
		data, err := Decide(workGround(t).s, w.ask(task, force), call)
		var refusal *Refusal
		switch {
		case w.nothing && data == nil && err == nil:
		case !errors.As(err, &refusal) || refusal.Code != CodeRule:
			t.Errorf("a %s task, force %t: %v, %v", task, force, data, err)
		case strings.Contains(refusal.Next, "--force") == (task == "cancelled"):
			t.Errorf("a %s task: next %s", task, refusal.Next)
		}
	}
	becomes := func(task string, force, forced bool) {
		data, err := Decide(workGround(t).s, w.ask(task, force), call)
		if err != nil || data == nil {
			t.Fatalf("a %s task, force %t: %v, %v", task, force, data, err)
		}
		said := reflect.ValueOf(data).Elem().FieldByName("Forced")
		if has := said.IsValid() && said.Bool(); has != forced {
			t.Errorf("a %s task, force %t: forced is %t", task, force, has)
		}
	}
	refused("cancelled", false)
	refused("cancelled", true)
	becomes("free", false, false)
	becomes("free", true, false)
	switch {
	case w.waits:
		becomes("waiting", false, false)
	case w.nothing:
		refused("waiting", false)
	default:
		refused("waiting", false)
		becomes("waiting", true, true)
	}
	call.Rules = secondRules
	if data, err := Decide(workGround(t).s, w.ask("cancelled", false), call); err != nil || data == nil && !w.nothing {
		t.Errorf("by rules 2: %v, %v", data, err)
	}
}

// workGround has a task that may start, one that waits and one that is cancelled, a session, and queues with all three
// tasks.
func workGround(t *testing.T) *ground {
	g := newGround(t)
	g.task("open", "")
	g.task("has", "")
	g.task("free", "")
	g.task("waiting", "", "open")
	g.task("cancelled", "")
	g.session("s", events.RoleWorker, "has")
	g.queue("empty", false)
	g.queue("skipped", false, "free", "waiting", "cancelled")
	for _, id := range []string{"free", "waiting", "cancelled"} {
		g.apply(&events.QueueItemSkipped{Queue: "skipped", TaskID: id})
		g.apply(&events.SessionSpawned{
			SessionID:   "of-" + id,
			Name:        id,
			Role:        events.RoleWorker,
			Strategy:    events.StrategyQueue,
			TaskIDs:     []string{id},
			Queue:       "of-" + id,
			Queued:      []string{id},
			Permissions: events.Permissions{Commands: current().Defaults(RoleQueueWorker)},
		})
	}
	g.apply(&events.TaskUpdated{
		TaskID: "cancelled",
		Status: &events.StatusChange{From: events.TaskTodo, To: events.TaskCancelled},
	})
	return g
}

// An ended session gets new tasks only by force; it may keep or lose those that it has.
func TestEndedSessionGetsNoTasks(t *testing.T) {
	call := called(Admin(AuthnToken), RulesVersion)
	for _, c := range []struct {
		name  string
		ask   Command
		then  Code
		event events.Data
	}{
		{"an update", &UpdateSession{SessionID: "s", TaskIDs: &[]string{"has", "free"}}, CodeNotAllowed, nil},
		{"a link", &LinkTask{SessionID: "s", TaskID: "free"}, CodeNotAllowed, nil},
		{
			"a link by force", &LinkTask{SessionID: "s", TaskID: "free", Force: true}, "",
			&events.SessionTaskLinked{SessionID: "s", TaskID: "free", Forced: true},
		},
		{"a cancelled one by force", &LinkTask{SessionID: "s", TaskID: "cancelled", Force: true}, CodeRule, nil},
		{
			"what it has", &UpdateSession{SessionID: "s", TaskIDs: &[]string{"has"}}, "",
			&events.SessionUpdated{SessionID: "s", TaskIDs: &[]string{"has"}},
		},
		{
			"nothing", &UpdateSession{SessionID: "s", TaskIDs: &[]string{}}, "",
			&events.SessionUpdated{SessionID: "s", TaskIDs: &[]string{}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := workGround(t)
			g.apply(&events.SessionKilled{SessionID: "s", Status: events.SessionStopped})
			data, err := Decide(g.s, c.ask, call)
			var refusal *Refusal
			if errors.As(err, &refusal); c.then != "" && (refusal == nil || refusal.Code != c.then) {
				t.Errorf("%v, %v", data, err)
			}
			if c.then == "" && (err != nil || !reflect.DeepEqual(data, c.event)) {
				t.Errorf("%+v, %v", data, err)
			}
		})
	}
}

// Nothing completes a dependency that was deleted or cancelled: the refusal says how to remove it.
func TestRefusalSaysHowToRemoveDependenciesThatAreGone(t *testing.T) {
	g := workGround(t)
	g.task("deleted", "")
	g.task("vain", "", "deleted", "cancelled", "free")
	g.apply(&events.TaskDeleted{TaskID: "deleted"})
	call := called(Admin(AuthnToken), RulesVersion)
	for id, given := range giving {
		if given.waits || given.nothing {
			continue
		}
		_, err := Decide(g.s, given.ask("vain", false), call)
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			t.Fatalf("%s: %v", id, err)
		}
		const message = "Dependencies are not completed: deleted (deleted), cancelled (cancelled), free"
		const next = "remove what nothing completes any more with `maestro task update vain --remove-depends-on " +
			"deleted,cancelled` and complete the others, or repeat it with --force"
		if refusal.Message != message || refusal.Next != next {
			t.Errorf("%s: %s; next: %s", id, refusal.Message, refusal.Next)
		}
	}
}
