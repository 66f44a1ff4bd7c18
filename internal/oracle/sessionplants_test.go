package oracle

import (
	"fmt"
	"strings"
	"time"
)

func manifestPlants() []plant {
	worker, orchestrator := `"role":"worker","strategy":"simple",`, `"role":"orchestrator","strategy":"default",`
	first, second := "sha256-"+strings.Repeat("1", 64), "sha256-"+strings.Repeat("2", 64)
	manifest := func(digest string) string { return `"manifestDigest":"` + digest + `",` }
	given := func(s *story) { s.spawn("new", worker+manifest(first)+byDefault("W")) }
	boss := func(s *story) { s.spawn("boss", orchestrator+manifest(first)+byDefault("O")) }
	begins := func(by, session, role, digest string) func(*story) {
		return func(s *story) {
			s.add(by, "session.registered",
				`{"sessionId":"`+session+`","manifestDigest":"`+digest+`","role":"`+role+`"}`)
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
		{
			"a beginning with the manifest before", broken(ruleManifest), both(given, issued(admin, "new", second)),
			begins(me, "new", "worker", first),
		},
		{"another beginning with another manifest", broken(ruleManifest), both(given, begins(me, "new", "worker",
			first)), begins(me, "new", "worker", second)},
		{"a beginning without having been given one", broken(ruleManifest), nothing, begins(work, "work", "worker",
			first)},
		{"a beginning that names none", broken(ruleManifest), given, begins(me, "new", "worker", "")},
		{"a beginning without a role", broken(ruleManifest), given, begins(me, "new", "", first)},
		{"a worker begins as an orchestrator", broken(rulePermitted, ruleManifest), given, begins(me, "new",
			"orchestrator", first)},
		{"an orchestrator begins as a worker", broken(rulePermitted, ruleManifest), boss, begins(source("boss"), "boss",
			"worker", first)},
		{"a session begins another", broken(ruleOwn), given, begins(work, "new", "worker", first)},
		{"a user begins a worker", broken(rulePermitted), given, begins(admin, "new", "worker", first)},
		{"a user begins an orchestrator", broken(rulePermitted), boss, begins(admin, "boss", "orchestrator", first)},
		{"the system begins a session", broken(ruleSystem), given, begins(system, "new", "worker", first)},
		{"a killed session begins", broken(ruleEnded), both(given, func(s *story) { s.kill("new") }), begins(me, "new",
			"worker", first)},
		{"a session is made and begins", broken(ruleManifest), nothing, func(s *story) {
			s.add(admin, "session.registered",
				`{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+byDefault("W")+
					`},"role":"worker"}`)
		}},
		{"registered with what is no digest", broken(ruleManifest), nothing, func(s *story) {
			s.add(admin, "session.registered",
				`{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+byDefault("W")+
					`},"manifestDigest":"sha256-1"}`)
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
		return plant{name, broken(ruleSpawn), nothing, func(s *story) {
			s.spawn("x",
				`"role":"worker","strategy":"queue",`+more+byDefault("Q"))
		}}
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
		spawned("it was to be refused", ruleSpawn,
			worker+`,"taskIds":["c"],"started":["c"],"strict":true,"unmetDependencies":["b"]`),
		spawned("it keeps silent of a dependency", ruleSpawn, worker+`,"taskIds":["c"],"started":["c"]`),
		{
			"a word is no status when it is spawned", broken(ruleSpawn), func(s *story) {
				s.report(work, "complete",
					`,"taskIds":["b"]`)
			},
			func(s *story) { s.spawn("x", worker+`,"taskIds":["c"],"started":["c"],`+byDefault("W")) },
		},
		spawned("it waits for what it does not depend on", ruleSpawn,
			worker+`,"taskIds":["free"],"started":["free"],"unmetDependencies":["b"]`),
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
			s.spawn("x",
				`"role":"worker","strategy":"queue","queue":"x","taskIds":["free"],"queued":["free"],"started":["free"],`+byDefault("Q"))
		}},
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
			s.add(work, "task.created", `{"taskId":"own","title":"x"}`).report(work, "progress",
				`,"taskIds":["own"]`).task("below", `,"parentId":"own"`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["below"]`) }},
		{"an item that another holds", broken(ruleReportTasks), func(s *story) {
			s.puller("pull2", "pull").start(source("pull2"), "pull", "e", 1, 1).report(source("pull2"), "progress",
				`,"taskIds":["e"]`)
		}, func(s *story) { s.report(source("pull2"), "progress", `,"taskIds":["f"]`) }},
		{"progress completes the session", broken(ruleReport), nothing, func(s *story) {
			s.report(work, "progress",
				`,"sessionCompleted":true`)
		}},
		reports("a task's end completes the session", ruleReport, work, "complete",
			`,"taskIds":["b"],"sessionCompleted":true`),
		reports("the end does not complete the session", ruleReport, work, "complete", ""),
		reports("progress opens a question", ruleReport, work, "progress", `,"inputId":"i"`),
		reports("options without a question", ruleReport, work, "error", `,"options":["a"]`),
		{"a kind that is none", broken(rulePermitted, ruleReport), nothing, func(s *story) {
			s.report(work, "boredom",
				"")
		}},
		reports("late before the end", ruleLate, work, "progress", `,"late":true`),
		{"not late after the end", broken(ruleLate), func(s *story) { s.kill("work") }, func(s *story) {
			s.report(work,
				"progress", "")
		}},
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
		{"late, and one of too many", broken(ruleLimit), func(s *story) {
			s.kill("work")
			for range maxLate {
				s.kept("work", "progress", 1, "")
			}
		}, func(s *story) { s.kept("work", "progress", 1, "") }},
		{"late, and one byte too many", broken(ruleLimit), func(s *story) {
			s.kill("work").kept("work", "progress", maxLateBytes, "")
		}, func(s *story) { s.kept("work", "progress", 1, "") }},
		{"late, and one task too many", broken(ruleLimit), func(s *story) {
			s.kill("work").kept("work", "progress", maxLateBytes-1, `,"taskIds":["b"]`)
		}, func(s *story) { s.kept("work", "progress", 0, `,"taskIds":["b"]`) }},
		{"late, and one option too many", broken(ruleLimit), func(s *story) {
			s.kill("work").kept("work", "needs-input", maxLateBytes-1, `,"options":["o"]`)
		}, func(s *story) { s.kept("work", "needs-input", 0, `,"options":["o"]`) }},
		{"late, and one long text too many", broken(ruleLimit), func(s *story) {
			s.kill("work")
			for range 4 {
				s.kept("work", "progress", 1000, `,"blobs":{"message":"sha256-`+strings.Repeat("0", 64)+`"}`)
			}
		}, func(s *story) { s.kept("work", "progress", 1, "") }},
	}
}

func deadlinePlants() []plant {
	lost := func(s *story, lastHeard time.Duration) {
		s.add(system, "session.lost", fmt.Sprintf(`{"sessionId":"work","lastheard":%d,"lease":60000}`,
			s.milli(lastHeard)))
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
		{"recovered from nothing", broken(ruleLease), nothing, func(s *story) {
			s.add(system, "session.recovered",
				`{"sessionId":"work"}`)
		}},
		{"timed out without a timeout", broken(ruleTimeout), nothing, func(s *story) {
			timedOut(s, "work",
				s.milli(0))
		}},
		{"timed out too early", broken(ruleTimeout), nothing, func(s *story) {
			timedOut(s, "pull", s.deadline("pull",
				time.Hour))
		}},
		{"timed out at another deadline", broken(ruleTimeout), nothing, func(s *story) {
			timedOut(s, "pull",
				s.milli(0))
		}},
		{
			"timed out after it was killed", broken(ruleEnded), func(s *story) { s.kill("pull").wait(time.Hour) },
			func(s *story) {
				timedOut(s, "pull", s.deadline("pull", time.Hour))
			},
		},
	}
}
