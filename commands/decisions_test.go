package commands

import (
	"errors"
	"strings"
	"testing"

	"maestro/events"
	"maestro/projections"
)

// step is one command: by whom, which, with which body.
type step [3]string

// decision is one line of a noun's table: given steps in newWorld, when a command, then an event ("task.created" and a part of
// its data), "already so", or a refusal ("NOT_ALLOWED" and a part of its message).
type decision struct {
	name  string
	given []step
	when  step
	then  string
	with  string
}

func decide(t *testing.T, table []decision) {
	t.Helper()
	for _, d := range table {
		t.Run(d.name, func(t *testing.T) {
			w := newWorld(t)
			for _, s := range d.given {
				w.must(s[0], s[1], s[2])
			}
			before := w.log.head()
			a, err := w.do(d.when[0], d.when[1], d.when[2])
			var refusal *Refusal
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
			if row, _ := CurrentRules().Row(d.when[1]); a.Event != nil && row.Events != kind {
				t.Errorf("the table says that %s becomes %s, and it became %s", d.when[1], row.Events, kind)
			}
			if grew := w.log.head() - before; grew != 0 && a.Event == nil || a.Event != nil && grew != 1 {
				t.Errorf("the log grew by %d", grew)
			}
		})
	}
}

func TestProjectDecisions(t *testing.T) {
	decide(t, []decision{
		{"create", nil, step{"admin", "project:create", `{"name":" New ","workingDir":"/x","description":"d"}`}, "project.created", `"name":"New","workingDir":"/x","description":"d"`},
		{"an orchestrator creates", nil, step{"o", "project:create", `{"name":"New"}`}, "project.created", `"name":"New"`},
		{"a worker does not", nil, step{"w", "project:create", `{"name":"New"}`}, "NOT_ALLOWED", "project:create"},
		{"no name", nil, step{"admin", "project:create", `{"name":" "}`}, "VALIDATION_ERROR", "/name"},
		{"a name of two lines", nil, step{"admin", "project:create", `{"name":"a\nb"}`}, "VALIDATION_ERROR", "control character"},
		{"a NUL", nil, step{"admin", "project:create", `{"name":"a","description":"\u0000"}`}, "VALIDATION_ERROR", "NUL"},
		{"update", nil, step{"admin", "project:update", `{"projectId":"{p}","description":""}`}, "project.updated", `"description":""`},
		{"update no project", nil, step{"admin", "project:update", `{"projectId":"none","name":"x"}`}, "NOT_FOUND", "'none' not found"},
		{"update without an id", nil, step{"admin", "project:update", `{"name":"x"}`}, "VALIDATION_ERROR", "Project ID is required"},
		{"an orchestrator updates none", nil, step{"o", "project:update", `{"projectId":"{p}","name":"x"}`}, "NOT_ALLOWED", "project:update"},
		{"delete with tasks", nil, step{"admin", "project:delete", `{"projectId":"{p}"}`}, "BUSINESS_RULE_ERROR", "existing tasks"},
		{"delete with sessions", []step{{"admin", "session:register", `{"project":"{q}"}`}, {"admin", "task:delete", `{"taskId":"{u1}"}`}}, step{"admin", "project:delete", `{"projectId":"{q}"}`}, "BUSINESS_RULE_ERROR", "existing sessions"},
		{"delete an empty one", []step{{"admin", "task:delete", `{"taskId":"{u1}"}`}}, step{"admin", "project:delete", `{"projectId":"{q}"}`}, "project.deleted", `{q}`},
		{"an orchestrator deletes one that it did not create", nil, step{"o", "project:delete", `{"projectId":"{q}"}`}, "NOT_ALLOWED", "may not touch project"},
		{"or its own, which it did not create", nil, step{"o", "project:delete", `{"projectId":"{p}"}`}, "NOT_ALLOWED", "did not create"},
	})
	w := newWorld(t)
	w.make("mine", "o", "project:create", `{"name":"Mine"}`)
	w.make("inMine", "o", "task:create", `{"project":"{mine}","title":"x"}`) // an orchestrator works in what it created
	if _, err := w.do("o", "project:delete", `{"projectId":"{mine}"}`); code(err) != CodeRule {
		t.Errorf("with a task: %v", err)
	}
	w.must("admin", "task:delete", `{"taskId":"{inMine}"}`)
	w.must("o", "project:delete", `{"projectId":"{mine}"}`)
	if _, err := w.do("admin", "project:update", `{"projectId":"{mine}","name":"x"}`); code(err) != CodeNotFound {
		t.Errorf("updating a deleted one: %v", err)
	}
}

