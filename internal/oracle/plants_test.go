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

// plant is a story whose last event is a fault. The events before it have none.
type plant struct {
	name string
	// rules are the rules that the last event breaks; it breaks no others.
	rules  []string
	before func(s *story)
	bad    func(s *story)
}

func broken(rules ...string) []string { return rules }

func nothing(*story) {}

// family creates an orchestrator below the one in base, and a worker below that.
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
		usePlants(), runPlants(),
		textPlants(),
		childPlants(), noticePlants(), templatePlants(), webhookPlants(), limitPlants())
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
		t.Fatal("there is a fault before the plant")
	}
	before := len(s.lines)
	p.bad(s)
	if len(s.lines) != before+1 && !slices.Contains(p.rules, ruleChain) {
		t.Fatalf("it plants %d events, not one", len(s.lines)-before)
	}
	var found []string
	for _, f := range s.verdict().Faults {
		if f.Sequence != uint64(len(s.lines)) && !slices.Contains(p.rules, ruleChain) {
			t.Errorf("the fault is at sequence %d, which was not planted (%s: %s)", f.Sequence, f.Rule, f.What)
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
		t.Errorf("caught by the rules %q, want %q", found, want)
	}
}

// noteOf adds a note of a type by somebody on its own timeline.
func noteOf(source, kind string, options ...option) func(*story) {
	return func(s *story) {
		session := source[strings.LastIndex(source, "/")+1:]
		if source == admin {
			session = "work"
		}
		s.add(source, "session.noted", `{"sessionId":"`+session+`","type":"`+kind+`","message":"m"}`, options...)
	}
}

