package oracle

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// plant is a story whose last event should not be there. What was told before is without a fault.
type plant struct {
	name string
	// rules that the last event breaks, and no others.
	rules  []string
	before func(s *story)
	bad    func(s *story)
}

func broken(rules ...string) []string { return rules }

func nothing(*story) {}

// family makes an orchestrator below the base's, and a worker below that.
func family(s *story) {
	s.add(orch, "session.spawned", `{"sessionId":"mid","name":"mid","role":"orchestrator","strategy":"dag",`+
		`"spawnedBy":"orch",`+
		byDefault("O")+`}`)
	s.add(source("mid"), "session.spawned", `{"sessionId":"low","name":"low","role":"worker","strategy":"simple",`+
		`"spawnedBy":"mid",`+byDefault("W")+`}`)
}

func plants() []plant {
	return slices.Concat(logPlants(), actorPlants(), permissionPlants(), thingPlants(), manifestPlants(), spawnPlants(), statusPlants(),
		reportPlants(), linePlants(), itemPlants(), returnPlants(), deadlinePlants(), questionPlants(), tokenPlants(),
		childPlants(), templatePlants(), limitPlants())
}

func TestPlants(t *testing.T) {
	unplanted := map[string]bool{}
	for _, rule := range Rules() {
		unplanted[rule] = true
	}
	for _, p := range plants() {
		for _, rule := range p.rules {
			delete(unplanted, rule)
		}
		t.Run(strings.ReplaceAll(p.name, " ", "_"), func(t *testing.T) { p.test(t) })
	}
	for rule := range unplanted {
		t.Errorf("no plant breaks the rule %s", rule)
	}
}

func (p plant) test(t *testing.T) {
	s := base(t)
	p.before(s)
	noFault(t, s)
	if t.Failed() {
		t.Fatal("before the plant")
	}
	before := len(s.lines)
	p.bad(s)
	if len(s.lines) != before+1 && !slices.Contains(p.rules, ruleChain) {
		t.Fatalf("it plants %d events", len(s.lines)-before)
	}
	var found []string
	for _, f := range s.verdict().Faults {
		if f.Sequence != uint64(len(s.lines)) && !slices.Contains(p.rules, ruleChain) {
			t.Errorf("sequence %d is blamed (%s: %s)", f.Sequence, f.Rule, f.What)
		}
		if !slices.Contains(found, f.Rule) {
			found = append(found, f.Rule)
		}
		t.Logf("%s: %s", f.Rule, f.What)
	}
	want := slices.Clone(p.rules)
	slices.Sort(want)
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("caught by %q, and it breaks %q", found, want)
	}
}

func noted(s *story, options ...option) {
	s.add(work, "session.noted", `{"sessionId":"work","type":"note"}`, options...)
}

func logPlants() []plant {
	return []plant{
		{"an event is missing", broken(ruleChain), nothing, func(s *story) {
			noted(s)
			noted(s)
			s.lines = slices.Delete(s.lines, len(s.lines)-2, len(s.lines)-1)
		}},
		{"an event was rewritten", broken(ruleChain), nothing, func(s *story) {
			noted(s)
			s.tamper(func(line map[string]any) { line["hash"] = strings.Repeat("ab", 32) })
		}},
		{"an event follows another", broken(ruleChain), nothing, func(s *story) {
			noted(s, with("prevhash", strings.Repeat("ab", 32)))
			body, prev := sha256.Sum256(s.bodies[len(s.bodies)-1]), bytes.Repeat([]byte{0xab}, 32)
			s.tamper(func(line map[string]any) { line["hash"] = fmt.Sprintf("%x", sha256.Sum256(append(prev, body[:]...))) })
		}},
		{"a withheld body is another", broken(ruleChain), nothing, func(s *story) {
			noted(s)
			s.withhold(len(s.lines)).tamper(func(line map[string]any) { line["bodyhash"] = strings.Repeat("ab", 32) })
		}},
		{"an id stands twice", broken(ruleID), nothing, func(s *story) { noted(s, with("id", "event-3")) }},
		{"time goes back", broken(ruleTime), nothing, func(s *story) { noted(s, with("time", "2026-03-01T11:00:00.000Z")) }},
		{"a newer type", broken(ruleType), nothing, func(s *story) {
			noted(s, with("type", "maestro.session.noted.v2"), with("dataschema", "urn:maestro:schema:maestro.session.noted.v2"))
		}},
		{"data of another kind", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("data", []int{1})) }},
		{"no data", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("data", nil)) }},
		{"the subject is another's", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("subject", "session/orch"))
			s.tamper(func(line map[string]any) { line["subject"] = "maestro.ev.p1.session.work" })
		}},
		{"no id", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("id", "")) }},
		{"another version of CloudEvents", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("specversion", "0.3")) }},
		{"another content type", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("datacontenttype", "text/plain")) }},
		{"another schema", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("dataschema", "urn:maestro:schema:x")) }},
		{"the stream's subject is another's", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s)
			s.tamper(func(line map[string]any) { line["subject"] = "maestro.ev.p2.session.work" })
		}},
		{"a source from nowhere", broken(ruleEnvelope), nothing, func(s *story) {
			s.add("/somebody", "session.noted", `{"sessionId":"work","type":"note"}`)
		}},
		{"no rules", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("rules", nil)) }},
		{"no request hash", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("requesthash", "x")) }},
		{"known by nothing", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("authn", nil)) }},
		{"known by rumour", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("authn", "rumour")) }},
		{"a cause that was never", broken(ruleCause), nothing, func(s *story) { noted(s, with("causationid", "event-99")) }},
		{"its own cause", broken(ruleCause), nothing, func(s *story) { noted(s, with("id", "me"), with("causationid", "me")) }},
		{"a chain of causes with another beginning", broken(ruleCause), nothing, func(s *story) { noted(s, with("correlationid", "event-1")) }},
		{"a chain of causes without a cause", broken(ruleCause), nothing, func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x","title":"X"}`, with("correlationid", "event-1"))
		}},
		{"a session without a cause", broken(ruleCause), nothing, func(s *story) { noted(s, without()) }},
	}
}

