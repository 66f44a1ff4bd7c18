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
		{"a start with another manifest", broken(ruleManifest), given, begins(me, "new", "worker", second)},
		{
			"a start with the manifest before", broken(ruleManifest), both(given, issued(admin, "new", second)),
			begins(me, "new", "worker", first),
		},
		{"a second start with another manifest", broken(ruleManifest), both(given, begins(me, "new", "worker",
			first)), begins(me, "new", "worker", second)},
		{"a start with a manifest that was never given", broken(ruleManifest), nothing, begins(work, "work", "worker",
			first)},
		{"a start that names no manifest", broken(ruleManifest), given, begins(me, "new", "worker", "")},
		{"a start without a role", broken(ruleManifest), given, begins(me, "new", "", first)},
		{"a worker starts as an orchestrator", broken(rulePermitted, ruleManifest), given, begins(me, "new",
			"orchestrator", first)},
		{"an orchestrator starts as a worker", broken(rulePermitted, ruleManifest), boss, begins(source("boss"), "boss",
			"worker", first)},
		{"a session starts another", broken(ruleOwn), given, begins(work, "new", "worker", first)},
		{"a user starts a worker", broken(rulePermitted), given, begins(admin, "new", "worker", first)},
		{"a user starts an orchestrator", broken(rulePermitted), boss, begins(admin, "boss", "orchestrator", first)},
		{"the system starts a session", broken(ruleSystem), given, begins(system, "new", "worker", first)},
		{"a killed session starts", broken(ruleEnded), both(given, func(s *story) { s.kill("new") }), begins(me, "new",
			"worker", first)},
		{"a session is created and started by one event", broken(ruleManifest), nothing, func(s *story) {
			s.add(admin, "session.registered",
				`{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+byDefault("W")+
					`},"role":"worker"}`)
		}},
		{"a registration with an invalid digest", broken(ruleManifest), nothing, func(s *story) {
			s.add(admin, "session.registered",
				`{"sessionId":"x","created":{"role":"worker","strategy":"simple","status":"running",`+byDefault("W")+
					`},"manifestDigest":"sha256-1"}`)
		}},
		{"a spawn with an invalid digest", broken(ruleManifest), nothing, func(s *story) {
			s.spawn("x", worker+manifest("sha256-"+strings.Repeat("A", 64))+byDefault("W"))
		}},
		{
			"a manifest is reissued with an invalid digest", broken(ruleManifest),
			given, issued(admin, "new", "../manifest"),
		},
		{"a manifest is reissued without a digest", broken(ruleManifest), given, issued(admin, "new", "")},
		{
			"an orchestrator reissues the manifest of a session that it did not spawn", broken(ruleSpawner),
			given, issued(orch, "new", second),
		},
		{"a session reissues its own manifest", broken(rulePermitted, ruleSpawner), given, issued(me, "new", second)},
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
		spawned("a user spawns for a session that does not exist", ruleSpawn, worker+`,"spawnedBy":"none"`),
		{"a user spawns for a deleted session", broken(ruleSpawn), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"orch"}`)
		}, func(s *story) { s.spawn("x", worker+`,"spawnedBy":"orch",`+byDefault("W")) }},
		{"a user spawns for a session of another project", broken(ruleSpawn), nothing, func(s *story) {
			s.spawn("x", worker+`,"spawnedBy":"orch",`+byDefault("W"), with("partitionkey", "p2"))
		}},
		{"an orchestrator spawns for another session", broken(ruleSpawn), nothing, func(s *story) {
			s.add(orch, "session.spawned", `{"sessionId":"x","spawnedBy":"work",`+worker+`,`+byDefault("W")+`}`)
		}},
		spawned("a spawn starts a task that is not the session's", ruleSpawn, worker+`,"started":["free"]`),
		spawned("a strict spawn has unmet dependencies", ruleSpawn,
			worker+`,"taskIds":["c"],"started":["c"],"strict":true,"unmetDependencies":["b"]`),
		spawned("a spawn does not list an unmet dependency", ruleSpawn, worker+`,"taskIds":["c"],"started":["c"]`),
		{
			"a spawn treats a report as a status", broken(ruleSpawn), func(s *story) {
				s.report(work, "complete",
					`,"taskIds":["b"]`)
			},
			func(s *story) { s.spawn("x", worker+`,"taskIds":["c"],"started":["c"],`+byDefault("W")) },
		},
		spawned("a spawn lists a dependency that its task does not have", ruleSpawn,
			worker+`,"taskIds":["free"],"started":["free"],"unmetDependencies":["b"]`),
		spawned("a spawn with a queue but without the strategy", ruleSpawn, worker+`,"queue":"x"`),
		spawned("a negative timeout", ruleSpawn, worker+`,"timeout":-1`),
		queued("a queue that does not exist", `"queue":"y",`),
		queued("a queue session's tasks are not pushed", `"queue":"x","taskIds":["free"],`),
		queued("a queue session's tasks are pushed in another order",
			`"queue":"x","taskIds":["free","a"],"queued":["a","free"],`),
		queued("a queue session's tasks are already in the queue", `"queue":"pull","taskIds":["e"],"queued":["e"],`),
		{"an orchestrator spawns without being named as the spawner", broken(ruleSpawn), nothing, func(s *story) {
			s.add(orch, "session.spawned", `{"sessionId":"x",`+worker+`,`+byDefault("W")+`}`)
		}},
		spawned("a spawn starts a task that is in progress", ruleStatus, worker+`,"taskIds":["a"],"started":["a"]`),
		spawned("a spawn does not start its task", ruleStatus, worker+`,"taskIds":["free"]`),
		{"a queue session's spawn starts its task", broken(ruleStatus), nothing, func(s *story) {
			s.spawn("x",
				`"role":"worker","strategy":"queue","queue":"x","taskIds":["free"],"queued":["free"],`+
					`"started":["free"],`+byDefault("Q"))
		}},
	}
}

