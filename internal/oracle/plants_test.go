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
	return slices.Concat(logPlants(), actorPlants(), permissionPlants(), thingPlants(), manifestPlants(), spawnPlants(),
		statusPlants(),
		reportPlants(), linePlants(), itemPlants(), returnPlants(), deadlinePlants(), questionPlants(), messagePlants(),
		tokenPlants(),
		childPlants(), noticePlants(), templatePlants(), limitPlants())
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

// noteOf lets somebody note something of a type on its own timeline.
func noteOf(source, kind string, options ...option) func(*story) {
	return func(s *story) {
		session := source[strings.LastIndex(source, "/")+1:]
		if source == admin {
			session = "work"
		}
		s.add(source, "session.noted", `{"sessionId":"`+session+`","type":"`+kind+`","message":"m"}`, options...)
	}
}

// Notes of types that the system writes are no fault by older rules, or from the user; nor are those of reports.
func TestNotesOfOtherTypesAreNoFault(t *testing.T) {
	s := base(t).allBy("2")
	noteOf(work, "session_lost")(s)
	s.by("3")
	for _, note := range []func(*story){
		noteOf(admin, "task_status_changed"),
		noteOf(work, "task_completed"), noteOf(work, "task_blocked"), noteOf(work, "milestone"),
		noteOf(work, "session"),
	} {
		note(s)
	}
	noFault(t, s)
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
			s.tamper(func(line map[string]any) {
				line["hash"] = fmt.Sprintf("%x",
					sha256.Sum256(append(prev, body[:]...)))
			})
		}},
		{"a withheld body is another", broken(ruleChain), nothing, func(s *story) {
			noted(s)
			s.withhold(len(s.lines)).tamper(func(line map[string]any) { line["bodyhash"] = strings.Repeat("ab", 32) })
		}},
		{"an id stands twice", broken(ruleID), nothing, func(s *story) { noted(s, with("id", "event-3")) }},
		{
			"time goes back", broken(ruleTime), nothing,
			func(s *story) { noted(s, with("time", "2026-03-01T11:00:00.000Z")) },
		},
		{"a newer type", broken(ruleType), nothing, func(s *story) {
			noted(s, with("type", "maestro.session.noted.v2"), with("dataschema",
				"urn:maestro:schema:maestro.session.noted.v2"))
		}},
		{"data of another kind", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("data", []int{1})) }},
		{"no data", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("data", nil)) }},
		{"the subject is another's", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("subject", "session/orch"))
			s.tamper(func(line map[string]any) { line["subject"] = "maestro.ev.p1.session.work" })
		}},
		{"no id", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("id", "")) }},
		{"another version of CloudEvents", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("specversion",
				"0.3"))
		}},
		{"another content type", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("datacontenttype",
				"text/plain"))
		}},
		{"another schema", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("dataschema",
				"urn:maestro:schema:x"))
		}},
		{"the stream's subject is another's", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s)
			s.tamper(func(line map[string]any) { line["subject"] = "maestro.ev.p2.session.work" })
		}},
		{"a source from nowhere", broken(ruleEnvelope), nothing, func(s *story) {
			s.add("/somebody", "session.noted", `{"sessionId":"work","type":"note"}`)
		}},
		{"no rules", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("rules", nil)) }},
		{"rules older than those before", broken(ruleOlder), nothing, func(s *story) { noted(s, with("rules", "2")) }},
		{"the first rules behind the second", broken(ruleOlder), func(s *story) { s.allBy("2") }, func(s *story) {
			noted(s, with("rules", "1"))
		}},
		{"an attribute that no document names", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("smuggled", "x"))
		}},
		{"a time of another zone", broken(ruleEnvelope), nothing, func(s *story) {
			east := s.now.Add(time.Second).In(time.FixedZone("", 7200))
			noted(s, with("time", east.Format("2006-01-02T15:04:05.000Z07:00")))
		}},
		{"no request hash", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("requesthash", "x")) }},
		{"known by nothing", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("authn", nil)) }},
		{"known by rumour", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("authn", "rumour")) }},
		{"a cause that was never", broken(ruleCause), nothing, func(s *story) {
			noted(s, with("causationid",
				"event-99"))
		}},
		{"its own cause", broken(ruleCause), nothing, func(s *story) {
			noted(s, with("id", "me"), with("causationid",
				"me"))
		}},
		{
			"a chain of causes with another beginning", broken(ruleCause), nothing,
			func(s *story) { noted(s, with("correlationid", "event-1")) },
		},
		{"a chain of causes without a cause", broken(ruleCause), nothing, func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x","title":"X"}`, with("correlationid", "event-1"))
		}},
		{"a session without a cause", broken(ruleCause), nothing, func(s *story) { noted(s, without()) }},
	}
}