func TestTaskDecisions(t *testing.T) {
	long := strings.Repeat("x", 201)
	decide(t, []decision{
		{"a worker creates", nil, step{"w", "task:create", `{"title":" New ","parentId":"{t1}","dependencies":["{t3}","{t3}"],"metadata":{"a":1}}`}, "task.created", `"title":"New","priority":"medium","parentId":"{t1}","dependencies":["{t3}"],"metadata":{"a":1}`},
		{"in its own project only", nil, step{"w", "task:create", `{"project":"{q}","title":"x"}`}, "NOT_ALLOWED", "may not touch project"},
		{"no title", nil, step{"w", "task:create", `{"title":"  "}`}, "VALIDATION_ERROR", "Task title is required"},
		{"201 characters", nil, step{"w", "task:create", `{"title":"` + long + `"}`}, "VALIDATION_ERROR", "at most 200"},
		{"no project", nil, step{"admin", "task:create", `{"title":"x"}`}, "VALIDATION_ERROR", "Project ID is required"},
		{"no such project", nil, step{"admin", "task:create", `{"project":"none","title":"x"}`}, "NOT_FOUND", "Project with id 'none'"},
		{"parent elsewhere", nil, step{"admin", "task:create", `{"project":"{p}","title":"x","parentId":"{u1}"}`}, "VALIDATION_ERROR", "/parentId"},
		{"no such parent", nil, step{"w", "task:create", `{"title":"x","parentId":"none"}`}, "NOT_FOUND", "Parent task"},
		{"parent null is a root", nil, step{"w", "task:create", `{"title":"x","parentId":null}`}, "task.created", `"title":"x"`},
		{"no such dependency", nil, step{"w", "task:create", `{"title":"x","dependencies":["none"]}`}, "NOT_FOUND", "Task with id 'none'"},
		{"dependency elsewhere", nil, step{"w", "task:create", `{"title":"x","dependencies":["{u1}"]}`}, "VALIDATION_ERROR", "/dependencies"},
		{"waits for its parent", nil, step{"w", "task:create", `{"title":"x","parentId":"{t2}","dependencies":["{t1}"]}`}, "VALIDATION_ERROR", "part of"},
		{"no such priority", nil, step{"w", "task:create", `{"title":"x","priority":"urgent"}`}, "VALIDATION_ERROR", "/priority"},
		{"metadata that is no object", nil, step{"w", "task:create", `{"title":"x","metadata":[1]}`}, "VALIDATION_ERROR", "/metadata"},
		{"unknown field", nil, step{"w", "task:create", `{"title":"x","colour":"red"}`}, "VALIDATION_ERROR", "colour"},
		{"wrong type", nil, step{"w", "task:create", `{"title":7}`}, "VALIDATION_ERROR", "title must be a string"},
		{"cut", nil, step{"w", "task:create", `{"title":"x"`}, "VALIDATION_ERROR", "cut"},
		{"two objects", nil, step{"w", "task:create", `{"title":"x"}{}`}, "VALIDATION_ERROR", "more than one"},
		{"update", nil, step{"o", "task:update", `{"taskId":"{t1}","title":"U","status":"completed"}`}, "task.updated", `"title":"U","status":{"from":"in_progress","to":"completed"}`},
		{"a worker updates nothing", nil, step{"w", "task:update", `{"taskId":"{t1}","title":"U"}`}, "NOT_ALLOWED", "task:update"},
		{"cancelled is the user's", nil, step{"o", "task:update", `{"taskId":"{t1}","status":"cancelled"}`}, "NOT_ALLOWED", "only the user cancels"},
		{"and the user's indeed", nil, step{"admin", "task:update", `{"taskId":"{t1}","status":"cancelled"}`}, "task.updated", `"to":"cancelled"`},
		{"no such status", nil, step{"o", "task:update", `{"taskId":"{t1}","status":"done"}`}, "VALIDATION_ERROR", "'done' is not a task status"},
		{"a status it has", nil, step{"o", "task:update", `{"taskId":"{t1}","status":"in_progress"}`}, "already so", ""},
		{"a status it has, and more", nil, step{"o", "task:update", `{"taskId":"{t1}","status":"in_progress","model":"opus"}`}, "task.updated", `"model":"opus"}`},
		{"an empty title", nil, step{"o", "task:update", `{"taskId":"{t1}","title":" "}`}, "VALIDATION_ERROR", "cannot be empty"},
		{"waits for itself", nil, step{"o", "task:update", `{"taskId":"{t1}","dependencies":["{t1}"]}`}, "VALIDATION_ERROR", "itself"},
		{"a cycle", nil, step{"o", "task:update", `{"taskId":"{t3}","dependencies":["{t4}"]}`}, "VALIDATION_ERROR", "cycle"},
		{"a cycle over three", []step{{"o", "task:update", `{"taskId":"{t5}","dependencies":["{t4}"]}`}}, step{"o", "task:update", `{"taskId":"{t3}","dependencies":["{t5}"]}`}, "VALIDATION_ERROR", "cycle"},
		{"no dependencies any more", nil, step{"o", "task:update", `{"taskId":"{t4}","dependencies":[]}`}, "task.updated", `"dependencies":[]`},
		{"in another project", nil, step{"o", "task:update", `{"taskId":"{u1}","title":"U"}`}, "NOT_ALLOWED", "may not touch project"},
		{"a project that is not the task's", nil, step{"admin", "task:update", `{"project":"{q}","taskId":"{t1}","title":"U"}`}, "VALIDATION_ERROR", "/project"},
		{"no such task", nil, step{"o", "task:update", `{"taskId":"none","title":"U"}`}, "NOT_FOUND", "Task with id 'none'"},
		{"no id", nil, step{"o", "task:complete", `{}`}, "VALIDATION_ERROR", "taskId is required"},
		{"what is no id", nil, step{"o", "task:complete", `{"taskId":"a/b"}`}, "VALIDATION_ERROR", "is not an id"},
		{"complete", nil, step{"o", "task:complete", `{"taskId":"{t1}"}`}, "task.status_changed", `"from":"in_progress","to":"completed"`},
		{"a worker completes nothing", nil, step{"w", "task:complete", `{"taskId":"{t1}"}`}, "NOT_ALLOWED", "task:complete"},
		{"complete again", []step{{"o", "task:complete", `{"taskId":"{t1}"}`}}, step{"o", "task:complete", `{"taskId":"{t1}"}`}, "already so", ""},
		{"block", nil, step{"admin", "task:block", `{"taskId":"{t2}","reason":"r"}`}, "task.status_changed", `"from":"todo","to":"blocked","reason":"r"`},
		{"a worker blocks nothing", nil, step{"w", "task:block", `{"taskId":"{t1}"}`}, "NOT_ALLOWED", "task:block"},
		{"reopen what is open", nil, step{"o", "task:reopen", `{"taskId":"{t1}"}`}, "BUSINESS_RULE_ERROR", "nobody says that it is done"},
		{"reopen what is completed", []step{{"o", "task:complete", `{"taskId":"{t1}"}`}}, step{"o", "task:reopen", `{"taskId":"{t1}","reason":"r"}`}, "task.status_changed", `"from":"completed","to":"in_progress","reason":"r"`},
		{"reopen what is said to be done", []step{{"w", "report:complete", `{"message":"m","taskIds":["{t1}"]}`}}, step{"admin", "task:reopen", `{"taskId":"{t1}"}`}, "task.status_changed", `"from":"in_progress","to":"in_progress"`},
		{"delete", nil, step{"admin", "task:delete", `{"taskId":"{t1}"}`}, "task.deleted", `{"taskId":"{t1}"}`},
		{"delete with what is below", nil, step{"admin", "task:delete", `{"taskId":"{t1}","recursive":true}`}, "task.deleted", `"recursive":true,"descendants":["{t2}"]`},
		{"an orchestrator deletes nothing", nil, step{"o", "task:delete", `{"taskId":"{t1}"}`}, "NOT_ALLOWED", "task:delete"},
		{"a deleted task", []step{{"admin", "task:delete", `{"taskId":"{t2}"}`}}, step{"o", "task:complete", `{"taskId":"{t2}"}`}, "NOT_FOUND", "not found"},
	})
}