func actorPlants() []plant {
	return []plant{
		{"a worker deletes a task", broken(rulePermitted), nothing, func(s *story) { s.add(work, "task.deleted", `{"taskId":"b"}`) }},
		{"a worker deletes a session", broken(rulePermitted), nothing, func(s *story) { s.add(work, "session.deleted", `{"sessionId":"orch"}`) }},
		{"a worker spawns", broken(rulePermitted), nothing, func(s *story) {
			s.add(work, "session.spawned", `{"sessionId":"x","role":"worker","strategy":"simple","spawnedBy":"work",`+byDefault("W")+`}`)
		}},
		{"an orchestrator deletes a task", broken(rulePermitted), nothing, func(s *story) { s.add(orch, "task.deleted", `{"taskId":"a"}`) }},
		{"a list without the command", broken(rulePermitted), func(s *story) {
			s.spawn("quiet", `"role":"worker","strategy":"simple",`+only("W", "report:complete"))
		}, func(s *story) { s.report(source("quiet"), "progress", "") }},
		{"a note that is not in the list", broken(rulePermitted), func(s *story) {
			s.spawn("quiet", `"role":"worker","strategy":"simple",`+only("W", "task:get"))
		}, func(s *story) { s.add(source("quiet"), "session.noted", `{"sessionId":"quiet","type":"x"}`) }},
		{"a session that nobody knows", broken(rulePermitted), nothing, func(s *story) {
			s.add(source("ghost"), "task.created", `{"taskId":"x","title":"X"}`, s.because("event-1"))
		}},
		{"a user reports", broken(rulePermitted), nothing, func(s *story) {
			s.add(admin, "session.reported", `{"sessionId":"work","kind":"progress"}`)
		}},
		{"a user receives an answer", broken(rulePermitted), func(s *story) {
			s.report(work, "needs-input", `,"inputId":"i"`)
			s.add(admin, "input.answered", `{"inputId":"i","sessionId":"work","answer":"x"}`)
		}, func(s *story) { s.add(admin, "input.delivered", `{"inputId":"i","sessionId":"work"}`) }},
		{"a runner writes", broken(rulePermitted), nothing, func(s *story) {
			s.add("/runners/box", "session.noted", `{"sessionId":"work","type":"x"}`)
		}},
		{"a queue session makes a queue", broken(rulePermitted), nothing, func(s *story) {
			s.add(pull, "queue.created", `{"queue":"x","maxAttempts":3}`)
		}},
		{"a user whom nobody knows", broken(ruleUser), nothing, func(s *story) { s.add("/users/eve", "task.created", `{"taskId":"x","title":"X"}`) }},
		{"an auditor writes", broken(ruleUser), func(s *story) {
			s.add(admin, "token.created", `{"name":"eve","kind":"auditor","generation":1}`)
		}, func(s *story) { s.add("/users/eve", "task.created", `{"taskId":"x","title":"X"}`) }},
		{"a user whose token was revoked", broken(ruleUser), func(s *story) {
			s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":1}`)
			s.add(admin, "token.revoked", `{"name":"eve","generation":2}`)
		}, func(s *story) { s.add("/users/eve", "task.created", `{"taskId":"x","title":"X"}`) }},
		{"the system makes a task", broken(ruleSystem), nothing, func(s *story) { s.add(system, "task.created", `{"taskId":"x","title":"X"}`) }},
		{"a user loses a session", broken(ruleSystem), func(s *story) { s.wait(time.Hour) }, func(s *story) {
			s.add(admin, "session.lost", fmt.Sprintf(`{"sessionId":"work","lastheard":%d,"lease":60000}`, s.milli(time.Hour)))
		}},
		{"a session loses another", broken(ruleSystem), func(s *story) { s.wait(time.Hour) }, func(s *story) {
			s.add(orch, "session.lost", fmt.Sprintf(`{"sessionId":"work","lastheard":%d,"lease":60000}`, s.milli(time.Hour)))
		}},
		{"a session reports for another", broken(ruleOwn), nothing, func(s *story) {
			s.add(orch, "session.reported", `{"sessionId":"work","kind":"progress"}`)
		}},
		{"a session notes for another", broken(ruleOwn), nothing, func(s *story) {
			s.add(work, "session.noted", `{"sessionId":"orch","type":"x"}`)
		}},
		{"a session completes another", broken(ruleOwn), nothing, func(s *story) { s.add(orch, "session.completed", `{"sessionId":"work"}`) }},
		{"a session tracks a file of another", broken(ruleOwn), nothing, func(s *story) {
			s.add(work, "session.file_tracked", `{"sessionId":"orch","file":"x"}`)
		}},
		{"a session pulls for another", broken(ruleOwn), func(s *story) { s.puller("pull2", "pull") }, func(s *story) {
			s.add(source("pull2"), "queue.item_started", `{"queue":"pull","taskId":"e","sessionId":"pull","attempt":1,"passedOver":1}`)
		}},
		{"a task in another's project", broken(ruleScope), nothing, func(s *story) {
			s.add(work, "task.created", `{"taskId":"x","title":"X"}`, with("partitionkey", "p2"))
		}},
		{"an orchestrator in a project that it did not create", broken(ruleScope), nothing, func(s *story) {
			s.add(orch, "task.created", `{"taskId":"x","title":"X"}`, with("partitionkey", "p2"))
		}},
		{"a source with another project", broken(ruleScope), nothing, func(s *story) {
			s.add("/projects/p2/sessions/work", "session.noted", `{"sessionId":"work","type":"x"}`)
		}},
		{"an event of one project about a task of another", broken(ruleScope), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"other","title":"X"}`)
		}},
		{"an orchestrator kills what it did not spawn", broken(ruleSpawner), nothing, func(s *story) {
			s.add(orch, "session.killed", `{"sessionId":"pull","status":"stopped"}`)
		}},
		{"an orchestrator kills what is two below it, by older rules", broken(ruleSpawner), family, func(s *story) {
			s.add(orch, "session.killed", `{"sessionId":"low","status":"stopped"}`, with("rules", "2"))
		}},
		{"an orchestrator kills what is above it", broken(ruleSpawner), family, func(s *story) {
			s.add(source("mid"), "session.killed", `{"sessionId":"orch","status":"stopped"}`)
		}},
		{"an orchestrator kills its sibling", broken(ruleSpawner), family, func(s *story) {
			s.add(source("mid"), "session.killed", `{"sessionId":"work","status":"stopped"}`)
		}},
		{"an orchestrator updates what is two below it", broken(ruleSpawner), family, func(s *story) {
			s.add(orch, "session.updated", `{"sessionId":"low","status":"idle"}`)
		}},
		{"an orchestrator updates what it did not spawn", broken(ruleSpawner), nothing, func(s *story) {
			s.add(orch, "session.updated", `{"sessionId":"pull","name":"x"}`)
		}},
		{"an orchestrator answers for what it did not spawn", broken(ruleSpawner), func(s *story) {
			s.report(pull, "needs-input", `,"inputId":"i"`)
		}, func(s *story) { s.add(orch, "input.answered", `{"inputId":"i","sessionId":"pull","answer":"x"}`) }},
		{"a killed session notes", broken(ruleEnded), func(s *story) { s.kill("work") }, func(s *story) { noted(s) }},
		{"a deleted session makes a task", broken(ruleEnded), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"work"}`)
		}, func(s *story) { s.add(work, "task.created", `{"taskId":"x","title":"X"}`) }},
		{"a session that was timed out completes", broken(ruleEnded), func(s *story) {
			s.wait(time.Hour)
			s.add(system, "session.timed_out", fmt.Sprintf(`{"sessionId":"pull","deadline":%d}`, s.deadline("pull", time.Hour)))
		}, func(s *story) { s.add(pull, "session.completed", `{"sessionId":"pull"}`) }},
		{"a session is killed twice", broken(ruleEnded), func(s *story) { s.kill("work") }, func(s *story) { s.kill("work") }},
		{"an ended session is made idle", broken(ruleEnded), func(s *story) { s.kill("work") }, func(s *story) {
			s.add(admin, "session.updated", `{"sessionId":"work","status":"idle"}`)
		}},
		{"an ended session is lost", broken(ruleEnded), func(s *story) { s.kill("work") }, func(s *story) { s.lose("work") }},
		{"an ended session is answered", broken(ruleEnded), func(s *story) {
			s.report(work, "needs-input", `,"inputId":"i"`).kill("work")
		}, func(s *story) { s.add(admin, "input.answered", `{"inputId":"i","sessionId":"work","answer":"x"}`) }},
	}
}