func actorPlants() []plant {
	return []plant{
		{"a worker deletes a task", broken(rulePermitted), nothing, func(s *story) {
			s.add(work, "task.deleted",
				`{"taskId":"b"}`)
		}},
		{"a worker deletes a session", broken(rulePermitted), nothing, func(s *story) {
			s.add(work, "session.deleted",
				`{"sessionId":"orch"}`)
		}},
		{"a worker spawns", broken(rulePermitted), nothing, func(s *story) {
			s.add(work, "session.spawned",
				`{"sessionId":"x","role":"worker","strategy":"simple","spawnedBy":"work",`+byDefault("W")+`}`)
		}},
		{"an orchestrator deletes a task", broken(rulePermitted), nothing, func(s *story) {
			s.add(orch, "task.deleted",
				`{"taskId":"a"}`)
		}},
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
		{"a user whom nobody knows", broken(ruleUser), nothing, func(s *story) {
			s.add("/users/eve", "task.created",
				`{"taskId":"x","title":"X"}`)
		}},
		{"an auditor writes", broken(ruleUser), func(s *story) {
			s.add(admin, "token.created", `{"name":"eve","kind":"auditor","generation":1}`)
		}, func(s *story) { s.add("/users/eve", "task.created", `{"taskId":"x","title":"X"}`) }},
		{"a user whose token was revoked", broken(ruleUser), func(s *story) {
			s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":1}`)
			s.add(admin, "token.revoked", `{"name":"eve","generation":2}`)
		}, func(s *story) { s.add("/users/eve", "task.created", `{"taskId":"x","title":"X"}`) }},
		{"the system makes a task", broken(ruleSystem), nothing, func(s *story) {
			s.add(system, "task.created",
				`{"taskId":"x","title":"X"}`)
		}},
		{"a user loses a session", broken(ruleSystem), func(s *story) { s.wait(time.Hour) }, func(s *story) {
			s.add(admin, "session.lost", fmt.Sprintf(`{"sessionId":"work","lastheard":%d,"lease":60000}`,
				s.milli(time.Hour)))
		}},
		{"a session loses another", broken(ruleSystem), func(s *story) { s.wait(time.Hour) }, func(s *story) {
			s.add(orch, "session.lost", fmt.Sprintf(`{"sessionId":"work","lastheard":%d,"lease":60000}`,
				s.milli(time.Hour)))
		}},
		{"a session reports for another", broken(ruleOwn), nothing, func(s *story) {
			s.add(orch, "session.reported", `{"sessionId":"work","kind":"progress"}`)
		}},
		{"a session notes that a status moved", broken(ruleNote), nothing, noteOf(work, "task_status_changed")},
		{"a session notes that it was lost", broken(ruleNote), nothing, noteOf(work, "session_lost")},
		{"a session notes an answer", broken(ruleNote), nothing, noteOf(orch, "input_answered")},
		{"a session notes for another", broken(ruleOwn), nothing, func(s *story) {
			s.add(work, "session.noted", `{"sessionId":"orch","type":"x"}`)
		}},
		{"a session completes another", broken(ruleOwn), nothing, func(s *story) {
			s.add(orch, "session.completed",
				`{"sessionId":"work"}`)
		}},
		{"a session tracks a file of another", broken(ruleOwn), nothing, func(s *story) {
			s.add(work, "session.file_tracked", `{"sessionId":"orch","file":"x"}`)
		}},
		{"a session pulls for another", broken(ruleOwn), func(s *story) { s.puller("pull2", "pull") }, func(s *story) {
			s.add(source("pull2"), "queue.item_started",
				`{"queue":"pull","taskId":"e","sessionId":"pull","attempt":1,"passedOver":1}`)
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
		{"an orchestrator kills what is two below it, by older rules", broken(ruleSpawner), func(s *story) {
			family(s)
			s.allBy("2")
		}, func(s *story) {
			s.add(orch, "session.killed", `{"sessionId":"low","status":"stopped"}`)
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
			s.add(system, "session.timed_out", fmt.Sprintf(`{"sessionId":"pull","deadline":%d}`, s.deadline("pull",
				time.Hour)))
		}, func(s *story) { s.add(pull, "session.completed", `{"sessionId":"pull"}`) }},
		{
			"a session is killed twice", broken(ruleEnded), func(s *story) { s.kill("work") },
			func(s *story) { s.kill("work") },
		},
		{"an ended session is made idle", broken(ruleEnded), func(s *story) { s.kill("work") }, func(s *story) {
			s.add(admin, "session.updated", `{"sessionId":"work","status":"idle"}`)
		}},
		{
			"an ended session is lost", broken(ruleEnded), func(s *story) { s.kill("work") },
			func(s *story) { s.lose("work") },
		},
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
			s.add(admin, "session.registered",
				`{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+only("W",
					"task:block")+`}}`)
		}},
		{"an orchestrator gives more than it has", broken(rulePermissions), func(s *story) {
			s.spawn("small", orchestrator+only("O", "session:spawn", "task:create"))
		}, func(s *story) {
			s.add(source("small"), "session.spawned", `{"sessionId":"x",`+orchestrator+`"spawnedBy":"small",`+only("O",
				"task:create", "task:update")+`}`)
		}},
		{"an orchestrator gives a worker more than either has", broken(rulePermissions), func(s *story) {
			s.spawn("small", orchestrator+only("O", "session:spawn", "inbox"))
			s.add(source("small"), "session.spawned", `{"sessionId":"y",`+worker+`"spawnedBy":"small",`+only("W",
				"task:get", "inbox")+`}`)
			s.allBy("2")
			s.add(source("small"), "session.spawned", `{"sessionId":"z",`+worker+`"spawnedBy":"small",`+only("W",
				"since")+`}`)
			s.by("3")
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
		{"a plan id twice", broken(rulePlanID), func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x1","title":"X","planId":"one"}`)
		}, func(s *story) { s.add(admin, "task.created", `{"taskId":"x2","title":"X","planId":"one"}`) }},
		{"a task takes the plan id of another", broken(rulePlanID), func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x1","title":"X","planId":"one"}`)
		}, func(s *story) { s.add(admin, "task.updated", `{"taskId":"a","planId":"one"}`) }},
		{"a plan id that is a task's own id", broken(rulePlanID), func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x1","title":"X"}`)
			s.allBy("2")
			s.add(admin, "task.created", `{"taskId":"x2","title":"X","planId":"x1"}`)
			s.by("3")
		}, func(s *story) { s.add(admin, "task.created", `{"taskId":"x3","title":"X","planId":"x2"}`) }},
		admins("a plan id that may become a task's own id", rulePlanID, "task.updated",
			`{"taskId":"a","planId":"task_0123456789"}`),
		{"a task moves below itself", broken(ruleTask), func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x1","title":"X"}`)
			s.add(admin, "task.created", `{"taskId":"x2","title":"X","parentId":"x1"}`)
		}, func(s *story) { s.add(admin, "task.updated", `{"taskId":"x1","parentId":"x2"}`) }},
		{"a task moves below what a task below it waits for", broken(ruleTask), func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x1","title":"X"}`)
			s.add(admin, "task.created", `{"taskId":"x2","title":"X"}`)
			s.add(admin, "task.created", `{"taskId":"x3","title":"X","parentId":"x1","dependencies":["x2"]}`)
		}, func(s *story) { s.add(admin, "task.updated", `{"taskId":"x1","parentId":"x2"}`) }},
		admins("a project twice", ruleExists, "project.created", `{"projectId":"p1","name":"x"}`),
		admins("a task twice", ruleExists, "task.created", `{"taskId":"a","title":"A"}`),
		admins("a task in no project", ruleExists, "task.created", `{"taskId":"x","title":"X"}`, with("partitionkey",
			"p9")),
		admins("a session twice", ruleExists, "session.spawned",
			`{"sessionId":"work","role":"worker","strategy":"simple",`+byDefault("W")+`}`),
		admins("a session registered twice", ruleExists, "session.registered",
			`{"sessionId":"work","created":{"role":"worker","strategy":"simple",`+byDefault("W")+`}}`),
		{"a queue by the first rules", broken(ruleSpawn, ruleOlder), nothing, func(s *story) {
			s.by("1").spawn("x", `"role":"worker","strategy":"queue","queue":"x",`+formerDefault("Q"))
		}},
		admins("a spawn for no task", ruleExists, "session.spawned",
			`{"sessionId":"x","role":"worker","strategy":"simple","taskIds":["x"],`+byDefault("W")+`}`),
		admins("no task is deleted", ruleExists, "task.deleted", `{"taskId":"x"}`),
		admins("no task is completed", ruleExists, "task.status_changed",
			`{"taskId":"x","from":"todo","to":"completed"}`),
		admins("no session is killed", ruleExists, "session.killed", `{"sessionId":"x","status":"stopped"}`),
		admins("no session is linked", ruleExists, "session.task_linked", `{"sessionId":"x","taskId":"a"}`),
		admins("no session is unlinked", ruleExists, "session.task_unlinked", `{"sessionId":"x","taskId":"a"}`),
		admins("no queue", ruleExists, "queue.item_pushed", `{"queue":"x","taskId":"a"}`),
		admins("no item", ruleExists, "queue.item_requeued", `{"queue":"pull","taskId":"a"}`),
		admins("no question", ruleExists, "input.answered", `{"inputId":"x","sessionId":"work","answer":"x"}`),
		admins("no session's secret", ruleExists, "token.revoked", `{"sessionId":"x","generation":2}`,
			with("partitionkey", "p1")),
		{"a session is deleted twice", broken(ruleExists), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"work"}`)
		}, func(s *story) { s.add(admin, "session.deleted", `{"sessionId":"work"}`) }},
		{"a deleted session is updated", broken(ruleExists), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"work"}`)
		}, func(s *story) { s.add(admin, "session.updated", `{"sessionId":"work","status":"idle"}`) }},
		{"a deleted task is reported on", broken(ruleExists), func(s *story) {
			s.add(admin, "task.deleted", `{"taskId":"b"}`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["b"]`) }},
		admins("a project without a name", ruleProject, "project.created", `{"projectId":"x","name":" "}`,
			with("partitionkey", "x")),
		admins("a project loses its name", ruleProject, "project.updated", `{"projectId":"p1","name":""}`),
		admins("a project with tasks is deleted", ruleProject, "project.deleted", `{"projectId":"p2"}`,
			with("partitionkey", "p2")),
		{"a project with sessions is deleted", broken(ruleProject), func(s *story) {
			s.add(admin, "project.created", `{"projectId":"p4","name":"x"}`, with("partitionkey", "p4"))
			s.spawn("x", `"role":"worker","strategy":"simple",`+byDefault("W"), with("partitionkey", "p4"))
		}, func(s *story) { s.add(admin, "project.deleted", `{"projectId":"p4"}`, with("partitionkey", "p4")) }},
		{
			"an orchestrator deletes an empty project that it did not create", broken(ruleScope, ruleProject),
			func(s *story) {
				s.add(admin, "project.created", `{"projectId":"p4","name":"x"}`, with("partitionkey", "p4"))
			}, func(s *story) { s.add(orch, "project.deleted", `{"projectId":"p4"}`, with("partitionkey", "p4")) },
		},
		admins("a task without a title", ruleTask, "task.created", `{"taskId":"x","title":""}`),
		admins("a title that is too long", ruleTask, "task.created", `{"taskId":"x","title":"`+strings.Repeat("é",
			201)+`"}`),
		admins("a title becomes blank", ruleTask, "task.updated", `{"taskId":"a","title":" "}`),
		admins("a parent in another project", ruleTask, "task.created",
			`{"taskId":"x","title":"X","parentId":"other"}`),
		admins("a dependency on nothing", ruleTask, "task.created", `{"taskId":"x","title":"X","dependencies":["y"]}`),
		admins("a new dependency on nothing", ruleTask, "task.updated", `{"taskId":"a","dependencies":["y"]}`),
		admins("a circle of dependencies", ruleTask, "task.updated", `{"taskId":"b","dependencies":["c"]}`),
		admins("a task waits for itself", ruleTask, "task.updated", `{"taskId":"a","dependencies":["a"]}`),
		admins("a stranger goes with a task", ruleTask, "task.deleted",
			`{"taskId":"b","recursive":true,"descendants":["d","e"]}`),
		admins("a child is left behind", ruleTask, "task.deleted", `{"taskId":"b","recursive":true}`),
		admins("children go, and it is not recursive", ruleTask, "task.deleted", `{"taskId":"b","descendants":["d"]}`),
		{
			"a child goes before its parent", broken(ruleTask), func(s *story) { s.task("dd", `,"parentId":"d"`) },
			func(s *story) {
				s.add(admin, "task.deleted", `{"taskId":"b","recursive":true,"descendants":["dd","d"]}`)
			},
		},
		admins("a session is made running", ruleSession, "session.updated", `{"sessionId":"work","status":"running"}`),
		admins("a killed session is completed", ruleSession, "session.killed",
			`{"sessionId":"work","status":"completed"}`),
	}
}