func TestSessionDecisions(t *testing.T) {
	decide(t, []decision{
		{"an orchestrator spawns a worker", nil, step{"o", "session:spawn", `{"taskIds":["{t2}"]}`}, "session.spawned", `"role":"worker","strategy":"simple","taskIds":["{t2}"],"started":["{t2}"]`},
		{"a worker spawns nothing", nil, step{"w", "session:spawn", `{"taskIds":["{t2}"]}`}, "NOT_ALLOWED", "session:spawn"},
		{"without tasks", nil, step{"o", "session:spawn", `{}`}, "VALIDATION_ERROR", "taskIds must be a non-empty array"},
		{"a queue worker without tasks", nil, step{"o", "session:spawn", `{"strategy":"queue"}`}, "session.spawned", `"strategy":"queue"`},
		{"a queue worker starts nothing by being spawned", nil, step{"o", "session:spawn", `{"strategy":"queue","taskIds":["{t2}"]}`}, "session.spawned", `"taskIds":["{t2}"],"permissions"`},
		{"no such role", nil, step{"o", "session:spawn", `{"role":"boss","taskIds":["{t2}"]}`}, "VALIDATION_ERROR", "role must be"},
		{"no such strategy", nil, step{"o", "session:spawn", `{"strategy":"dag","taskIds":["{t2}"]}`}, "VALIDATION_ERROR", "strategy must be"},
		{"an orchestrator's queue", nil, step{"admin", "session:spawn", `{"project":"{p}","role":"orchestrator","strategy":"queue","taskIds":["{t2}"]}`}, "VALIDATION_ERROR", "orchestrator's strategy"},
		{"simple is default for an orchestrator", nil, step{"admin", "session:spawn", `{"project":"{p}","role":"orchestrator","strategy":"simple","taskIds":["{t2}"]}`}, "session.spawned", `"strategy":"default"`},
		{"no such task", nil, step{"o", "session:spawn", `{"taskIds":["none"]}`}, "NOT_FOUND", "'none'"},
		{"a task elsewhere", nil, step{"o", "session:spawn", `{"taskIds":["{u1}"]}`}, "VALIDATION_ERROR", "/taskIds"},
		{"in another project", nil, step{"o", "session:spawn", `{"project":"{q}","taskIds":["{u1}"]}`}, "NOT_ALLOWED", "may not touch project"},
		{"unmet dependencies are said", nil, step{"o", "session:spawn", `{"taskIds":["{t4}"]}`}, "session.spawned", `"unmetDependencies":["{t3}"]`},
		{"with its dependency it waits for nobody else", nil, step{"o", "session:spawn", `{"taskIds":["{t4}","{t3}"],"strict":true}`}, "session.spawned", `"strict":true,"permissions"`},
		{"strict refuses them", nil, step{"o", "session:spawn", `{"taskIds":["{t4}"],"strict":true}`}, "BUSINESS_RULE_ERROR", "{t3}"},
		{"an explicit list", nil, step{"o", "session:spawn", `{"taskIds":["{t2}"],"allowedCommands":["task:get"]}`}, "session.spawned", `"commands":["whoami","status","commands","session:register","session:complete","track-file","worker:init","task:get"],"explicit":true`},
		{"a list with another's write", nil, step{"o", "session:spawn", `{"taskIds":["{t2}"],"allowedCommands":["task:get","task:update"]}`}, "VALIDATION_ERROR", "/allowedCommands/1"},
		{"a list with what is no command", nil, step{"o", "session:spawn", `{"taskIds":["{t2}"],"allowedCommands":["task:paint"]}`}, "VALIDATION_ERROR", "no such command"},
		{"a deleted task satisfies nobody", []step{{"admin", "task:delete", `{"taskId":"{t3}"}`}}, step{"o", "session:spawn", `{"taskIds":["{t4}"],"strict":true}`}, "BUSINESS_RULE_ERROR", "{t3}"},
		{"one that was completed before does", []step{{"o", "task:complete", `{"taskId":"{t3}"}`}, {"admin", "task:delete", `{"taskId":"{t3}"}`}}, step{"o", "session:spawn", `{"taskIds":["{t4}"],"strict":true}`}, "session.spawned", `"strict":true`},
		{"a manifest that is no digest", nil, step{"admin", "session:spawn", `{"project":"{p}","taskIds":["{t2}"],"manifestDigest":"../x"}`}, "VALIDATION_ERROR", "/manifestDigest"},
		{"a manifest named by a session", nil, step{"o", "session:spawn", `{"taskIds":["{t2}"],"manifestDigest":"sha256-` + strings.Repeat("a", 64) + `"}`}, "NOT_ALLOWED", "may not name a manifest"},
		{"a known session registered with other rights", nil, step{"admin", "session:register", `{"sessionId":"{w}","role":"orchestrator"}`}, "CONFLICT", "is not what is asked for"},
		{"a known session registered with a list", nil, step{"admin", "session:register", `{"sessionId":"{w}","allowedCommands":["task:list"]}`}, "CONFLICT", "is not what is asked for"},
		{"a note on another project's task", nil, step{"w", "session:note", `{"message":"x","taskId":"{u1}"}`}, "NOT_ALLOWED", "may not touch task"},
		{"for another session", nil, step{"o", "session:spawn", `{"taskIds":["{t2}"],"spawnedBy":"{w}"}`}, "NOT_ALLOWED", "spawns for itself only"},
		{"a user for a session", nil, step{"admin", "session:spawn", `{"project":"{p}","taskIds":["{t2}"],"spawnedBy":"{o}"}`}, "session.spawned", `"spawnedBy":"{o}"`},
		{"a user for no session", nil, step{"admin", "session:spawn", `{"project":"{p}","taskIds":["{t2}"],"spawnedBy":"none"}`}, "NOT_FOUND", "none"},
		{"a user for a session elsewhere", nil, step{"admin", "session:spawn", `{"project":"{q}","taskIds":["{u1}"],"spawnedBy":"{o}"}`}, "VALIDATION_ERROR", "/spawnedBy"},
		{"register", nil, step{"w", "session:register", `{}`}, "session.registered", `{"sessionId":"{w}"}`},
		{"register again", []step{{"w", "session:register", `{}`}}, step{"w", "session:register", `{}`}, "already so", ""},
		{"register another", nil, step{"w", "session:register", `{"sessionId":"{v}"}`}, "NOT_ALLOWED", "may not act as"},
		{"register one nobody spawned", nil, step{"w", "session:register", `{"sessionId":"mine"}`}, "NOT_ALLOWED", "only a user registers"},
		{"a user does", nil, step{"admin", "session:register", `{"project":"{p}","sessionId":"mine","role":"orchestrator","status":"idle","env":{"A":"1"}}`}, "session.registered", `"sessionId":"mine","created":{"name":"Unnamed Session","role":"orchestrator","strategy":"default","status":"idle"`},
		{"a known one with create", nil, step{"admin", "session:register", `{"project":"{p}","sessionId":"{w}","create":true}`}, "CONFLICT", "exists already"},
		{"an ended status for a new one", nil, step{"admin", "session:register", `{"project":"{p}","status":"stopped"}`}, "VALIDATION_ERROR", "/status"},
		{"a broken variable", nil, step{"admin", "session:register", `{"project":"{p}","env":{"A=B":"1"}}`}, "VALIDATION_ERROR", "/env"},
		{"complete", nil, step{"w", "session:complete", `{}`}, "session.completed", `{w}`},
		{"complete again", []step{{"w", "session:complete", `{}`}}, step{"w", "session:complete", `{}`}, "already so", ""},
		{"complete another", nil, step{"w", "session:complete", `{"sessionId":"{v}"}`}, "NOT_ALLOWED", "to itself only"},
		{"after the end", nil, step{"e", "session:complete", `{}`}, "NOT_ALLOWED", "has ended"},
		{"a user completes one that has ended", nil, step{"admin", "session:complete", `{"sessionId":"{e}"}`}, "NOT_ALLOWED", "has ended"},
		{"kill one's own", nil, step{"o", "session:kill", `{"sessionId":"{w}","reason":"r"}`}, "session.killed", `"reason":"r","status":"stopped"`},
		{"kill another's", nil, step{"o", "session:kill", `{"sessionId":"{v}"}`}, "NOT_ALLOWED", "did not spawn"},
		{"a worker kills nobody", nil, step{"w", "session:kill", `{"sessionId":"{w}"}`}, "NOT_ALLOWED", "session:kill"},
		{"a user kills, as failed", nil, step{"admin", "session:kill", `{"sessionId":"{v}","failed":true}`}, "session.killed", `"status":"failed"`},
		{"kill one that has ended", nil, step{"admin", "session:kill", `{"sessionId":"{e}"}`}, "already so", ""},
		{"update one's own", nil, step{"o", "session:update", `{"sessionId":"{w}","name":"N","status":"idle","taskIds":["{t2}"]}`}, "session.updated", `"name":"N","status":"idle","taskIds":["{t2}"]`},
		{"update another's", nil, step{"o", "session:update", `{"sessionId":"{v}","name":"N"}`}, "NOT_ALLOWED", "did not spawn"},
		{"a status that is not for updates", nil, step{"admin", "session:update", `{"sessionId":"{w}","status":"completed"}`}, "VALIDATION_ERROR", "/status"},
		{"a status after the end", nil, step{"admin", "session:update", `{"sessionId":"{e}","status":"idle"}`}, "NOT_ALLOWED", "has ended"},
		{"delete", nil, step{"admin", "session:delete", `{"sessionId":"{w}"}`}, "session.deleted", `{w}`},
		{"an orchestrator deletes none", nil, step{"o", "session:delete", `{"sessionId":"{w}"}`}, "NOT_ALLOWED", "session:delete"},
		{"note", nil, step{"w", "session:note", `{"message":"m","taskId":"{t1}","data":{"a":1}}`}, "session.noted", `"type":"progress","message":"m","taskId":"{t1}","data":{"a":1}`},
		{"a note without anything", nil, step{"w", "session:note", `{}`}, "VALIDATION_ERROR", "message is required"},
		{"a note for another", nil, step{"o", "session:note", `{"sessionId":"{w}","message":"m"}`}, "NOT_ALLOWED", "may not act as"},
		{"link", nil, step{"admin", "session:link", `{"sessionId":"{w}","taskId":"{t2}"}`}, "session.task_linked", `{t2}`},
		{"link again", nil, step{"admin", "session:link", `{"sessionId":"{w}","taskId":"{t1}"}`}, "already so", ""},
		{"link a task elsewhere", nil, step{"admin", "session:link", `{"sessionId":"{w}","taskId":"{u1}"}`}, "VALIDATION_ERROR", "/taskIds"},
		{"unlink", nil, step{"admin", "session:unlink", `{"sessionId":"{w}","taskId":"{t1}"}`}, "session.task_unlinked", `{t1}`},
		{"unlink what is not linked", nil, step{"admin", "session:unlink", `{"sessionId":"{w}","taskId":"{t2}"}`}, "already so", ""},
		{"unlink no task", nil, step{"admin", "session:unlink", `{"sessionId":"{w}","taskId":"none"}`}, "NOT_FOUND", "none"},
		{"no such session", nil, step{"admin", "session:kill", `{"sessionId":"none"}`}, "NOT_FOUND", "Session with id 'none'"},
		{"a project that is not its", nil, step{"admin", "session:kill", `{"project":"{q}","sessionId":"{w}"}`}, "VALIDATION_ERROR", "/project"},
		{"track a file", nil, step{"w", "track-file", `{"file":"a.go","taskId":"{t1}"}`}, "session.file_tracked", `"file":"a.go","taskId":"{t1}"`},
		{"no file", nil, step{"w", "track-file", `{}`}, "VALIDATION_ERROR", "file is required"},
		{"a file of a task elsewhere", nil, step{"w", "track-file", `{"file":"a","taskId":"{u1}"}`}, "NOT_FOUND", "Task"},
		{"a file for another", nil, step{"w", "track-file", `{"sessionId":"{v}","file":"a"}`}, "NOT_ALLOWED", "may not act as"},
	})
}