func permissionPlants() []plant {
	spawned := func(name, more string) plant {
		return plant{name, broken(rulePermissions), nothing, func(s *story) { s.spawn("x", more) }}
	}
	without := func(letter, id string) []string {
		return slices.DeleteFunc(defaultList(letter), func(other string) bool { return other == id })
	}
	worker, queue := `"role":"worker","strategy":"simple",`, `"role":"worker","strategy":"queue","queue":"x",`
	orchestrator := `"role":"orchestrator","strategy":"default",`
	return []plant{
		spawned("a worker with a write of others", worker+only("W", "task:update")),
		spawned("a worker that spawns by list", worker+only("W", "session:spawn")),
		spawned("a worker that sees projects", worker+only("W", "project:list")),
		spawned("a simple worker that sees queues", worker+only("W", "queue:list")),
		spawned("a worker that audits", worker+only("W", "audit:verify")),
		spawned("an orchestrator that deletes tasks", orchestrator+only("O", "task:delete")),
		spawned("an orchestrator with a queue", orchestrator+only("O", "queue:start")),
		spawned("a worker that is initialised as an orchestrator", worker+only("W", "orchestrator:init")),
		spawned("a command that nobody knows", worker+only("W", "task:destroy")),
		spawned("a command that stands twice", worker+only("W", "task:get", "task:get")),
		spawned("a list without the core", worker+list(true, "whoami", "task:get")),
		spawned("a default that lacks something", queue+list(false, without("Q", "queue:skip")...)),
		spawned("a default without notes", worker+list(false, without("W", "session:note")...)),
		spawned("a default with something more", worker+list(false, append(defaultList("W"), "task:tree")...)),
		spawned("a worker with an orchestrator's strategy", `"role":"worker","strategy":"dag",`+byDefault("W")),
		spawned("an orchestrator that pulls", `"role":"orchestrator","strategy":"tree",`+byDefault("O")),
		{"a registered session with too much", broken(rulePermissions), nothing, func(s *story) {
			s.add(admin, "session.registered", `{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+only("W", "task:block")+`}}`)
		}},
		{"an orchestrator gives more than it has", broken(rulePermissions), func(s *story) {
			s.spawn("small", orchestrator+only("O", "session:spawn", "task:create"))
		}, func(s *story) {
			s.add(source("small"), "session.spawned", `{"sessionId":"x",`+orchestrator+`"spawnedBy":"small",`+only("O", "task:create", "task:update")+`}`)
		}},
		{"an orchestrator gives a worker more than either has", broken(rulePermissions), func(s *story) {
			s.spawn("small", orchestrator+only("O", "session:spawn", "inbox"))
			s.add(source("small"), "session.spawned", `{"sessionId":"y",`+worker+`"spawnedBy":"small",`+only("W",
				"task:get", "inbox")+`}`)
			s.add(source("small"), "session.spawned", `{"sessionId":"z",`+worker+`"spawnedBy":"small",`+only("W",
				"since")+`}`, with("rules", "2"))
		}, func(s *story) {
			s.add(source("small"), "session.spawned", `{"sessionId":"x",`+worker+`"spawnedBy":"small",`+only("W",
				"task:get", "since")+`}`)
		}},
	}
}

func thingPlants() []plant {
	admins := func(name string, rule string, short, data string, options ...option) plant {
		return plant{name, broken(rule), nothing, func(s *story) { s.add(admin, short, data, options...) }}
	}
	return []plant{
		admins("a project twice", ruleExists, "project.created", `{"projectId":"p1","name":"x"}`),
		admins("a task twice", ruleExists, "task.created", `{"taskId":"a","title":"A"}`),
		admins("a task in no project", ruleExists, "task.created", `{"taskId":"x","title":"X"}`, with("partitionkey", "p9")),
		admins("a session twice", ruleExists, "session.spawned", `{"sessionId":"work","role":"worker","strategy":"simple",`+byDefault("W")+`}`),
		admins("a session registered twice", ruleExists, "session.registered", `{"sessionId":"work","created":{"role":"worker","strategy":"simple",`+byDefault("W")+`}}`),
		admins("a queue by the first rules", ruleSpawn, "session.spawned", `{"sessionId":"x","role":"worker","strategy":"queue","queue":"x",`+byDefault("Q")+`}`, with("rules", "1")),
		admins("a spawn for no task", ruleExists, "session.spawned", `{"sessionId":"x","role":"worker","strategy":"simple","taskIds":["x"],`+byDefault("W")+`}`),
		admins("no task is deleted", ruleExists, "task.deleted", `{"taskId":"x"}`),
		admins("no task is completed", ruleExists, "task.status_changed", `{"taskId":"x","from":"todo","to":"completed"}`),
		admins("no session is killed", ruleExists, "session.killed", `{"sessionId":"x","status":"stopped"}`),
		admins("no session is linked", ruleExists, "session.task_linked", `{"sessionId":"x","taskId":"a"}`),
		admins("no session is unlinked", ruleExists, "session.task_unlinked", `{"sessionId":"x","taskId":"a"}`),
		admins("no queue", ruleExists, "queue.item_pushed", `{"queue":"x","taskId":"a"}`),
		admins("no item", ruleExists, "queue.item_requeued", `{"queue":"pull","taskId":"a"}`),
		admins("no question", ruleExists, "input.answered", `{"inputId":"x","sessionId":"work","answer":"x"}`),
		admins("no session's secret", ruleExists, "token.revoked", `{"sessionId":"x","generation":2}`, with("partitionkey", "p1")),
		{"a session is deleted twice", broken(ruleExists), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"work"}`)
		}, func(s *story) { s.add(admin, "session.deleted", `{"sessionId":"work"}`) }},
		{"a deleted session is updated", broken(ruleExists), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"work"}`)
		}, func(s *story) { s.add(admin, "session.updated", `{"sessionId":"work","status":"idle"}`) }},
		{"a deleted task is reported on", broken(ruleExists), func(s *story) {
			s.add(admin, "task.deleted", `{"taskId":"b"}`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["b"]`) }},
		admins("a project without a name", ruleProject, "project.created", `{"projectId":"x","name":" "}`, with("partitionkey", "x")),
		admins("a project loses its name", ruleProject, "project.updated", `{"projectId":"p1","name":""}`),
		admins("a project with tasks is deleted", ruleProject, "project.deleted", `{"projectId":"p2"}`, with("partitionkey", "p2")),
		{"a project with sessions is deleted", broken(ruleProject), func(s *story) {
			s.add(admin, "project.created", `{"projectId":"p4","name":"x"}`, with("partitionkey", "p4"))
			s.spawn("x", `"role":"worker","strategy":"simple",`+byDefault("W"), with("partitionkey", "p4"))
		}, func(s *story) { s.add(admin, "project.deleted", `{"projectId":"p4"}`, with("partitionkey", "p4")) }},
		{"an orchestrator deletes an empty project that it did not create", broken(ruleScope, ruleProject), func(s *story) {
			s.add(admin, "project.created", `{"projectId":"p4","name":"x"}`, with("partitionkey", "p4"))
		}, func(s *story) { s.add(orch, "project.deleted", `{"projectId":"p4"}`, with("partitionkey", "p4")) }},
		admins("a task without a title", ruleTask, "task.created", `{"taskId":"x","title":""}`),
		admins("a title that is too long", ruleTask, "task.created", `{"taskId":"x","title":"`+strings.Repeat("é", 201)+`"}`),
		admins("a title becomes blank", ruleTask, "task.updated", `{"taskId":"a","title":" "}`),
		admins("a parent in another project", ruleTask, "task.created", `{"taskId":"x","title":"X","parentId":"other"}`),
		admins("a dependency on nothing", ruleTask, "task.created", `{"taskId":"x","title":"X","dependencies":["y"]}`),
		admins("a new dependency on nothing", ruleTask, "task.updated", `{"taskId":"a","dependencies":["y"]}`),
		admins("a circle of dependencies", ruleTask, "task.updated", `{"taskId":"b","dependencies":["c"]}`),
		admins("a task waits for itself", ruleTask, "task.updated", `{"taskId":"a","dependencies":["a"]}`),
		admins("a stranger goes with a task", ruleTask, "task.deleted", `{"taskId":"b","recursive":true,"descendants":["d","e"]}`),
		admins("a child is left behind", ruleTask, "task.deleted", `{"taskId":"b","recursive":true}`),
		admins("children go, and it is not recursive", ruleTask, "task.deleted", `{"taskId":"b","descendants":["d"]}`),
		{"a child goes before its parent", broken(ruleTask), func(s *story) { s.task("dd", `,"parentId":"d"`) }, func(s *story) {
			s.add(admin, "task.deleted", `{"taskId":"b","recursive":true,"descendants":["dd","d"]}`)
		}},
		admins("a session is made running", ruleSession, "session.updated", `{"sessionId":"work","status":"running"}`),
		admins("a killed session is completed", ruleSession, "session.killed", `{"sessionId":"work","status":"completed"}`),
	}
}

