package engine

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// step is one command: its caller, its id, its body. "w>i" is the caller w, and i names what the command creates;
// "time" lets time pass.
type step [3]string

// take does a step, which must succeed.
func (w *world) take(s step) Answer {
	w.t.Helper()
	if s[0] == "time" {
		d, err := time.ParseDuration(s[2])
		if err != nil {
			w.t.Fatal(err)
		}
		w.pass(d)
		return Answer{}
	}
	if by, name, ok := strings.Cut(s[0], ">"); ok {
		w.make(name, by, s[1], s[2])
		return Answer{}
	}
	return w.must(s[0], s[1], s[2])
}

// decision is one line of a noun's table: given steps in newWorld, when a command, then an event ("task.created" and a
// part of its data), "already so", or a refusal ("NOT_ALLOWED" and a part of its message).
type decision struct {
	name  string
	given []step
	when  step
	then  string
	with  string
}

// tabled are the commands that became an event in a table, and that the audit decided again.
var tabled = map[string]bool{}

// whole is a run of all tests, which fails if a command was in no table.
type whole struct{ *testing.M }

func (m whole) Run() int {
	code := m.M.Run()
	for _, part := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(part).Value.String() != "" {
			return code
		}
	}
	for _, id := range commands.IDs() {
		if !tabled[id] {
			fmt.Printf("no decision is tested in which %s becomes an event: add one to its noun's table\n", id)
			code = 1
		}
	}
	return code
}