// Notes of the system's types are no fault by older rules or by the user; notes of the types of reports are none by a
// client without credentials.
func TestNotesOfOtherTypesAreAllowed(t *testing.T) {
	s := base(t).allBy("2")
	noteOf(work, "session_lost")(s)
	s.by("7")
	for _, note := range []func(*story){
		noteOf(admin, "task_status_changed"),
		noteOf(work, "task_completed", with("authn", "none")), noteOf(work, "error", with("authn", "none")),
		noteOf(admin, "command_exited"), noteOf(work, "milestone"),
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
		{"an event does not follow the one before it", broken(ruleChain), nothing, func(s *story) {
			noted(s, with("prevhash", strings.Repeat("ab", 32)))
			body, prev := sha256.Sum256(s.bodies[len(s.bodies)-1]), bytes.Repeat([]byte{0xab}, 32)
			s.tamper(func(line map[string]any) {
				line["hash"] = fmt.Sprintf("%x",
					sha256.Sum256(append(prev, body[:]...)))
			})
		}},
		{"the hash of a withheld body is wrong", broken(ruleChain), nothing, func(s *story) {
			noted(s)
			s.withhold(len(s.lines)).tamper(func(line map[string]any) { line["bodyhash"] = strings.Repeat("ab", 32) })
		}},
		{"an id occurs twice", broken(ruleID), nothing, func(s *story) { noted(s, with("id", "event-3")) }},
		{
			"time goes back", broken(ruleTime), nothing,
			func(s *story) { noted(s, with("time", "2026-03-01T11:00:00.000Z")) },
		},
		{"an unknown version of a type", broken(ruleType), nothing, func(s *story) {
			noted(s, with("type", "maestro.session.noted.v2"), with("dataschema",
				"urn:maestro:schema:maestro.session.noted.v2"))
		}},
		{"data that is no object", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("data", []int{1})) }},
		{"no data", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("data", nil)) }},
		{"the subject names another session", broken(ruleEnvelope), nothing, func(s *story) {
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
		{"the stream's subject names another project", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s)
			s.tamper(func(line map[string]any) { line["subject"] = "maestro.ev.p2.session.work" })
		}},
		{"an unknown source", broken(ruleEnvelope), nothing, func(s *story) {
			s.add("/somebody", "session.noted", `{"sessionId":"work","type":"note"}`)
		}},
		{"no version of the rules", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("rules", nil)) }},
		{"older rules than the event before", broken(ruleOlder), nothing, func(s *story) {
			noted(s, with("rules", "2"))
		}},
		{"the first rules after the second", broken(ruleOlder), func(s *story) { s.allBy("2") }, func(s *story) {
			noted(s, with("rules", "1"))
		}},
		{"an undocumented attribute", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("smuggled", "x"))
		}},
		{"a time in another time zone", broken(ruleEnvelope), nothing, func(s *story) {
			east := s.now.Add(time.Second).In(time.FixedZone("", 7200))
			noted(s, with("time", east.Format("2006-01-02T15:04:05.000Z07:00")))
		}},
		{"an invalid request hash", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("requesthash", "x"))
		}},
		{"no authentication", broken(ruleEnvelope), nothing, func(s *story) { noted(s, with("authn", nil)) }},
		{"an unknown authentication", broken(ruleEnvelope), nothing, func(s *story) {
			noted(s, with("authn", "rumour"))
		}},
		{"a cause that does not exist", broken(ruleCause), nothing, func(s *story) {
			noted(s, with("causationid",
				"event-99"))
		}},
		{"an event is its own cause", broken(ruleCause), nothing, func(s *story) {
			noted(s, with("id", "me"), with("causationid",
				"me"))
		}},
		{
			"a chain of causes with another root", broken(ruleCause), nothing,
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
		{"a command that is not in the session's list", broken(rulePermitted), func(s *story) {
			s.spawn("quiet", `"role":"worker","strategy":"simple",`+only("W", "report:complete"))
		}, func(s *story) { s.report(source("quiet"), "progress", "") }},
		{"a note by a session whose list does not allow it", broken(rulePermitted), func(s *story) {
			s.spawn("quiet", `"role":"worker","strategy":"simple",`+only("W", "task:get"))
		}, func(s *story) { s.add(source("quiet"), "session.noted", `{"sessionId":"quiet","type":"x"}`) }},
		{"an unknown session", broken(rulePermitted), nothing, func(s *story) {
			s.add(source("ghost"), "task.created", `{"taskId":"x","title":"X"}`, s.because("event-1"))
		}},
		{"a user reports", broken(rulePermitted), nothing, func(s *story) {
			s.add(admin, "session.reported", `{"sessionId":"work","kind":"progress"}`)
		}},
		{"a user receives an answer", broken(rulePermitted), func(s *story) {
			s.report(work, "needs-input", `,"inputId":"i"`)
			s.add(admin, "input.answered", `{"inputId":"i","sessionId":"work","answer":"x"}`)
		}, func(s *story) { s.add(admin, "input.delivered", `{"inputId":"i","sessionId":"work"}`) }},
		{"an answer about another task", broken(ruleQuestion), func(s *story) {
			s.report(work, "needs-input", `,"inputId":"i"`)
		}, func(s *story) {
			s.add(admin, "input.answered", `{"inputId":"i","sessionId":"work","taskIds":["b"],"answer":"x"}`)
		}},
		{"a runner writes", broken(rulePermitted), nothing, func(s *story) {
			s.add("/runners/box", "session.noted", `{"sessionId":"work","type":"x"}`)
		}},
		{"a queue session creates a queue", broken(rulePermitted), nothing, func(s *story) {
			s.add(pull, "queue.created", `{"queue":"x","maxAttempts":3}`)
		}},
		{"an unknown user", broken(ruleUser), nothing, func(s *story) {
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
		{"the system creates a task", broken(ruleSystem), nothing, func(s *story) {
			s.add(system, "task.created",
				`{"taskId":"x","title":"X"}`)
		}},
		{"a user marks a session as lost", broken(ruleSystem), func(s *story) { s.wait(time.Hour) }, func(s *story) {
			s.add(admin, "session.lost", fmt.Sprintf(`{"sessionId":"work","lastheard":%d,"lease":60000}`,
				s.milli(time.Hour)))
		}},
		{"a session marks another as lost", broken(ruleSystem), func(s *story) { s.wait(time.Hour) }, func(s *story) {
			s.add(orch, "session.lost", fmt.Sprintf(`{"sessionId":"work","lastheard":%d,"lease":60000}`,
				s.milli(time.Hour)))
		}},
		{"a session reports for another", broken(ruleOwn), nothing, func(s *story) {
			s.add(orch, "session.reported", `{"sessionId":"work","kind":"progress"}`)
		}},
		{"a session notes a change of a task's status", broken(ruleNote), nothing, noteOf(work, "task_status_changed")},
		{"a session notes that it was lost", broken(ruleNote), nothing, noteOf(work, "session_lost")},
		{"a session notes an answer", broken(ruleNote), nothing, noteOf(orch, "input_answered")},
		{"a session notes an error", broken(ruleNote), nothing, noteOf(work, "error")},
		{"a session notes a question", broken(ruleNote), nothing, noteOf(work, "needs_input")},
		{"a session notes a completion", broken(ruleNote), nothing, noteOf(work, "task_completed")},
		{"a session notes that its command ended", broken(ruleNote), nothing, noteOf(work, "command_exited")},
		{"a session notes that another's command ended", broken(ruleSpawner), nothing, func(s *story) {
			s.add(work, "session.noted", `{"sessionId":"orch","type":"command_exited"}`)
		}},
		{"a session adds a note for another", broken(ruleOwn), nothing, func(s *story) {
			s.add(work, "session.noted", `{"sessionId":"orch","type":"x"}`)
		}},
		{"a session completes another", broken(ruleOwn), nothing, func(s *story) {
			s.add(orch, "session.completed",
				`{"sessionId":"work"}`)
		}},
		{"a session tracks a file of another", broken(ruleOwn), nothing, func(s *story) {
			s.add(work, "session.file_tracked", `{"sessionId":"orch","file":"x"}`)
		}},
		{"a session starts an item for another", broken(ruleOwn), func(s *story) {
			s.puller("pull2", "pull")
		}, func(s *story) {
			s.add(source("pull2"), "queue.item_started",
				`{"queue":"pull","taskId":"e","sessionId":"pull","attempt":1,"passedOver":1}`)
		}},
		{"a worker creates a task in another project", broken(ruleScope), nothing, func(s *story) {
			s.add(work, "task.created", `{"taskId":"x","title":"X"}`, with("partitionkey", "p2"))
		}},
		{"an orchestrator writes in a project that it did not create", broken(ruleScope), nothing, func(s *story) {
			s.add(orch, "task.created", `{"taskId":"x","title":"X"}`, with("partitionkey", "p2"))
		}},
		{"a source with a wrong project", broken(ruleScope), nothing, func(s *story) {
			s.add("/projects/p2/sessions/work", "session.noted", `{"sessionId":"work","type":"x"}`)
		}},
		{"an event of one project about a task of another", broken(ruleScope), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"other","title":"X"}`)
		}},
		{"an orchestrator kills a session that it did not spawn", broken(ruleSpawner), nothing, func(s *story) {
			s.add(orch, "session.killed", `{"sessionId":"pull","status":"stopped"}`)
		}},
		{"an orchestrator kills a session two levels below it, by older rules", broken(ruleSpawner), func(s *story) {
			family(s)
			s.allBy("2")
		}, func(s *story) {
			s.add(orch, "session.killed", `{"sessionId":"low","status":"stopped"}`)
		}},
		{"an orchestrator kills a session above it", broken(ruleSpawner), family, func(s *story) {
			s.add(source("mid"), "session.killed", `{"sessionId":"orch","status":"stopped"}`)
		}},
		{"an orchestrator kills its sibling", broken(ruleSpawner), family, func(s *story) {
			s.add(source("mid"), "session.killed", `{"sessionId":"work","status":"stopped"}`)
		}},
		{"an orchestrator updates a session two levels below it", broken(ruleSpawner), family, func(s *story) {
			s.add(orch, "session.updated", `{"sessionId":"low","status":"idle"}`)
		}},
		{"an orchestrator updates a session that it did not spawn", broken(ruleSpawner), nothing, func(s *story) {
			s.add(orch, "session.updated", `{"sessionId":"pull","name":"x"}`)
		}},
		{"an orchestrator answers a session that it did not spawn", broken(ruleSpawner), func(s *story) {
			s.report(pull, "needs-input", `,"inputId":"i"`)
		}, func(s *story) { s.add(orch, "input.answered", `{"inputId":"i","sessionId":"pull","answer":"x"}`) }},
		{"a killed session adds a note", broken(ruleEnded), func(s *story) {
			s.kill("work")
		}, func(s *story) { noted(s) }},
		{"a deleted session creates a task", broken(ruleEnded), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"work"}`)
		}, func(s *story) { s.add(work, "task.created", `{"taskId":"x","title":"X"}`) }},
		{"a timed-out session completes", broken(ruleEnded), func(s *story) {
			s.wait(time.Hour)
			s.add(system, "session.timed_out", fmt.Sprintf(`{"sessionId":"pull","deadline":%d}`, s.deadline("pull",
				time.Hour)))
		}, func(s *story) { s.add(pull, "session.completed", `{"sessionId":"pull"}`) }},
		{
			"a session is killed twice", broken(ruleEnded), func(s *story) { s.kill("work") },
			func(s *story) { s.kill("work") },
		},
		{"an ended session becomes idle", broken(ruleEnded), func(s *story) { s.kill("work") }, func(s *story) {
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
		spawned("a worker with a write command of another role", worker+only("W", "task:update")),
		spawned("a worker whose list has session:spawn", worker+only("W", "session:spawn")),
		spawned("a worker that sees projects", worker+only("W", "project:list")),
		spawned("a simple worker that sees queues", worker+only("W", "queue:list")),
		spawned("a worker that audits", worker+only("W", "audit:verify")),
		spawned("an orchestrator that deletes tasks", orchestrator+only("O", "task:delete")),
		spawned("an orchestrator with a queue", orchestrator+only("O", "queue:start")),
		spawned("a worker that is initialised as an orchestrator", worker+only("W", "orchestrator:init")),
		spawned("an unknown command", worker+only("W", "task:destroy")),
		spawned("a command twice in a list", worker+only("W", "task:get", "task:get")),
		spawned("a list without the core commands", worker+list(true, "whoami", "task:get")),
		spawned("a default list without one of its commands", queue+list(false, without("Q", "queue:skip")...)),
		spawned("a default list without notes", worker+list(false, without("W", "session:note")...)),
		spawned("a default list with an additional command",
			worker+list(false, append(defaultList("W"), "task:tree")...)),
		spawned("a worker with an orchestrator's strategy", `"role":"worker","strategy":"dag",`+byDefault("W")),
		spawned("an orchestrator that pulls", `"role":"orchestrator","strategy":"tree",`+byDefault("O")),
		{"a registered session with too many commands", broken(rulePermissions), nothing, func(s *story) {
			s.add(admin, "session.registered",
				`{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+only("W",
					"task:block")+`}}`)
		}},
		{"an orchestrator gives another more commands than it has", broken(rulePermissions), func(s *story) {
			s.spawn("small", orchestrator+only("O", "session:spawn", "task:create"))
		}, func(s *story) {
			s.add(source("small"), "session.spawned", `{"sessionId":"x",`+orchestrator+`"spawnedBy":"small",`+only("O",
				"task:create", "task:update")+`}`)
		}},
		{"an orchestrator gives a worker commands that neither has", broken(rulePermissions), func(s *story) {
			s.spawn("small", orchestrator+only("O", "session:spawn", "inbox"))
			s.add(source("small"), "session.spawned", `{"sessionId":"y",`+worker+`"spawnedBy":"small",`+only("W",
				"task:get", "inbox")+`}`)
			s.allBy("2")
			s.add(source("small"), "session.spawned", `{"sessionId":"z",`+worker+`"spawnedBy":"small",`+only("W",
				"since")+`}`)
			s.by("7")
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
		{"a plan id that is another task's id", broken(rulePlanID), func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x1","title":"X"}`)
			s.allBy("2")
			s.add(admin, "task.created", `{"taskId":"x2","title":"X","planId":"x1"}`)
			s.by("7")
		}, func(s *story) { s.add(admin, "task.created", `{"taskId":"x3","title":"X","planId":"x2"}`) }},
		admins("a plan id that may become a task's id", rulePlanID, "task.updated",
			`{"taskId":"a","planId":"task_0123456789"}`),
		{"a task moves below itself", broken(ruleTask), func(s *story) {
			s.add(admin, "task.created", `{"taskId":"x1","title":"X"}`)
			s.add(admin, "task.created", `{"taskId":"x2","title":"X","parentId":"x1"}`)
		}, func(s *story) { s.add(admin, "task.updated", `{"taskId":"x1","parentId":"x2"}`) }},
		{"a task moves below a dependency of its subtask", broken(ruleTask), func(s *story) {
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
		{"a spawn with a queue, by the first rules", broken(ruleSpawn, ruleOlder), nothing, func(s *story) {
			s.by("1").spawn("x", `"role":"worker","strategy":"queue","queue":"x",`+formerDefault("Q"))
		}},
		admins("a spawn for a task that does not exist", ruleExists, "session.spawned",
			`{"sessionId":"x","role":"worker","strategy":"simple","taskIds":["x"],`+byDefault("W")+`}`),
		admins("a task that does not exist is deleted", ruleExists, "task.deleted", `{"taskId":"x"}`),
		admins("a task that does not exist is completed", ruleExists, "task.status_changed",
			`{"taskId":"x","from":"todo","to":"completed"}`),
		admins("a session that does not exist is killed", ruleExists, "session.killed",
			`{"sessionId":"x","status":"stopped"}`),
		admins("a session that does not exist is linked", ruleExists, "session.task_linked",
			`{"sessionId":"x","taskId":"a"}`),
		admins("a session that does not exist is unlinked", ruleExists, "session.task_unlinked",
			`{"sessionId":"x","taskId":"a"}`),
		admins("a push to a queue that does not exist", ruleExists, "queue.item_pushed", `{"queue":"x","taskId":"a"}`),
		admins("an item that does not exist is requeued", ruleExists, "queue.item_requeued",
			`{"queue":"pull","taskId":"a"}`),
		admins("a question that does not exist is answered", ruleExists, "input.answered",
			`{"inputId":"x","sessionId":"work","answer":"x"}`),
		admins("the secret of a session that does not exist is revoked", ruleExists, "token.revoked",
			`{"sessionId":"x","generation":2}`,
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
		admins("a dependency on a task that does not exist", ruleTask, "task.created",
			`{"taskId":"x","title":"X","dependencies":["y"]}`),
		admins("a new dependency on a task that does not exist", ruleTask, "task.updated",
			`{"taskId":"a","dependencies":["y"]}`),
		admins("a cycle of dependencies", ruleTask, "task.updated", `{"taskId":"b","dependencies":["c"]}`),
		admins("a task waits for what it is part of", ruleTask, "task.updated", `{"taskId":"d","dependencies":["b"]}`),
		admins("a task is created that waits for what waits for its parent", ruleTask, "task.created",
			`{"taskId":"x","title":"X","parentId":"b","dependencies":["c"]}`),
		admins("a task waits for what waits for its parent", ruleTask, "task.updated",
			`{"taskId":"d","dependencies":["c"]}`),
		{
			"a task moves below one that it waits for through others", broken(ruleTask),
			func(s *story) {
				s.add(admin, "task.updated", `{"taskId":"d","dependencies":["g"]}`)
				s.add(admin, "task.updated", `{"taskId":"g","dependencies":["f"]}`)
			},
			func(s *story) { s.add(admin, "task.updated", `{"taskId":"b","parentId":"f"}`) },
		},
		admins("a task waits for itself", ruleTask, "task.updated", `{"taskId":"a","dependencies":["a"]}`),
		admins("a task is deleted with one that is not below it", ruleTask, "task.deleted",
			`{"taskId":"b","recursive":true,"descendants":["d","e"]}`),
		admins("a recursive deletion leaves a child", ruleTask, "task.deleted", `{"taskId":"b","recursive":true}`),
		admins("a deletion that is not recursive takes a child", ruleTask, "task.deleted",
			`{"taskId":"b","descendants":["d"]}`),
		{
			"a recursive deletion lists a child before its parent", broken(ruleTask),
			func(s *story) { s.task("dd", `,"parentId":"d"`) },
			func(s *story) {
				s.add(admin, "task.deleted", `{"taskId":"b","recursive":true,"descendants":["dd","d"]}`)
			},
		},
		admins("an update sets a session to running", ruleSession, "session.updated",
			`{"sessionId":"work","status":"running"}`),
		admins("a killed session is completed", ruleSession, "session.killed",
			`{"sessionId":"work","status":"completed"}`),
	}
}

func statusPlants() []plant {
	return []plant{
		{"a change from a status that the task does not have", broken(ruleStatus), nothing, func(s *story) {
			s.status(admin, "b", "todo",
				"completed")
		}},
		{"an update from a status that the task does not have", broken(ruleStatus), nothing, func(s *story) {
			s.cancel(admin, "b", "todo")
		}},
		{"an update to the same status", broken(ruleStatus), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"in_progress"}}`)
		}},
		{"an unknown status", broken(ruleStatus), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"done"}}`)
		}},
		{"a status that no command leads to", broken(ruleStatus), nothing, func(s *story) {
			s.status(admin, "b", "in_progress",
				"todo")
		}},
		{"a task that no session reported as completed is reopened", broken(ruleStatus), nothing, func(s *story) {
			s.status(admin, "b",
				"in_progress", "in_progress")
		}},
		{"a task is reopened twice after one report", broken(ruleStatus), func(s *story) {
			s.report(work, "complete", `,"taskIds":["b"]`)
			s.reopen(orch, "b", "in_progress", "m")
		}, func(s *story) { s.status(orch, "b", "in_progress", "in_progress") }},
		{
			"a change from a status that was only reported", broken(ruleStatus), func(s *story) {
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
		{"an orchestrator reverts a cancellation", broken(ruleStatusOwner), func(s *story) {
			s.cancel(admin, "b", "in_progress")
		}, func(s *story) { s.status(orch, "b", "cancelled", "completed") }},
		{"a parent is completed before its children", broken(ruleFinish), nothing, func(s *story) {
			s.add(admin, "task.status_changed", `{"taskId":"b","from":"in_progress","to":"completed"}`)
		}},
		{"a completion is forced although no subtask is open", broken(ruleFinish), nothing, func(s *story) {
			s.add(admin, "task.status_changed", `{"taskId":"free","from":"todo","to":"completed","forced":true}`)
		}},
		{"an update completes a parent before its children", broken(ruleFinish), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"completed"}}`)
		}},
		{"progress after completion that is not marked as such", broken(ruleReport), func(s *story) {
			s.add(work, "session.completed", `{"sessionId":"work"}`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["b"]`) }},
		{"a session is spawned on a cancelled task", broken(ruleWork), func(s *story) {
			s.cancel(admin, "b", "in_progress")
		}, func(s *story) { s.spawn("x", `"role":"worker","strategy":"simple","taskIds":["b"],`+byDefault("W")) }},
		{"a spawn with unmet dependencies is not forced", broken(ruleSpawn), nothing, func(s *story) {
			s.spawn("x", `"role":"worker","strategy":"simple","taskIds":["c"],"started":["c"],`+
				`"unmetDependencies":["b"],`+byDefault("W"))
		}},
		{"a session is linked to a task with unmet dependencies", broken(ruleWork), nothing, func(s *story) {
			s.add(admin, "session.task_linked", `{"sessionId":"orch","taskId":"c"}`)
		}},
		{"a link is forced although no dependency is unmet", broken(ruleWork), nothing, func(s *story) {
			s.add(admin, "session.task_linked", `{"sessionId":"pull","taskId":"free","forced":true}`)
		}},
		{"an update gives a session a task with unmet dependencies", broken(ruleWork), nothing, func(s *story) {
			s.add(orch, "session.updated", `{"sessionId":"work","taskIds":["c"]}`)
		}},
		{"an update that gives no task is forced", broken(ruleWork), nothing, func(s *story) {
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
		{"a move is forced although it is allowed", broken(ruleFinish), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"d","parentId":"free","forced":true}`)
		}},
		{"the system completes a task", broken(ruleSystem, ruleStatusOwner), nothing, func(s *story) {
			s.status(system,
				"b", "in_progress", "completed")
		}},
	}
}