func statusPlants() []plant {
	return []plant{
		{"a status that was another", broken(ruleStatus), nothing, func(s *story) {
			s.status(admin, "b", "todo",
				"completed")
		}},
		{"an update from a status that was another", broken(ruleStatus), nothing, func(s *story) {
			s.cancel(admin, "b", "todo")
		}},
		{"a move to where it was", broken(ruleStatus), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"in_progress"}}`)
		}},
		{"a status that is none", broken(ruleStatus), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"done"}}`)
		}},
		{"no command leads there", broken(ruleStatus), nothing, func(s *story) {
			s.status(admin, "b", "in_progress",
				"todo")
		}},
		{"what nobody called done is reopened", broken(ruleStatus), nothing, func(s *story) {
			s.status(admin, "b",
				"in_progress", "in_progress")
		}},
		{"reopened twice: the word is gone", broken(ruleStatus), func(s *story) {
			s.report(work, "complete", `,"taskIds":["b"]`)
			s.reopen(orch, "b", "in_progress", "m")
		}, func(s *story) { s.status(orch, "b", "in_progress", "in_progress") }},
		{
			"a report moves no status", broken(ruleStatus), func(s *story) {
				s.report(work, "complete",
					`,"taskIds":["b"]`)
			},
			func(s *story) { s.status(admin, "b", "completed", "blocked") },
		},
		{"a worker completes a task", broken(rulePermitted, ruleStatusOwner), nothing, func(s *story) {
			s.status(work,
				"b", "in_progress", "completed")
		}},
		{"a worker updates a status", broken(rulePermitted, ruleStatusOwner), nothing, func(s *story) {
			s.add(work, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"blocked"}}`)
		}},
		{"an orchestrator cancels a task", broken(ruleStatusOwner), nothing, func(s *story) {
			s.cancel(orch, "b", "in_progress")
		}},
		{"an orchestrator takes a cancellation back", broken(ruleStatusOwner), func(s *story) {
			s.cancel(admin, "b", "in_progress")
		}, func(s *story) { s.status(orch, "b", "cancelled", "completed") }},
		{"a parent is completed before its children", broken(ruleFinish), nothing, func(s *story) {
			s.add(admin, "task.status_changed", `{"taskId":"b","from":"in_progress","to":"completed"}`)
		}},
		{"a completion is forced, and nothing is open", broken(ruleFinish), nothing, func(s *story) {
			s.add(admin, "task.status_changed", `{"taskId":"free","from":"todo","to":"completed","forced":true}`)
		}},
		{"an update completes a parent before its children", broken(ruleFinish), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"completed"}}`)
		}},
		{"a report takes back that work is done", broken(ruleReport), func(s *story) {
			s.add(work, "session.completed", `{"sessionId":"work"}`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["b"]`) }},
		{"a session is spawned on a cancelled task", broken(ruleWork), func(s *story) {
			s.cancel(admin, "b", "in_progress")
		}, func(s *story) { s.spawn("x", `"role":"worker","strategy":"simple","taskIds":["b"],`+byDefault("W")) }},
		{"a spawn waits for dependencies, and is not forced", broken(ruleSpawn), nothing, func(s *story) {
			s.spawn("x", `"role":"worker","strategy":"simple","taskIds":["c"],"started":["c"],`+
				`"unmetDependencies":["b"],`+byDefault("W"))
		}},
		{"a session is linked to a task that waits", broken(ruleWork), nothing, func(s *story) {
			s.add(admin, "session.task_linked", `{"sessionId":"orch","taskId":"c"}`)
		}},
		{"a link is forced, and its task waits for nothing", broken(ruleWork), nothing, func(s *story) {
			s.add(admin, "session.task_linked", `{"sessionId":"pull","taskId":"free","forced":true}`)
		}},
		{"an update gives a session a task that waits", broken(ruleWork), nothing, func(s *story) {
			s.add(orch, "session.updated", `{"sessionId":"work","taskIds":["c"]}`)
		}},
		{"an update gives no task, and is forced", broken(ruleWork), nothing, func(s *story) {
			s.add(orch, "session.updated", `{"sessionId":"work","name":"n","forced":true}`)
		}},
		{"an ended session is given a task", broken(ruleWork), func(s *story) { s.kill("work") }, func(s *story) {
			s.add(orch, "session.updated", `{"sessionId":"work","taskIds":["free"]}`)
		}},
		{"a cancelled task is pushed", broken(ruleWork), func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"free","status":{"from":"todo","to":"cancelled"}}`)
			s.add(admin, "queue.created", `{"queue":"q2","maxAttempts":3}`)
		}, func(s *story) { s.add(admin, "queue.item_pushed", `{"queue":"q2","taskId":"free"}`) }},
		{"a task is created below a completed one", broken(ruleFinish), func(s *story) {
			s.status(admin, "free", "todo", "completed")
		}, func(s *story) { s.task("under", `,"parentId":"free"`) }},
		{"an open task moves below a completed one", broken(ruleFinish), func(s *story) {
			s.status(admin, "free", "todo", "completed")
		}, func(s *story) { s.add(admin, "task.updated", `{"taskId":"d","parentId":"free"}`) }},
		{"a move is forced, and is in order", broken(ruleFinish), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"d","parentId":"free","forced":true}`)
		}},
		{"the system completes a task", broken(ruleSystem, ruleStatusOwner), nothing, func(s *story) {
			s.status(system,
				"b", "in_progress", "completed")
		}},
	}
}