func TestReportDecisions(t *testing.T) {
	decide(t, []decision{
		{"on its own task", nil, step{"w", "report:progress", `{"message":"m","taskIds":["{t1}","{t1}"]}`}, "session.reported", `{"sessionId":"{w}","kind":"progress","message":"m","taskIds":["{t1}"]}`},
		{"by the other name", nil, step{"w", "task:report:blocked", `{"message":"m","taskIds":["{t1}"]}`}, "session.reported", `"kind":"blocked"`},
		{"by the other name, without a task", nil, step{"w", "task:report:blocked", `{"message":"m"}`}, "VALIDATION_ERROR", "names its task"},
		{"on what is below it", nil, step{"w", "report:error", `{"message":"m","taskIds":["{t2}"]}`}, "session.reported", `"kind":"error"`},
		{"on another's task", nil, step{"w", "report:progress", `{"message":"m","taskIds":["{t1}","{t3}"]}`}, "NOT_ALLOWED", "may not report on task '{t3}'"},
		{"an orchestrator on its project's", nil, step{"o", "report:needs-input", `{"message":"m","taskIds":["{t1}","{t5}"]}`}, "session.reported", `"kind":"needs-input"`},
		{"on another project's", nil, step{"o", "report:progress", `{"message":"m","taskIds":["{u1}"]}`}, "NOT_ALLOWED", "own project"},
		{"on no task", nil, step{"w", "report:progress", `{"message":"m","taskIds":["none"]}`}, "NOT_FOUND", "none"},
		{"without words, on a task", nil, step{"w", "report:progress", `{"taskIds":["{t1}"]}`}, "session.reported", `"taskIds":["{t1}"]`},
		{"without words or task", nil, step{"w", "report:progress", `{}`}, "VALIDATION_ERROR", "message is required"},
		{"complete with a task", nil, step{"w", "report:complete", `{"message":"m","taskIds":["{t1}"]}`}, "session.reported", `"taskIds":["{t1}"]}`},
		{"complete without one ends the work", nil, step{"w", "report:complete", `{"message":"m"}`}, "session.reported", `"sessionCompleted":true`},
		{"progress without one does not", nil, step{"w", "report:progress", `{"message":"m"}`}, "session.reported", `"message":"m"}`},
		{"after the end it is late", nil, step{"e", "report:complete", `{"message":"m"}`}, "session.reported", `"message":"m","late":true`},
		{"a user reports nothing", nil, step{"admin", "report:progress", `{"message":"m"}`}, "NOT_ALLOWED", "report:progress"},
		{"in another project", nil, step{"w", "report:progress", `{"project":"{q}","message":"m"}`}, "NOT_ALLOWED", "may not touch project"},
	})
	w := newWorld(t)
	w.make("own", "w", "task:create", `{"title":"found"}`)
	w.must("w", "report:progress", `{"message":"m","taskIds":["{own}"]}`) // on what it created
	if _, err := w.do("k", "report:progress", `{"message":"m","taskIds":["{own}"]}`); code(err) != CodeNotAllowed {
		t.Errorf("on what another created: %v", err)
	}
}