func reportPlants() []plant {
	reports := func(name, rule, source, kind, more string) plant {
		return plant{name, broken(rule), nothing, func(s *story) { s.report(source, kind, more) }}
	}
	return []plant{
		reports("a task of another session", ruleReportTasks, work, "progress", `,"taskIds":["b","e"]`),
		reports("a task above the session's own", ruleReportTasks, pull, "progress", `,"taskIds":["d"]`),
		reports("an orchestrator reports on another project's task", ruleReportTasks, orch, "progress",
			`,"taskIds":["other"]`),
		{"a task that was unlinked from the session", broken(ruleReportTasks), func(s *story) {
			s.add(admin, "session.task_unlinked", `{"sessionId":"work","taskId":"b"}`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["b"]`) }},
		{"a task below one that the session created", broken(ruleReportTasks), func(s *story) {
			s.add(work, "task.created", `{"taskId":"own","title":"x"}`).report(work, "progress",
				`,"taskIds":["own"]`).task("below", `,"parentId":"own"`)
		}, func(s *story) { s.report(work, "progress", `,"taskIds":["below"]`) }},
		{"a task of an item that the session does not hold", broken(ruleReportTasks), func(s *story) {
			s.puller("pull2", "pull").start(source("pull2"), "pull", "e", 1, 1).report(source("pull2"), "progress",
				`,"taskIds":["e"]`)
		}, func(s *story) { s.report(source("pull2"), "progress", `,"taskIds":["f"]`) }},
		{"progress completes the session", broken(ruleReport), nothing, func(s *story) {
			s.report(work, "progress",
				`,"sessionCompleted":true`)
		}},
		reports("a report on a task completes the session", ruleReport, work, "complete",
			`,"taskIds":["b"],"sessionCompleted":true`),
		reports("a report on no task does not complete the session", ruleReport, work, "complete", ""),
		reports("progress opens a question", ruleReport, work, "progress", `,"inputId":"i"`),
		reports("options without a question", ruleReport, work, "error", `,"options":["a"]`),
		{"an unknown kind", broken(rulePermitted, ruleReport), nothing, func(s *story) {
			s.report(work, "boredom",
				"")
		}},
		reports("a report before the session's end is late", ruleLate, work, "progress", `,"late":true`),
		{"a report after the session's end is not late", broken(ruleLate), func(s *story) {
			s.kill("work")
		}, func(s *story) {
			s.report(work,
				"progress", "")
		}},
		{"a report after the session's deletion is not late", broken(ruleLate), func(s *story) {
			s.add(admin, "session.deleted", `{"sessionId":"work"}`)
		}, func(s *story) { s.report(work, "progress", "") }},
		{"a late report completes the session", broken(ruleLate), func(s *story) { s.kill("work") }, func(s *story) {
			s.late(work, time.Minute, "complete", `,"sessionCompleted":true`)
		}},
		{"a late report opens a question", broken(ruleLate), func(s *story) { s.kill("work") }, func(s *story) {
			s.late(work, time.Minute, "needs-input", `,"inputId":"i"`)
		}},
		{
			"a late report without a time", broken(ruleLate), func(s *story) { s.kill("work") },
			func(s *story) {
				s.report(work, "progress", `,"late":true`)
			},
		},
		{
			"a late report from after the session's end", broken(ruleLate),
			func(s *story) { s.kill("work").wait(time.Minute) },
			func(s *story) {
				s.late(work, time.Minute, "progress", "")
			},
		},
		{"a late report from after the session's timeout", broken(ruleLate), func(s *story) {
			s.wait(time.Hour)
			s.add(system, "session.timed_out", fmt.Sprintf(`{"sessionId":"pull","deadline":%d}`, s.deadline("pull",
				time.Hour))).wait(time.Minute)
		}, func(s *story) { s.late(pull, time.Minute, "progress", "") }},
		{
			"a late report from before its session was created", broken(ruleLate), func(s *story) { s.kill("work") },
			func(s *story) {
				s.late(work, s.now.Add(time.Second).Sub(s.born["work"])+time.Millisecond, "progress", "")
			},
		},
		{"one late report too many", broken(ruleLimit), func(s *story) {
			s.kill("work")
			for range maxLate {
				s.kept("work", "progress", 1, "")
			}
		}, func(s *story) { s.kept("work", "progress", 1, "") }},
		{"one byte of late reports too many", broken(ruleLimit), func(s *story) {
			s.kill("work").kept("work", "progress", maxLateBytes, "")
		}, func(s *story) { s.kept("work", "progress", 1, "") }},
		{"one task of late reports too many", broken(ruleLimit), func(s *story) {
			s.kill("work").kept("work", "progress", maxLateBytes-1, `,"taskIds":["b"]`)
		}, func(s *story) { s.kept("work", "progress", 0, `,"taskIds":["b"]`) }},
		{"one option of late reports too many", broken(ruleLimit), func(s *story) {
			s.kill("work").kept("work", "needs-input", maxLateBytes-1, `,"options":["o"]`)
		}, func(s *story) { s.kept("work", "needs-input", 0, `,"options":["o"]`) }},
		{"one long text of late reports too many", broken(ruleLimit), func(s *story) {
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
		{"a session that is not lost recovers", broken(ruleLease), nothing, func(s *story) {
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
