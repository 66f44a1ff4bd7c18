package oracle

// linePlants are about the order of a queue.
func linePlants() []plant {
	return []plant{
		{"a queue twice", broken(ruleQueue), nothing, func(s *story) {
			s.add(admin, "queue.created",
				`{"queue":"pull","maxAttempts":3}`)
		}},
		{"a queue without attempts", broken(ruleQueue), nothing, func(s *story) {
			s.add(admin, "queue.created",
				`{"queue":"x"}`)
		}},
		{"a task is already in the queue", broken(ruleQueue), nothing, func(s *story) {
			s.add(pull, "queue.item_pushed", `{"queue":"pull","taskId":"e"}`)
		}},
		{"a completed item's task is already in the queue", broken(ruleQueue), func(s *story) {
			s.start(pull, "pull", "e", 1, 1).item(pull, "completed", "pull", "e", "pull", "")
		}, func(s *story) { s.add(admin, "queue.item_pushed", `{"queue":"pull","taskId":"e"}`) }},
		{"the second item is started before the first", broken(ruleOrder), nothing, func(s *story) {
			s.start(pull, "pull", "f", 1,
				2)
		}},
		{"an item is started before its dependency", broken(ruleOrder), nothing, func(s *story) {
			s.start(pull, "pull", "c", 1, 0)
		}},
		{
			"an item with a satisfied dependency is passed over", broken(ruleOrder), func(s *story) {
				s.status(orch, "b",
					"in_progress", "completed")
			},
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{
			"a report satisfies a dependency in a queue that trusts none", broken(ruleOrder), func(s *story) {
				s.report(work,
					"complete", `,"taskIds":["b"]`)
			},
			func(s *story) { s.start(pull, "pull", "c", 1, 0) },
		},
		{
			"a deleted task that was not completed satisfies a dependency", broken(ruleOrder), func(s *story) {
				s.add(admin,
					"task.deleted", `{"taskId":"b"}`)
			},
			func(s *story) { s.start(pull, "pull", "c", 1, 0) },
		},
		{"a deleted task that was completed does not satisfy a dependency", broken(ruleOrder), func(s *story) {
			s.status(orch, "b", "in_progress", "completed").add(admin, "task.deleted", `{"taskId":"b"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{
			"a blocked task is started", broken(ruleOrder), func(s *story) { s.status(admin, "e", "todo", "blocked") },
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{
			"a completed task is started", broken(ruleOrder), func(s *story) {
				s.status(admin, "e", "todo",
					"completed")
			},
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{"a cancelled task is started", broken(ruleOrder), func(s *story) {
			s.cancel(admin, "e", "todo")
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"an item other than the next is skipped", broken(ruleOrder), nothing, func(s *story) {
			s.item(pull, "skipped",
				"pull", "f", "pull", "")
		}},
		{
			"a returned item is at the end", broken(ruleOrder), returnedItem,
			func(s *story) { s.start(source("pull2"), "pull", "f", 1, 1) },
		},
		{"returned items are in the order of their return", broken(ruleOrder), func(s *story) {
			s.puller("x", "pull").puller("y", "pull").puller("z", "pull")
			s.start(source("x"), "pull", "e", 1, 1).start(source("y"), "pull", "f", 1, 1)
			s.kill("y").item(system, "returned", "pull", "f", "y", `,"attempt":1,"reason":"stopped"`)
			s.kill("x").item(system, "returned", "pull", "e", "x", `,"attempt":1,"reason":"stopped"`)
		}, func(s *story) { s.start(source("z"), "pull", "f", 2, 1) }},
		{"a requeued item keeps its place", broken(ruleOrder), func(s *story) {
			s.item(pull, "skipped", "pull", "e", "pull", "").add(admin, "queue.item_requeued",
				`{"queue":"pull","taskId":"e"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"a trusted report of a session that works on the task again", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(work, "complete", `,"taskIds":["b"]`).report(work, "progress", `,"taskIds":["b"]`)
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"a trusted report of an ended session that a live one contradicts later", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(work, "complete", `,"taskIds":["b"]`).kill("work").report(orch, "progress", `,"taskIds":["b"]`)
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"a trusted report is forgotten when its session ends", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(orch, "progress", `,"taskIds":["b"]`).report(work, "complete", `,"taskIds":["b"]`).kill("work")
		}, func(s *story) { s.start(source("x"), "pool", "e", 1, 1) }},
		{"a trusted report that is late", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.kill("work").kept("work", "complete", 1, `,"taskIds":["b"]`)
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"a trusted report that a reopening removed", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(work, "complete", `,"taskIds":["b"]`).reopen(orch, "b", "in_progress", "m")
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"a trusted report is ignored", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(work, "complete", `,"taskIds":["b"]`).kill("work")
		}, func(s *story) { s.start(source("x"), "pool", "e", 1, 1) }},
		{"too few items are counted as passed over", broken(rulePassed), nothing, func(s *story) {
			s.start(pull, "pull", "e", 1, 0)
		}},
		{
			"a deleted task's item is counted as passed over", broken(rulePassed), func(s *story) {
				s.add(admin, "task.deleted",
					`{"taskId":"c"}`)
			},
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
	}
}

// returnedItem: a killed session held e, which is returned; pull2 pulls from the same queue.
func returnedItem(s *story) {
	s.puller("dead", "pull").puller("pull2", "pull").start(source("dead"), "pull", "e", 1, 1).kill("dead")
	s.item(system, "returned", "pull", "e", "dead", `,"attempt":1,"reason":"stopped"`)
}

// trusted: the queue pool trusts reports; in it, c waits for b, and e for nothing. Session x pulls from it.
func trusted(s *story) {
	s.add(admin, "queue.created", `{"queue":"pool","trustReports":true,"maxAttempts":3}`)
	s.add(admin, "queue.item_pushed", `{"queue":"pool","taskId":"c"}`).add(admin, "queue.item_pushed",
		`{"queue":"pool","taskId":"e"}`)
	s.puller("x", "pool")
}

// itemPlants are about the holders of items.
func itemPlants() []plant {
	held := func(s *story) { s.puller("pull2", "pull").start(pull, "pull", "e", 1, 1) }
	pool := func(s *story) {
		s.add(admin, "queue.created", `{"queue":"pool","maxAttempts":3}`).add(admin, "queue.item_pushed",
			`{"queue":"pool","taskId":"e"}`)
	}
	return []plant{
		{"two sessions hold an item", broken(ruleHolder, ruleAttempt), held, func(s *story) {
			s.start(source("pull2"),
				"pull", "e", 1, 1)
		}},
		{"a session holds two items", broken(ruleHolder), held, func(s *story) { s.start(pull, "pull", "f", 1, 1) }},
		{
			"a skipped item is started", broken(ruleHolder), func(s *story) {
				s.item(pull, "skipped", "pull", "e",
					"pull", "")
			},
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{"another session completes an item", broken(ruleHolder), held, func(s *story) {
			s.item(source("pull2"), "completed",
				"pull", "e", "pull2", "")
		}},
		{"another session fails an item", broken(ruleHolder), held, func(s *story) {
			s.item(source("pull2"), "failed", "pull", "e",
				"pull2", "")
		}},
		{"another session skips an item", broken(ruleHolder), held, func(s *story) {
			s.item(source("pull2"), "skipped", "pull", "e", "pull2", `,"held":true`)
		}},
		{
			"an item is completed twice", broken(ruleHolder), func(s *story) {
				held(s)
				s.item(pull, "completed", "pull",
					"e", "pull", "")
			},
			func(s *story) { s.item(pull, "completed", "pull", "e", "pull", "") },
		},
		{"the item of a blocked task is completed", broken(ruleHolder), func(s *story) {
			held(s)
			s.status(admin, "e", "in_progress", "blocked")
		}, func(s *story) { s.item(pull, "completed", "pull", "e", "pull", "") }},
		{"an item that nobody held is completed", broken(ruleHolder), nothing, func(s *story) {
			s.item(pull, "completed", "pull", "e",
				"pull", "")
		}},
		{"a session that holds an item skips the next", broken(ruleHolder), held, func(s *story) {
			s.item(pull, "skipped",
				"pull", "f", "pull", "")
		}},
		{"an item that another holds is skipped as the next", broken(ruleHolder), held, func(s *story) {
			s.item(source("pull2"), "skipped", "pull", "e", "pull2", "")
		}},
		{"a lost session completes an item that was returned", broken(ruleHolder), func(s *story) {
			held(s)
			s.lose("pull").item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`)
			s.add(system, "session.recovered", `{"sessionId":"pull"}`)
		}, func(s *story) { s.item(pull, "completed", "pull", "e", "pull", "") }},
		{"a session pulls from another queue", broken(rulePull), pool, func(s *story) {
			s.start(pull, "pool", "e", 1, 0)
		}},
		{"a user starts an item for a worker without a queue", broken(rulePull), pool, func(s *story) {
			s.add(admin, "queue.item_started", `{"queue":"pool","taskId":"e","sessionId":"work","attempt":1}`)
		}},
		{"a lost session pulls", broken(rulePull), func(s *story) { s.lose("pull") }, func(s *story) {
			s.start(pull,
				"pull", "e", 1, 1)
		}},
		{"a session that reported its completion pulls", broken(rulePull), func(s *story) {
			s.add(pull, "session.completed", `{"sessionId":"pull"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"a user starts an item for an ended session", broken(rulePull), func(s *story) {
			s.kill("pull")
		}, func(s *story) {
			s.add(admin, "queue.item_started",
				`{"queue":"pull","taskId":"e","sessionId":"pull","attempt":1,"passedOver":1}`)
		}},
		{"an ended session pulls", broken(ruleEnded), func(s *story) { s.kill("pull") }, func(s *story) {
			s.start(pull,
				"pull", "e", 1, 1)
		}},
		{"a first start has attempt 2", broken(ruleAttempt), nothing, func(s *story) {
			s.start(pull, "pull", "e", 2,
				1)
		}},
		{"a second start has attempt 1", broken(ruleAttempt), returnedItem, func(s *story) {
			s.start(pull, "pull", "e",
				1, 0)
		}},
		{"attempts are counted from before the requeue", broken(ruleAttempt), func(s *story) {
			held(s)
			s.item(pull, "failed", "pull", "e", "pull", "").add(admin, "queue.item_requeued",
				`{"queue":"pull","taskId":"e"}`)
			s.add(admin, "task.deleted", `{"taskId":"f"}`).add(admin, "task.deleted", `{"taskId":"g"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 2, 1) }},
		{"a held item is moved", broken(ruleMoved), held, func(s *story) {
			s.add(admin, "queue.item_moved", `{"queue":"pull","taskId":"e"}`)
		}},
		{"an item is moved before a held one", broken(ruleMoved), held, func(s *story) {
			s.add(admin, "queue.item_moved", `{"queue":"pull","taskId":"f","before":"e"}`)
		}},
		{"a held item is removed", broken(ruleMoved), held, func(s *story) {
			s.add(admin, "queue.item_removed", `{"queue":"pull","taskId":"e"}`)
		}},
		{"a queue with items is deleted", broken(ruleMoved), pool, func(s *story) {
			s.add(admin, "queue.deleted", `{"queue":"pool"}`)
		}},
		{"a session deletes a queue", broken(rulePermitted), func(s *story) {
			s.add(admin, "queue.created", `{"queue":"pool","maxAttempts":3}`)
		}, func(s *story) { s.add(pull, "queue.deleted", `{"queue":"pool"}`) }},
		{"a queued item is requeued", broken(ruleRequeue), nothing, func(s *story) {
			s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`)
		}},
		{"a held item is requeued", broken(ruleRequeue), held, func(s *story) {
			s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`)
		}},
		{
			"a completed item is requeued", broken(ruleRequeue), func(s *story) {
				held(s)
				s.item(pull,
					"completed", "pull", "e", "pull", "")
			},
			func(s *story) { s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`) },
		},
	}
}

// returnPlants are about items whose holder is gone.
func returnPlants() []plant {
	held := func(s *story) { s.start(pull, "pull", "e", 1, 1) }
	killed := func(s *story) { held(s); s.kill("pull") }
	last := func(s *story) {
		s.puller("x1", "pull").start(source("x1"), "pull", "e", 1, 1).kill("x1")
		s.item(system, "returned", "pull", "e", "x1", `,"attempt":1,"reason":"stopped"`)
		s.puller("x2", "pull").start(source("x2"), "pull", "e", 2, 0).kill("x2")
		s.item(system, "returned", "pull", "e", "x2", `,"attempt":2,"reason":"stopped"`)
		s.puller("x3", "pull").start(source("x3"), "pull", "e", 3, 0).kill("x3")
	}
	return []plant{
		{"an item is taken from a live holder", broken(ruleReturn), held, func(s *story) {
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`)
		}},
		{"an item is taken from a holder that only reported its completion", broken(ruleReturn), func(s *story) {
			held(s)
			s.add(pull, "session.completed", `{"sessionId":"pull"}`)
		}, func(s *story) { s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`) }},
		{"an item is taken from a recovered holder", broken(ruleReturn), func(s *story) {
			held(s)
			s.lose("pull").add(system, "session.recovered", `{"sessionId":"pull"}`)
		}, func(s *story) { s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`) }},
		{"an item is returned with a wrong reason", broken(ruleReturn), killed, func(s *story) {
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`)
		}},
		{"an item is quarantined after its first attempt", broken(ruleReturn), killed, func(s *story) {
			s.item(system, "quarantined", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`)
		}},
		{"an item is returned after its last attempt", broken(ruleReturn), last, func(s *story) {
			s.item(system, "returned", "pull", "e", "x3", `,"attempt":3,"reason":"stopped"`)
		}},
		{"an item is returned with a wrong attempt", broken(ruleAttempt), killed, func(s *story) {
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":2,"reason":"stopped"`)
		}},
		{"an item is returned from a session that did not hold it", broken(ruleHolder), func(s *story) {
			held(s)
			s.puller("dead", "pull").kill("dead")
		}, func(s *story) { s.item(system, "returned", "pull", "e", "dead", `,"attempt":1,"reason":"stopped"`) }},
		{"an item is returned twice", broken(ruleHolder), func(s *story) {
			killed(s)
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`)
		}, func(s *story) { s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`) }},
		{"a user returns an item", broken(ruleSystem), killed, func(s *story) {
			s.item(admin, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`)
		}},
	}
}