func manifestPlants() []plant {
	worker, orchestrator := `"role":"worker","strategy":"simple",`, `"role":"orchestrator","strategy":"default",`
	first, second := "sha256-"+strings.Repeat("1", 64), "sha256-"+strings.Repeat("2", 64)
	manifest := func(digest string) string { return `"manifestDigest":"` + digest + `",` }
	given := func(s *story) { s.spawn("new", worker+manifest(first)+byDefault("W")) }
	boss := func(s *story) { s.spawn("boss", orchestrator+manifest(first)+byDefault("O")) }
	begins := func(by, session, role, digest string) func(*story) {
		return func(s *story) {
			s.add(by, "session.registered", `{"sessionId":"`+session+`","manifestDigest":"`+digest+`","role":"`+role+`"}`)
		}
	}
	issued := func(by, session, digest string) func(*story) {
		return func(s *story) {
			s.add(by, "session.updated", `{"sessionId":"`+session+`","manifestDigest":"`+digest+`"}`)
		}
	}
	both := func(first, second func(*story)) func(*story) { return func(s *story) { first(s); second(s) } }
	me := source("new")
	return []plant{
		{"a beginning with another manifest", broken(ruleManifest), given, begins(me, "new", "worker", second)},
		{"a beginning with the manifest before", broken(ruleManifest), both(given, issued(admin, "new", second)), begins(me, "new", "worker", first)},
		{"another beginning with another manifest", broken(ruleManifest), both(given, begins(me, "new", "worker", first)), begins(me, "new", "worker", second)},
		{"a beginning without having been given one", broken(ruleManifest), nothing, begins(work, "work", "worker", first)},
		{"a beginning that names none", broken(ruleManifest), given, begins(me, "new", "worker", "")},
		{"a beginning without a role", broken(ruleManifest), given, begins(me, "new", "", first)},
		{"a worker begins as an orchestrator", broken(rulePermitted, ruleManifest), given, begins(me, "new", "orchestrator", first)},
		{"an orchestrator begins as a worker", broken(rulePermitted, ruleManifest), boss, begins(source("boss"), "boss", "worker", first)},
		{"a session begins another", broken(ruleOwn), given, begins(work, "new", "worker", first)},
		{"a user begins a worker", broken(rulePermitted), given, begins(admin, "new", "worker", first)},
		{"a user begins an orchestrator", broken(rulePermitted), boss, begins(admin, "boss", "orchestrator", first)},
		{"the system begins a session", broken(ruleSystem), given, begins(system, "new", "worker", first)},
		{"a killed session begins", broken(ruleEnded), both(given, func(s *story) { s.kill("new") }), begins(me, "new", "worker", first)},
		{"a session is made and begins", broken(ruleManifest), nothing, func(s *story) {
			s.add(admin, "session.registered", `{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+byDefault("W")+`},"role":"worker"}`)
		}},
		{"registered with what is no digest", broken(ruleManifest), nothing, func(s *story) {
			s.add(admin, "session.registered", `{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+byDefault("W")+`},"manifestDigest":"sha256-1"}`)
		}},
		{"spawned with what is no digest", broken(ruleManifest), nothing, func(s *story) {
			s.spawn("x", worker+manifest("sha256-"+strings.Repeat("A", 64))+byDefault("W"))
		}},
		{"issued again, and no digest", broken(ruleManifest), given, issued(admin, "new", "../manifest")},
		{"issued again, and none", broken(ruleManifest), given, issued(admin, "new", "")},
		{"issued again by who did not spawn it", broken(ruleSpawner), given, issued(orch, "new", second)},
		{"issued again by itself", broken(rulePermitted, ruleSpawner), given, issued(me, "new", second)},
	}
}

func spawnPlants() []plant {
	spawned := func(name, rule, more string) plant {
		return plant{name, broken(rule), nothing, func(s *story) { s.spawn("x", more+","+byDefault("W")) }}
	}
	queued := func(name, more string) plant {
		return plant{name, broken(ruleSpawn), nothing, func(s *story) { s.spawn("x", `"role":"worker","strategy":"queue",`+more+byDefault("Q")) }}
	}
	worker := `"role":"worker","strategy":"simple"`
	return []plant{
		spawned("a user spawns in the name of nobody", ruleSpawn, worker+`,"spawnedBy":"none"`),
		{"a user spawns in the name of a deleted session", broken(ruleSpawn), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"orch"}`)
		}, func(s *story) { s.spawn("x", worker+`,"spawnedBy":"orch",`+byDefault("W")) }},
		{"a user spawns in the name of another project's session", broken(ruleSpawn), nothing, func(s *story) {
			s.spawn("x", worker+`,"spawnedBy":"orch",`+byDefault("W"), with("partitionkey", "p2"))
		}},
		{"an orchestrator spawns in the name of another", broken(ruleSpawn), nothing, func(s *story) {
			s.add(orch, "session.spawned", `{"sessionId":"x","spawnedBy":"work",`+worker+`,`+byDefault("W")+`}`)
		}},
		spawned("it starts what is not its task", ruleSpawn, worker+`,"started":["free"]`),
		spawned("it was to be refused", ruleSpawn, worker+`,"taskIds":["c"],"started":["c"],"strict":true,"unmetDependencies":["b"]`),
		spawned("it keeps silent of a dependency", ruleSpawn, worker+`,"taskIds":["c"],"started":["c"]`),
		{
			"a word is no status when it is spawned", broken(ruleSpawn), func(s *story) { s.report(work, "complete", `,"taskIds":["b"]`) },
			func(s *story) { s.spawn("x", worker+`,"taskIds":["c"],"started":["c"],`+byDefault("W")) },
		},
		spawned("it waits for what it does not depend on", ruleSpawn, worker+`,"taskIds":["free"],"started":["free"],"unmetDependencies":["b"]`),
		spawned("a queue without the strategy", ruleSpawn, worker+`,"queue":"x"`),
		spawned("a timeout in the past", ruleSpawn, worker+`,"timeout":-1`),
		queued("a queue that is none", `"queue":"y",`),
		queued("tasks that are not pushed", `"queue":"x","taskIds":["free"],`),
		queued("tasks pushed in another order", `"queue":"x","taskIds":["free","a"],"queued":["a","free"],`),
		queued("tasks that stand there already", `"queue":"pull","taskIds":["e"],"queued":["e"],`),
		{"an orchestrator spawns in nobody's name", broken(ruleSpawn), nothing, func(s *story) {
			s.add(orch, "session.spawned", `{"sessionId":"x",`+worker+`,`+byDefault("W")+`}`)
		}},
		spawned("it starts what is in progress", ruleStatus, worker+`,"taskIds":["a"],"started":["a"]`),
		spawned("it starts nothing", ruleStatus, worker+`,"taskIds":["free"]`),
		{"a queue session's spawn starts its task", broken(ruleStatus), nothing, func(s *story) {
			s.spawn("x", `"role":"worker","strategy":"queue","queue":"x","taskIds":["free"],"queued":["free"],"started":["free"],`+byDefault("Q"))
		}},
	}
}

func statusPlants() []plant {
	return []plant{
		{"a status that was another", broken(ruleStatus), nothing, func(s *story) { s.status(admin, "b", "todo", "completed") }},
		{"an update from a status that was another", broken(ruleStatus), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"todo","to":"cancelled"}}`)
		}},
		{"a move to where it was", broken(ruleStatus), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"in_progress"}}`)
		}},
		{"a status that is none", broken(ruleStatus), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"done"}}`)
		}},
		{"no command leads there", broken(ruleStatus), nothing, func(s *story) { s.status(admin, "b", "in_progress", "todo") }},
		{"what nobody called done is reopened", broken(ruleStatus), nothing, func(s *story) { s.status(admin, "b", "in_progress", "in_progress") }},
		{"reopened twice: the word is gone", broken(ruleStatus), func(s *story) {
			s.report(work, "complete", `,"taskIds":["b"]`)
			s.status(orch, "b", "in_progress", "in_progress")
		}, func(s *story) { s.status(orch, "b", "in_progress", "in_progress") }},
		{
			"a report moves no status", broken(ruleStatus), func(s *story) { s.report(work, "complete", `,"taskIds":["b"]`) },
			func(s *story) { s.status(admin, "b", "completed", "blocked") },
		},
		{"a worker completes a task", broken(rulePermitted, ruleStatusOwner), nothing, func(s *story) { s.status(work, "b", "in_progress", "completed") }},
		{"a worker updates a status", broken(rulePermitted, ruleStatusOwner), nothing, func(s *story) {
			s.add(work, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"blocked"}}`)
		}},
		{"an orchestrator cancels a task", broken(ruleStatusOwner), nothing, func(s *story) {
			s.add(orch, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"cancelled"}}`)
		}},
		{"the system completes a task", broken(ruleSystem, ruleStatusOwner), nothing, func(s *story) { s.status(system, "b", "in_progress", "completed") }},
	}
}