// Permit by kinds of actor, over every row of the table.
func TestPermit(t *testing.T) {
	w := newWorld(t)
	w.make("x", "admin", "session:spawn", `{"project":"{p}","taskIds":["{t3}"],"allowedCommands":["task:get","task:tree","task:report:progress"]}`)
	w.h.View(func(s *projections.State) {
		for _, row := range CurrentRules().Rows() {
			allowed := func(by string, want bool) {
				t.Helper()
				actor := w.actor(by)
				if got := Permit(s, CurrentRules(), actor, row.ID, w.ids["p"]) == nil; got != want {
					t.Errorf("%s may use %s: %t, want %t", by, row.ID, got, want)
				}
			}
			allowed("admin", row.Who&U != 0)
			allowed("auditor", row.Who&U != 0 && !row.Write)
			allowed("reader", row.Who&U != 0 && !row.Write && !strings.HasPrefix(row.ID, "audit:"))
			allowed("w", row.Who&W != 0)
			allowed("k", row.Who&Q != 0)
			allowed("r", row.Who&T != 0)
			allowed("o", row.Who&O != 0)
			allowed("runner", row.Who&R != 0)
			allowed("system", row.Who&S != 0)
			allowed("stranger", false)
			report := strings.HasPrefix(row.ID, "report:") || strings.HasPrefix(row.ID, "task:report:")
			allowed("e", row.Who&W != 0 && (!row.Write || report))
			explicit := row.Core && row.Who&W != 0 || row.ID == "task:get" || row.ID == "task:tree" || row.ID == "report:progress" || row.ID == "task:report:progress"
			allowed("x", explicit)
		}
		reader := w.actor("reader")
		for project, want := range map[string]bool{w.ids["p"]: true, "": true, w.ids["q"]: false} {
			if got := Permit(s, CurrentRules(), reader, "task:list", project) == nil; got != want {
				t.Errorf("a reader of p reads %q: %t", project, got)
			}
		}
		foreign := SessionActor(w.ids["q"], w.ids["w"], AuthnToken)
		if Permit(s, CurrentRules(), foreign, "whoami", "") == nil {
			t.Error("a session of another project than its own may do something")
		}
		if err := Permit(s, CurrentRules(), Admin(AuthnToken), "task:paint", ""); code(err) != CodeNotFound {
			t.Errorf("an unknown command: %v", err)
		}
		if Permit(s, CurrentRules(), Actor{Kind: "ghost"}, "whoami", "") == nil {
			t.Error("an actor of no kind may do something")
		}
	})
}