// decide runs a table. The audit decides each event again.
func decide(t *testing.T, table []decision) {
	t.Helper()
	for _, d := range table {
		t.Run(d.name, func(t *testing.T) {
			w := newWorld(t)
			for _, s := range d.given {
				w.take(s)
			}
			before := w.log.head()
			a, err := w.do(d.when[0], d.when[1], d.when[2])
			var refusal *commands.Refusal
			switch {
			case errors.As(err, &refusal):
				said := string(refusal.Code) + " " + refusal.Message + " | " + refusal.Why + " | " + refusal.Pointer
				if string(refusal.Code) != d.then || !strings.Contains(said, w.fillIn(d.with)) {
					t.Errorf("refused: %s\nwant %s with %s", said, d.then, d.with)
				}
				if w.log.head() != before {
					t.Error("a refused command became an event")
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			kind, _, _ := strings.Cut(w.shown(a), " ")
			if kind == "already" {
				kind = "already so"
			}
			if kind != d.then || !strings.Contains(w.shown(a), d.with) {
				t.Errorf("became: %s\nwant %s with %s", w.shown(a), d.then, d.with)
			}
			if row, _ := commands.CurrentRules().Row(d.when[1]); a.Event != nil && row.Events != kind {
				t.Errorf("the table says that %s becomes %s, but it became %s", d.when[1], row.Events, kind)
			}
			if grew := w.log.head() - before; grew != 0 && a.Event == nil || a.Event != nil && grew != 1 {
				t.Errorf("the log grew by %d", grew)
			}
			if a.Event != nil {
				tabled[d.when[1]] = true
				if verdict := verify(t, w.log.messages); len(verdict.Faults) != 0 {
					t.Errorf("the audit does not decide it again: %+v", verdict.Faults)
				}
			}
		})
	}
}

func TestProjectDecisions(t *testing.T) {
	decide(t, []decision{
		{
			"create", nil,
			step{"admin", "project:create", `{"name":" New ","workingDir":"/x","description":"d"}`},
			"project.created", `"name":"New","workingDir":"/x","description":"d"`,
		},
		{
			"an orchestrator creates", nil,
			step{"o", "project:create", `{"name":"New"}`},
			"project.created",
			`"name":"New"`,
		},
		{"a worker creates none", nil, step{"w", "project:create", `{"name":"New"}`}, "NOT_ALLOWED", "project:create"},
		{"no name", nil, step{"admin", "project:create", `{"name":" "}`}, "VALIDATION_ERROR", "/name"},
		{
			"a name of two lines", nil,
			step{"admin", "project:create", `{"name":"a\nb"}`},
			"VALIDATION_ERROR",
			"control character",
		},
		{
			"a NUL", nil,
			step{"admin", "project:create", `{"name":"a","description":"\u0000"}`},
			"VALIDATION_ERROR",
			"NUL",
		},
		{
			"update", nil,
			step{"admin", "project:update", `{"projectId":"{p}","description":""}`},
			"project.updated",
			`"description":""`,
		},
		{
			"update a missing project", nil,
			step{"admin", "project:update", `{"projectId":"none","name":"x"}`},
			"NOT_FOUND",
			"'none' not found",
		},
		{
			"update without an id", nil,
			step{"admin", "project:update", `{"name":"x"}`},
			"VALIDATION_ERROR",
			"Project ID is required",
		},
		{
			"an orchestrator updates none", nil,
			step{"o", "project:update", `{"projectId":"{p}","name":"x"}`},
			"NOT_ALLOWED", "project:update",
		},
		{
			"delete with tasks", nil,
			step{"admin", "project:delete", `{"projectId":"{p}"}`},
			"BUSINESS_RULE_ERROR",
			"existing tasks",
		},
		{
			"delete with sessions",
			[]step{{"admin", "session:register", `{"project":"{q}"}`}, {
				"admin", "task:delete",
				`{"taskId":"{u1}"}`,
			}},
			step{"admin", "project:delete", `{"projectId":"{q}"}`},
			"BUSINESS_RULE_ERROR",
			"existing sessions",
		},
		{"delete an empty one", []step{{"admin", "task:delete", `{"taskId":"{u1}"}`}}, step{
			"admin", "project:delete",
			`{"projectId":"{q}"}`,
		}, "project.deleted", `{q}`},
		{
			"an orchestrator deletes one that it did not create", nil,
			step{"o", "project:delete", `{"projectId":"{q}"}`},
			"NOT_ALLOWED", "may not touch project",
		},
		{
			"an orchestrator deletes its own project, which it did not create", nil,
			step{"o", "project:delete", `{"projectId":"{p}"}`},
			"NOT_ALLOWED",
			"did not create",
		},
	})
	w := newWorld(t)
	w.make("mine", "o", "project:create", `{"name":"Mine"}`)
	w.make("inMine", "o", "task:create", `{"project":"{mine}","title":"x"}`) // an orchestrator works in what it created
	if _, err := w.do("o", "project:delete", `{"projectId":"{mine}"}`); code(err) != commands.CodeRule {
		t.Errorf("with a task: %v", err)
	}
	w.must("admin", "task:delete", `{"taskId":"{inMine}"}`)
	w.must("o", "project:delete", `{"projectId":"{mine}"}`)
	if _, err := w.do("admin", "project:update",
		`{"projectId":"{mine}","name":"x"}`); code(err) != commands.CodeNotFound {
		t.Errorf("updating a deleted task: %v", err)
	}
}

func TestTaskDecisions(t *testing.T) {
	long := strings.Repeat("x", 201)
	reopened := []step{
		{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
		{"admin", "task:reopen", `{"taskId":"{t1}"}`},
	}
	decide(t, []decision{
		{
			"a worker creates", nil,
			step{
				"w", "task:create",
				`{"title":" New ","parentId":"{t1}","dependencies":["{t3}","{t3}"],"metadata":{"a":1}}`,
			},
			"task.created",
			`"title":"New","priority":"medium","parentId":"{t1}","dependencies":["{t3}"],"metadata":{"a":1}`,
		},
		{
			"in its own project only", nil,
			step{"w", "task:create", `{"project":"{q}","title":"x"}`},
			"NOT_ALLOWED",
			"may not touch project",
		},
		{"no title", nil, step{"w", "task:create", `{"title":"  "}`}, "VALIDATION_ERROR", "Task title is required"},
		{
			"201 characters", nil,
			step{"w", "task:create", `{"title":"` + long + `"}`},
			"VALIDATION_ERROR",
			"at most 200",
		},
		{
			"no project", nil,
			step{"admin", "task:create", `{"title":"x"}`},
			"VALIDATION_ERROR",
			"Project ID is required",
		},
		{
			"no such project", nil,
			step{"admin", "task:create", `{"project":"none","title":"x"}`},
			"NOT_FOUND",
			"Project with id 'none'",
		},
		{
			"parent elsewhere", nil,
			step{"admin", "task:create", `{"project":"{p}","title":"x","parentId":"{u1}"}`},
			"VALIDATION_ERROR", "/parentId",
		},
		{
			"no such parent", nil,
			step{"w", "task:create", `{"title":"x","parentId":"none"}`},
			"NOT_FOUND",
			"Parent task",
		},
		{
			"parent null is a root", nil,
			step{"w", "task:create", `{"title":"x","parentId":null}`},
			"task.created",
			`"title":"x"`,
		},
		{
			"no such dependency", nil,
			step{"w", "task:create", `{"title":"x","dependencies":["none"]}`},
			"NOT_FOUND",
			"Task with id 'none'",
		},
		{
			"dependency elsewhere", nil,
			step{"w", "task:create", `{"title":"x","dependencies":["{u1}"]}`},
			"VALIDATION_ERROR", "/dependencies",
		},
		{"a task that depends on its parent", nil, step{
			"w", "task:create",
			`{"title":"x","parentId":"{t2}","dependencies":["{t1}"]}`,
		}, "VALIDATION_ERROR", "part of"},
		{
			"no such priority", nil,
			step{"w", "task:create", `{"title":"x","priority":"urgent"}`},
			"VALIDATION_ERROR",
			"/priority",
		},
		{
			"metadata that is no object", nil,
			step{"w", "task:create", `{"title":"x","metadata":[1]}`},
			"VALIDATION_ERROR", "/metadata",
		},
		{"unknown field", nil, step{"w", "task:create", `{"title":"x","colour":"red"}`}, "VALIDATION_ERROR", "colour"},
		{"wrong type", nil, step{"w", "task:create", `{"title":7}`}, "VALIDATION_ERROR", "title must be a string"},
		{"cut", nil, step{"w", "task:create", `{"title":"x"`}, "VALIDATION_ERROR", "cut"},
		{"two objects", nil, step{"w", "task:create", `{"title":"x"}{}`}, "VALIDATION_ERROR", "more than one"},
		{
			"update", nil,
			step{"o", "task:update", `{"taskId":"{t3}","title":"U","status":"completed"}`},
			"task.updated",
			`"title":"U","status":{"from":"in_progress","to":"completed"}`,
		},
		{
			"an update completes no task before those below it", nil,
			step{"o", "task:update", `{"taskId":"{t1}","status":"completed"}`},
			"BUSINESS_RULE_ERROR",
			"Task '{t1}' has open tasks below it: {t2}",
		},
		{
			"complete by force above open tasks", nil,
			step{"o", "task:update", `{"taskId":"{t1}","status":"completed","force":true}`},
			"task.updated",
			`"status":{"from":"in_progress","to":"completed"},"forced":true`,
		},
		{
			"no open task moves below a completed one",
			[]step{{"o", "task:complete", `{"taskId":"{t3}"}`}},
			step{"o", "task:update", `{"taskId":"{t2}","parentId":"{t3}"}`},
			"BUSINESS_RULE_ERROR",
			"The parent task '{t3}' is completed",
		},
		{
			"move an open task below a completed one by force",
			[]step{{"o", "task:complete", `{"taskId":"{t3}"}`}},
			step{"o", "task:update", `{"taskId":"{t2}","parentId":"{t3}","force":true}`},
			"task.updated",
			`"forced":true`,
		},
		{
			"move an open task below a completed one and complete it",
			[]step{{"o", "task:complete", `{"taskId":"{t3}"}`}},
			step{"o", "task:update", `{"taskId":"{t2}","parentId":"{t3}","status":"completed"}`},
			"task.updated",
			`"to":"completed"}}`,
		},
		{
			"an update opens nothing below a completed task",
			[]step{{"o", "task:complete", `{"taskId":"{t2}"}`}, {"o", "task:complete", `{"taskId":"{t1}"}`}},
			step{"admin", "task:update", `{"taskId":"{t2}","status":"todo"}`},
			"BUSINESS_RULE_ERROR",
			"The parent task '{t1}' is completed",
		},
		{
			"an open task below a completed one can be updated",
			[]step{{"o", "task:complete", `{"taskId":"{t1}","force":true}`}},
			step{"o", "task:update", `{"taskId":"{t2}","status":"blocked","title":"U"}`},
			"task.updated",
			`"to":"blocked"}}`,
		},
		{
			"nothing is created below a completed task",
			[]step{{"o", "task:complete", `{"taskId":"{t3}"}`}},
			step{"w", "task:create", `{"title":"x","parentId":"{t3}"}`},
			"BUSINESS_RULE_ERROR",
			"The parent task '{t3}' is completed",
		},
		{
			"create below a completed task by force",
			[]step{{"o", "task:complete", `{"taskId":"{t3}"}`}},
			step{"w", "task:create", `{"title":"x","parentId":"{t3}","force":true}`},
			"task.created",
			`"forced":true`,
		},
		{
			"an orchestrator does not reopen a cancelled task by an update",
			[]step{{"admin", "task:update", `{"taskId":"{t3}","status":"cancelled"}`}},
			step{"o", "task:update", `{"taskId":"{t3}","status":"todo"}`},
			"NOT_ALLOWED",
			"Task '{t3}' is cancelled",
		},
		{
			"an orchestrator changes other fields of a cancelled task",
			[]step{{"admin", "task:update", `{"taskId":"{t3}","status":"cancelled"}`}},
			step{"o", "task:update", `{"taskId":"{t3}","title":"U"}`},
			"task.updated",
			`"title":"U"`,
		},
		{
			"the user reopens a cancelled task by an update",
			[]step{{"admin", "task:update", `{"taskId":"{t3}","status":"cancelled"}`}},
			step{"admin", "task:update", `{"taskId":"{t3}","status":"todo"}`},
			"task.updated",
			`"status":{"from":"cancelled","to":"todo"}`,
		},
		{
			"a worker updates nothing", nil,
			step{"w", "task:update", `{"taskId":"{t1}","title":"U"}`},
			"NOT_ALLOWED",
			"task:update",
		},
		{
			"cancelled is the user's", nil,
			step{"o", "task:update", `{"taskId":"{t1}","status":"cancelled"}`},
			"NOT_ALLOWED", "only the user cancels",
		},
		{
			"the user cancels", nil,
			step{"admin", "task:update", `{"taskId":"{t1}","status":"cancelled"}`},
			"task.updated", `"to":"cancelled"`,
		},
		{
			"no such status", nil,
			step{"o", "task:update", `{"taskId":"{t1}","status":"done"}`},
			"VALIDATION_ERROR",
			"'done' is not a task status",
		},
		{
			"the current status", nil,
			step{"o", "task:update", `{"taskId":"{t1}","status":"in_progress"}`},
			"already so",
			"",
		},
		{"the current status and another field", nil, step{
			"o", "task:update",
			`{"taskId":"{t1}","status":"in_progress","model":"opus"}`,
		}, "task.updated", `"model":"opus"}`},
		{
			"an empty title", nil,
			step{"o", "task:update", `{"taskId":"{t1}","title":" "}`},
			"VALIDATION_ERROR",
			"cannot be empty",
		},
		{
			"a task that depends on itself", nil,
			step{"o", "task:update", `{"taskId":"{t1}","dependencies":["{t1}"]}`},
			"VALIDATION_ERROR", "itself",
		},
		{
			"a cycle", nil,
			step{"o", "task:update", `{"taskId":"{t3}","dependencies":["{t4}"]}`},
			"VALIDATION_ERROR",
			"cycle",
		},
		{
			"a cycle over three",
			[]step{{"o", "task:update", `{"taskId":"{t5}","dependencies":["{t4}"]}`}},
			step{"o", "task:update", `{"taskId":"{t3}","dependencies":["{t5}"]}`},
			"VALIDATION_ERROR", "cycle",
		},
		{
			"no dependencies any more", nil,
			step{"o", "task:update", `{"taskId":"{t4}","dependencies":[]}`},
			"task.updated", `"dependencies":[]`,
		},
		{
			"a field that changes nothing is left out",
			[]step{{"o", "task:update", `{"taskId":"{t1}","title":"U","labels":["a"],"metadata":{"n":1.0}}`}},
			step{
				"o", "task:update",
				`{"taskId":"{t1}","title":" U ","labels":["a"],"metadata":{"n":1},"model":"opus"}`,
			},
			"task.updated", `{"taskId":"{t1}","model":"opus"}`,
		},
		{
			"nothing changes",
			[]step{{"o", "task:update", `{"taskId":"{t1}","title":"U","labels":["a"]}`}},
			step{"o", "task:update", `{"taskId":"{t1}","title":"U","labels":["a"],"metadata":{}}`},
			"already so", "",
		},
		{
			"a task with a plan id", nil,
			step{"w", "task:create", `{"title":"x","planId":"first","labels":[" ui ","ui","db"]}`},
			"task.created", `"planId":"first","labels":["ui","db"]`,
		},
		{
			"a plan id that another task has",
			[]step{{"w", "task:create", `{"title":"x","planId":"first"}`}},
			step{"w", "task:create", `{"title":"y","planId":"first"}`},
			"CONFLICT", "has the plan id 'first' already",
		},
		{
			"a plan id that a task of another project has",
			[]step{{"admin", "task:update", `{"taskId":"{u1}","planId":"first"}`}},
			step{"w", "task:create", `{"title":"y","planId":"first"}`},
			"task.created", `"planId":"first"`,
		},
		{
			"a plan id that is no longer used",
			[]step{
				{"o", "task:update", `{"taskId":"{t3}","planId":"first"}`},
				{"o", "task:update", `{"taskId":"{t3}","planId":"second"}`},
			},
			step{"o", "task:update", `{"taskId":"{t5}","planId":"first"}`},
			"task.updated", `"planId":"first"`,
		},
		{
			"a plan id with a space", nil,
			step{"w", "task:create", `{"title":"y","planId":"a b"}`},
			"VALIDATION_ERROR", "contains a space",
		},
		{
			"a label with a comma", nil,
			step{"w", "task:create", `{"title":"y","labels":["a,b"]}`},
			"VALIDATION_ERROR", "contains a comma",
		},
		{
			"labels are added and removed",
			[]step{{"o", "task:update", `{"taskId":"{t1}","labels":["a","b"]}`}},
			step{"o", "task:update", `{"taskId":"{t1}","addLabels":["c","b"],"removeLabels":["a"]}`},
			"task.updated", `"labels":["b","c"]`,
		},
		{
			"dependencies are added and removed", nil,
			step{"o", "task:update", `{"taskId":"{t4}","addDependencies":["{t5}"],"removeDependencies":["{t3}"]}`},
			"task.updated", `"dependencies":["{t5}"]`,
		},
		{
			"a dependency is added that closes a cycle", nil,
			step{"o", "task:update", `{"taskId":"{t3}","addDependencies":["{t4}"]}`},
			"VALIDATION_ERROR", "cycle",
		},
		{
			"a move", nil,
			step{"o", "task:update", `{"taskId":"{t3}","parentId":"{t5}"}`},
			"task.updated", `{"taskId":"{t3}","parentId":"{t5}"}`,
		},
		{
			"a block for another reason",
			[]step{{"o", "task:block", `{"taskId":"{t3}","reason":"no key"}`}},
			step{"o", "task:block", `{"taskId":"{t3}","reason":"no network"}`},
			"task.status_changed", `"from":"blocked","to":"blocked","reason":"no network"`,
		},
		{
			"a block for the same reason",
			[]step{{"o", "task:block", `{"taskId":"{t3}","reason":"no key"}`}},
			step{"o", "task:block", `{"taskId":"{t3}","reason":"no key"}`},
			"already so", "",
		},
		{
			"a block for no reason",
			[]step{{"o", "task:block", `{"taskId":"{t3}","reason":"no key"}`}},
			step{"o", "task:block", `{"taskId":"{t3}"}`},
			"already so", "",
		},
		{
			"a place before a sibling", nil,
			step{"o", "task:update", `{"taskId":"{t5}","before":"{t3}"}`},
			"task.updated", `"before":"{t3}"`,
		},
		{
			"a place after a sibling below another parent", nil,
			step{"o", "task:update", `{"taskId":"{t3}","parentId":"{t1}","after":"{t2}"}`},
			"task.updated", `"after":"{t2}"`,
		},
		{
			"the current place", nil,
			step{"o", "task:update", `{"taskId":"{t4}","after":"{t3}"}`},
			"already so", "",
		},
		{
			"a place next to a task below another parent", nil,
			step{"o", "task:update", `{"taskId":"{t3}","after":"{t2}"}`},
			"VALIDATION_ERROR", "not below the same parent",
		},
		{
			"a place next to itself", nil,
			step{"o", "task:update", `{"taskId":"{t3}","after":"{t3}"}`},
			"VALIDATION_ERROR", "next to itself",
		},
		{
			"a place next to a missing task", nil,
			step{"o", "task:update", `{"taskId":"{t3}","before":"task_none"}`},
			"NOT_FOUND", "task_none",
		},
		{
			"two places", nil,
			step{"o", "task:update", `{"taskId":"{t3}","before":"{t4}","after":"{t5}"}`},
			"VALIDATION_ERROR", "cannot be used together",
		},
		{
			"a move to the root", nil,
			step{"o", "task:update", `{"taskId":"{t2}","parentId":"null"}`},
			"task.updated", `"parentId":""`,
		},
		{
			"a move to the current parent", nil,
			step{"o", "task:update", `{"taskId":"{t2}","parentId":"{t1}"}`},
			"already so", "",
		},
		{
			"a move below itself", nil,
			step{"o", "task:update", `{"taskId":"{t1}","parentId":"{t2}"}`},
			"VALIDATION_ERROR", "below itself",
		},
		{
			"a move below a dependency", nil,
			step{"o", "task:update", `{"taskId":"{t4}","parentId":"{t3}"}`},
			"VALIDATION_ERROR", "which it waits for",
		},
		{
			"a move below a dependency of a task below it",
			[]step{{"o", "task:update", `{"taskId":"{t4}","parentId":"{t5}"}`}},
			step{"o", "task:update", `{"taskId":"{t5}","parentId":"{t3}"}`},
			"VALIDATION_ERROR", "is below it, and waits for",
		},
		{
			"a move to another project", nil,
			step{"admin", "task:update", `{"taskId":"{t3}","parentId":"{u1}"}`},
			"VALIDATION_ERROR", "/parentId",
		},
		{
			"in another project", nil,
			step{"o", "task:update", `{"taskId":"{u1}","title":"U"}`},
			"NOT_ALLOWED",
			"may not touch project",
		},
		{"a project that is not the task's", nil, step{
			"admin", "task:update",
			`{"project":"{q}","taskId":"{t1}","title":"U"}`,
		}, "VALIDATION_ERROR", "/project"},
		{
			"no such task", nil,
			step{"o", "task:update", `{"taskId":"none","title":"U"}`},
			"NOT_FOUND",
			"Task with id 'none'",
		},
		{"no id", nil, step{"o", "task:complete", `{}`}, "VALIDATION_ERROR", "taskId is required"},
		{"what is no id", nil, step{"o", "task:complete", `{"taskId":"a/b"}`}, "VALIDATION_ERROR", "is not an id"},
		{
			"complete", nil,
			step{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
			"task.status_changed",
			`"from":"in_progress","to":"completed","forced":true`,
		},
		{
			"no task is completed before those below it", nil,
			step{"admin", "task:complete", `{"taskId":"{t1}"}`},
			"BUSINESS_RULE_ERROR",
			"Task '{t1}' has open tasks below it: {t2}",
		},
		{
			"a task below that is completed is not open, so nothing is forced",
			[]step{{"o", "task:complete", `{"taskId":"{t2}"}`}},
			step{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
			"task.status_changed",
			`"to":"completed","notice"`,
		},
		{
			"a cancelled task below is not open",
			[]step{{"admin", "task:update", `{"taskId":"{t2}","status":"cancelled"}`}},
			step{"o", "task:complete", `{"taskId":"{t1}"}`},
			"task.status_changed",
			`"to":"completed","notice"`,
		},
		{
			"a deleted task below is not open",
			[]step{{"admin", "task:delete", `{"taskId":"{t2}"}`}},
			step{"o", "task:complete", `{"taskId":"{t1}"}`},
			"task.status_changed",
			`"to":"completed","notice"`,
		},
		{
			"a task that moved away is not below it",
			[]step{{"admin", "task:update", `{"taskId":"{t2}","parentId":"null"}`}},
			step{"o", "task:complete", `{"taskId":"{t1}"}`},
			"task.status_changed",
			`"to":"completed","notice"`,
		},
		{
			"a reopened task below is open again",
			[]step{
				{"o", "task:complete", `{"taskId":"{t2}"}`},
				{"o", "task:reopen", `{"taskId":"{t2}"}`},
			},
			step{"o", "task:complete", `{"taskId":"{t1}"}`},
			"BUSINESS_RULE_ERROR",
			"{t2}",
		},
		{
			"nothing is reopened below a completed task",
			[]step{{"o", "task:complete", `{"taskId":"{t2}"}`}, {"o", "task:complete", `{"taskId":"{t1}"}`}},
			step{"o", "task:reopen", `{"taskId":"{t2}"}`},
			"BUSINESS_RULE_ERROR",
			"The parent task '{t1}' is completed",
		},
		{
			"nothing is blocked below a completed task",
			[]step{{"o", "task:complete", `{"taskId":"{t2}"}`}, {"o", "task:complete", `{"taskId":"{t1}"}`}},
			step{"admin", "task:block", `{"taskId":"{t2}"}`},
			"BUSINESS_RULE_ERROR",
			"The parent task '{t1}' is completed",
		},
		{
			"reopen below a completed task by force",
			[]step{{"o", "task:complete", `{"taskId":"{t2}"}`}, {"o", "task:complete", `{"taskId":"{t1}"}`}},
			step{"o", "task:reopen", `{"taskId":"{t2}","force":true}`},
			"task.status_changed",
			`"forced":true`,
		},
		{
			"the parent is reopened first",
			append([]step{{"o", "task:complete", `{"taskId":"{t2}"}`}, {"o", "task:complete", `{"taskId":"{t1}"}`}},
				step{"o", "task:reopen", `{"taskId":"{t1}"}`}),
			step{"o", "task:reopen", `{"taskId":"{t2}","force":true}`},
			"task.status_changed",
			`"to":"in_progress"}`,
		},
		{
			"an orchestrator does not complete a cancelled task",
			[]step{{"admin", "task:update", `{"taskId":"{t3}","status":"cancelled"}`}},
			step{"o", "task:complete", `{"taskId":"{t3}"}`},
			"NOT_ALLOWED",
			"Task '{t3}' is cancelled",
		},
		{
			"an orchestrator does not block a cancelled task",
			[]step{{"admin", "task:update", `{"taskId":"{t3}","status":"cancelled"}`}},
			step{"o", "task:block", `{"taskId":"{t3}"}`},
			"NOT_ALLOWED",
			"Task '{t3}' is cancelled",
		},
		{
			"an orchestrator does not reopen a cancelled task",
			[]step{
				{"w", "report:complete", `{"message":"m","taskIds":["{t1}"]}`},
				{"admin", "task:update", `{"taskId":"{t1}","status":"cancelled"}`},
			},
			step{"o", "task:reopen", `{"taskId":"{t1}"}`},
			"NOT_ALLOWED",
			"Task '{t1}' is cancelled",
		},
		{
			"a worker completes nothing", nil,
			step{"w", "task:complete", `{"taskId":"{t1}","force":true}`},
			"NOT_ALLOWED",
			"task:complete",
		},
		{"complete again", []step{{"o", "task:complete", `{"taskId":"{t1}","force":true}`}}, step{
			"o", "task:complete",
			`{"taskId":"{t1}"}`,
		}, "already so", ""},
		{
			"block", nil,
			step{"admin", "task:block", `{"taskId":"{t2}","reason":"r"}`},
			"task.status_changed",
			`"from":"todo","to":"blocked","reason":"r"`,
		},
		{"a worker blocks nothing", nil, step{"w", "task:block", `{"taskId":"{t1}"}`}, "NOT_ALLOWED", "task:block"},
		{
			"reopen an open task", nil,
			step{"o", "task:reopen", `{"taskId":"{t1}"}`},
			"BUSINESS_RULE_ERROR",
			"is in_progress",
		},
		{
			"reopen a completed task",
			[]step{{"o", "task:complete", `{"taskId":"{t1}","force":true}`}},
			step{
				"o", "task:reopen",
				`{"taskId":"{t1}","reason":"r"}`,
			},
			"task.status_changed",
			`"from":"completed","to":"in_progress","reason":"r","notice":{"mailId":"msg_`,
		},
		{
			"sessions that have a task, or reported on it, are notified that it is reopened",
			[]step{
				{"o", "report:progress", `{"message":"m","taskIds":["{t1}"]}`},
				{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
			},
			step{"admin", "task:reopen", `{"taskId":"{t1}"}`},
			"task.status_changed",
			`"{o}"`,
		},
		{
			"an update that lifts a block notifies them too",
			[]step{{"admin", "task:block", `{"taskId":"{t1}"}`}},
			step{"o", "task:update", `{"taskId":"{t1}","status":"todo"}`},
			"task.updated",
			`"sessionIds":["{w}"]`,
		},
		{
			"an ended session is not notified",
			[]step{{"o", "task:complete", `{"taskId":"{t1}","force":true}`}, kill("w")},
			step{"o", "task:reopen", `{"taskId":"{t1}","reason":"r"}`},
			"task.status_changed",
			`"to":"in_progress","reason":"r"}`,
		},
		{
			"say why a task was reopened", reopened,
			step{"admin", "task:reopen", `{"taskId":"{t1}","reason":"r"}`},
			"task.status_changed",
			`"from":"in_progress","to":"in_progress","reason":"r","notice":{"mailId":"msg_`,
		},
		{
			"say nothing more about a reopened task", reopened,
			step{"admin", "task:reopen", `{"taskId":"{t1}"}`},
			"BUSINESS_RULE_ERROR",
			"is in_progress",
		},
		{
			"a session at work is notified that its task is completed", nil,
			step{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
			"task.status_changed",
			`"sessionIds":["{w}"]`,
		},
		{
			"a session that is done is not notified that its task is completed",
			[]step{{"w", "report:complete", `{"message":"m","taskIds":["{t1}"]}`}},
			step{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
			"task.status_changed",
			`"forced":true}`,
		},
		{
			"the orchestrator of the session that has a task is notified of the user's decision",
			[]step{kill("w")},
			step{"admin", "task:block", `{"taskId":"{t1}","reason":"r"}`},
			"task.status_changed",
			`"sessionIds":["{o}"]`,
		},
		{
			"an orchestrator is notified of the user's decision about a task below its own",
			[]step{{"admin>b", "task:create", `{"project":"{p}","title":"B","parentId":"{t3}"}`}},
			step{"admin", "task:update", `{"taskId":"{b}","status":"cancelled"}`},
			"task.updated",
			`"{o}"`,
		},
		{
			"an orchestrator is notified of the user's decision about a task that it created",
			[]step{{"o>b", "task:create", `{"title":"B"}`}},
			step{"admin", "task:delete", `{"taskId":"{b}"}`},
			"task.deleted",
			`"sessionIds":["{o}"]`,
		},
		{
			"a worker is not notified of what becomes of a task that it created",
			[]step{{"w>b", "task:create", `{"title":"B"}`}},
			step{"admin", "task:delete", `{"taskId":"{b}"}`},
			"task.deleted",
			`"title":"B"}`,
		},
		{
			"the successor of the orchestrator that spawned the session is notified",
			[]step{
				kill("o"),
				{"admin>o2", "session:spawn", `{"project":"{p}","role":"orchestrator","taskIds":["{t3}"]}`},
			},
			step{"admin", "task:block", `{"taskId":"{t1}","reason":"r"}`},
			"task.status_changed",
			`"{o2}"`,
		},
		{
			"a worker that spawned a session is not notified",
			[]step{
				{"admin", "session:kill", `{"sessionId":"{w}"}`},
				{"admin>x", "session:spawn", `{"project":"{p}","taskIds":["{t5}"],"spawnedBy":"{v}"}`},
			},
			step{"admin", "task:block", `{"taskId":"{t5}","reason":"r"}`},
			"task.status_changed",
			`"sessionIds":["{x}"]`,
		},
		{
			"an ended orchestrator is not notified",
			[]step{kill("w"), kill("o")},
			step{"admin", "task:block", `{"taskId":"{t1}","reason":"r"}`},
			"task.status_changed",
			`"reason":"r"}`,
		},
		{
			"a session at work below is notified that its task is deleted",
			[]step{{"admin", "session:link", `{"sessionId":"{w}","taskId":"{t2}"}`}},
			step{"admin", "task:delete", `{"taskId":"{t2}"}`},
			"task.deleted",
			`"{w}"`,
		},
		{
			"reopen a task that is reported as done",
			[]step{{"w", "report:complete", `{"message":"m","taskIds":["{t1}"]}`}},
			step{"admin", "task:reopen", `{"taskId":"{t1}"}`},
			"task.status_changed",
			`"from":"in_progress","to":"in_progress"`,
		},
		{
			"delete", nil,
			step{"admin", "task:delete", `{"taskId":"{t1}"}`},
			"task.deleted",
			`{"taskId":"{t1}","title":"T1","notice":{"mailId":"msg_`,
		},
		{
			"delete with the tasks below", nil,
			step{"admin", "task:delete", `{"taskId":"{t1}","recursive":true}`},
			"task.deleted", `"recursive":true,"descendants":["{t2}"]`,
		},
		{
			"an orchestrator deletes nothing", nil,
			step{"o", "task:delete", `{"taskId":"{t1}"}`},
			"NOT_ALLOWED",
			"task:delete",
		},
		{"a deleted task", []step{{"admin", "task:delete", `{"taskId":"{t2}"}`}}, step{
			"o", "task:complete",
			`{"taskId":"{t2}"}`,
		}, "NOT_FOUND", "not found"},
	})
}

func TestSessionDecisions(t *testing.T) {
	decide(t, []decision{
		{
			"an orchestrator spawns a worker", nil,
			step{"o", "session:spawn", `{"taskIds":["{t2}"]}`},
			"session.spawned",
			`"role":"worker","strategy":"simple","taskIds":["{t2}"],"started":["{t2}"]`,
		},
		{
			"a worker spawns nothing", nil,
			step{"w", "session:spawn", `{"taskIds":["{t2}"]}`},
			"NOT_ALLOWED",
			"session:spawn",
		},
		{
			"without tasks", nil,
			step{"o", "session:spawn", `{}`},
			"VALIDATION_ERROR",
			"A session needs a task, or the queue strategy",
		},
		{
			"a queue worker without tasks", nil,
			step{"o", "session:spawn", `{"strategy":"queue"}`},
			"session.spawned",
			`"strategy":"queue"`,
		},
		{"a queue worker starts nothing by being spawned", nil, step{
			"o", "session:spawn",
			`{"strategy":"queue","taskIds":["{t2}"]}`,
		}, "session.spawned", `"taskIds":["{t2}"],"permissions"`},
		{
			"no such role", nil,
			step{"o", "session:spawn", `{"role":"boss","taskIds":["{t2}"]}`},
			"VALIDATION_ERROR",
			"role must be",
		},
		{
			"no such strategy", nil,
			step{"o", "session:spawn", `{"strategy":"dag","taskIds":["{t2}"]}`},
			"VALIDATION_ERROR", "strategy must be",
		},
		{
			"an orchestrator's queue", nil,
			step{
				"admin", "session:spawn",
				`{"project":"{p}","role":"orchestrator","strategy":"queue","taskIds":["{t2}"]}`,
			},
			"VALIDATION_ERROR",
			"orchestrator's strategy",
		},
		{
			"simple is default for an orchestrator", nil,
			step{
				"admin", "session:spawn",
				`{"project":"{p}","role":"orchestrator","strategy":"simple","taskIds":["{t2}"]}`,
			},
			"session.spawned",
			`"strategy":"default"`,
		},
		{"no such task", nil, step{"o", "session:spawn", `{"taskIds":["none"]}`}, "NOT_FOUND", "'none'"},
		{"a task elsewhere", nil, step{"o", "session:spawn", `{"taskIds":["{u1}"]}`}, "VALIDATION_ERROR", "/taskIds"},
		{
			"in another project", nil,
			step{"o", "session:spawn", `{"project":"{q}","taskIds":["{u1}"]}`},
			"NOT_ALLOWED",
			"may not touch project",
		},
		{
			"a spawn waits for dependencies", nil,
			step{"o", "session:spawn", `{"taskIds":["{t4}"]}`},
			"BUSINESS_RULE_ERROR", "{t3}",
		},
		{
			"a forced spawn names the unmet dependencies", nil,
			step{"o", "session:spawn", `{"taskIds":["{t4}"],"force":true}`},
			"session.spawned",
			`"unmetDependencies":["{t3}"],"forced":true`,
		},
		{"a spawn with the dependency as its own task", nil, step{
			"o", "session:spawn",
			`{"taskIds":["{t4}","{t3}"],"force":true}`,
		}, "session.spawned", `"started":["{t4}"],"permissions"`},
		{
			"a spawn with the queue strategy may have open dependencies", nil,
			step{"o", "session:spawn", `{"taskIds":["{t4}"],"strategy":"queue"}`},
			"session.spawned",
			`"unmetDependencies":["{t3}"],"permissions"`,
		},
		{
			"nothing is spawned on a cancelled task",
			[]step{{"admin", "task:update", `{"taskId":"{t3}","status":"cancelled"}`}},
			step{"admin", "session:spawn", `{"project":"{p}","taskIds":["{t3}"],"force":true}`},
			"BUSINESS_RULE_ERROR",
			"Task '{t3}' is cancelled",
		},
		{
			"a spawn puts no cancelled task into a queue",
			[]step{{"admin", "task:update", `{"taskId":"{t3}","status":"cancelled"}`}},
			step{"o", "session:spawn", `{"taskIds":["{t3}"],"strategy":"queue"}`},
			"BUSINESS_RULE_ERROR",
			"Task '{t3}' is cancelled",
		},
		{
			"an explicit list", nil,
			step{"o", "session:spawn", `{"taskIds":["{t2}"],"allowedCommands":["task:get"]}`},
			"session.spawned",
			`"commands":["whoami","status","commands","session:register","session:complete","track-file",` +
				`"worker:init","task:get"],"explicit":true`,
		},
		{
			"a list with a write of another role", nil,
			step{
				"o", "session:spawn",
				`{"taskIds":["{t2}"],"allowedCommands":["task:get","task:update"]}`,
			},
			"VALIDATION_ERROR",
			"/allowedCommands/1",
		},
		{"a list with an unknown command", nil, step{
			"o", "session:spawn",
			`{"taskIds":["{t2}"],"allowedCommands":["task:paint"]}`,
		}, "VALIDATION_ERROR", "no such command"},
		{
			"a deleted task satisfies no dependency",
			[]step{{"admin", "task:delete", `{"taskId":"{t3}"}`}},
			step{"o", "session:spawn", `{"taskIds":["{t4}"]}`},
			"BUSINESS_RULE_ERROR", "{t3}",
		},
		{"a task that was completed before its deletion does", []step{
			{"o", "task:complete", `{"taskId":"{t3}"}`},
			{"admin", "task:delete", `{"taskId":"{t3}"}`},
		}, step{
			"o", "session:spawn",
			`{"taskIds":["{t4}"],"force":true}`,
		}, "session.spawned", `"started":["{t4}"],"permissions"`},
		{"a manifest digest that is not a digest", nil, step{
			"admin", "session:spawn",
			`{"project":"{p}","taskIds":["{t2}"],"manifestDigest":"../x"}`,
		}, "VALIDATION_ERROR", "/manifestDigest"},
		{
			"a manifest named by a session", nil,
			step{
				"o", "session:spawn",
				`{"taskIds":["{t2}"],"manifestDigest":"sha256-` + strings.Repeat("a", 64) + `"}`,
			},
			"session.spawned",
			`"manifestDigest":"sha256-aaaa`,
		},
		{"a known session registered with other rights", nil, step{
			"admin", "session:register",
			`{"sessionId":"{w}","role":"orchestrator"}`,
		}, "CONFLICT", "with other settings"},
		{"a known session registered with a list", nil, step{
			"admin", "session:register",
			`{"sessionId":"{w}","allowedCommands":["task:list"]}`,
		}, "CONFLICT", "with other settings"},
		{
			"a note on another project's task", nil,
			step{"w", "session:note", `{"message":"x","taskId":"{u1}"}`},
			"NOT_ALLOWED", "may not touch task",
		},
		{
			"for another session", nil,
			step{"o", "session:spawn", `{"taskIds":["{t2}"],"spawnedBy":"{w}"}`},
			"NOT_ALLOWED", "spawns for itself only",
		},
		{"a user for a session", nil, step{
			"admin", "session:spawn",
			`{"project":"{p}","taskIds":["{t2}"],"spawnedBy":"{o}"}`,
		}, "session.spawned", `"spawnedBy":"{o}"`},
		{"a user for no session", nil, step{
			"admin", "session:spawn",
			`{"project":"{p}","taskIds":["{t2}"],"spawnedBy":"none"}`,
		}, "NOT_FOUND", "none"},
		{"a user for a session elsewhere", nil, step{
			"admin", "session:spawn",
			`{"project":"{q}","taskIds":["{u1}"],"spawnedBy":"{o}"}`,
		}, "VALIDATION_ERROR", "/spawnedBy"},
		{"register", nil, step{"w", "session:register", `{}`}, "session.registered", `{"sessionId":"{w}"}`},
		{
			"register again",
			[]step{{"w", "session:register", `{}`}},
			step{"w", "session:register", `{}`},
			"already so",
			"",
		},
		{
			"register another", nil,
			step{"w", "session:register", `{"sessionId":"{v}"}`},
			"NOT_ALLOWED",
			"may not act as",
		},
		{
			"register a session that was not spawned", nil,
			step{"w", "session:register", `{"sessionId":"mine"}`},
			"NOT_ALLOWED",
			"only a user registers",
		},
		{
			"a user registers a session that was not spawned", nil,
			step{
				"admin", "session:register",
				`{"project":"{p}","sessionId":"mine","role":"orchestrator","status":"idle","env":{"A":"1"}}`,
			},
			"session.registered",
			`"sessionId":"mine","created":{"name":"Unnamed Session","role":"orchestrator","strategy":"default",` +
				`"status":"idle"`,
		},
		{"a known session with create", nil, step{
			"admin", "session:register",
			`{"project":"{p}","sessionId":"{w}","create":true}`,
		}, "CONFLICT", "already exists"},
		{"a user for the id parent", nil, step{
			"admin", "session:register",
			`{"project":"{p}","sessionId":"parent"}`,
		}, "VALIDATION_ERROR", "cannot have the id"},
		{"a user for the id admin", nil, step{
			"admin", "session:register",
			`{"project":"{p}","sessionId":"admin"}`,
		}, "VALIDATION_ERROR", "cannot have the id"},
		{"a user for the id system", nil, step{
			"admin", "session:register",
			`{"project":"{p}","sessionId":"system"}`,
		}, "VALIDATION_ERROR", "cannot have the id"},
		{"a user for the id runner", nil, step{
			"admin", "session:register",
			`{"project":"{p}","sessionId":"runner"}`,
		}, "VALIDATION_ERROR", "cannot have the id"},
		{"an ended status for a new session", nil, step{
			"admin", "session:register",
			`{"project":"{p}","status":"stopped"}`,
		}, "VALIDATION_ERROR", "/status"},
		{
			"a broken variable", nil,
			step{"admin", "session:register", `{"project":"{p}","env":{"A=B":"1"}}`},
			"VALIDATION_ERROR", "/env",
		},
		{
			"spawn in a relative working directory", nil,
			step{"admin", "session:spawn", `{"project":"{p}","taskIds":["{t1}"],"workingDirectory":"src"}`},
			"VALIDATION_ERROR", "/workingDirectory",
		},
		{
			"spawn in an absolute working directory", nil,
			step{"admin", "session:spawn", `{"project":"{p}","taskIds":["{t1}"],"workingDirectory":"C:\\\\src"}`},
			"session.spawned", `"workingDirectory":"C:`,
		},
		{
			"note the end of one's own command while its orchestrator lives", nil,
			step{"w", "session:note", `{"type":"command_exited","message":"m","data":{"exitCode":1}}`},
			"NOT_ALLOWED", "whoever runs",
		},
		{
			"note the end of one's own command after the end of its orchestrator",
			[]step{kill("o")},
			step{"w", "session:note", `{"type":"command_exited","message":"m","data":{"exitCode":1}}`},
			"session.noted", `"command_exited"`,
		},
		{
			"note the end of one's own command of a session that a user spawned", nil,
			step{"v", "session:note", `{"type":"command_exited","message":"m","data":{"exitCode":1}}`},
			"NOT_ALLOWED", "whoever runs",
		},
		{
			"take a variable away",
			[]step{{"admin", "session:update", `{"sessionId":"{w}","env":{"A":"1"}}`}},
			step{"admin", "session:update", `{"sessionId":"{w}","removeEnv":["A"]}`},
			"session.updated",
			`"removedEnv":["A"]`,
		},
		{
			"take a variable away that a session does not have", nil,
			step{"admin", "session:update", `{"sessionId":"{w}","removeEnv":["A"]}`},
			"already so", "",
		},
		{
			"set a variable and take it away",
			[]step{{"admin", "session:update", `{"sessionId":"{w}","env":{"A":"1"}}`}},
			step{"admin", "session:update", `{"sessionId":"{w}","env":{"A":"2"},"removeEnv":["A"]}`},
			"VALIDATION_ERROR", "/removeEnv/0",
		},
		{
			"null for a variable", nil,
			step{"admin", "session:update", `{"sessionId":"{w}","env":{"A":null}}`},
			"VALIDATION_ERROR", "/env",
		},
		{
			"null in a list of texts", nil,
			step{"admin", "task:create", `{"project":"{p}","title":"T","acceptanceCriteria":["a",null]}`},
			"VALIDATION_ERROR", "/acceptanceCriteria",
		},
		{"complete", nil, step{"w", "session:complete", `{}`}, "session.completed", `{w}`},
		{
			"complete again",
			[]step{{"w", "session:complete", `{}`}},
			step{"w", "session:complete", `{}`},
			"already so",
			"",
		},
		{
			"complete another session", nil,
			step{"w", "session:complete", `{"sessionId":"{v}"}`},
			"NOT_ALLOWED",
			"to itself only",
		},
		{"after the end", nil, step{"e", "session:complete", `{}`}, "NOT_ALLOWED", "has ended"},
		{
			"a user completes an ended session", nil,
			step{"admin", "session:complete", `{"sessionId":"{e}"}`},
			"NOT_ALLOWED", "has ended",
		},
		{
			"write to a session that it spawned", nil,
			step{"o", "session:message", `{"sessionId":"{w}","text":"Go on","about":"{t1}"}`},
			"session.messaged", `"text":"Go on","about":"`,
		},
		{
			"write to its spawner", nil,
			step{"w", "session:message", `{"text":"Which?"}`},
			"session.messaged",
			`"text":"Which?"`,
		},
		{
			"write to another orchestrator's session", nil,
			step{"o", "session:message", `{"sessionId":"{v}","text":"x"}`},
			"NOT_ALLOWED", "may not write to session",
		},
		{
			"write without a spawner", nil,
			step{"v", "session:message", `{"text":"x"}`},
			"NOT_ALLOWED", "No session spawned session",
		},
		{
			"a user writes to any session", nil,
			step{"admin", "session:message", `{"sessionId":"{v}","text":"x"}`},
			"session.messaged", `"messageId":"msg_`,
		},
		{
			"write to an ended session", nil,
			step{"admin", "session:message", `{"sessionId":"{e}","text":"x"}`},
			"CONFLICT", "has ended (stopped) | nobody would read",
		},
		{
			"write to a session that said it is done",
			[]step{{"w", "session:complete", `{}`}},
			step{"o", "session:message", `{"sessionId":"{w}","text":"x"}`},
			"CONFLICT", "has reported that its work is done | a session sees mail with its next command",
		},
		{
			"write to a session that said it is done, by force",
			[]step{{"w", "session:complete", `{}`}},
			step{"admin", "session:message", `{"sessionId":"{w}","text":"x","force":true}`},
			"session.messaged", `"forced":true`,
		},
		{"no text", nil, step{"o", "session:message", `{"sessionId":"{w}","text":" "}`}, "VALIDATION_ERROR", "/text"},
		{
			"write about a task of another project", nil,
			step{"o", "session:message", `{"sessionId":"{w}","text":"x","about":"{u1}"}`},
			"NOT_FOUND", "Task with id",
		},
		{
			"kill a session that it spawned", nil,
			step{"o", "session:kill", `{"sessionId":"{w}","reason":"r"}`},
			"session.killed",
			`"reason":"r","status":"stopped"`,
		},
		{"kill another's", nil, step{"o", "session:kill", `{"sessionId":"{v}"}`}, "NOT_ALLOWED", "did not spawn"},
		{"a worker kills nobody", nil, step{"w", "session:kill", `{"sessionId":"{w}"}`}, "NOT_ALLOWED", "session:kill"},
		{
			"a user kills, as failed", nil,
			step{"admin", "session:kill", `{"sessionId":"{v}","failed":true}`},
			"session.killed", `"status":"failed"`,
		},
		{"kill one that has ended", nil, step{"admin", "session:kill", `{"sessionId":"{e}"}`}, "already so", ""},
		{
			"update a session that it spawned", nil,
			step{
				"o", "session:update",
				`{"sessionId":"{w}","name":"N","status":"idle","taskIds":["{t2}"]}`,
			},
			"session.updated",
			`"name":"N","status":"idle","taskIds":["{t2}"]`,
		},
		{
			"update another orchestrator's session", nil,
			step{"o", "session:update", `{"sessionId":"{v}","name":"N"}`},
			"NOT_ALLOWED",
			"did not spawn",
		},
		{"a status that is not for updates", nil, step{
			"admin", "session:update",
			`{"sessionId":"{w}","status":"completed"}`,
		}, "VALIDATION_ERROR", "/status"},
		{
			"a status after the end", nil,
			step{"admin", "session:update", `{"sessionId":"{e}","status":"idle"}`},
			"NOT_ALLOWED", "has ended",
		},
		{"delete", nil, step{"admin", "session:delete", `{"sessionId":"{w}"}`}, "session.deleted", `{w}`},
		{
			"an orchestrator deletes none", nil,
			step{"o", "session:delete", `{"sessionId":"{w}"}`},
			"NOT_ALLOWED",
			"session:delete",
		},
		{
			"note", nil,
			step{"w", "session:note", `{"message":"m","taskId":"{t1}","data":{"a":1}}`},
			"session.noted",
			`"type":"progress","message":"m","taskId":"{t1}","data":{"a":1}`,
		},
		{"a note without anything", nil, step{"w", "session:note", `{}`}, "VALIDATION_ERROR", "message is required"},
		{"a note of a type that only the system writes", nil, step{
			"w", "session:note",
			`{"type":"task_status_changed","message":"m"}`,
		}, "NOT_ALLOWED", "record decisions"},
		{
			"a note of a lost session", nil,
			step{"o", "session:note", `{"type":"session_lost","message":"m"}`},
			"NOT_ALLOWED", "may not write a note of type 'session_lost'",
		},
		{"a user's note of any type", nil, step{
			"admin", "session:note",
			`{"sessionId":"{w}","type":"session_lost","message":"m"}`,
		}, "session.noted", `"type":"session_lost"`},
		{
			"a note of a type that reports write", nil,
			step{"w", "session:note", `{"type":"task_completed","message":"m"}`},
			"NOT_ALLOWED", "a report writes this type",
		},
		{
			"a note that looks like an error", nil,
			step{"w", "session:note", `{"type":"error","message":"m"}`},
			"NOT_ALLOWED", "a report writes this type",
		},
		{
			"a note that looks like a question", nil,
			step{"w", "session:note", `{"type":"needs_input","message":"m"}`},
			"NOT_ALLOWED", "a report writes this type",
		},
		{
			"a session's note that its own command ended", nil,
			step{"w", "session:note", `{"type":"command_exited","message":"m"}`},
			"NOT_ALLOWED", "notes how it ended",
		},
		{
			"a note that the command of a spawned session ended", nil,
			step{"o", "session:note", `{"sessionId":"{w}","type":"command_exited","message":"m"}`},
			"session.noted", `"type":"command_exited"`,
		},
		{
			"a note that the command of another session ended", nil,
			step{"w", "session:note", `{"sessionId":"{o}","type":"command_exited","message":"m"}`},
			"NOT_ALLOWED", "did not spawn",
		},
		{
			"a note for another", nil,
			step{"o", "session:note", `{"sessionId":"{w}","message":"m"}`},
			"NOT_ALLOWED",
			"may not act as",
		},
		{
			"link", nil,
			step{"admin", "session:link", `{"sessionId":"{w}","taskId":"{t2}"}`},
			"session.task_linked",
			`{t2}`,
		},
		{"link again", nil, step{"admin", "session:link", `{"sessionId":"{w}","taskId":"{t1}"}`}, "already so", ""},
		{
			"link a task elsewhere", nil,
			step{"admin", "session:link", `{"sessionId":"{w}","taskId":"{u1}"}`},
			"VALIDATION_ERROR", "/taskIds",
		},
		{
			"unlink", nil,
			step{"admin", "session:unlink", `{"sessionId":"{w}","taskId":"{t1}"}`},
			"session.task_unlinked",
			`{t1}`,
		},
		{
			"unlink a task that is not linked", nil,
			step{"admin", "session:unlink", `{"sessionId":"{w}","taskId":"{t2}"}`},
			"already so", "",
		},
		{
			"unlink no task", nil,
			step{"admin", "session:unlink", `{"sessionId":"{w}","taskId":"none"}`},
			"NOT_FOUND",
			"none",
		},
		{
			"no such session", nil,
			step{"admin", "session:kill", `{"sessionId":"none"}`},
			"NOT_FOUND",
			"Session with id 'none'",
		},
		{
			"a project that is not its", nil,
			step{"admin", "session:kill", `{"project":"{q}","sessionId":"{w}"}`},
			"VALIDATION_ERROR", "/project",
		},
		{
			"track a file", nil,
			step{"w", "track-file", `{"file":"a.go","taskId":"{t1}"}`},
			"session.file_tracked",
			`"file":"a.go","taskId":"{t1}"`,
		},
		{"no file", nil, step{"w", "track-file", `{}`}, "VALIDATION_ERROR", "file is required"},
		{
			"a file of a task elsewhere", nil,
			step{"w", "track-file", `{"file":"a","taskId":"{u1}"}`},
			"NOT_FOUND",
			"Task",
		},
		{
			"a file for another", nil,
			step{"w", "track-file", `{"sessionId":"{v}","file":"a"}`},
			"NOT_ALLOWED",
			"may not act as",
		},
	})
}

// A session starts only with the manifest that was recorded for it.
func TestManifestDecisions(t *testing.T) {
	begin := func(by, id, fields string) step { return step{by, id, `{"manifestDigest":"` + fields + `}`} }
	some, other := someDigest+`"`, otherDigest+`"`
	worker := step{"admin>a", "session:spawn", `{"project":"{p}","taskIds":["{t2}"],"manifestDigest":"` + someDigest +
		`"}`}
	boss := step{
		"admin>b", "session:spawn",
		`{"project":"{p}","role":"orchestrator","taskIds":["{t2}"],"manifestDigest":"` + someDigest + `"}`,
	}
	bare := step{"admin>a", "session:spawn", `{"project":"{p}","taskIds":["{t2}"]}`}
	again := step{"admin", "session:update", `{"sessionId":"{a}","manifestDigest":"` + otherDigest + `"}`}
	update := func(by, session, digest string) step {
		return step{by, "session:update", `{"sessionId":"{` + session + `}","manifestDigest":"` + digest + `"}`}
	}
	register := func(by, fields string) step { return step{by, "session:register", `{"project":"{p}",` + fields + `}`} }
	decide(t, []decision{
		{
			"begin",
			[]step{worker},
			begin("a", "worker:init", some), "session.registered",
			`{"sessionId":"{a}","manifestDigest":"` + someDigest + `","role":"worker"}`,
		},
		{"begin, and name oneself", []step{worker}, begin("a", "worker:init",
			some+`,"sessionId":"{a}","project":"{p}"`), "session.registered", `"role":"worker"`},
		{
			"an orchestrator begins",
			[]step{boss},
			begin("b", "orchestrator:init", some), "session.registered",
			`{"sessionId":"{b}","manifestDigest":"` + someDigest + `","role":"orchestrator"}`,
		},
		{
			"a queue worker begins",
			[]step{{
				"admin>a", "session:spawn",
				`{"project":"{p}","strategy":"queue","manifestDigest":"` + some + `}`,
			}},
			begin("a", "worker:init", some),
			"session.registered", `"role":"worker"`,
		},
		{
			"a tree worker begins",
			[]step{{
				"admin>a", "session:spawn",
				`{"project":"{p}","taskIds":["{t2}"],"strategy":"tree","manifestDigest":"` + some + `}`,
			}},
			begin("a", "worker:init", some), "session.registered", `"role":"worker"`,
		},
		{
			"a session with a list begins, as the command is core",
			[]step{{
				"admin>a", "session:spawn",
				`{"project":"{p}","taskIds":["{t2}"],"allowedCommands":[],"manifestDigest":"` + some + `}`,
			}},
			begin("a", "worker:init", some), "session.registered", `"role":"worker"`,
		},
		{
			"an idle session begins",
			[]step{worker, {"admin", "session:update", `{"sessionId":"{a}","status":"idle"}`}},
			begin("a", "worker:init", some), "session.registered", "{a}",
		},
		{
			"a session that was registered as idle begins",
			[]step{register("admin>a", `"status":"idle","manifestDigest":"`+some)},
			begin("a", "worker:init", some), "session.registered", `"role":"worker"}`,
		},
		{
			"begin again",
			[]step{worker, begin("a", "worker:init", some)},
			begin("a", "worker:init", some), "already so",
			"",
		},
		{
			"begin when it was already heard",
			[]step{worker, {"a", "report:progress", `{"message":"m"}`}},
			begin("a", "worker:init", some), "already so", "",
		},
		{
			"begin when it is done",
			[]step{worker, {"a", "session:complete", `{}`}},
			begin("a", "worker:init", some),
			"already so", "",
		},
		{
			"with another manifest",
			[]step{worker},
			begin("a", "worker:init", other), "CONFLICT",
			"is not the one that it was given | it has the digest " + otherDigest + ", and what was recorded is " +
				someDigest,
		},
		{
			"with another manifest when it runs",
			[]step{worker, begin("a", "worker:init", some)},
			begin("a", "worker:init", other), "CONFLICT", "is not the one that it was given",
		},
		{
			"with the one before the last",
			[]step{worker, again},
			begin("a", "worker:init", some), "CONFLICT",
			"what was recorded is " + otherDigest,
		},
		{
			"with the last",
			[]step{worker, again},
			begin("a", "worker:init", other), "session.registered",
			`"manifestDigest":"` + otherDigest,
		},
		{
			"without having been given one",
			[]step{bare},
			begin("a", "worker:init", some), "BUSINESS_RULE_ERROR",
			"was created without a manifest",
		},
		{
			"with one that was given later",
			[]step{bare, again},
			begin("a", "worker:init", other), "session.registered",
			`"manifestDigest":"` + otherDigest,
		},
		{
			"with none",
			[]step{worker},
			step{"a", "worker:init", `{}`},
			"VALIDATION_ERROR",
			"manifestDigest is required |  | /manifestDigest",
		},
		{
			"with a digest that is not one",
			[]step{worker},
			begin("a", "worker:init", `sha256-1"`), "VALIDATION_ERROR",
			"is not a digest",
		},
		{
			"with a path",
			[]step{worker},
			begin("a", "worker:init", `../../etc/passwd"`), "VALIDATION_ERROR",
			"/manifestDigest",
		},
		{
			"with a digest in capitals",
			[]step{worker},
			begin("a", "worker:init", `sha256-`+strings.Repeat("A", 64)+`"`),
			"VALIDATION_ERROR", "is not a digest",
		},
		{
			"a worker as an orchestrator",
			[]step{worker},
			begin("a", "orchestrator:init", some), "NOT_ALLOWED",
			"Command 'orchestrator:init' is not allowed for worker",
		},
		{
			"an orchestrator as a worker",
			[]step{boss},
			begin("b", "worker:init", some), "NOT_ALLOWED",
			"Command 'worker:init' is not allowed for orchestrator",
		},
		{
			"a user begins no worker",
			[]step{worker},
			begin("admin", "worker:init", some+`,"sessionId":"{a}"`),
			"NOT_ALLOWED", "Command 'worker:init' is not allowed for a user",
		},
		{
			"nor an orchestrator",
			[]step{boss},
			begin("admin", "orchestrator:init", some+`,"sessionId":"{b}"`),
			"NOT_ALLOWED", "Command 'orchestrator:init' is not allowed for a user",
		},
		{
			"nor the system",
			[]step{worker},
			begin("system", "worker:init", some+`,"sessionId":"{a}"`), "NOT_ALLOWED",
			"worker:init",
		},
		{
			"nor a runner",
			[]step{worker},
			begin("runner", "worker:init", some+`,"sessionId":"{a}"`), "NOT_ALLOWED",
			"worker:init",
		},
		{
			"begin another",
			[]step{worker},
			begin("w", "worker:init", some+`,"sessionId":"{a}"`), "NOT_ALLOWED",
			"may not act as",
		},
		{
			"an orchestrator begins a worker",
			[]step{worker},
			begin("o", "orchestrator:init", some+`,"sessionId":"{a}"`),
			"NOT_ALLOWED", "may not act as",
		},
		{
			"begin a missing session", nil, begin("w", "worker:init", some+`,"sessionId":"none"`), "NOT_FOUND",
			"Session with id 'none'",
		},
		{
			"begin with an invalid id", nil, begin("w", "worker:init", some+`,"sessionId":"a/b"`), "VALIDATION_ERROR",
			"/sessionId",
		},
		{"begin in another project", []step{worker}, begin("a", "worker:init",
			some+`,"sessionId":"{a}","project":"{q}"`), "VALIDATION_ERROR", "/project"},
		{
			"begin oneself in another project",
			[]step{worker},
			begin("a", "worker:init", some+`,"project":"{q}"`),
			"NOT_ALLOWED", "may not touch project",
		},
		{
			"begin after the end",
			[]step{worker, {"admin", "session:kill", `{"sessionId":"{a}"}`}},
			begin("a", "worker:init", some), "NOT_ALLOWED", "has ended",
		},
		{
			"begin after being deleted",
			[]step{worker, {"admin", "session:delete", `{"sessionId":"{a}"}`}},
			begin("a", "worker:init", some), "NOT_ALLOWED", "was deleted",
		},

		{
			"spawn with one", nil,
			step{"o", "session:spawn", `{"taskIds":["{t2}"],"manifestDigest":"` + some + `}`},
			"session.spawned", `"manifestDigest":"` + someDigest,
		},
		{"the inputs of a manifest stay out of the event", nil, step{
			"admin", "session:spawn",
			`{"project":"{p}","taskIds":["{t2}"],"permissionMode":"readOnly","thinkingMode":"auto","maxTurns":7,` +
				`"workingDirectory":"/w","templateId":"x"}`,
		}, "session.spawned", `"permissions":`},
		{"a mode of two lines", nil, step{
			"admin", "session:spawn",
			`{"project":"{p}","taskIds":["{t2}"],"permissionMode":"a\nb"}`,
		}, "VALIDATION_ERROR", "/permissionMode"},
		{"thinking in two lines", nil, step{
			"admin", "session:spawn",
			`{"project":"{p}","taskIds":["{t2}"],"thinkingMode":"a\nb"}`,
		}, "VALIDATION_ERROR", "/thinkingMode"},
		{"a template of two lines", nil, step{
			"admin", "session:spawn",
			`{"project":"{p}","taskIds":["{t2}"],"templateId":"a\nb"}`,
		}, "VALIDATION_ERROR", "/templateId"},
		{
			"register with one", nil, register("admin", `"sessionId":"mine","manifestDigest":"`+some),
			"session.registered", `},"manifestDigest":"` + someDigest + `"}`,
		},
		{
			"register with none", nil, register("admin", `"sessionId":"mine","manifestDigest":""`),
			"session.registered",
			`"input:received","input:wait"]}}}`,
		},
		{
			"register with a bad one", nil, register("admin", `"sessionId":"mine","manifestDigest":"sha256-1"`),
			"VALIDATION_ERROR", "/manifestDigest",
		},
		{
			"register with another kind of digest", nil, register("admin", `"manifestDigest":"md5-`+some),
			"VALIDATION_ERROR", "is not a digest",
		},
		{"issue it again", []step{worker}, again, "session.updated", `{"sessionId":"{a}","manifestDigest":"` +
			otherDigest + `"}`},
		{"an orchestrator issues it again", nil, update("o", "w", someDigest), "session.updated", someDigest},
		{"an orchestrator reissues another's", nil, update("o", "v", someDigest), "NOT_ALLOWED", "did not spawn"},
		{"a worker issues its own", nil, update("w", "w", someDigest), "NOT_ALLOWED", "session:update"},
		{"issue none", nil, update("admin", "w", ""), "VALIDATION_ERROR", "manifestDigest is empty"},
		{
			"issue a bad one", nil, update("admin", "w", "sha256-"+strings.Repeat("g", 64)), "VALIDATION_ERROR",
			"is not a digest",
		},
		{"issue one with a break", nil, update("admin", "w", someDigest+`\n`), "VALIDATION_ERROR", "/manifestDigest"},
	})
}

func TestReportDecisions(t *testing.T) {
	decide(t, []decision{
		{
			"on its own task", nil,
			step{"w", "report:progress", `{"message":"m","taskIds":["{t1}","{t1}"]}`},
			"session.reported", `{"sessionId":"{w}","kind":"progress","message":"m","taskIds":["{t1}"]}`,
		},
		{
			"by the other name", nil,
			step{"w", "task:report:blocked", `{"message":"m","taskIds":["{t1}"]}`},
			"session.reported", `"kind":"blocked"`,
		},
		{
			"by the other name, without a task", nil,
			step{"w", "task:report:blocked", `{"message":"m"}`},
			"VALIDATION_ERROR", "names its task",
		},
		{
			"blocked", nil,
			step{"w", "report:blocked", `{"message":"m","taskIds":["{t1}"]}`},
			"session.reported", `"kind":"blocked"`,
		},
		{
			"on a task below its own", nil,
			step{"w", "report:error", `{"message":"m","taskIds":["{t2}"]}`},
			"session.reported", `"kind":"error"`,
		},
		{
			"on another session's task", nil,
			step{"w", "report:progress", `{"message":"m","taskIds":["{t1}","{t3}"]}`},
			"NOT_ALLOWED", "may not report on task '{t3}'",
		},
		{"an orchestrator on a task of its project", nil, step{
			"o", "report:needs-input",
			`{"message":"m","taskIds":["{t1}","{t5}"]}`,
		}, "session.reported", `"kind":"needs-input"`},
		{
			"on another project's", nil,
			step{"o", "report:progress", `{"message":"m","taskIds":["{u1}"]}`},
			"NOT_ALLOWED",
			"own project",
		},
		{"on no task", nil, step{"w", "report:progress", `{"message":"m","taskIds":["none"]}`}, "NOT_FOUND", "none"},
		{
			"without words, on a task", nil,
			step{"w", "report:progress", `{"taskIds":["{t1}"]}`},
			"session.reported",
			`"taskIds":["{t1}"]`,
		},
		{
			"progress after it said it is done",
			[]step{{"w", "session:complete", `{}`}},
			step{"w", "report:progress", `{"message":"m","taskIds":["{t1}"]}`},
			"session.reported",
			`"taskIds":["{t1}"],"afterDone":true`,
		},
		{
			"an error after it said it is done still counts",
			[]step{{"w", "session:complete", `{}`}},
			step{"w", "report:error", `{"message":"m","taskIds":["{t1}"]}`},
			"session.reported",
			`"kind":"error","message":"m","taskIds":["{t1}"]}`,
		},
		{"without words or task", nil, step{"w", "report:progress", `{}`}, "VALIDATION_ERROR", "message is required"},
		{
			"complete with a task", nil,
			step{"w", "report:complete", `{"message":"m","taskIds":["{t1}"]}`},
			"session.reported", `"taskIds":["{t1}"]}`,
		},
		{
			"complete without a task ends the work", nil,
			step{"w", "report:complete", `{"message":"m"}`},
			"session.reported",
			`"sessionCompleted":true`,
		},
		{
			"progress without a task does not", nil,
			step{"w", "report:progress", `{"message":"m"}`},
			"session.reported",
			`"message":"m"}`,
		},
		{
			"a report kept before the end is late", nil,
			step{"e@1h", "report:complete", `{"message":"m"}`},
			"session.reported", `"message":"m","late":true`,
		},
		{
			"a report that was not kept is refused after the end", nil,
			step{"e", "report:complete", `{"message":"m"}`},
			"NOT_ALLOWED", "has ended: the user killed it at 20",
		},
		{
			"the end of the session is reported before a missing task", nil,
			step{"e", "report:progress", `{"message":"m","taskIds":["none"]}`},
			"NOT_ALLOWED", "has ended: the user killed it at 20",
		},
		{"a report kept after the end is refused", []step{{"time", "", "1m"}}, step{
			"e@59s", "report:complete",
			`{"message":"m"}`,
		}, "NOT_ALLOWED", "kept after the end"},
		{
			"a time in the future becomes now",
			[]step{{"time", "", "1m"}},
			step{"e@-1h", "report:complete", `{"message":"m"}`},
			"NOT_ALLOWED", "kept after the end",
		},
		{
			"a report kept before its session was created is refused", nil,
			step{"e@3h", "report:complete", `{"message":"m"}`},
			"NOT_ALLOWED", "did not exist when this was reported",
		},
		{
			"a user reports nothing", nil,
			step{"admin", "report:progress", `{"message":"m"}`},
			"NOT_ALLOWED",
			"report:progress",
		},
		{
			"in another project", nil,
			step{"w", "report:progress", `{"project":"{q}","message":"m"}`},
			"NOT_ALLOWED",
			"may not touch project",
		},
	})
	w := newWorld(t)
	w.make("own", "w", "task:create", `{"title":"found"}`)
	w.must("w", "report:progress", `{"message":"m","taskIds":["{own}"]}`) // on a task that it created
	if _, err := w.do("k", "report:progress",
		`{"message":"m","taskIds":["{own}"]}`); code(err) != commands.CodeNotAllowed {
		t.Errorf("on a task that another session created: %v", err)
	}
}

// Steps with which many lines of the tables below begin.
var (
	push   = func(task string) step { return step{"k", "queue:push", `{"taskId":"{` + task + `}"}`} }
	start  = step{"k", "queue:start", `{}`}
	named  = step{"admin", "queue:create", `{"project":"{p}","queue":"main"}`}
	pushTo = func(task string) step {
		return step{"admin", "queue:push", `{"project":"{p}","queue":"main","taskId":"{` + task + `}"}`}
	}
	puller = func(name string) step {
		return step{"admin>" + name, "session:spawn", `{"project":"{p}","strategy":"queue","queue":"main"}`}
	}
	starts = func(by string) step { return step{by, "queue:start", `{}`} }
	lose   = func(name string) step {
		return step{"system", "session:lost", `{"sessionId":"{` + name + `}","silentFor":60000,"lease":60000}`}
	}
	hears  = func(name string) step { return step{"system", "session:recovered", `{"sessionId":"{` + name + `}"}`} }
	kill   = func(name string) step { return step{"admin", "session:kill", `{"sessionId":"{` + name + `}"}`} }
	giveUp = func(task string) step {
		return step{"system", "queue:return", `{"project":"{p}","queue":"main","taskId":"{` + task + `}"}`}
	}
)

func TestQueueDecisions(t *testing.T) {
	decide(t, []decision{
		{
			"create", nil,
			step{"admin", "queue:create", `{"project":"{p}","queue":"main"}`},
			"queue.created",
			`{"queue":"main","maxAttempts":3}`,
		},
		{
			"create one that trusts", nil,
			step{
				"admin", "queue:create",
				`{"project":"{p}","queue":"main","trustReports":true,"maxAttempts":1}`,
			},
			"queue.created",
			`{"queue":"main","trustReports":true,"maxAttempts":1}`,
		},
		{"create again", []step{named}, step{
			"admin", "queue:create",
			`{"project":"{p}","queue":"main","maxAttempts":3}`,
		}, "already so", ""},
		{
			"create again, otherwise",
			[]step{named},
			step{
				"admin", "queue:create",
				`{"project":"{p}","queue":"main","trustReports":true}`,
			},
			"CONFLICT",
			"already exists, with other settings",
		},
		{
			"a queue of the same name in another project",
			[]step{named},
			step{"admin", "queue:create", `{"project":"{q}","queue":"main"}`},
			"queue.created", "main",
		},
		{
			"a queue with the name of a session", nil,
			step{"admin", "queue:create", `{"project":"{p}","queue":"{w}"}`},
			"CONFLICT",
			"is the id of a session",
		},
		{
			"a queue with the name of a session's own queue", nil,
			step{"admin", "queue:create", `{"project":"{p}","queue":"{k}"}`},
			"CONFLICT", "already exists",
		},
		{
			"create without a name", nil,
			step{"admin", "queue:create", `{"project":"{p}"}`},
			"VALIDATION_ERROR",
			"queue is required",
		},
		{
			"create with an invalid name", nil,
			step{"admin", "queue:create", `{"project":"{p}","queue":"a b"}`},
			"VALIDATION_ERROR", "is not an id",
		},
		{
			"create without a project", nil,
			step{"admin", "queue:create", `{"project":"none","queue":"main"}`},
			"NOT_FOUND",
			"Project with id 'none'",
		},
		{"create with too many attempts", nil, step{
			"admin", "queue:create",
			`{"project":"{p}","queue":"main","maxAttempts":1001}`,
		}, "VALIDATION_ERROR", "/maxAttempts"},
		{"create with less than none", nil, step{
			"admin", "queue:create",
			`{"project":"{p}","queue":"main","maxAttempts":-1}`,
		}, "VALIDATION_ERROR", "/maxAttempts"},
		{"a session creates none", nil, step{"o", "queue:create", `{"queue":"main"}`}, "NOT_ALLOWED", "queue:create"},

		{"push to one's own", nil, push("t1"), "queue.item_pushed", `{"queue":"{k}","taskId":"{t1}"}`},
		{
			"push by its name", nil,
			step{"k", "queue:push", `{"queue":"{k}","taskId":"{t1}"}`},
			"queue.item_pushed",
			`"queue":"{k}"`,
		},
		{
			"push to another queue",
			[]step{named},
			step{"k", "queue:push", `{"queue":"main","taskId":"{t1}"}`},
			"NOT_ALLOWED",
			"may not use queue 'main' | a session pulls from the queue that it was spawned with",
		},
		{"push for another session", []step{named, puller("a")}, step{
			"a", "queue:push",
			`{"sessionId":"{k}","taskId":"{t1}"}`,
		}, "NOT_ALLOWED", "may not act as"},
		{
			"a user pushes by session", nil,
			step{"admin", "queue:push", `{"sessionId":"{k}","taskId":"{t1}"}`},
			"queue.item_pushed", `{"queue":"{k}","taskId":"{t1}"}`,
		},
		{"a user pushes by name", []step{named}, pushTo("t1"), "queue.item_pushed", `{"queue":"main","taskId":"{t1}"}`},
		{"a user pushes to a session's own by its name", nil, step{
			"admin", "queue:push",
			`{"project":"{p}","queue":"{k}","taskId":"{t1}"}`,
		}, "queue.item_pushed", `{"queue":"{k}","taskId":"{t1}"}`},
		{
			"a user pushes without a queue", nil,
			step{"admin", "queue:push", `{"project":"{p}","taskId":"{t1}"}`},
			"VALIDATION_ERROR", "names the session, or the queue",
		},
		{"a user pushes to no queue", nil, pushTo("t1"), "NOT_FOUND", "There is no queue 'main' in project "},
		{
			"a user pushes by the wrong session", nil,
			step{"admin", "queue:push", `{"sessionId":"{w}","taskId":"{t1}"}`},
			"VALIDATION_ERROR", "does not use queue strategy",
		},
		{"a user pushes by session to another queue", []step{named}, step{
			"admin", "queue:push",
			`{"sessionId":"{k}","queue":"main","taskId":"{t1}"}`,
		}, "NOT_ALLOWED", "may not use queue"},
		{"a user pushes by session in another project", nil, step{
			"admin", "queue:push",
			`{"project":"{q}","sessionId":"{k}","taskId":"{t1}"}`,
		}, "VALIDATION_ERROR", "/project"},
		{"push nothing", nil, step{"k", "queue:push", `{}`}, "VALIDATION_ERROR", "taskId is required"},
		{"push no task", nil, step{"k", "queue:push", `{"taskId":"none"}`}, "NOT_FOUND", "Task with id 'none'"},
		{"push a task elsewhere", nil, push("u1"), "VALIDATION_ERROR", "/taskId"},
		{
			"push again",
			[]step{push("t1")},
			push("t1"), "CONFLICT",
			"Task {t1} already in queue | it is queued in queue {k}",
		},
		{
			"push a failed item",
			[]step{push("t1"), start, {"k", "queue:fail", `{}`}},
			push("t1"), "CONFLICT",
			"it is failed in queue",
		},
		{"push into two queues", []step{named, push("t1")}, pushTo("t1"), "queue.item_pushed", "main"},
		{
			"a worker without a queue pushes nothing", nil,
			step{"w", "queue:push", `{"taskId":"{t1}"}`},
			"NOT_ALLOWED",
			"queue:push",
		},
		{"nor does an orchestrator", nil, step{"o", "queue:push", `{"taskId":"{t1}"}`}, "NOT_ALLOWED", "queue:push"},

		{
			"start",
			[]step{push("t2"), push("t1")},
			start, "queue.item_started",
			`{"queue":"{k}","taskId":"{t2}","sessionId":"{k}","attempt":1}`,
		},
		{
			"start from a named queue",
			[]step{named, pushTo("t1"), puller("a")},
			starts("a"), "queue.item_started",
			`{"queue":"main","taskId":"{t1}","sessionId":"{a}","attempt":1}`,
		},
		{
			"start the next item while another session holds one",
			[]step{named, pushTo("t1"), pushTo("t2"), puller("a"), puller("b"), starts("a")},
			starts("b"), "queue.item_started", `"taskId":"{t2}","sessionId":"{b}"`,
		},
		{"start while holding", []step{push("t1"), push("t2"), start}, start, "already so", ""},
		{"start when it is empty", nil, start, "already so", ""},
		{
			"start when all are held",
			[]step{named, pushTo("t1"), puller("a"), puller("b"), starts("a")},
			starts("b"),
			"already so", "",
		},
		{
			"start passes over waiting items",
			[]step{push("t4"), push("t1")},
			start, "queue.item_started",
			`"taskId":"{t1}","sessionId":"{k}","attempt":1,"passedOver":1}`,
		},
		{"start when all wait", []step{push("t4")}, start, "already so", ""},
		{
			"start an item that waited",
			[]step{push("t4"), push("t1"), {"o", "task:complete", `{"taskId":"{t3}"}`}},
			start,
			"queue.item_started",
			`"taskId":"{t4}","sessionId":"{k}","attempt":1}`,
		},
		{
			"a report does not satisfy a dependency",
			[]step{push("t4"), {"v", "report:complete", `{"message":"m","taskIds":["{t3}"]}`}},
			start,
			"already so",
			"",
		},
		{
			"a report satisfies a dependency in a queue that trusts reports",
			[]step{
				{"admin", "queue:create", `{"project":"{p}","queue":"main","trustReports":true}`},
				puller("a"),
				pushTo("t4"),
				{"v", "report:complete", `{"message":"m","taskIds":["{t3}"]}`},
			},
			starts("a"),
			"queue.item_started",
			`"taskId":"{t4}"`,
		},
		{
			"start passes over completed tasks",
			[]step{push("t1"), push("t2"), {"o", "task:complete", `{"taskId":"{t1}","force":true}`}},
			start,
			"queue.item_started",
			`"taskId":"{t2}","sessionId":"{k}","attempt":1,"passedOver":1`,
		},
		{
			"a user starts for a session",
			[]step{push("t1")},
			step{"admin", "queue:start", `{"sessionId":"{k}"}`},
			"queue.item_started",
			`"sessionId":"{k}"`,
		},
		{
			"a user starts without a session",
			[]step{named, pushTo("t1")},
			step{"admin", "queue:start", `{"project":"{p}","queue":"main"}`},
			"VALIDATION_ERROR",
			"sessionId is required: only a session can hold an item",
		},
		{
			"start for another",
			[]step{named, puller("a")},
			step{"a", "queue:start", `{"sessionId":"{k}"}`},
			"NOT_ALLOWED",
			"may not act as",
		},
		{
			"start from another queue",
			[]step{named},
			step{"k", "queue:start", `{"queue":"main"}`},
			"NOT_ALLOWED",
			"may not use queue",
		},
		{"a killed one starts nothing", []step{push("t1"), kill("k")}, start, "NOT_ALLOWED", "has ended"},
		{
			"a user starts nothing for a killed session",
			[]step{push("t1"), kill("k")},
			step{"admin", "queue:start", `{"sessionId":"{k}"}`},
			"NOT_ALLOWED", "has ended",
		},
		{
			"one that said that it is done starts nothing",
			[]step{push("t1"), {"k", "session:complete", `{}`}},
			start, "CONFLICT",
			"reported that it is done, and gets no more items",
		},
		{
			"start while holding, after it said that it is done",
			[]step{push("t1"), start, {"k", "session:complete", `{}`}},
			start, "already so", "",
		},
		{
			"a lost one starts nothing",
			[]step{push("t1"), lose("k")},
			start, "CONFLICT",
			"is lost, and cannot hold an item",
		},
		{
			"a session that is heard again starts",
			[]step{push("t1"), lose("k"), hears("k")},
			start, "queue.item_started",
			"{t1}",
		},
		{
			"one without the strategy", nil,
			step{"admin", "queue:start", `{"sessionId":"{w}"}`},
			"VALIDATION_ERROR",
			"Session {w} does not use queue strategy",
		},
		{"one that nobody spawned has no queue", []step{{
			"admin>mine", "session:register",
			`{"project":"{p}","strategy":"queue"}`,
		}}, starts("mine"), "NOT_FOUND", "Queue with id '{mine}'"},
		{
			"a returned item is first",
			[]step{
				named, puller("a"), pushTo("t1"), pushTo("t2"), starts("a"), kill("a"),
				giveUp("t1"), puller("b"),
			},
			starts("b"), "queue.item_started",
			`"taskId":"{t1}","sessionId":"{b}","attempt":2}`,
		},

		{
			"complete",
			[]step{push("t1"), start},
			step{"k", "queue:complete", `{}`},
			"queue.item_completed",
			`{"queue":"{k}","taskId":"{t1}","sessionId":"{k}"}`,
		},
		{
			"complete by task",
			[]step{push("t1"), start},
			step{"k", "queue:complete", `{"taskId":"{t1}"}`},
			"queue.item_completed", "{t1}",
		},
		{
			"complete another task",
			[]step{push("t1"), start},
			step{"k", "queue:complete", `{"taskId":"{t2}"}`},
			"CONFLICT", "holds task {t1}, not {t2}",
		},
		{"complete nothing", nil, step{"k", "queue:complete", `{}`}, "CONFLICT", "holds no item"},
		{
			"complete an item that is not held",
			[]step{push("t1")},
			step{"k", "queue:complete", `{"taskId":"{t1}"}`},
			"CONFLICT", "holds no item",
		},
		{
			"complete again",
			[]step{push("t1"), start, {"k", "queue:complete", `{}`}},
			step{"k", "queue:complete", `{}`},
			"CONFLICT", "its last one, task {t1}, is completed",
		},
		{"complete again by task", []step{push("t1"), start, {"k", "queue:complete", `{}`}}, step{
			"k", "queue:complete",
			`{"taskId":"{t1}"}`,
		}, "already so", ""},
		{"complete what it failed", []step{push("t1"), start, {"k", "queue:fail", `{}`}}, step{
			"k", "queue:complete",
			`{"taskId":"{t1}"}`,
		}, "CONFLICT", "its last one, task {t1}, is failed"},
		{"a user completes for a session", []step{push("t1"), start}, step{
			"admin", "queue:complete",
			`{"sessionId":"{k}"}`,
		}, "queue.item_completed", `"sessionId":"{k}"`},
		{"a user completes without a session", []step{named}, step{
			"admin", "queue:complete",
			`{"project":"{p}","queue":"main"}`,
		}, "VALIDATION_ERROR", "sessionId is required"},
		{"complete for another", []step{named, puller("a"), push("t1"), start}, step{
			"a", "queue:complete",
			`{"sessionId":"{k}","taskId":"{t1}"}`,
		}, "NOT_ALLOWED", "may not act as"},
		{
			"complete an item that another session holds",
			[]step{named, puller("a"), puller("b"), pushTo("t1"), starts("a")},
			step{"b", "queue:complete", `{"taskId":"{t1}"}`},
			"CONFLICT", "holds no item",
		},
		{
			"complete an item that was returned",
			[]step{
				named, puller("a"), pushTo("t1"), starts("a"), lose("a"), giveUp("t1"),
				hears("a"),
			},
			step{"a", "queue:complete", `{}`},
			"CONFLICT",
			"no longer holds task {t1}: it is back in the queue",
		},
		{
			"complete an item that another session holds by now",
			[]step{
				named, puller("a"), puller("b"), pushTo("t1"), starts("a"),
				lose("a"), giveUp("t1"), starts("b"), hears("a"),
			},
			step{"a", "queue:complete", `{"taskId":"{t1}"}`},
			"CONFLICT", "no longer holds task {t1}: session '{b}' does | its item was returned",
		},
		{
			"complete an item that another session has completed",
			[]step{
				named, puller("a"), puller("b"), pushTo("t1"), starts("a"),
				lose("a"), giveUp("t1"), starts("b"),
				{"b", "queue:complete", `{}`},
				hears("a"),
			},
			step{"a", "queue:complete", `{}`},
			"CONFLICT", "it is completed by session '{b}'",
		},
		{
			"complete by task what another has completed",
			[]step{
				named, puller("a"), puller("b"), pushTo("t1"),
				starts("a"), lose("a"), giveUp("t1"), starts("b"),
				{"b", "queue:complete", `{}`},
				hears("a"),
			},
			step{"a", "queue:complete", `{"taskId":"{t1}"}`},
			"CONFLICT", "it is completed by session '{b}'",
		},
		{"a lost one that still holds completes", []step{push("t1"), start, lose("k")}, step{
			"k", "queue:complete",
			`{}`,
		}, "queue.item_completed", "{t1}"},
		{
			"a killed one completes nothing",
			[]step{push("t1"), start, kill("k")},
			step{"k", "queue:complete", `{}`},
			"NOT_ALLOWED", "has ended",
		},

		{
			"fail",
			[]step{push("t1"), start},
			step{"k", "queue:fail", `{"reason":"r"}`},
			"queue.item_failed",
			`{"queue":"{k}","taskId":"{t1}","sessionId":"{k}","reason":"r"}`,
		},
		{"fail again by task", []step{push("t1"), start, {"k", "queue:fail", `{}`}}, step{
			"k", "queue:fail",
			`{"taskId":"{t1}"}`,
		}, "already so", ""},
		{"fail nothing", nil, step{"k", "queue:fail", `{}`}, "CONFLICT", "holds no item"},
		{
			"fail with a NUL",
			[]step{push("t1"), start},
			step{"k", "queue:fail", `{"reason":"\u0000"}`},
			"VALIDATION_ERROR", "NUL",
		},
		{"fail an item that another session holds by now", []step{
			named, puller("a"), puller("b"), pushTo("t1"), starts("a"), lose("a"),
			giveUp("t1"), starts("b"), hears("a"),
		}, step{"a", "queue:fail", `{}`}, "CONFLICT", "session '{b}' does"},
		{
			"a user fails for a session",
			[]step{push("t1"), start},
			step{"admin", "queue:fail", `{"sessionId":"{k}"}`},
			"queue.item_failed", `"sessionId":"{k}"`,
		},
		{
			"a user fails for nobody",
			[]step{named},
			step{"admin", "queue:fail", `{"project":"{p}","queue":"main"}`},
			"VALIDATION_ERROR", "sessionId is required",
		},
		{
			"fail for another",
			[]step{named, puller("a")},
			step{"a", "queue:fail", `{"sessionId":"{k}"}`},
			"NOT_ALLOWED",
			"may not act as",
		},

		{
			"skip the held item",
			[]step{push("t1"), start},
			step{"k", "queue:skip", `{}`},
			"queue.item_skipped",
			`{"queue":"{k}","taskId":"{t1}","sessionId":"{k}","held":true}`,
		},
		{
			"skip the next",
			[]step{push("t1"), push("t2")},
			step{"k", "queue:skip", `{}`},
			"queue.item_skipped",
			`{"queue":"{k}","taskId":"{t1}","sessionId":"{k}"}`,
		},
		{"skip the next that may be started", []step{push("t4"), push("t2")}, step{
			"k", "queue:skip",
			`{"taskId":"{t2}"}`,
		}, "queue.item_skipped", `{t2}`},
		{
			"skip the held item with a reason",
			[]step{push("t1"), start},
			step{"k", "queue:skip", `{"reason":"no Mac"}`},
			"queue.item_skipped",
			`{"queue":"{k}","taskId":"{t1}","sessionId":"{k}","held":true,"reason":"no Mac"}`,
		},
		{
			"skip the next with a reason",
			[]step{push("t1")},
			step{"k", "queue:skip", `{"reason":"no Mac"}`},
			"queue.item_skipped",
			`{"queue":"{k}","taskId":"{t1}","sessionId":"{k}","reason":"no Mac"}`,
		},
		{
			"skip with a reason that is too long",
			[]step{push("t1"), start},
			step{"k", "queue:skip", `{"reason":"` + strings.Repeat("x", events.MaxText+1) + `"}`},
			"VALIDATION_ERROR", "a reason has at most",
		},
		{
			"queue a skipped item again with a reason",
			[]step{push("t1"), {"k", "queue:skip", `{}`}},
			step{"admin", "queue:requeue", `{"taskId":"{t1}","reason":"use the Mac"}`},
			"queue.item_requeued", `{"queue":"{k}","taskId":"{t1}","reason":"use the Mac"}`,
		},
		{
			"queue an item again for the same reason",
			[]step{
				push("t1"),
				{"k", "queue:skip", `{}`},
				{"admin", "queue:requeue", `{"taskId":"{t1}","reason":"use the Mac"}`},
			},
			step{"admin", "queue:requeue", `{"taskId":"{t1}","reason":"use the Mac"}`},
			"already so", "",
		},
		{
			"queue an item again for another reason",
			[]step{
				push("t1"),
				{"k", "queue:skip", `{}`},
				{"admin", "queue:requeue", `{"taskId":"{t1}","reason":"use the Mac"}`},
			},
			step{"admin", "queue:requeue", `{"taskId":"{t1}","reason":"use the PC"}`},
			"CONFLICT", "the reason is not stored",
		},
		{
			"skip an item that is not the next",
			[]step{push("t1"), push("t2")},
			step{"k", "queue:skip", `{"taskId":"{t2}"}`},
			"CONFLICT", "The next item is task {t1}, not {t2}",
		},
		{"skip another than what is held", []step{push("t1"), push("t2"), start}, step{
			"k", "queue:skip",
			`{"taskId":"{t2}"}`,
		}, "CONFLICT", "holds task {t1}, not {t2}"},
		{"skip nothing", nil, step{"k", "queue:skip", `{}`}, "CONFLICT", "No items left in queue to skip"},
		{
			"skip an item that another session holds by now",
			[]step{
				named, puller("a"), puller("b"), pushTo("t1"), starts("a"), lose("a"),
				giveUp("t1"), starts("b"), hears("a"),
			},
			step{"a", "queue:skip", `{"taskId":"{t1}"}`},
			"CONFLICT",
			"session '{b}' does",
		},
		{
			"a user skips the next by name",
			[]step{named, pushTo("t1")},
			step{
				"admin", "queue:skip",
				`{"project":"{p}","queue":"main"}`,
			},
			"queue.item_skipped",
			`{"queue":"main","taskId":"{t1}","sessionId":""}`,
		},
		{
			"a user skips for a session",
			[]step{push("t1"), start},
			step{"admin", "queue:skip", `{"sessionId":"{k}"}`},
			"queue.item_skipped", `"held":true`,
		},
		{"a user skips the next for one that has ended", []step{push("t1"), kill("k")}, step{
			"admin", "queue:skip",
			`{"sessionId":"{k}"}`,
		}, "NOT_ALLOWED", "has ended"},
		{
			"skip for another",
			[]step{named, puller("a")},
			step{"a", "queue:skip", `{"sessionId":"{k}"}`},
			"NOT_ALLOWED",
			"may not act as",
		},

		{
			"move to the front",
			[]step{push("t1"), push("t3"), push("t5")},
			step{"admin", "queue:move", `{"taskId":"{t5}","first":true}`},
			"queue.item_moved", `{"queue":"{k}","taskId":"{t5}","before":"{t1}"}`,
		},
		{
			"move before another",
			[]step{push("t1"), push("t3"), push("t5")},
			step{"admin", "queue:move", `{"taskId":"{t1}","before":"{t5}"}`},
			"queue.item_moved", `"before":"{t5}"`,
		},
		{
			"move to the end",
			[]step{push("t1"), push("t3")},
			step{"admin", "queue:move", `{"taskId":"{t1}"}`},
			"queue.item_moved", `{"queue":"{k}","taskId":"{t1}"}`,
		},
		{
			"move to the current place",
			[]step{push("t1"), push("t3")},
			step{"admin", "queue:move", `{"taskId":"{t1}","before":"{t3}"}`},
			"already so", "",
		},
		{
			"move the first to the front",
			[]step{push("t1"), push("t3")},
			step{"admin", "queue:move", `{"taskId":"{t1}","first":true}`},
			"already so", "",
		},
		{
			"move a held item",
			[]step{push("t1"), start},
			step{"admin", "queue:move", `{"taskId":"{t1}","first":true}`},
			"CONFLICT", "only queued items",
		},
		{
			"move before itself",
			[]step{push("t1")},
			step{"admin", "queue:move", `{"taskId":"{t1}","before":"{t1}"}`},
			"VALIDATION_ERROR", "before itself",
		},
		{
			"move before a missing item",
			[]step{push("t1")},
			step{"admin", "queue:move", `{"taskId":"{t1}","before":"{t3}"}`},
			"NOT_FOUND", "is not in queue",
		},
		{
			"an item that was moved to the front is started first",
			[]step{push("t3"), push("t5"), {"admin", "queue:move", `{"taskId":"{t5}","first":true}`}},
			start,
			"queue.item_started", `"taskId":"{t5}"`,
		},
		{
			"remove a queued item",
			[]step{push("t1")},
			step{"admin", "queue:remove", `{"taskId":"{t1}"}`},
			"queue.item_removed", `{"queue":"{k}","taskId":"{t1}"}`,
		},
		{
			"remove a held item",
			[]step{push("t1"), start},
			step{"admin", "queue:remove", `{"taskId":"{t1}"}`},
			"CONFLICT", "an item that is held stays",
		},
		{
			"remove twice",
			[]step{push("t1"), {"admin", "queue:remove", `{"taskId":"{t1}"}`}},
			step{"admin", "queue:remove", `{"taskId":"{t1}","queue":"{k}"}`},
			"NOT_FOUND", "is not in queue",
		},
		{
			"push a removed item",
			[]step{push("t1"), {"admin", "queue:remove", `{"taskId":"{t1}"}`}},
			push("t1"),
			"queue.item_pushed", "{t1}",
		},
		{
			"complete an item that was removed after it was returned",
			[]step{
				push("t1"), start,
				{"k", "queue:fail", `{}`},
				{"admin", "queue:remove", `{"taskId":"{t1}"}`},
			},
			step{"k", "queue:complete", `{"taskId":"{t1}"}`},
			"CONFLICT", "was removed from its queue",
		},
		{
			"the earlier holder of a removed item still reports on it",
			[]step{
				push("t5"), start,
				{"k", "queue:fail", `{}`},
				{"admin", "queue:remove", `{"taskId":"{t5}"}`},
			},
			step{"k", "report:progress", `{"message":"m","taskIds":["{t5}"]}`},
			"session.reported", "{t5}",
		},
		{
			"delete a queue",
			[]step{named},
			step{"admin", "queue:delete", `{"project":"{p}","queue":"main"}`},
			"queue.deleted", `{"queue":"main"}`,
		},
		{
			"delete a queue with items",
			[]step{named, pushTo("t1")},
			step{"admin", "queue:delete", `{"project":"{p}","queue":"main"}`},
			"CONFLICT", "is not empty",
		},
		{
			"delete a session's own queue", nil,
			step{"admin", "queue:delete", `{"project":"{p}","queue":"{k}"}`},
			"CONFLICT", "own queue of a session",
		},
		{
			"delete no queue", nil,
			step{"admin", "queue:delete", `{"project":"{p}","queue":"none"}`},
			"NOT_FOUND", "There is no queue",
		},
		{
			"create a deleted queue again",
			[]step{named, {"admin", "queue:delete", `{"project":"{p}","queue":"main"}`}},
			named,
			"queue.created", `"queue":"main"`,
		},
		{
			"a session changes no queue",
			[]step{push("t1")},
			step{"k", "queue:move", `{"taskId":"{t1}"}`},
			"NOT_ALLOWED", "queue:move",
		},
		{
			"requeue a failed item",
			[]step{push("t1"), start, {"k", "queue:fail", `{}`}},
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"queue.item_requeued",
			`{"queue":"{k}","taskId":"{t1}"}`,
		},
		{
			"requeue a skipped item",
			[]step{push("t1"), {"k", "queue:skip", `{}`}},
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"queue.item_requeued",
			"{t1}",
		},
		{
			"requeue a queued item",
			[]step{push("t1")},
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"already so",
			"",
		},
		{
			"requeue a held item",
			[]step{push("t1"), start},
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"CONFLICT",
			"is processing in queue {k}",
		},
		{
			"requeue an item that is reported as done",
			[]step{push("t1"), start, {"k", "queue:complete", `{}`}},
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"CONFLICT",
			"is completed in queue {k}",
		},
		{
			"requeue a task whose completion is confirmed",
			[]step{
				push("t1"), start,
				{"k", "queue:complete", `{}`},
				{"admin", "task:complete", `{"taskId":"{t1}","force":true}`},
			},
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"CONFLICT",
			"is completed in queue {k}",
		},
		{
			"requeue a reopened task",
			[]step{
				push("t1"), start,
				{"k", "queue:complete", `{}`},
				{"admin", "task:reopen", `{"taskId":"{t1}","reason":"Wrong colour"}`},
			},
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"queue.item_requeued",
			`{"queue":"{k}","taskId":"{t1}"}`,
		},
		{
			"the holder starts a reopened task",
			[]step{
				push("t1"), start,
				{"k", "queue:complete", `{}`},
				{"admin", "task:reopen", `{"taskId":"{t1}"}`},
				{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			},
			start,
			"queue.item_started",
			`"attempt":1`,
		},
		{
			"requeue one of two",
			[]step{named, push("t1"), {"k", "queue:skip", `{}`}, pushTo("t1")},
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"VALIDATION_ERROR",
			"is in 2 queues",
		},
		{
			"requeue the one that is named",
			[]step{named, push("t1"), {"k", "queue:skip", `{}`}, pushTo("t1")},
			step{"admin", "queue:requeue", `{"queue":"{k}","taskId":"{t1}"}`},
			"queue.item_requeued",
			"{k}",
		},
		{
			"requeue a task that is in no queue",
			nil,
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			"VALIDATION_ERROR",
			"is in no queue",
		},
		{
			"requeue a task that is not in the named queue",
			[]step{named},
			step{"admin", "queue:requeue", `{"queue":"main","taskId":"{t1}"}`},
			"NOT_FOUND",
			"Task '{t1}' is not in queue 'main'",
		},
		{"requeue nothing", nil, step{"admin", "queue:requeue", `{}`}, "VALIDATION_ERROR", "taskId is required"},
		{"a session requeues nothing", []step{push("t1"), {"k", "queue:skip", `{}`}}, step{
			"k", "queue:requeue",
			`{"taskId":"{t1}"}`,
		}, "NOT_ALLOWED", "queue:requeue"},
		{
			"requeued is at the end, with no attempts",
			[]step{
				push("t1"), push("t2"), start,
				{"k", "queue:fail", `{}`},
				{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
				{"k", "queue:skip", `{}`},
			},
			start, "queue.item_started",
			`"taskId":"{t1}","sessionId":"{k}","attempt":1}`,
		},
		{
			"complete an item that was queued again",
			[]step{
				push("t1"), start,
				{"k", "queue:fail", `{}`},
				{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			},
			step{"k", "queue:complete", `{}`},
			"CONFLICT",
			"it is back in the queue | it has been queued again since",
		},

		{
			"return from a killed session",
			[]step{named, puller("a"), pushTo("t1"), starts("a"), kill("a")},
			giveUp("t1"),
			"queue.item_returned",
			`{"queue":"main","taskId":"{t1}","sessionId":"{a}","attempt":1,"reason":"stopped"}`,
		},
		{
			"return from a failed session",
			[]step{
				named,
				puller("a"),
				pushTo("t1"),
				starts("a"),
				{"admin", "session:kill", `{"sessionId":"{a}","failed":true}`},
			},
			giveUp("t1"),
			"queue.item_returned",
			`"reason":"failed"`,
		},
		{
			"return from a lost session",
			[]step{named, puller("a"), pushTo("t1"), starts("a"), lose("a")},
			giveUp("t1"),
			"queue.item_returned",
			`"reason":"lost"`,
		},
		{
			"return from a deleted session",
			[]step{named, puller("a"), pushTo("t1"), starts("a"), {"admin", "session:delete", `{"sessionId":"{a}"}`}},
			giveUp("t1"),
			"queue.item_returned",
			`"reason":"deleted"`,
		},
		{
			"return from a session that responds",
			[]step{named, puller("a"), pushTo("t1"), starts("a")},
			giveUp("t1"),
			"BUSINESS_RULE_ERROR",
			"is held by session '{a}', which still responds",
		},
		{
			"return from a session that is done but holds an item",
			[]step{named, puller("a"), pushTo("t1"), starts("a"), {"a", "session:complete", `{}`}},
			giveUp("t1"),
			"BUSINESS_RULE_ERROR",
			"which still responds",
		},
		{"return a queued item", []step{named, pushTo("t1")}, giveUp("t1"), "already so", ""},
		{"return an item that is in no queue", []step{named}, giveUp("t1"), "NOT_FOUND", "is not in queue 'main'"},
		{
			"return an item that was started too often",
			[]step{
				{"admin", "queue:create", `{"project":"{p}","queue":"main","maxAttempts":1}`},
				puller("a"),
				pushTo("t1"),
				starts("a"),
				kill("a"),
			},
			giveUp("t1"),
			"BUSINESS_RULE_ERROR",
			"started 1 times, and no more than 1",
		},
		{
			"a user returns nothing",
			[]step{named, puller("a"), pushTo("t1"), starts("a"), kill("a")},
			step{"admin", "queue:return", `{"project":"{p}","queue":"main","taskId":"{t1}"}`},
			"NOT_ALLOWED",
			"queue:return",
		},
		{
			"a session returns nothing",
			[]step{push("t1"), start},
			step{"k", "queue:return", `{"queue":"{k}","taskId":"{t1}"}`},
			"NOT_ALLOWED",
			"queue:return",
		},
		{
			"quarantine",
			[]step{
				{"admin", "queue:create", `{"project":"{p}","queue":"main","maxAttempts":1}`},
				puller("a"),
				pushTo("t1"),
				starts("a"),
				kill("a"),
			},
			step{"system", "queue:quarantine", `{"project":"{p}","queue":"main","taskId":"{t1}"}`},
			"queue.item_quarantined",
			`{"queue":"main","taskId":"{t1}","sessionId":"{a}","attempt":1,"reason":"stopped"}`,
		},
		{
			"quarantine too early",
			[]step{named, puller("a"), pushTo("t1"), starts("a"), kill("a")},
			step{"system", "queue:quarantine", `{"project":"{p}","queue":"main","taskId":"{t1}"}`},
			"BUSINESS_RULE_ERROR",
			"started 1 times, and 3 are allowed",
		},
		{
			"quarantine a held item",
			[]step{
				{"admin", "queue:create", `{"project":"{p}","queue":"main","maxAttempts":1}`},
				puller("a"),
				pushTo("t1"),
				starts("a"),
			},
			step{"system", "queue:quarantine", `{"project":"{p}","queue":"main","taskId":"{t1}"}`},
			"BUSINESS_RULE_ERROR",
			"which still responds",
		},
		{
			"quarantine a queued item",
			[]step{named, pushTo("t1")},
			step{"system", "queue:quarantine", `{"project":"{p}","queue":"main","taskId":"{t1}"}`},
			"already so",
			"",
		},
		{
			"a user quarantines nothing",
			nil,
			step{"admin", "queue:quarantine", `{"project":"{p}","queue":"{k}","taskId":"{t1}"}`},
			"NOT_ALLOWED",
			"queue:quarantine",
		},
	})
}

// A session may report on a task that it once held in its queue.
func TestReportOnPreviouslyHeldTask(t *testing.T) {
	decide(t, []decision{
		{
			"what it holds",
			[]step{push("t1"), start},
			step{"k", "report:progress", `{"message":"m","taskIds":["{t1}"]}`},
			"session.reported", "{t1}",
		},
		{"what it held", []step{push("t1"), start, {"k", "queue:complete", `{}`}}, step{
			"k", "report:progress",
			`{"message":"m","taskIds":["{t1}"]}`,
		}, "session.reported", "{t1}"},
		{
			"what is only queued",
			[]step{push("t1")},
			step{"k", "report:progress", `{"message":"m","taskIds":["{t1}"]}`},
			"NOT_ALLOWED", "may not report on task",
		},
		{
			"what another took over",
			[]step{
				named, puller("a"), puller("b"), pushTo("t1"), starts("a"), lose("a"),
				giveUp("t1"), starts("b"), hears("a"),
			},
			step{"a", "report:progress", `{"message":"m","taskIds":["{t1}"]}`},
			"session.reported", "{t1}",
		},
	})
}

func TestSpawnWithAQueue(t *testing.T) {
	decide(t, []decision{
		{
			"its own", nil,
			step{"o", "session:spawn", `{"strategy":"queue","taskIds":["{t2}","{t1}"]}`},
			"session.spawned", `"queued":["{t2}","{t1}"]`,
		},
		{
			"a named one",
			[]step{named},
			step{
				"o", "session:spawn",
				`{"strategy":"queue","queue":"main","taskIds":["{t1}"]}`,
			},
			"session.spawned",
			`"queue":"main","queued":["{t1}"]`,
		},
		{
			"what is there already is not pushed again",
			[]step{named, pushTo("t1")},
			step{
				"o", "session:spawn",
				`{"strategy":"queue","queue":"main","taskIds":["{t1}","{t2}"]}`,
			},
			"session.spawned",
			`"queue":"main","queued":["{t2}"]`,
		},
		{
			"a missing queue", nil,
			step{"o", "session:spawn", `{"strategy":"queue","queue":"main"}`},
			"NOT_FOUND",
			"There is no queue 'main' in project ",
		},
		{
			"a session's own while it is there", nil,
			step{"o", "session:spawn", `{"strategy":"queue","queue":"{k}"}`},
			"CONFLICT", "is session '{k}'s own",
		},
		{"and when it is gone", []step{{"admin", "session:kill", `{"sessionId":"{k}"}`}}, step{
			"o", "session:spawn",
			`{"strategy":"queue","queue":"{k}"}`,
		}, "session.spawned", `"queue":"{k}"`},
		{
			"one of another project",
			[]step{{"admin", "queue:create", `{"project":"{q}","queue":"main"}`}},
			step{"o", "session:spawn", `{"strategy":"queue","queue":"main"}`},
			"NOT_FOUND", "There is no queue 'main' in project ",
		},
		{
			"what is no name", nil,
			step{"o", "session:spawn", `{"strategy":"queue","queue":"a b"}`},
			"VALIDATION_ERROR",
			"is not an id",
		},
		{
			"another strategy",
			[]step{named},
			step{"o", "session:spawn", `{"queue":"main","taskIds":["{t1}"]}`},
			"VALIDATION_ERROR", "only a session with the queue strategy",
		},
		{
			"a timeout", nil,
			step{"o", "session:spawn", `{"taskIds":["{t1}"],"timeout":5000}`},
			"session.spawned",
			`"timeout":5000`,
		},
		{
			"a negative timeout", nil,
			step{"o", "session:spawn", `{"taskIds":["{t1}"],"timeout":-1}`},
			"VALIDATION_ERROR", "/timeout",
		},
		{
			"a timeout of more than a year", nil,
			step{"o", "session:spawn", `{"taskIds":["{t1}"],"timeout":31536000001}`},
			"VALIDATION_ERROR", "/timeout",
		},
	})
	w := newWorld(t)
	w.make("a", "admin", "session:spawn", `{"project":"{p}","strategy":"queue","taskIds":["{t2}"]}`)
	w.h.View(func(s *projections.State) {
		q := s.Queue(w.ids["p"], w.ids["a"])
		if q == nil || q.SessionID != w.ids["a"] || q.Stats.Queued != 1 ||
			s.Task(w.ids["t2"]).Status != events.TaskTodo {
			t.Errorf("its own queue: %+v", q)
		}
	})
	w.h.View(func(s *projections.State) {
		for rules, want := range map[string]string{commands.RulesVersion: w.ids["p"], "1": ""} {
			spawn := &commands.SpawnSession{
				ProjectRef: commands.ProjectRef{Project: w.ids["p"]}, Strategy: events.StrategyQueue,
				TaskIDs: []string{w.ids["t1"]},
			}
			data, err := spawn.Decide(s, commands.Call{
				By:      commands.Admin(commands.AuthnToken),
				Project: w.ids["p"],
				At:      s.At(),
				Rules:   rules,
			})
			if err != nil {
				t.Fatal(err)
			}
			spawned := data.(*events.SessionSpawned)
			if (spawned.Queue == "") != (want == "") || (len(spawned.Queued) == 0) != (want == "") {
				t.Errorf("by rules %s: queue %q, queued %q", rules, spawned.Queue, spawned.Queued)
			}
		}
	})
}

func TestInputDecisions(t *testing.T) {
	asked := step{"w>i", "report:needs-input", `{"message":"Which?","options":["a","b"]}`}
	open := step{"w>i", "report:needs-input", `{"message":"Which?","taskIds":["{t1}"]}`}
	answer := func(by, text string) step {
		return step{by, "input:answer", `{"inputId":"{i}","answer":"` + text + `"}`}
	}
	received := step{"w", "input:received", `{"inputId":"{i}"}`}
	many := `"` + strings.Join(strings.Split("abcdefghijklmnopqrstu", ""), `","`) + `"`
	decide(t, []decision{
		{
			"ask",
			nil,
			step{"w", "report:needs-input", `{"message":"Which?","taskIds":["{t1}"]}`},
			"session.reported",
			`"taskIds":["{t1}"],"inputId":"input_`,
		},
		{
			"ask with options",
			nil,
			step{"w", "report:needs-input", `{"message":"Which?","options":["a","b"]}`},
			"session.reported",
			`"options":["a","b"]`,
		},
		{
			"ask twice",
			[]step{open},
			step{"w", "report:needs-input", `{"message":"Which?"}`},
			"session.reported",
			`"inputId":"input_`,
		},
		{
			"without words it is no question",
			nil,
			step{"w", "report:needs-input", `{"taskIds":["{t1}"]}`},
			"session.reported",
			`"taskIds":["{t1}"]}`,
		},
		{
			"options without words",
			nil,
			step{"w", "report:needs-input", `{"taskIds":["{t1}"],"options":["a"]}`},
			"VALIDATION_ERROR",
			"a question with options needs a text",
		},
		{
			"options of another report",
			nil,
			step{"w", "report:progress", `{"message":"m","options":["a"]}`},
			"VALIDATION_ERROR",
			"only a needs-input report has options",
		},
		{
			"an empty option",
			nil,
			step{"w", "report:needs-input", `{"message":"m","options":["a"," "]}`},
			"VALIDATION_ERROR",
			"an option is empty",
		},
		{
			"an option twice",
			nil,
			step{"w", "report:needs-input", `{"message":"m","options":["a","b","a"]}`},
			"VALIDATION_ERROR",
			"the option 'a' is listed twice",
		},
		{
			"an option of two lines",
			nil,
			step{"w", "report:needs-input", `{"message":"m","options":["a\nb"]}`},
			"VALIDATION_ERROR",
			"control character",
		},
		{
			"21 options",
			nil,
			step{"w", "report:needs-input", `{"message":"m","options":[` + many + `]}`},
			"VALIDATION_ERROR",
			"at most 20 options, these are 21",
		},
		{
			"a late one opens nothing", nil,
			step{"e@1h", "report:needs-input", `{"message":"m","options":["a"]}`},
			"session.reported", `"message":"m","late":true,"options":["a"]}`,
		},

		{
			"the user answers",
			[]step{open},
			answer("admin", "so"), "input.answered",
			`{"inputId":"{i}","sessionId":"{w}","taskIds":["{t1}"],"answer":"so"}`,
		},
		{"the spawner answers", []step{open}, answer("o", "so"), "input.answered", "so"},
		{
			"another orchestrator does not",
			[]step{{
				"admin>o2", "session:spawn",
				`{"project":"{p}","role":"orchestrator","taskIds":["{t3}"]}`,
			}, open},
			answer("o2", "so"), "NOT_ALLOWED",
			"did not spawn session '{w}'",
		},
		{"the session that asked does not answer", []step{open}, answer("w", "so"), "NOT_ALLOWED", "input:answer"},
		{
			"an orchestrator does not answer itself",
			[]step{{"o>i", "report:needs-input", `{"message":"m"}`}},
			answer("o", "so"), "NOT_ALLOWED", "did not spawn",
		},
		{
			"answer a missing question", nil,
			step{"admin", "input:answer", `{"inputId":"none","answer":"so"}`},
			"NOT_FOUND",
			"Question with id 'none'",
		},
		{
			"answer without a question", nil,
			step{"admin", "input:answer", `{"answer":"so"}`},
			"VALIDATION_ERROR",
			"inputId is required",
		},
		{"answer nothing", []step{open}, answer("admin", " "), "VALIDATION_ERROR", "answer is required"},
		{"answer with a NUL", []step{open}, answer("admin", `\u0000`), "VALIDATION_ERROR", "NUL"},
		{
			"answer too much",
			[]step{open},
			answer("admin", strings.Repeat("x", events.MaxText+1)), "VALIDATION_ERROR",
			"at most",
		},
		{"answer with an option", []step{asked}, answer("o", "b"), "input.answered", `"answer":"b"}`},
		{
			"answer with none of the options",
			[]step{asked},
			answer("o", "c"), "VALIDATION_ERROR",
			"'c' is not one of the options | the session asked for one of: a, b",
		},
		{"answer with none of the options as another answer", []step{asked}, step{
			"o", "input:answer",
			`{"inputId":"{i}","answer":"c","other":true}`,
		}, "input.answered", `"answer":"c","other":true}`},
		{"one of the options as another answer", []step{asked}, step{
			"o", "input:answer",
			`{"inputId":"{i}","answer":"a","other":true}`,
		}, "input.answered", `"answer":"a"}`},
		{"answer again", []step{open, answer("o", "so")}, answer("admin", "so"), "already so", ""},
		{
			"answer differently",
			[]step{open, answer("o", "so")},
			answer("admin", "no"), "CONFLICT",
			"was already answered: so (session '{o}', at 2",
		},
		{
			"answer differently after it was received",
			[]step{open, answer("o", "so"), received},
			answer("admin", "no"),
			"CONFLICT", "was already answered: so",
		},
		{
			"answer an ended session",
			[]step{open, kill("w")},
			answer("admin", "so"), "CONFLICT",
			"its session has ended",
		},
		{"answer one who was deleted", []step{open, {"admin", "session:delete", `{"sessionId":"{w}"}`}}, answer("admin",
			"so"), "CONFLICT", "its session has ended"},
		{"the spawner of a deleted session can no longer answer", []step{open, {
			"admin", "session:delete",
			`{"sessionId":"{w}"}`,
		}}, answer("o", "so"), "NOT_ALLOWED", "did not spawn"},
		{
			"answer a session that is done",
			[]step{open, {"w", "session:complete", `{}`}},
			answer("admin", "so"),
			"input.answered", "so",
		},

		{
			"receive",
			[]step{open, answer("o", "so")},
			received, "input.delivered",
			`{"inputId":"{i}","sessionId":"{w}"}`,
		},
		{"receive again", []step{open, answer("o", "so"), received}, received, "already so", ""},
		{"receive too early", []step{open}, received, "BUSINESS_RULE_ERROR", "has no answer yet"},
		{
			"receive another session's answer",
			[]step{open, answer("o", "so")},
			step{"v", "input:received", `{"inputId":"{i}"}`},
			"NOT_ALLOWED", "is not session '{v}'s",
		},
		{
			"receive a missing question", nil,
			step{"w", "input:received", `{"inputId":"none"}`},
			"NOT_FOUND",
			"Mail with id 'none'",
		},
		{"a user receives nothing", []step{open, answer("o", "so")}, step{
			"admin", "input:received",
			`{"inputId":"{i}"}`,
		}, "NOT_ALLOWED", "input:received"},
		{
			"an ended session receives nothing",
			[]step{open, answer("o", "so"), kill("w")},
			received, "NOT_ALLOWED",
			"has ended",
		},
	})
	w := newWorld(t)
	w.must("e@1h", "report:needs-input", `{"message":"late"}`)
	w.must("w", "report:needs-input", `{"taskIds":["{t1}"]}`)
	w.h.View(func(s *projections.State) {
		for x := range s.Inputs(w.ids["p"]) {
			t.Errorf("opened %+v", x)
		}
		report := &commands.Report{Kind: events.ReportNeedsInput, Message: "m"}
		data, err := report.Decide(s, commands.Call{
			By:      w.actor("w"),
			Project: w.ids["p"],
			At:      s.At(),
			Rules:   "1",
		})
		if err != nil || data.(*events.SessionReported).InputID != "" {
			t.Errorf("by rules 1: %+v, %v", data, err)
		}
	})
}

func TestTemplateDecisions(t *testing.T) {
	mine := step{"admin>x", "template:create", `{"name":"Mine","role":"worker","content":"Do it."}`}
	long := strings.Repeat("x", events.MaxText+1)
	const required = "name, role, and content are required"
	decide(t, []decision{
		{
			"create", nil,
			step{"admin", "template:create", `{"name":"Mine","role":"orchestrator","content":"Do\nit."}`},
			"template.created", `"name":"Mine","role":"orchestrator","content":"Do\nit."`,
		},
		{
			"without a name", nil,
			step{"admin", "template:create", `{"role":"worker","content":"c"}`},
			"VALIDATION_ERROR",
			required,
		},
		{
			"without a role", nil,
			step{"admin", "template:create", `{"name":"n","content":"c"}`},
			"VALIDATION_ERROR",
			required,
		},
		{
			"without a content", nil,
			step{"admin", "template:create", `{"name":"n","role":"worker","content":" "}`},
			"VALIDATION_ERROR", required,
		},
		{
			"of another role", nil,
			step{"admin", "template:create", `{"name":"n","role":"reviewer","content":"c"}`},
			"VALIDATION_ERROR", `Invalid role. Must be "worker" or "orchestrator"`,
		},
		{"of too long a content", nil, step{"admin", "template:create", `{"name":"n","role":"worker","content":"` +
			long + `"}`}, "VALIDATION_ERROR", "/content"},
		{"of too long a name", nil, step{"admin", "template:create", `{"name":"` + strings.Repeat("n",
			commands.MaxName+1) + `","role":"worker","content":"c"}`}, "VALIDATION_ERROR", "/name"},
		{
			"a name of two lines", nil,
			step{"admin", "template:create", `{"name":"a\nb","role":"worker","content":"c"}`},
			"VALIDATION_ERROR", "control character",
		},
		{"a content with a NUL", nil, step{
			"admin", "template:create",
			`{"name":"n","role":"worker","content":"\u0000"}`,
		}, "VALIDATION_ERROR", "NUL"},
		{
			"a session creates none", nil,
			step{"o", "template:create", `{"name":"n","role":"worker","content":"c"}`},
			"NOT_ALLOWED", "template:create",
		},
		{
			"update",
			[]step{mine},
			step{
				"admin", "template:update",
				`{"templateId":"{x}","name":"Ours","content":"Do more."}`,
			},
			"template.updated",
			`{"templateId":"{x}","name":"Ours","content":"Do more."}`,
		},
		{
			"update one of Maestro's own", nil,
			step{
				"admin", "template:update",
				`{"templateId":"execute-queue","content":"Pull."}`,
			},
			"template.updated",
			`{"templateId":"execute-queue","content":"Pull."}`,
		},
		{
			"update nothing of it",
			[]step{mine},
			step{"admin", "template:update", `{"templateId":"{x}"}`},
			"VALIDATION_ERROR", "At least one of name or content is required",
		},
		{"update it to no content", []step{mine}, step{
			"admin", "template:update",
			`{"templateId":"{x}","content":" "}`,
		}, "VALIDATION_ERROR", "/content"},
		{
			"update it to no name",
			[]step{mine},
			step{"admin", "template:update", `{"templateId":"{x}","name":""}`},
			"VALIDATION_ERROR", "/name",
		},
		{"update it to too much", []step{mine}, step{"admin", "template:update", `{"templateId":"{x}","content":"` +
			long + `"}`}, "VALIDATION_ERROR", "/content"},
		{
			"update a missing template", nil,
			step{"admin", "template:update", `{"templateId":"none","content":"c"}`},
			"NOT_FOUND",
			"Template with id 'none'",
		},
		{
			"update a deleted one",
			[]step{mine, {"admin", "template:delete", `{"templateId":"{x}"}`}},
			step{"admin", "template:update", `{"templateId":"{x}","content":"c"}`},
			"NOT_FOUND", "Template",
		},
		{"without an id", nil, step{"admin", "template:update", `{"content":"c"}`}, "VALIDATION_ERROR", "/templateId"},
		{"an orchestrator updates none", nil, step{
			"o", "template:update",
			`{"templateId":"execute-queue","content":"c"}`,
		}, "NOT_ALLOWED", "template:update"},
		{"reset one of Maestro's own", []step{{
			"admin", "template:update",
			`{"templateId":"coordinate-dag","content":"c"}`,
		}}, step{
			"admin", "template:reset",
			`{"templateId":"coordinate-dag"}`,
		}, "template.reset", `{"templateId":"coordinate-dag"}`},
		{
			"reset an unchanged template", nil,
			step{"admin", "template:reset", `{"templateId":"coordinate-dag"}`},
			"already so",
			"",
		},
		{"reset a template with only another name", []step{{
			"admin", "template:update",
			`{"templateId":"coordinate-dag","name":"n"}`,
		}}, step{
			"admin", "template:reset",
			`{"templateId":"coordinate-dag"}`,
		}, "already so", ""},
		{
			"reset a missing template", nil,
			step{"admin", "template:reset", `{"templateId":"none"}`},
			"NOT_FOUND",
			"Template with id 'none'",
		},
		{
			"delete",
			[]step{mine},
			step{"admin", "template:delete", `{"templateId":"{x}"}`},
			"template.deleted",
			`{"templateId":"{x}"}`,
		},
		{
			"delete it again",
			[]step{mine, {"admin", "template:delete", `{"templateId":"{x}"}`}},
			step{"admin", "template:delete", `{"templateId":"{x}"}`},
			"NOT_FOUND", "Template",
		},
		{
			"delete one of Maestro's own", nil,
			step{"admin", "template:delete", `{"templateId":"execute-simple"}`},
			"BUSINESS_RULE_ERROR", "is built in and cannot be deleted",
		},
		{
			"delete a changed template of Maestro's own",
			[]step{{"admin", "template:update", `{"templateId":"execute-simple","content":"c"}`}},
			step{"admin", "template:delete", `{"templateId":"execute-simple"}`},
			"BUSINESS_RULE_ERROR",
			"is built in and cannot be deleted",
		},
	})
}

func TestTokenDecisions(t *testing.T) {
	create := step{"admin", "token:create", `{"name":"ci","kind":"admin"}`}
	revoke := step{"admin", "token:revoke", `{"name":"ci"}`}
	note := `{"sessionId":"{w}","message":"m"}`
	brief := step{"admin", "token:create", `{"name":"ci","kind":"admin","expiresIn":60000}`}
	kid := step{"token:ci", "token:create", `{"name":"kid","kind":"admin"}`}
	grandkid := step{"token:kid", "token:create", `{"name":"grandkid","kind":"auditor"}`}
	keep := step{"admin", "token:revoke", `{"name":"ci","keepChildren":true}`}
	decide(t, []decision{
		{"create", nil, create, "token.created", `{"name":"ci","kind":"admin","generation":1}`},
		{
			"create one that reads", nil,
			step{
				"admin", "token:create",
				`{"name":"r","kind":"read-only","projectIds":["{p}","{q}","{p}"]}`,
			},
			"token.created",
			`"kind":"read-only","projectIds":["{p}","{q}"],"generation":1`,
		},
		{
			"create a token that reads nothing", nil,
			step{"admin", "token:create", `{"name":"r","kind":"read-only"}`},
			"VALIDATION_ERROR", "/projectIds",
		},
		{"create a token that reads a missing project", nil, step{
			"admin", "token:create",
			`{"name":"r","kind":"read-only","projectIds":["none"]}`,
		}, "NOT_FOUND", "Project with id 'none'"},
		{
			"an auditor of one project", nil,
			step{
				"admin", "token:create",
				`{"name":"r","kind":"auditor","projectIds":["{p}"]}`,
			},
			"VALIDATION_ERROR",
			"only a read-only token is for certain projects",
		},
		{"of no kind", nil, step{"admin", "token:create", `{"name":"r"}`}, "VALIDATION_ERROR", "/kind"},
		{
			"of another kind", nil,
			step{"admin", "token:create", `{"name":"r","kind":"root"}`},
			"VALIDATION_ERROR",
			"not 'root'",
		},
		{
			"without a name", nil,
			step{"admin", "token:create", `{"kind":"admin"}`},
			"VALIDATION_ERROR",
			"name is required",
		},
		{
			"with what is no name", nil,
			step{"admin", "token:create", `{"name":"a/b","kind":"admin"}`},
			"VALIDATION_ERROR", "is not an id",
		},
		{
			"the home's own", nil,
			step{"admin", "token:create", `{"name":"admin","kind":"admin"}`},
			"CONFLICT",
			"There is a token 'admin' already",
		},
		{"create again", []step{create}, create, "CONFLICT", "There is a token 'ci' already"},
		{
			"a session creates none", nil,
			step{"o", "token:create", `{"name":"ci","kind":"admin"}`},
			"NOT_ALLOWED",
			"token:create",
		},
		{"revoke", []step{create}, revoke, "token.revoked", `{"name":"ci","generation":1}`},
		{"revoke again", []step{create, revoke}, revoke, "already so", ""},
		{"create a token with a revoked name", []step{create, revoke}, create, "token.created", `"generation":2`},
		{"revoke it again", []step{create, revoke, create}, revoke, "token.revoked", `{"name":"ci","generation":2}`},
		{"create a third generation", []step{create, revoke, create, revoke}, step{
			"admin", "token:create",
			`{"name":"ci","kind":"auditor"}`,
		}, "token.created", `"kind":"auditor","generation":3`},
		{
			"revoke the home's own", nil,
			step{"admin", "token:revoke", `{"name":"admin"}`},
			"BUSINESS_RULE_ERROR",
			"cannot be revoked",
		},
		{"revoke a missing token", nil, revoke, "NOT_FOUND", "Token with id 'ci'"},
		{"revoke nothing", nil, step{"admin", "token:revoke", `{}`}, "VALIDATION_ERROR", "name a token, or a session"},
		{
			"revoke both",
			[]step{create},
			step{"admin", "token:revoke", `{"name":"ci","sessionId":"{w}"}`},
			"VALIDATION_ERROR", "name a token, or a session",
		},
		{
			"revoke a session's secret", nil,
			step{"admin", "token:revoke", `{"sessionId":"{w}"}`},
			"token.revoked",
			`{"sessionId":"{w}","generation":2}`,
		},
		{"and again", []step{{"admin", "token:revoke", `{"sessionId":"{w}"}`}}, step{
			"admin", "token:revoke",
			`{"sessionId":"{w}"}`,
		}, "token.revoked", `"generation":3`},
		{
			"revoke the secret of an ended session", nil,
			step{"admin", "token:revoke", `{"sessionId":"{e}"}`},
			"token.revoked",
			`"generation":2`,
		},
		{"of none", nil, step{"admin", "token:revoke", `{"sessionId":"none"}`}, "NOT_FOUND", "Session with id 'none'"},
		{
			"an orchestrator revokes nothing", nil,
			step{"o", "token:revoke", `{"sessionId":"{w}"}`},
			"NOT_ALLOWED",
			"token:revoke",
		},

		{
			"a token's bearer does what a user may",
			[]step{create},
			step{"token:ci", "session:note", note},
			"session.noted", "m",
		},
		{
			"a bearer without a token does nothing", nil,
			step{"token:ci", "session:note", note},
			"NOT_ALLOWED", "The token 'ci' is not valid",
		},
		{
			"the bearer of a revoked token does nothing",
			[]step{create, revoke},
			step{"token:ci", "session:note", note},
			"NOT_ALLOWED", "The token 'ci' is not valid",
		},
		{
			"a new generation of the token is valid",
			[]step{create, revoke, create},
			step{"token:ci", "session:note", note},
			"session.noted", "m",
		},
		{
			"a token of another kind than its bearer says", nil,
			step{"token:auditor", "session:note", note},
			"NOT_ALLOWED", "is not valid",
		},
		{
			"an auditor writes nothing", nil,
			step{"auditor", "session:note", note},
			"NOT_ALLOWED",
			"a token of kind auditor writes nothing",
		},
		{
			"create one that expires", nil,
			step{"admin", "token:create", `{"name":"r","kind":"auditor","expiresIn":1000}`},
			"token.created", `"generation":1,"expiresAt":`,
		},
		{
			"that expires at a time", nil,
			step{
				"admin", "token:create",
				`{"name":"r","kind":"auditor","expiresAt":4102444800000}`,
			},
			"token.created",
			`"generation":1,"expiresAt":4102444800000}`,
		},
		{
			"that has expired", nil,
			step{"admin", "token:create", `{"name":"r","kind":"auditor","expiresAt":1}`},
			"VALIDATION_ERROR", "expiresAt is in the past",
		},
		{"that expires twice", nil, step{
			"admin", "token:create",
			`{"name":"r","kind":"auditor","expiresAt":4102444800000,"expiresIn":1}`,
		}, "VALIDATION_ERROR", "not both"},
		{
			"that expires backwards", nil,
			step{"admin", "token:create", `{"name":"r","kind":"auditor","expiresIn":-1}`},
			"VALIDATION_ERROR", "/expiresIn",
		},
		{"that expires behind all times", nil, step{
			"admin", "token:create",
			`{"name":"r","kind":"auditor","expiresIn":9223372036854775807}`,
		}, "VALIDATION_ERROR", "/expiresIn"},
		{"that expires in no year", nil, step{
			"admin", "token:create",
			`{"name":"r","kind":"auditor","expiresAt":9223372036854775807}`,
		}, "VALIDATION_ERROR", "/expiresAt"},
		{
			"before it expires it writes",
			[]step{brief, {"time", "", "59s"}},
			step{"token:ci", "session:note", note},
			"session.noted", "m",
		},
		{
			"an expired one writes nothing",
			[]step{brief, {"time", "", "61s"}},
			step{"token:ci", "session:note", note},
			"NOT_ALLOWED", "The token 'ci' has expired",
		},
		{"an expired token does not create itself again", []step{brief, {"time", "", "61s"}}, step{
			"token:ci", "token:create",
			`{"name":"ci","kind":"admin"}`,
		}, "NOT_ALLOWED", "has expired"},
		{
			"an expired token is created again",
			[]step{brief, {"time", "", "61s"}},
			create, "token.created",
			`{"name":"ci","kind":"admin","generation":2}`,
		},
		{
			"the recreated token is valid",
			[]step{brief, {"time", "", "61s"}, create},
			step{"token:ci", "session:note", note},
			"session.noted", "m",
		},
		{
			"a token that outlives its creator",
			[]step{brief},
			step{
				"token:ci", "token:create",
				`{"name":"kid","kind":"admin","expiresIn":61000}`,
			},
			"BUSINESS_RULE_ERROR",
			"expires before the one that it would create",
		},
		{
			"a token that never expires, created by one that does",
			[]step{brief, {"token:ci", "token:create", `{"name":"kid","kind":"admin"}`}, {"time", "", "61s"}},
			step{"token:kid", "session:note", note},
			"NOT_ALLOWED", "The token 'kid' has expired",
		},

		{
			"revoke with the tokens that it created",
			[]step{create, kid, grandkid},
			revoke, "token.revoked",
			`{"name":"ci","generation":1,"children":["kid","grandkid"]}`,
		},
		{
			"a token that was revoked with its creator is invalid",
			[]step{create, kid, grandkid, revoke},
			step{"token:kid", "session:note", note},
			"NOT_ALLOWED", "is not valid",
		},
		{
			"revoke and keep the tokens that it created",
			[]step{create, kid, grandkid},
			keep, "token.revoked",
			`{"name":"ci","generation":1}`,
		},
		{
			"a kept token stays valid",
			[]step{create, kid, grandkid, keep},
			step{"token:kid", "session:note", note},
			"session.noted",
			"m",
		},
		{
			"a kept token is revoked with the next generation of the name",
			[]step{create, kid, keep, create},
			revoke, "token.revoked",
			`{"name":"ci","generation":2,"children":["kid"]}`,
		},
		{"tokens that were revoked before are not named again", []step{create, kid, grandkid, {
			"admin", "token:revoke",
			`{"name":"kid"}`,
		}}, revoke, "token.revoked", `{"name":"ci","generation":1}`},
		{
			"tokens created by a revoked one of them are revoked too",
			[]step{create, kid, grandkid, {"token:ci", "token:revoke", `{"name":"kid","keepChildren":true}`}},
			revoke, "token.revoked",
			`{"name":"ci","generation":1,"children":["grandkid"]}`,
		},
		{
			"tokens created by a revoked one are revoked even if its name is used again",
			[]step{
				create, kid, grandkid,
				{"token:ci", "token:revoke", `{"name":"kid","keepChildren":true}`},
				{"admin", "token:create", `{"name":"kid","kind":"admin"}`},
			},
			revoke, "token.revoked",
			`{"name":"ci","generation":1,"children":["grandkid"]}`,
		},
		{
			"a token does not keep the tokens that it created",
			[]step{create, kid},
			step{"token:ci", "token:revoke", `{"name":"ci","keepChildren":true}`},
			"BUSINESS_RULE_ERROR", "cannot keep the tokens that 'ci' created",
		},
		{
			"a token does not keep what its creator created",
			[]step{create, kid, grandkid},
			step{"token:kid", "token:revoke", `{"name":"ci","keepChildren":true}`},
			"BUSINESS_RULE_ERROR", "cannot keep the tokens that 'ci' created",
		},
		{
			"a token that created nothing keeps nothing",
			[]step{create},
			step{"token:ci", "token:revoke", `{"name":"ci","keepChildren":true}`},
			"token.revoked", `{"name":"ci","generation":1}`,
		},
		{
			"a session's secret has none", nil,
			step{"admin", "token:revoke", `{"sessionId":"{w}","keepChildren":true}`},
			"VALIDATION_ERROR", "/keepChildren",
		},
		{
			"revoke kept tokens",
			[]step{create, kid, grandkid, keep},
			revoke, "token.revoked",
			`{"name":"ci","generation":1,"children":["kid","grandkid"]}`,
		},
		{"nothing was kept", []step{create, kid, keep, revoke}, revoke, "already so", ""},
		{"keep kept tokens", []step{create, kid, keep}, keep, "already so", ""},
		{
			"a token revokes itself",
			[]step{create},
			step{"token:ci", "token:revoke", `{"name":"ci"}`},
			"token.revoked",
			"ci",
		},
	})
}

// TestTokenUseDecisions: the log notes the first use of a user's token from an address, and each login.
func TestTokenUseDecisions(t *testing.T) {
	create := step{"admin", "token:create", `{"name":"ci","kind":"auditor","expiresIn":60000}`}
	use := func(from string) step {
		return step{"system", "token:used", `{"name":"ci","generation":1,"address":"` + from + `"}`}
	}
	login := `{"name":"ci","generation":1,"address":"127.0.0.1","loginUntil":4000000000000}`
	full := []step{create}
	for n := range events.MaxTokenAddresses {
		full = append(full, use(fmt.Sprintf("192.0.2.%d", n)))
	}
	decide(t, []decision{
		{
			"the home's own", nil,
			step{"system", "token:used", `{"name":"admin","address":"192.0.2.1"}`},
			"token.used",
			`{"name":"admin","address":"192.0.2.1"}`,
		},
		{"a named one", []step{create}, use("192.0.2.1"), "token.used", `"generation":1,"address":"192.0.2.1"`},
		{"known", []step{create, use("192.0.2.1")}, use("192.0.2.1"), "already so", ""},
		{"no room for more", full, use("198.51.100.1"), "already so", ""},
		{"a login although there is no room", full, step{"system", "token:used", login}, "token.used", "loginUntil"},
		{
			"a login from a known address",
			[]step{create, use("127.0.0.1")},
			step{"system", "token:used", login},
			"token.used", "loginUntil",
		},
		{"after its end", []step{create, {"time", "", "61s"}}, use("192.0.2.1"), "already so", ""},
		{"revoked", []step{create, {"admin", "token:revoke", `{"name":"ci"}`}}, use("192.0.2.1"), "already so", ""},
		{"of an earlier secret", []step{create, {"time", "", "61s"}, create}, use("192.0.2.1"), "already so", ""},
		{"of the newer secret", append(slices.Clone(full), step{"time", "", "61s"}, create), step{
			"system", "token:used", `{"name":"ci","generation":2,"address":"192.0.2.1"}`,
		}, "token.used", `"generation":2`},
		{"of none", nil, use("192.0.2.1"), "NOT_FOUND", "Token"},
		{"without a name", nil, step{"system", "token:used", `{"address":"x"}`}, "VALIDATION_ERROR", "/name"},
		{"from nowhere", []step{create}, use(""), "VALIDATION_ERROR", "/address"},
		{
			"from a long address",
			[]step{create},
			use(strings.Repeat("a", 201)),
			"VALIDATION_ERROR", "address has at most",
		},
		{"the home's own has no generations", nil, step{
			"system", "token:used", `{"name":"admin","generation":1,"address":"192.0.2.1"}`,
		}, "VALIDATION_ERROR", "/generation"},
		{"a login that has ended", nil, step{
			"system", "token:used", `{"name":"admin","address":"192.0.2.1","loginUntil":1}`,
		}, "BUSINESS_RULE_ERROR", "The login has ended"},
		{"a user notes nothing", []step{create}, step{
			"admin", "token:used", `{"name":"ci","generation":1,"address":"192.0.2.1"}`,
		}, "NOT_ALLOWED", "token:used"},
	})
}

func TestRedactionDecisions(t *testing.T) {
	digest := "sha256-" + events.BodyHash([]byte(strings.Repeat("x", events.MaxText+1))).String()
	redact := step{"admin", "audit:redact", `{"text":"` + digest + `","reason":"it held a password"}`}
	upload := step{"admin", "task:create", `{"project":"{p}","title":"t","description":"` +
		strings.Repeat("x", events.MaxText+1) + `"}`}
	decide(t, []decision{
		{"redact", []step{upload}, redact, "text.redacted", `{"text":"` + digest + `","reason":"it held a password"}`},
		{"redact again", []step{redact}, step{
			"admin", "audit:redact", `{"text":"` + digest + `","reason":"another"}`,
		}, "already so", ""},
		{"a redacted text is sent again", []step{redact}, upload, "BUSINESS_RULE_ERROR", "was redacted"},
		{
			"no digest", nil,
			step{"admin", "audit:redact", `{"text":"sha256-1","reason":"x"}`},
			"VALIDATION_ERROR",
			"'sha256-1' is not a digest",
		},
		{
			"no reason", nil,
			step{"admin", "audit:redact", `{"text":"` + digest + `","reason":" "}`},
			"VALIDATION_ERROR",
			"reason is required",
		},
		{"a long reason", nil, step{
			"admin", "audit:redact", `{"text":"` + digest + `","reason":"` + strings.Repeat("x", 201) + `"}`,
		}, "VALIDATION_ERROR", "at most 200"},
		{"an orchestrator redacts nothing", nil, step{
			"o", "audit:redact", `{"text":"` + digest + `","reason":"x"}`,
		}, "NOT_ALLOWED", "audit:redact"},
	})
}

func TestWebhookDecisions(t *testing.T) {
	hook := step{"admin>h", "webhook:create", `{"url":"https://example.org/in"}`}
	create := func(fields string) step { return step{"admin", "webhook:create", "{" + fields + "}"} }
	to := func(url string) step { return create(`"url":"` + url + `"`) }
	update := func(fields string) step { return step{"admin", "webhook:update", `{"webhookId":"{h}"` + fields + `}`} }
	park := func(fields string) step { return step{"system", "webhook:park", `{"webhookId":"{h}",` + fields + `}`} }
	gone := park(`"why":"gone","failures":1,"problem":"it answered 410"`)
	failing := func(failures, failingFor, patience int) step {
		return park(fmt.Sprintf(`"why":"failing","failures":%d,"failingFor":%d,"patience":%d`, failures, failingFor,
			patience))
	}
	resume := step{"admin", "webhook:resume", `{"webhookId":"{h}"}`}
	skip := step{"admin", "webhook:resume", `{"webhookId":"{h}","skip":true}`}
	remove := step{"admin", "webhook:delete", `{"webhookId":"{h}"}`}
	minute := step{"time", "", "60s"}
	decide(t, []decision{
		{
			"create", nil,
			create(`"url":"https://example.org:8443/in?to=all","name":"Chat","projectId":"{p}",` +
				`"types":["task","session.lost","task"]`),
			"webhook.created", `"name":"Chat","url":"https://example.org:8443/in?to=all","projectId":"{p}",` +
				`"types":["task","session.lost"],"generation":1`,
		},
		{"to an address", nil, to("https://[2001:db8::1]:8443/x"), "webhook.created", "2001:db8"},
		{"without TLS", nil, to("http://example.org"), "webhook.created", "http://example.org"},
		{"without a URL", nil, create(`"name":"x"`), "VALIDATION_ERROR", "/url"},
		{"of another scheme", nil, to("ftp://example.org/"), "VALIDATION_ERROR", "must begin with https://"},
		{"without a host", nil, to("https:///in"), "VALIDATION_ERROR", "must name a host"},
		{"with an empty label", nil, to("https://example..org/"), "VALIDATION_ERROR", "must name a host"},
		{"with no port after the colon", nil, to("https://example.org:/"), "VALIDATION_ERROR", "must name a host"},
		{"with a port that is none", nil, to("https://example.org:70000/"), "VALIDATION_ERROR", "must name a host"},
		{"with an open bracket", nil, to("https://[::1/"), "VALIDATION_ERROR", "must name a host"},
		{"with a password", nil, to("https://me:secret@example.org/"), "VALIDATION_ERROR", "user name or a password"},
		{"with a fragment", nil, to("https://example.org/#x"), "VALIDATION_ERROR", "fragment"},
		{"with a space", nil, to("https://example.org/a b"), "VALIDATION_ERROR", "printable ASCII"},
		{"with a line break", nil, to(`https://example.org/\r\nX: y`), "VALIDATION_ERROR", "printable ASCII"},
		{
			"with too long a URL", nil, to("https://example.org/" + strings.Repeat("x", 2000)),
			"VALIDATION_ERROR", "at most 2000 characters",
		},
		{
			"with too long a name", nil,
			create(`"url":"https://example.org/","name":"` + strings.Repeat("n", 201) + `"`),
			"VALIDATION_ERROR", "/name",
		},
		{
			"for events that do not exist", nil, create(`"url":"https://example.org/","types":["coffee"]`),
			"VALIDATION_ERROR", "there is no type of event 'coffee'",
		},
		{
			"for a project that does not exist", nil, create(`"url":"https://example.org/","projectId":"none"`),
			"NOT_FOUND", "Project",
		},
		{
			"by an orchestrator", nil,
			step{"o", "webhook:create", `{"url":"https://example.org/"}`},
			"NOT_ALLOWED", "webhook:create",
		},
		{
			"by an auditor", nil,
			step{"auditor", "webhook:create", `{"url":"https://example.org/"}`},
			"NOT_ALLOWED", "writes nothing",
		},
		{
			"update",
			[]step{hook},
			update(`,"url":"https://example.org/new","name":"N","types":[]`),
			"webhook.updated", `"name":"N","url":"https://example.org/new","types":[]}`,
		},
		{"a new secret", []step{hook}, update(`,"newSecret":true`), "webhook.updated", `"generation":2`},
		{
			"a third secret",
			[]step{hook, update(`,"newSecret":true`)},
			update(`,"newSecret":true`),
			"webhook.updated", `"generation":3`,
		},
		{"update nothing", []step{hook}, update(""), "VALIDATION_ERROR", "At least one of"},
		{"update to a bad URL", []step{hook}, update(`,"url":"https://"`), "VALIDATION_ERROR", "/url"},
		{"update to bad types", []step{hook}, update(`,"types":["x"]`), "VALIDATION_ERROR", "/types"},
		{
			"update none", nil,
			step{"admin", "webhook:update", `{"webhookId":"none","name":"x"}`},
			"NOT_FOUND", "Webhook with id 'none'",
		},
		{"update a deleted one", []step{hook, remove}, update(`,"name":"x"`), "NOT_FOUND", "Webhook"},
		{"delete", []step{hook}, remove, "webhook.deleted", "{h}"},
		{"delete again", []step{hook, remove}, remove, "NOT_FOUND", "Webhook"},
		{
			"park",
			[]step{hook, minute},
			failing(5, 60000, 60000),
			"webhook.parked", `"failingFor":60000,"patience":60000`,
		},
		{"park too early", []step{hook, minute}, failing(5, 59999, 60000), "BUSINESS_RULE_ERROR", "has failed 5 times"},
		{
			"park after too few failures",
			[]step{hook, minute},
			failing(4, 60000, 60000),
			"BUSINESS_RULE_ERROR", "4 times",
		},
		{
			"park without patience",
			[]step{hook, minute},
			failing(5, 60000, 0),
			"BUSINESS_RULE_ERROR", "patient for 0 ms",
		},
		{
			"park one that has not existed for so long",
			[]step{hook, minute},
			failing(5, 61000, 60000),
			"BUSINESS_RULE_ERROR", "in 61000 ms",
		},
		{
			"park one that has moved meanwhile",
			[]step{hook, minute, update(`,"url":"https://example.org/new"`)},
			failing(5, 60000, 60000), "BUSINESS_RULE_ERROR", "in 60000 ms",
		},
		{
			"park one that was resumed meanwhile",
			[]step{hook, minute, gone, resume},
			failing(5, 60000, 60000),
			"BUSINESS_RULE_ERROR", "in 60000 ms",
		},
		{
			"park one that is gone",
			[]step{hook},
			gone,
			"webhook.parked", `"why":"gone","failures":1,"problem":"it answered 410"`,
		},
		{
			"park without a position",
			[]step{hook},
			park(`"why":"position unknown"`),
			"webhook.parked", `"position unknown"`,
		},
		{"park for nothing", []step{hook}, park(`"why":"bored"`), "VALIDATION_ERROR", "/why"},
		{"park again", []step{hook, gone}, gone, "already so", ""},
		{
			"park with two lines",
			[]step{hook},
			park(`"why":"gone","problem":"a\nb"`),
			"VALIDATION_ERROR", "/problem",
		},
		{
			"the user parks none",
			[]step{hook},
			step{"admin", "webhook:park", `{"webhookId":"{h}","why":"gone"}`},
			"NOT_ALLOWED", "webhook:park",
		},
		{"resume", []step{hook, gone}, resume, "webhook.resumed", `{"webhookId":"{h}"}`},
		{"resume one that sends", []step{hook}, resume, "already so", ""},
		{"skip", []step{hook, gone}, skip, "webhook.resumed", `"skipped":true`},
		{"skip without being parked", []step{hook}, skip, "webhook.resumed", `"skipped":true`},
		{"resume a deleted one", []step{hook, remove}, resume, "NOT_FOUND", "Webhook"},
	})
}

func TestDeadlineDecisions(t *testing.T) {
	timed := step{"admin>a", "session:spawn", `{"project":"{p}","taskIds":["{t2}"],"timeout":60000}`}
	timeOut := step{"system", "session:timed-out", `{"sessionId":"{a}"}`}
	decide(t, []decision{
		{"lose", nil, lose("w"), "session.lost", `{"sessionId":"{w}","lastheard":`},
		{
			"lose too early", nil,
			step{"system", "session:lost", `{"sessionId":"{w}","silentFor":59999,"lease":60000}`},
			"BUSINESS_RULE_ERROR", "was heard 59999 ms ago, and its lease is 60000 ms",
		},
		{
			"lose without a lease", nil,
			step{"system", "session:lost", `{"sessionId":"{w}","silentFor":1}`},
			"BUSINESS_RULE_ERROR", "its lease is 0 ms",
		},
		{"lose again", []step{lose("w")}, lose("w"), "already so", ""},
		{"lose a session that was heard again", []step{lose("w"), hears("w")}, lose("w"), "session.lost", "{w}"},
		{"lose an ended session", nil, lose("e"), "already so", ""},
		{"lose one that is done", []step{{"w", "session:complete", `{}`}}, lose("w"), "already so", ""},
		{
			"a session that is done but holds an item is lost",
			[]step{push("t1"), start, {"k", "session:complete", `{}`}},
			lose("k"),
			"session.lost", "{k}",
		},
		{
			"lose a missing session", nil,
			step{"system", "session:lost", `{"sessionId":"none","silentFor":60000,"lease":60000}`},
			"NOT_FOUND", "Session with id 'none'",
		},
		{"a user loses no session", nil, step{
			"admin", "session:lost",
			`{"sessionId":"{w}","silentFor":60000,"lease":60000}`,
		}, "NOT_ALLOWED", "session:lost"},
		{"recover", []step{lose("w")}, hears("w"), "session.recovered", `{"sessionId":"{w}"}`},
		{"recover a session that is not lost", nil, hears("w"), "already so", ""},
		{"recover an ended session", []step{lose("w"), kill("w")}, hears("w"), "already so", ""},
		{"recover none", nil, step{"system", "session:recovered", `{"sessionId":"none"}`}, "NOT_FOUND", "Session"},
		{
			"a session does not recover itself",
			[]step{lose("w")},
			step{"w", "session:recovered", `{"sessionId":"{w}"}`},
			"NOT_ALLOWED", "session:recovered",
		},
		{
			"time out",
			[]step{timed, {"time", "", "61s"}},
			timeOut, "session.timed_out",
			`{"sessionId":"{a}","deadline":`,
		},
		{
			"time out too early",
			[]step{timed, {"time", "", "30s"}},
			timeOut, "BUSINESS_RULE_ERROR",
			"has not reached its deadline",
		},
		{"time out one that has no deadline", []step{{"time", "", "9000h"}}, step{
			"system", "session:timed-out",
			`{"sessionId":"{w}"}`,
		}, "BUSINESS_RULE_ERROR", "has not reached its deadline"},
		{"time out again", []step{timed, {"time", "", "61s"}, timeOut}, timeOut, "already so", ""},
		{"time out one that was killed", []step{timed, {"time", "", "61s"}, kill("a")}, timeOut, "already so", ""},
		{"time out none", nil, step{"system", "session:timed-out", `{"sessionId":"none"}`}, "NOT_FOUND", "Session"},
		{
			"a user times no session out", nil,
			step{"admin", "session:timed-out", `{"sessionId":"{w}"}`},
			"NOT_ALLOWED",
			"session:timed-out",
		},
		{"a session that timed out does nothing", []step{timed, {"time", "", "61s"}, timeOut}, step{
			"a", "session:note",
			`{"message":"m"}`,
		}, "NOT_ALLOWED", "has ended: it ran out of time at 20"},
	})
}

// Permit by kinds of actor, over every row of the table.
func TestPermit(t *testing.T) {
	w := newWorld(t)
	w.make("x", "admin", "session:spawn",
		`{"project":"{p}","taskIds":["{t3}"],"allowedCommands":["task:get","task:tree","task:report:progress"]}`)
	w.h.View(func(s *projections.State) {
		for _, row := range commands.CurrentRules().Rows() {
			allowed := func(by string, want bool) {
				t.Helper()
				actor := w.actor(by)
				if got := commands.Permit(s, commands.CurrentRules(), actor, row.ID, w.ids["p"]) == nil; got != want {
					t.Errorf("%s may use %s: %t, want %t", by, row.ID, got, want)
				}
			}
			allowed("admin", row.Who&commands.RoleUser != 0)
			allowed("auditor", row.Who&commands.RoleUser != 0 && !row.Write)
			noun, _, _ := strings.Cut(row.ID, ":")
			allowed("reader", row.Who&commands.RoleUser != 0 && !row.Write && noun != "audit" && noun != "token" &&
				noun != "runner" && noun != "webhook")
			allowed("w", row.Who&commands.RoleWorker != 0)
			allowed("k", row.Who&commands.RoleQueueWorker != 0)
			allowed("r", row.Who&commands.RoleTreeWorker != 0)
			allowed("o", row.Who&commands.RoleOrchestrator != 0 && !row.Planned)
			allowed("runner", row.Who&commands.RoleRunner != 0)
			allowed("system", row.Who&commands.RoleSystem != 0)
			allowed("stranger", false)
			report := strings.HasPrefix(row.ID, "report:") || strings.HasPrefix(row.ID, "task:report:")
			own := slices.Contains([]string{"whoami", "commands", "task:get", "session:info"}, row.ID)
			allowed("e", row.Who&commands.RoleWorker != 0 && (own || report))
			explicit := row.Core && row.Who&commands.RoleWorker != 0 || row.ID == "task:get" || row.ID == "task:tree" ||
				row.ID == "report:progress" || row.ID == "task:report:progress" || row.ID == commands.ReceivesMail
			allowed("x", explicit)
		}
		reader := w.actor("reader")
		for project, want := range map[string]bool{w.ids["p"]: true, "": true, w.ids["q"]: false} {
			if got := commands.Permit(s, commands.CurrentRules(), reader, "task:list", project) == nil; got != want {
				t.Errorf("a reader of p reads %q: %t", project, got)
			}
		}
		foreign := commands.SessionActor(w.ids["q"], w.ids["w"], commands.AuthnToken)
		if commands.Permit(s, commands.CurrentRules(), foreign, "whoami", "") == nil {
			t.Error("a session of another project than its own may do something")
		}
		if err := commands.Permit(s, commands.CurrentRules(), commands.Admin(commands.AuthnToken), "task:paint",
			""); code(err) != commands.CodeNotFound {
			t.Errorf("an unknown command: %v", err)
		}
		if commands.Permit(s, commands.CurrentRules(), commands.Actor{Kind: "ghost"}, "whoami", "") == nil {
			t.Error("an actor of an unknown kind may do something")
		}
	})
}

// Permissions that nobody may give, and unknown permissions, have no effect even if an event in the log grants them.
func TestPermitDoubtsTheLog(t *testing.T) {
	w := newWorld(t)
	index := find(t, w.log.messages, "session.spawned", 1)
	forged := forge(t, w.log.messages, index, func(e *events.Event) {
		e.Data.(*events.SessionSpawned).Permissions.Commands = []string{
			"whoami", "task:update", "audit:verify",
			"queue:top",
		}
	})
	state := projections.New()
	for _, m := range forged {
		e, err := events.Decode(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := state.Apply(m.Sequence, e, events.BodyHash(m.Body)); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]bool{
		"whoami": true, "task:update": false, "audit:verify": false,
		"queue:top": false, "task:get": false,
	} {
		if got := commands.Permit(state, commands.CurrentRules(), w.actor("w"), id, w.ids["p"]) == nil; got != want {
			t.Errorf("%s by a worker whose list was forged: %t", id, got)
		}
	}
}

// An orchestrator gives another orchestrator at most its own commands.
func TestAtMostOwn(t *testing.T) {
	w := newWorld(t)
	w.make("small", "admin", "session:spawn",
		`{"project":"{p}","role":"orchestrator","taskIds":["{t3}"],"allowedCommands":["session:spawn",`+
			`"task:complete"]}`)
	_, err := w.do("small", "session:spawn",
		`{"role":"orchestrator","taskIds":["{t2}"],"allowedCommands":["task:complete","task:update"]}`)
	if code(err) != commands.CodeNotAllowed {
		t.Errorf("more than its own commands: %v", err)
	}
	cut := w.shown(w.must("small", "session:spawn", `{"role":"orchestrator","taskIds":["{t2}"]}`))
	if !strings.Contains(cut, `"task:complete"`) || strings.Contains(cut, `"task:update"`) || !strings.Contains(cut,
		`"explicit":true`) {
		t.Errorf("the default was not cut to its own commands: %s", cut)
	}
	later := `{"role":"orchestrator","taskIds":["{t2}"],"allowedCommands":["watch"]}`
	if _, err := w.do("small", "session:spawn", later); code(err) != commands.CodeNotAllowed {
		t.Errorf("a command of a later version: %v", err)
	}
	w.must("o", "session:spawn", later)
	worker := w.shown(w.must("small", "session:spawn", `{"taskIds":["{t5}"]}`))
	if !strings.Contains(worker, `"report:progress"`) || strings.Contains(worker, `"explicit":true`) {
		t.Errorf("a worker gets any worker's set: %s", worker)
	}
}

// Beyond the default set of a worker, an orchestrator gives only what it may use itself.
func TestWorkerAtMostOwn(t *testing.T) {
	w := newWorld(t)
	w.make("small", "admin", "session:spawn", `{"project":"{p}","role":"orchestrator","taskIds":["{t3}"],`+
		`"allowedCommands":["session:spawn","task:complete","inbox"]}`)
	for list, pointer := range map[string]string{
		`["session:list"]`:                         "/allowedCommands/0",
		`["task:get","inbox","since"]`:             "/allowedCommands/2",
		`["task:report:progress","task:tree"]`:     "/allowedCommands/1",
		`["task:get","inbox","report:progress"]`:   "",
		`[]`:                                       "",
		`["task:create","queue:start","task:get"]`: "/allowedCommands/1", // only for workers with the queue strategy
		`["watch"]`:                                "/allowedCommands/0", // of a later version
		`["task:get","events"]`:                    "/allowedCommands/1",
	} {
		_, err := w.do("small", "session:spawn", `{"taskIds":["{t5}"],"allowedCommands":`+list+`}`)
		var refusal *commands.Refusal
		switch errors.As(err, &refusal); {
		case pointer == "" && err != nil:
			t.Errorf("%s: %v", list, err)
		case pointer != "" && (refusal == nil || refusal.Pointer != pointer):
			t.Errorf("%s: %v, want a refusal of %s", list, err, pointer)
		}
	}
	w.must("small", "session:spawn", `{"strategy":"queue","allowedCommands":["queue:start","queue:status"]}`)
	w.must("small", "session:spawn", `{"strategy":"tree","taskIds":["{t5}"],"allowedCommands":["task:tree"]}`)
	w.must("admin", "session:spawn", `{"project":"{p}","taskIds":["{t5}"],"allowedCommands":["session:list"],`+
		`"spawnedBy":"{small}"}`)

	// Older rules still apply to an older log.
	w.h.View(func(s *projections.State) {
		spawn := &commands.SpawnSession{TaskIDs: []string{w.ids["t5"]}, Allowed: &[]string{"session:list"}}
		call := commands.Call{
			By:      w.actor("small"),
			Project: w.ids["p"],
			At:      s.At(),
			Rules:   "2",
		}
		if _, err := spawn.Decide(s, call); err != nil {
			t.Errorf("by the second rules: %v", err)
		}
		call.Rules = commands.RulesVersion
		if _, err := spawn.Decide(s, call); code(err) != commands.CodeNotAllowed {
			t.Errorf("by the third rules: %v", err)
		}
	})
}

// A new session cannot have the name of another kind of actor as its id. A log of earlier rules may have such a
// session.
func TestReservedSessionsAreOfTheirRules(t *testing.T) {
	w := newWorld(t)
	w.h.View(func(s *projections.State) {
		for _, id := range []string{"parent", "admin", "system", "runner"} {
			for _, rules := range []string{"1", "2", "3", "4", "5", "6"} {
				_, err := commands.Decide(s, &commands.RegisterSession{SessionID: id}, commands.Call{
					By:      commands.Admin(commands.AuthnToken),
					Project: w.ids["p"],
					At:      s.At(),
					Rules:   rules,
				})
				if (err != nil) != (rules >= "3") {
					t.Errorf("by rules %s, %s: %v", rules, id, err)
				}
			}
		}
	})
}

// Version 5 of the rules notifies orchestrators of what the user decides about the work that they lead, takes no
// relative working directory, and lets no session skip items once it is done: an older log is judged without that.
func TestFifthRules(t *testing.T) {
	w := newWorld(t)
	w.must("k", "session:complete", `{}`)
	w.must("admin", "queue:push", w.fillIn(`{"sessionId":"{k}","taskId":"{t5}"}`))
	w.h.View(func(s *projections.State) {
		for _, rules := range []string{"3", "4", "5", "6"} {
			decide := func(by commands.Actor, command commands.Command) (events.Data, error) {
				return commands.Decide(s, command, commands.Call{
					By:      by,
					Project: w.ids["p"],
					At:      s.At(),
					Rules:   rules,
				})
			}
			admin := commands.Admin(commands.AuthnToken)
			data, err := decide(admin, &commands.BlockTask{TaskID: w.ids["t1"]})
			if err != nil {
				t.Fatal(err)
			}
			told := data.(*events.TaskStatusChanged).Notice.SessionIDs
			if isTold := slices.Contains(told, w.ids["o"]); isTold != (rules >= "5") {
				t.Errorf("by rules %s, the orchestrator is told: %v", rules, isTold)
			}
			_, err = decide(admin, &commands.SpawnSession{
				TaskIDs:      []string{w.ids["t1"]},
				AgentOptions: events.AgentOptions{WorkingDirectory: "src"},
			})
			if (err != nil) != (rules >= "5") {
				t.Errorf("by rules %s, a relative directory: %v", rules, err)
			}
			_, err = decide(w.actor("k"), &commands.SkipItem{QueueRef: commands.QueueRef{SessionID: w.ids["k"]}})
			if (err != nil) != (rules >= "5") {
				t.Errorf("by rules %s, a session that is done skips: %v", rules, err)
			}
		}
	})
}

// A session is given only commands that exist. Before version 3 of the rules, it was also given planned commands, and
// none of the rows that version 3 added; versions 4, 5 and 6 give out one each that was planned before: an older log
// keeps its permissions.
func TestListsAreOfTheirRules(t *testing.T) {
	w := newWorld(t)
	later := []string{"input:wait", "manifest:show", "manifest:schema", "template:list", "template:get"}
	w.h.View(func(s *projections.State) {
		for _, rules := range []string{"1", "2", "3", "4", "5", "6"} {
			for _, command := range []commands.Command{
				&commands.SpawnSession{Role: events.RoleOrchestrator, TaskIDs: []string{w.ids["t5"]}},
				&commands.SpawnSession{
					Role:    events.RoleOrchestrator,
					TaskIDs: []string{w.ids["t5"]},
					Allowed: &[]string{"session:resume", "watch", "events"},
				},
				&commands.RegisterSession{Role: events.RoleOrchestrator},
			} {
				data, err := commands.Decide(s, command, commands.Call{
					By:      commands.Admin(commands.AuthnToken),
					Project: w.ids["p"],
					At:      s.At(),
					Rules:   rules,
				})
				if err != nil {
					t.Fatal(err)
				}
				var given events.Permissions
				if x, ok := data.(*events.SessionSpawned); ok {
					given = x.Permissions
				} else if x, ok := data.(*events.SessionRegistered); ok {
					given = x.Created.Permissions
				} else {
					t.Fatalf("%T", data)
				}
				for _, id := range []string{"session:resume", "watch", "events"} {
					exists := id == "watch" && rules >= "4" || id == "events" && rules >= "5" ||
						id == "session:resume" && rules >= "6"
					if slices.Contains(given.Commands, id) != (rules < "3" || exists) {
						t.Errorf("by rules %s, %s was given: %q", rules, command.ID(), given.Commands)
					}
				}
				for _, id := range later {
					if slices.Contains(given.Commands, id) != (rules >= "3" && !given.Explicit) {
						t.Errorf("by rules %s, %s was given: %q", rules, command.ID(), given.Commands)
					}
				}
			}
		}
	})
}

// A session that has ended can deliver a limited number of reports, whatever time it claims for them.
func TestLateReportsAreLimited(t *testing.T) {
	w := newWorld(t)
	for range commands.LimitLateReports.Value {
		w.must("e@1h", "report:progress", `{"message":"m"}`)
	}
	_, err := w.do("e@1h", "report:progress", `{"message":"m"}`)
	if code(err) != commands.CodeLimit {
		t.Errorf("one more: %v", err)
	}
	if verdict := verify(t, w.log.messages); len(verdict.Faults) > 0 {
		t.Errorf("%+v", verdict.Faults)
	}
	w = newWorld(t)
	w.h.View(func(s *projections.State) {
		for name, said := range map[string]time.Time{"now": {}, "before its session": s.At().Add(-100 * time.Hour)} {
			for version, want := range map[string]bool{"2": true, commands.RulesVersion: false} {
				_, err := (&commands.Report{Kind: events.ReportProgress, Message: "m"}).Decide(s, commands.Call{
					By:         w.actor("e"),
					Project:    w.ids["p"],
					At:         s.At(),
					Rules:      version,
					OccurredAt: said,
				})
				if (err == nil) != want {
					t.Errorf("a report after the end of %s by rules %s: %v", name, version, err)
				}
			}
		}
	})
}

// It can deliver a limited number of bytes: messages, task ids and options, and texts that are stored as blobs.
func TestLateBytesAreLimited(t *testing.T) {
	message := func(n int, more string) string {
		return `{"message":"` + strings.Repeat("m", n) + `"` + more + `}`
	}
	for _, c := range []struct {
		name string
		// body is delivered this many times, and then refused.
		body  string
		times int
	}{
		{"words", message(events.MaxText, ""), 4},
		{"a task", message(events.MaxText-len(`task_0123456789`), `,"taskIds":["{t5}"]`), 4},
		{"options", message(events.MaxText-200, `,"options":["`+strings.Repeat("o", 200)+`"]`), 4},
		{"long texts", message(events.MaxText+1, ""), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			for range c.times {
				w.must("e@1h", "report:needs-input", c.body)
			}
			_, err := w.do("e@1h", "report:progress", `{"message":"m"}`)
			if code(err) != commands.CodeLimit || !strings.Contains(err.Error(), "has delivered 262144 bytes") {
				t.Errorf("one byte more: %v", err)
			}
			if verdict := verify(t, w.log.messages); len(verdict.Faults) > 0 {
				t.Errorf("%+v", verdict.Faults)
			}
		})
	}
	w := newWorld(t)
	w.must("e@1h", "report:progress", message(events.MaxText, ""))
	for range 3 {
		w.must("e@1h", "report:progress", message(events.MaxText-1, ""))
	}
	w.must("e@1h", "report:progress", `{"message":"mmm"}`)
	if _, err := w.do("e@1h", "report:progress", `{"message":"m"}`); code(err) != commands.CodeLimit {
		t.Errorf("one byte more: %v", err)
	}
	w.must("w", "report:progress", `{"message":"m"}`) // another's
}

func TestParseRefuses(t *testing.T) {
	for id, says := range map[string]string{
		"task:paint": "no command", "task:list": "is a read",
		"runner:enroll": "not available",
	} {
		if _, err := commands.Parse(id, []byte(`{}`)); code(err) != commands.CodeNotFound ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", id, err)
		}
	}
	for body, says := range map[string]string{
		"":                         "is empty",
		"[]":                       "must be a JSON object",
		"x":                        "not JSON",
		"{\"message\":\"\xff\"}":   "UTF-8",
		`{"taskIds":"t"}`:          "a list",
		`{"message":"m","kind":1}`: "kind",
	} {
		if _, err := commands.Parse("report:progress", []byte(body)); code(err) != commands.CodeInvalid ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// A caller that names something that does not exist is told how to list what exists.
func TestNotFoundSaysWhereToLook(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ id, body, next string }{
		{"task:complete", `{"taskId":"none"}`, "`maestro task list`"},
		{"session:kill", `{"sessionId":"none"}`, "`maestro session list`"},
		{"project:delete", `{"projectId":"none"}`, "`maestro project list`"},
		{"queue:push", `{"project":"{p}","queue":"none","taskId":"{t1}"}`, "`maestro queue status --project "},
		{"input:answer", `{"inputId":"none","answer":"so"}`, "`maestro input list`"},
		{"token:revoke", `{"name":"none"}`, "`maestro token list`"},
	} {
		_, err := w.do("admin", c.id, c.body)
		var refusal *commands.Refusal
		if !errors.As(err, &refusal) || refusal.Code != commands.CodeNotFound || !strings.Contains(refusal.Next,
			c.next) {
			t.Errorf("%s: %v, next %q", c.id, err, refusal.Next)
		}
	}
}

func TestValidID(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, "task_A-1": true, strings.Repeat("x", 128): true, "": false, strings.Repeat("x", 129): false,
		"a b": false, "a.b": false,
		"a/b": false, "ü": false, "a\n": false, "*": false, ">": false,
	} {
		if got := commands.ValidID("/id", id) == nil; got != ok {
			t.Errorf("%q is an id: %t", id, got)
		}
	}
}