func reportPlants() []plant {
	reports := func(name, rule, source, kind, more string) plant {
		return plant{name, broken(rule), nothing, func(s *story) { s.report(source, kind, more) }}
	}
	return []plant{
		reports("a task of another session", ruleReportTasks, work, "progress", `,"taskIds":["b","e"]`),
		reports("the task above its own", ruleReportTasks, pull, "progress", `,"taskIds":["d"]`),
		reports("an orchestrator on another's project", ruleReportTasks, orch, "progress", `,"taskIds":["other"]`),
		{"a task that was taken from it", broken(ruleReportTasks), func(s *story) {
			s.add(admin, "session.task_unlinked", `{"sessionId":"work","taskId":"b"}`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["b"]`) }},
		{"a task below one that it created", broken(ruleReportTasks), func(s *story) {
			s.add(work, "task.created", `{"taskId":"own","title":"x"}`).report(work, "progress", `,"taskIds":["own"]`).task("below", `,"parentId":"own"`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["below"]`) }},
		{"an item that another holds", broken(ruleReportTasks), func(s *story) {
			s.puller("pull2", "pull").start(source("pull2"), "pull", "e", 1, 1).report(source("pull2"), "progress", `,"taskIds":["e"]`)
		}, func(s *story) { s.report(source("pull2"), "progress", `,"taskIds":["f"]`) }},
		{"progress completes the session", broken(ruleReport), nothing, func(s *story) { s.report(work, "progress", `,"sessionCompleted":true`) }},
		reports("a task's end completes the session", ruleReport, work, "complete", `,"taskIds":["b"],"sessionCompleted":true`),
		reports("the end does not complete the session", ruleReport, work, "complete", ""),
		reports("progress opens a question", ruleReport, work, "progress", `,"inputId":"i"`),
		reports("options without a question", ruleReport, work, "error", `,"options":["a"]`),
		{"a kind that is none", broken(rulePermitted, ruleReport), nothing, func(s *story) { s.report(work, "boredom", "") }},
		reports("late before the end", ruleLate, work, "progress", `,"late":true`),
		{"not late after the end", broken(ruleLate), func(s *story) { s.kill("work") }, func(s *story) { s.report(work, "progress", "") }},
		{"not late after the deletion", broken(ruleLate), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"work"}`)
		}, func(s *story) { s.report(work, "progress", "") }},
		{"late, and completes the session", broken(ruleLate), func(s *story) { s.kill("work") }, func(s *story) {
			s.late(work, time.Minute, "complete", `,"sessionCompleted":true`)
		}},
		{"late, and opens a question", broken(ruleLate), func(s *story) { s.kill("work") }, func(s *story) {
			s.late(work, time.Minute, "needs-input", `,"inputId":"i"`)
		}},
		{
			"late, and does not say when it was said", broken(ruleLate), func(s *story) { s.kill("work") },
			func(s *story) {
				s.report(work, "progress", `,"late":true`)
			},
		},
		{
			"late, and said after the end", broken(ruleLate), func(s *story) { s.kill("work").wait(time.Minute) },
			func(s *story) {
				s.late(work, time.Minute, "progress", "")
			},
		},
		{"late, and said after the end by time", broken(ruleLate), func(s *story) {
			s.wait(time.Hour)
			s.add(system, "session.timed_out", fmt.Sprintf(`{"sessionId":"pull","deadline":%d}`, s.deadline("pull",
				time.Hour))).wait(time.Minute)
		}, func(s *story) { s.late(pull, time.Minute, "progress", "") }},
		{
			"late, and said before its session was created", broken(ruleLate), func(s *story) { s.kill("work") },
			func(s *story) {
				s.late(work, s.now.Add(time.Second).Sub(s.born["work"])+time.Millisecond, "progress", "")
			},
		},
		{"late, and one of too many", broken(ruleLate), func(s *story) {
			s.kill("work")
			for range maxLate {
				s.kept("work", "progress", 1, "")
			}
		}, func(s *story) { s.kept("work", "progress", 1, "") }},
		{"late, and one byte too many", broken(ruleLate), func(s *story) {
			s.kill("work").kept("work", "progress", maxLateBytes, "")
		}, func(s *story) { s.kept("work", "progress", 1, "") }},
		{"late, and one task too many", broken(ruleLate), func(s *story) {
			s.kill("work").kept("work", "progress", maxLateBytes-1, `,"taskIds":["b"]`)
		}, func(s *story) { s.kept("work", "progress", 0, `,"taskIds":["b"]`) }},
		{"late, and one option too many", broken(ruleLate), func(s *story) {
			s.kill("work").kept("work", "needs-input", maxLateBytes-1, `,"options":["o"]`)
		}, func(s *story) { s.kept("work", "needs-input", 0, `,"options":["o"]`) }},
		{"late, and one long text too many", broken(ruleLate), func(s *story) {
			s.kill("work")
			for range 4 {
				s.kept("work", "progress", 1000, `,"blobs":{"message":"sha256-`+strings.Repeat("0", 64)+`"}`)
			}
		}, func(s *story) { s.kept("work", "progress", 1, "") }},
	}
}

// linePlants are about who stands where in a queue.
func linePlants() []plant {
	return []plant{
		{"a queue twice", broken(ruleQueue), nothing, func(s *story) { s.add(admin, "queue.created", `{"queue":"pull","maxAttempts":3}`) }},
		{"a queue without attempts", broken(ruleQueue), nothing, func(s *story) { s.add(admin, "queue.created", `{"queue":"x"}`) }},
		{"a task stands there already", broken(ruleQueue), nothing, func(s *story) {
			s.add(pull, "queue.item_pushed", `{"queue":"pull","taskId":"e"}`)
		}},
		{"a task that is done stands there already", broken(ruleQueue), func(s *story) {
			s.start(pull, "pull", "e", 1, 1).item(pull, "completed", "pull", "e", "pull", "")
		}, func(s *story) { s.add(admin, "queue.item_pushed", `{"queue":"pull","taskId":"e"}`) }},
		{"the second before the first", broken(ruleOrder), nothing, func(s *story) { s.start(pull, "pull", "f", 1, 2) }},
		{"before its dependency", broken(ruleOrder), nothing, func(s *story) { s.start(pull, "pull", "c", 1, 0) }},
		{
			"passed over, and its dependency is satisfied", broken(ruleOrder), func(s *story) { s.status(orch, "b", "in_progress", "completed") },
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{
			"on an agent's word, and the queue trusts none", broken(ruleOrder), func(s *story) { s.report(work, "complete", `,"taskIds":["b"]`) },
			func(s *story) { s.start(pull, "pull", "c", 1, 0) },
		},
		{
			"its dependency is deleted, and was not completed", broken(ruleOrder), func(s *story) { s.add(admin, "task.deleted", `{"taskId":"b"}`) },
			func(s *story) { s.start(pull, "pull", "c", 1, 0) },
		},
		{"its dependency is deleted, and was completed", broken(ruleOrder), func(s *story) {
			s.status(orch, "b", "in_progress", "completed").add(admin, "task.deleted", `{"taskId":"b"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{
			"a blocked task is started", broken(ruleOrder), func(s *story) { s.status(admin, "e", "todo", "blocked") },
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{
			"a completed task is started", broken(ruleOrder), func(s *story) { s.status(admin, "e", "todo", "completed") },
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{"a cancelled task is started", broken(ruleOrder), func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"e","status":{"from":"todo","to":"cancelled"}}`)
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"another than the next is skipped", broken(ruleOrder), nothing, func(s *story) { s.item(pull, "skipped", "pull", "f", "pull", "") }},
		{"what was given back stands at the end", broken(ruleOrder), givenBack, func(s *story) { s.start(source("pull2"), "pull", "f", 1, 1) }},
		{"given back late stands behind given back early", broken(ruleOrder), func(s *story) {
			s.puller("x", "pull").puller("y", "pull").puller("z", "pull")
			s.start(source("x"), "pull", "e", 1, 1).start(source("y"), "pull", "f", 1, 1)
			s.kill("y").item(system, "returned", "pull", "f", "y", `,"attempt":1,"reason":"stopped"`)
			s.kill("x").item(system, "returned", "pull", "e", "x", `,"attempt":1,"reason":"stopped"`)
		}, func(s *story) { s.start(source("z"), "pull", "f", 2, 1) }},
		{"queued again stands where it was", broken(ruleOrder), func(s *story) {
			s.item(pull, "skipped", "pull", "e", "pull", "").add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"trusted word of one who works again", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(work, "complete", `,"taskIds":["b"]`).report(work, "progress", `,"taskIds":["b"]`)
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"trusted word of one that ended, and a live one says otherwise", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(orch, "progress", `,"taskIds":["b"]`).report(work, "complete", `,"taskIds":["b"]`).kill("work")
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"trusted word that came late", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.kill("work").kept("work", "complete", 1, `,"taskIds":["b"]`)
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"trusted word that a reopening erased", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(work, "complete", `,"taskIds":["b"]`).status(orch, "b", "in_progress", "in_progress")
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"trusted word is not taken", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(work, "complete", `,"taskIds":["b"]`).kill("work")
		}, func(s *story) { s.start(source("x"), "pool", "e", 1, 1) }},
		{"too few passed over", broken(rulePassed), nothing, func(s *story) { s.start(pull, "pull", "e", 1, 0) }},
		{
			"the deleted are not in line", broken(rulePassed), func(s *story) { s.add(admin, "task.deleted", `{"taskId":"c"}`) },
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
	}
}

// givenBack: pull2 was killed with e in hand; another pulls from the same queue.
func givenBack(s *story) {
	s.puller("dead", "pull").puller("pull2", "pull").start(source("dead"), "pull", "e", 1, 1).kill("dead")
	s.item(system, "returned", "pull", "e", "dead", `,"attempt":1,"reason":"stopped"`)
}

// trusted: in the queue pool, which trusts reports, c waits for b and e for nothing; session x pulls from it.
func trusted(s *story) {
	s.add(admin, "queue.created", `{"queue":"pool","trustReports":true,"maxAttempts":3}`)
	s.add(admin, "queue.item_pushed", `{"queue":"pool","taskId":"c"}`).add(admin, "queue.item_pushed", `{"queue":"pool","taskId":"e"}`)
	s.puller("x", "pool")
}

// itemPlants are about who has an item in hand.
func itemPlants() []plant {
	inHand := func(s *story) { s.puller("pull2", "pull").start(pull, "pull", "e", 1, 1) }
	pool := func(s *story) {
		s.add(admin, "queue.created", `{"queue":"pool","maxAttempts":3}`).add(admin, "queue.item_pushed", `{"queue":"pool","taskId":"e"}`)
	}
	return []plant{
		{"an item in two hands", broken(ruleHolder, ruleAttempt), inHand, func(s *story) { s.start(source("pull2"), "pull", "e", 1, 1) }},
		{"two items in one hand", broken(ruleHolder), inHand, func(s *story) { s.start(pull, "pull", "f", 1, 1) }},
		{
			"a skipped item is started", broken(ruleHolder), func(s *story) { s.item(pull, "skipped", "pull", "e", "pull", "") },
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{"another completes it", broken(ruleHolder), inHand, func(s *story) { s.item(source("pull2"), "completed", "pull", "e", "pull2", "") }},
		{"another fails it", broken(ruleHolder), inHand, func(s *story) { s.item(source("pull2"), "failed", "pull", "e", "pull2", "") }},
		{"another skips it", broken(ruleHolder), inHand, func(s *story) {
			s.item(source("pull2"), "skipped", "pull", "e", "pull2", `,"held":true`)
		}},
		{
			"it is completed twice", broken(ruleHolder), func(s *story) { inHand(s); s.item(pull, "completed", "pull", "e", "pull", "") },
			func(s *story) { s.item(pull, "completed", "pull", "e", "pull", "") },
		},
		{"nobody had it in hand", broken(ruleHolder), nothing, func(s *story) { s.item(pull, "completed", "pull", "e", "pull", "") }},
		{"one in hand, and the next is skipped", broken(ruleHolder), inHand, func(s *story) { s.item(pull, "skipped", "pull", "f", "pull", "") }},
		{"what another holds is skipped as the next", broken(ruleHolder), inHand, func(s *story) {
			s.item(source("pull2"), "skipped", "pull", "e", "pull2", "")
		}},
		{"a lost session completes what was given back", broken(ruleHolder), func(s *story) {
			inHand(s)
			s.lose("pull").item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`)
			s.add(system, "session.recovered", `{"sessionId":"pull"}`)
		}, func(s *story) { s.item(pull, "completed", "pull", "e", "pull", "") }},
		{"from another's queue", broken(rulePull), pool, func(s *story) { s.start(pull, "pool", "e", 1, 0) }},
		{"a worker without a queue, by the user's hand", broken(rulePull), pool, func(s *story) {
			s.add(admin, "queue.item_started", `{"queue":"pool","taskId":"e","sessionId":"work","attempt":1}`)
		}},
		{"a lost session pulls", broken(rulePull), func(s *story) { s.lose("pull") }, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"for an ended session", broken(rulePull), func(s *story) { s.kill("pull") }, func(s *story) {
			s.add(admin, "queue.item_started", `{"queue":"pull","taskId":"e","sessionId":"pull","attempt":1,"passedOver":1}`)
		}},
		{"an ended session pulls", broken(ruleEnded), func(s *story) { s.kill("pull") }, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"a first start that counts two", broken(ruleAttempt), nothing, func(s *story) { s.start(pull, "pull", "e", 2, 1) }},
		{"a second start that counts one", broken(ruleAttempt), givenBack, func(s *story) { s.start(pull, "pull", "e", 1, 0) }},
		{"an attempt from before it was queued again", broken(ruleAttempt), func(s *story) {
			inHand(s)
			s.item(pull, "failed", "pull", "e", "pull", "").add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`)
			s.add(admin, "task.deleted", `{"taskId":"f"}`).add(admin, "task.deleted", `{"taskId":"g"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 2, 1) }},
		{"a queued item is queued again", broken(ruleRequeue), nothing, func(s *story) {
			s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`)
		}},
		{"an item in hand is queued again", broken(ruleRequeue), inHand, func(s *story) {
			s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`)
		}},
		{
			"a completed item is queued again", broken(ruleRequeue), func(s *story) { inHand(s); s.item(pull, "completed", "pull", "e", "pull", "") },
			func(s *story) { s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`) },
		},
	}
}

// returnPlants are about items whose holder is gone.
func returnPlants() []plant {
	inHand := func(s *story) { s.start(pull, "pull", "e", 1, 1) }
	killed := func(s *story) { inHand(s); s.kill("pull") }
	last := func(s *story) {
		s.puller("x1", "pull").start(source("x1"), "pull", "e", 1, 1).kill("x1")
		s.item(system, "returned", "pull", "e", "x1", `,"attempt":1,"reason":"stopped"`)
		s.puller("x2", "pull").start(source("x2"), "pull", "e", 2, 0).kill("x2")
		s.item(system, "returned", "pull", "e", "x2", `,"attempt":2,"reason":"stopped"`)
		s.puller("x3", "pull").start(source("x3"), "pull", "e", 3, 0).kill("x3")
	}
	return []plant{
		{"its holder is alive", broken(ruleReturn), inHand, func(s *story) {
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`)
		}},
		{"its holder only said that it is done", broken(ruleReturn), func(s *story) {
			inHand(s)
			s.add(pull, "session.completed", `{"sessionId":"pull"}`)
		}, func(s *story) { s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`) }},
		{"its holder is well again", broken(ruleReturn), func(s *story) {
			inHand(s)
			s.lose("pull").add(system, "session.recovered", `{"sessionId":"pull"}`)
		}, func(s *story) { s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`) }},
		{"for another reason", broken(ruleReturn), killed, func(s *story) {
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`)
		}},
		{"quarantined at once", broken(ruleReturn), killed, func(s *story) {
			s.item(system, "quarantined", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`)
		}},
		{"back once more after the last attempt", broken(ruleReturn), last, func(s *story) {
			s.item(system, "returned", "pull", "e", "x3", `,"attempt":3,"reason":"stopped"`)
		}},
		{"back with another attempt", broken(ruleAttempt), killed, func(s *story) {
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":2,"reason":"stopped"`)
		}},
		{"back from one who did not hold it", broken(ruleHolder), func(s *story) {
			inHand(s)
			s.puller("dead", "pull").kill("dead")
		}, func(s *story) { s.item(system, "returned", "pull", "e", "dead", `,"attempt":1,"reason":"stopped"`) }},
		{"back twice", broken(ruleHolder), func(s *story) {
			killed(s)
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`)
		}, func(s *story) { s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`) }},
		{"a user gives it back", broken(ruleSystem), killed, func(s *story) {
			s.item(admin, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`)
		}},
	}
}

func deadlinePlants() []plant {
	lost := func(s *story, lastHeard time.Duration) {
		s.add(system, "session.lost", fmt.Sprintf(`{"sessionId":"work","lastheard":%d,"lease":60000}`, s.milli(lastHeard)))
	}
	timedOut := func(s *story, id string, deadline int64) {
		s.add(system, "session.timed_out", fmt.Sprintf(`{"sessionId":%q,"deadline":%d}`, id, deadline))
	}
	return []plant{
		{"lost before the lease is over", broken(ruleLease), nothing, func(s *story) { lost(s, 58*time.Second) }},
		{"lost without a lease", broken(ruleLease), nothing, func(s *story) {
			s.add(system, "session.lost", `{"sessionId":"work","lastheard":0}`)
		}},
		{"lost twice", broken(ruleLease), func(s *story) { s.lose("work") }, func(s *story) { lost(s, time.Hour) }},
		{"recovered from nothing", broken(ruleLease), nothing, func(s *story) { s.add(system, "session.recovered", `{"sessionId":"work"}`) }},
		{"timed out without a timeout", broken(ruleTimeout), nothing, func(s *story) { timedOut(s, "work", s.milli(0)) }},
		{"timed out too early", broken(ruleTimeout), nothing, func(s *story) { timedOut(s, "pull", s.deadline("pull", time.Hour)) }},
		{"timed out at another deadline", broken(ruleTimeout), nothing, func(s *story) { timedOut(s, "pull", s.milli(0)) }},
		{"timed out after it was killed", broken(ruleEnded), func(s *story) { s.kill("pull").wait(time.Hour) }, func(s *story) {
			timedOut(s, "pull", s.deadline("pull", time.Hour))
		}},
	}
}

func questionPlants() []plant {
	asked := func(s *story) { s.report(work, "needs-input", `,"inputId":"i","options":["yes","no"]`) }
	answer := func(s *story, text string) {
		s.add(admin, "input.answered", `{"inputId":"i","sessionId":"work","answer":"`+text+`"}`)
	}
	answered := func(s *story) { asked(s); answer(s, "yes") }
	received := func(s *story) { s.add(work, "input.delivered", `{"inputId":"i","sessionId":"work"}`) }
	return []plant{
		{"a question twice", broken(ruleQuestion), asked, asked},
		{"an answer that is no option", broken(ruleQuestion), asked, func(s *story) { answer(s, "perhaps") }},
		{"answered twice", broken(ruleQuestion), answered, func(s *story) { answer(s, "no") }},
		{"an answer to another", broken(ruleQuestion), asked, func(s *story) {
			s.add(admin, "input.answered", `{"inputId":"i","sessionId":"orch","answer":"yes"}`)
		}},
		{"delivered before it is answered", broken(ruleQuestion), asked, received},
		{"delivered twice", broken(ruleQuestion), func(s *story) { answered(s); received(s) }, received},
		{"delivered to another", broken(ruleQuestion), answered, func(s *story) {
			s.add(orch, "input.delivered", `{"inputId":"i","sessionId":"orch"}`)
		}},
		{"delivered in another's name", broken(ruleOwn), answered, func(s *story) {
			s.add(orch, "input.delivered", `{"inputId":"i","sessionId":"work"}`)
		}},
	}
}

func tokenPlants() []plant {
	made := func(s *story) { s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":1}`) }
	admins := func(name string, before func(s *story), short, data string) plant {
		return plant{name, broken(ruleToken), before, func(s *story) { s.add(admin, short, data) }}
	}
	return []plant{
		admins("another admin", nothing, "token.created", `{"name":"admin","kind":"admin","generation":1}`),
		admins("a token twice", made, "token.created", `{"name":"eve","kind":"admin","generation":2}`),
		admins("a kind of token that is none", nothing, "token.created", `{"name":"eve","kind":"root","generation":1}`),
		admins("it reads nothing", nothing, "token.created", `{"name":"eve","kind":"read-only","generation":1}`),
		admins("an admin of a project", nothing, "token.created", `{"name":"eve","kind":"admin","projectIds":["p1"],"generation":1}`),
		admins("a first generation that is the second", nothing, "token.created", `{"name":"eve","kind":"admin","generation":2}`),
		admins("the same secret again", func(s *story) { made(s); s.add(admin, "token.revoked", `{"name":"eve","generation":2}`) },
			"token.created", `{"name":"eve","kind":"admin","generation":1}`),
		admins("no token is revoked", nothing, "token.revoked", `{"name":"eve","generation":1}`),
		admins("a token is revoked twice", func(s *story) { made(s); s.add(admin, "token.revoked", `{"name":"eve","generation":2}`) },
			"token.revoked", `{"name":"eve","generation":3}`),
		admins("a token is revoked again with what it did not make", func(s *story) {
			made(s)
			s.add(admin, "token.revoked", `{"name":"eve","generation":1}`)
		}, "token.revoked", `{"name":"eve","generation":1,"children":["none"]}`),
		admins("its secret jumps", made, "token.revoked", `{"name":"eve","generation":3}`),
		{"a session's secret stays good", broken(ruleToken), nothing, func(s *story) {
			s.add(admin, "token.revoked", `{"sessionId":"work","generation":1}`, with("partitionkey", "p1"))
		}},
		{"a session's secret jumps", broken(ruleToken), func(s *story) {
			s.add(admin, "token.revoked", `{"sessionId":"work","generation":2}`, with("partitionkey", "p1"))
		}, func(s *story) {
			s.add(admin, "token.revoked", `{"sessionId":"work","generation":4}`, with("partitionkey", "p1"))
		}},
		{"it revokes nothing", broken(ruleToken), nothing, func(s *story) { s.add(admin, "token.revoked", `{"generation":1}`, with("subject", "token/")) }},
	}
}