// Permissions that no one may give are worth nothing, also when they stand in the log; nor are permissions that are not known.
func TestPermitDoubtsTheLog(t *testing.T) {
	w := newWorld(t)
	index := find(t, w.log.messages, "session.spawned", 1)
	forged := forge(t, w.log.messages, index, func(e *events.Event) {
		e.Data.(*events.SessionSpawned).Permissions.Commands = []string{"whoami", "task:update", "audit:verify", "queue:top"}
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
	for id, want := range map[string]bool{"whoami": true, "task:update": false, "audit:verify": false, "queue:top": false, "task:get": false} {
		if got := Permit(state, CurrentRules(), w.actor("w"), id, w.ids["p"]) == nil; got != want {
			t.Errorf("%s by a worker whose list was forged: %t", id, got)
		}
	}
}

// An orchestrator gives another at most its own commands.
func TestAtMostOwn(t *testing.T) {
	w := newWorld(t)
	w.make("small", "admin", "session:spawn", `{"project":"{p}","role":"orchestrator","taskIds":["{t3}"],"allowedCommands":["session:spawn","task:complete"]}`)
	if _, err := w.do("small", "session:spawn", `{"role":"orchestrator","taskIds":["{t2}"],"allowedCommands":["task:complete","task:update"]}`); code(err) != CodeNotAllowed {
		t.Errorf("more than its own: %v", err)
	}
	cut := w.shown(w.must("small", "session:spawn", `{"role":"orchestrator","taskIds":["{t2}"]}`))
	if !strings.Contains(cut, `"task:complete"`) || strings.Contains(cut, `"task:update"`) || !strings.Contains(cut, `"explicit":true`) {
		t.Errorf("the default was not cut to its own: %s", cut)
	}
	worker := w.shown(w.must("small", "session:spawn", `{"taskIds":["{t5}"]}`))
	if !strings.Contains(worker, `"report:progress"`) || strings.Contains(worker, `"explicit":true`) {
		t.Errorf("a worker gets any worker's set: %s", worker)
	}
}

func TestParseRefuses(t *testing.T) {
	for id, says := range map[string]string{"task:paint": "no command", "task:list": "is a read", "queue:start": "not available"} {
		if _, err := Parse(id, []byte(`{}`)); code(err) != CodeNotFound || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", id, err)
		}
	}
	for body, says := range map[string]string{
		"":                         "cut",
		"[]":                       "must be a JSON object",
		"x":                        "not JSON",
		"{\"message\":\"\xff\"}":   "UTF-8",
		`{"taskIds":"t"}`:          "a list",
		`{"message":"m","kind":1}`: "kind",
	} {
		if _, err := Parse("report:progress", []byte(body)); code(err) != CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestValidID(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, "task_A-1": true, strings.Repeat("x", 128): true, "": false, strings.Repeat("x", 129): false, "a b": false, "a.b": false,
		"a/b": false, "ü": false, "a\n": false, "*": false, ">": false,
	} {
		if got := ValidID("/id", id) == nil; got != ok {
			t.Errorf("%q is an id: %t", id, got)
		}
	}
}