// childPlants: what becomes of the tokens that a revoked one made. eve made fay, and fay made gus.
func childPlants() []plant {
	create := func(s *story, maker, name string, generation int) {
		data := fmt.Sprintf(`{"name":%q,"kind":"admin","generation":%d}`, name, generation)
		s.add("/users/"+maker, "token.created", data)
	}
	revoke := func(s *story, by, name string, generation int, children string) {
		s.add("/users/"+by, "token.revoked", fmt.Sprintf(`{"name":%q,"generation":%d%s}`, name, generation, children))
	}
	line := func(s *story) {
		create(s, "admin", "eve", 1)
		create(s, "eve", "fay", 1)
		create(s, "fay", "gus", 1)
		create(s, "admin", "hal", 1)
	}
	revoked := func(name, by, children string) plant {
		return plant{name, broken(ruleToken), line, func(s *story) { revoke(s, by, "eve", 1, children) }}
	}
	return []plant{
		revoked("a token keeps what it made", "eve", ""),
		revoked("what a token made keeps itself", "fay", ""),
		revoked("what a token's own made keeps itself", "gus", ""),
		revoked("only what a token made itself is revoked", "admin", `,"children":["fay"]`),
		revoked("only what is two below a token is revoked", "admin", `,"children":["gus"]`),
		revoked("what it did not make is revoked too", "admin", `,"children":["fay","gus","hal"]`),
		revoked("what it made is revoked twice", "admin", `,"children":["fay","gus","fay"]`),
		revoked("it is among what it made", "admin", `,"children":["eve","fay","gus"]`),
		{"a revoked token keeps what it made alive", broken(ruleToken), func(s *story) {
			line(s)
			create(s, "eve", "ida", 1)
			revoke(s, "hal", "fay", 1, "")
		}, func(s *story) { revoke(s, "admin", "eve", 1, `,"children":["ida"]`) }},
		{"what a revoked token made keeps it alive", broken(ruleToken), func(s *story) {
			line(s)
			revoke(s, "hal", "fay", 1, "")
		}, func(s *story) { revoke(s, "gus", "eve", 1, "") }},
		{"what an earlier token of the name made stays valid", broken(ruleToken), func(s *story) {
			line(s)
			revoke(s, "hal", "eve", 1, "")
			create(s, "admin", "eve", 2)
			create(s, "eve", "ida", 1)
		}, func(s *story) { revoke(s, "admin", "eve", 2, `,"children":["ida"]`) }},
		{"what was revoked before is revoked again", broken(ruleToken), func(s *story) {
			line(s)
			revoke(s, "hal", "gus", 1, "")
		}, func(s *story) { revoke(s, "admin", "eve", 1, `,"children":["fay","gus"]`) }},
		{"a session's secret has children", broken(ruleToken), line, func(s *story) {
			data := `{"sessionId":"work","generation":2,"children":["fay"]}`
			s.add(admin, "token.revoked", data, with("partitionkey", "p1"))
		}},
	}
}

func templatePlants() []plant {
	made := func(s *story) {
		s.add(admin, "template.created", `{"templateId":"mine","name":"Mine","role":"worker","content":"Do it."}`)
	}
	gone := func(s *story) { made(s); s.add(admin, "template.deleted", `{"templateId":"mine"}`) }
	admins := func(name, rule string, before func(s *story), short, data string) plant {
		return plant{name, broken(rule), before, func(s *story) { s.add(admin, short, data) }}
	}
	sessions := func(name string, before func(s *story), by, short, data string) plant {
		return plant{name, broken(rulePermitted, ruleScope), before, func(s *story) { s.add(by, short, data) }}
	}
	return []plant{
		sessions("a worker makes a template", nothing, work, "template.created", `{"templateId":"x","name":"X","role":"worker","content":"x"}`),
		sessions("an orchestrator changes a template", made, orch, "template.updated", `{"templateId":"mine","content":"x"}`),
		sessions("an orchestrator changes its own workflow", nothing, orch, "template.updated", `{"templateId":"coordinate-default","content":"x"}`),
		sessions("an orchestrator resets a template", made, orch, "template.reset", `{"templateId":"mine"}`),
		sessions("a worker deletes a template", made, work, "template.deleted", `{"templateId":"mine"}`),
		admins("a template twice", ruleExists, made, "template.created", `{"templateId":"mine","name":"M","role":"worker","content":"x"}`),
		admins("a deleted template again", ruleExists, gone, "template.created", `{"templateId":"mine","name":"M","role":"worker","content":"x"}`),
		admins("Maestro's own is made", ruleExists, nothing, "template.created", `{"templateId":"execute-simple","name":"M","role":"worker","content":"x"}`),
		admins("a template for nobody", ruleTemplate, nothing, "template.created", `{"templateId":"x","name":"X","role":"user","content":"x"}`),
		admins("a template without a name", ruleTemplate, nothing, "template.created", `{"templateId":"x","name":" ","role":"worker","content":"x"}`),
		admins("a template without a content", ruleTemplate, nothing, "template.created", `{"templateId":"x","name":"X","role":"worker"}`),
		admins("no template is changed", ruleExists, nothing, "template.updated", `{"templateId":"none","content":"x"}`),
		admins("a deleted template is changed", ruleExists, gone, "template.updated", `{"templateId":"mine","content":"x"}`),
		admins("a template is changed in nothing", ruleTemplate, made, "template.updated", `{"templateId":"mine"}`),
		admins("a template's name is taken away", ruleTemplate, made, "template.updated", `{"templateId":"mine","name":""}`),
		admins("no template is reset", ruleExists, nothing, "template.reset", `{"templateId":"none"}`),
		admins("what nobody changed is reset", ruleTemplate, nothing, "template.reset", `{"templateId":"execute-simple"}`),
		admins("a template is reset twice", ruleTemplate, func(s *story) { made(s); s.add(admin, "template.reset", `{"templateId":"mine"}`) },
			"template.reset", `{"templateId":"mine"}`),
		admins("no template is deleted", ruleExists, nothing, "template.deleted", `{"templateId":"none"}`),
		admins("a template is deleted twice", ruleExists, gone, "template.deleted", `{"templateId":"mine"}`),
		admins("Maestro's own is deleted", ruleTemplate, nothing, "template.deleted", `{"templateId":"execute-simple"}`),
	}
}
