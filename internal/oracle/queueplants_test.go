package oracle

// linePlants are about who stands where in a queue.
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
		{"a task stands there already", broken(ruleQueue), nothing, func(s *story) {
			s.add(pull, "queue.item_pushed", `{"queue":"pull","taskId":"e"}`)
		}},
		{"a task that is done stands there already", broken(ruleQueue), func(s *story) {
			s.start(pull, "pull", "e", 1, 1).item(pull, "completed", "pull", "e", "pull", "")
		}, func(s *story) { s.add(admin, "queue.item_pushed", `{"queue":"pull","taskId":"e"}`) }},
		{"the second before the first", broken(ruleOrder), nothing, func(s *story) {
			s.start(pull, "pull", "f", 1,
				2)
		}},
		{"before its dependency", broken(ruleOrder), nothing, func(s *story) { s.start(pull, "pull", "c", 1, 0) }},
		{
			"passed over, and its dependency is satisfied", broken(ruleOrder), func(s *story) {
				s.status(orch, "b",
					"in_progress", "completed")
			},
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{
			"on an agent's word, and the queue trusts none", broken(ruleOrder), func(s *story) {
				s.report(work,
					"complete", `,"taskIds":["b"]`)
			},
			func(s *story) { s.start(pull, "pull", "c", 1, 0) },
		},
		{
			"its dependency is deleted, and was not completed", broken(ruleOrder), func(s *story) {
				s.add(admin,
					"task.deleted", `{"taskId":"b"}`)
			},
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
			"a completed task is started", broken(ruleOrder), func(s *story) {
				s.status(admin, "e", "todo",
					"completed")
			},
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{"a cancelled task is started", broken(ruleOrder), func(s *story) {
			s.cancel(admin, "e", "todo")
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"another than the next is skipped", broken(ruleOrder), nothing, func(s *story) {
			s.item(pull, "skipped",
				"pull", "f", "pull", "")
		}},
		{
			"what was given back stands at the end", broken(ruleOrder), givenBack,
			func(s *story) { s.start(source("pull2"), "pull", "f", 1, 1) },
		},
		{"given back late stands behind given back early", broken(ruleOrder), func(s *story) {
			s.puller("x", "pull").puller("y", "pull").puller("z", "pull")
			s.start(source("x"), "pull", "e", 1, 1).start(source("y"), "pull", "f", 1, 1)
			s.kill("y").item(system, "returned", "pull", "f", "y", `,"attempt":1,"reason":"stopped"`)
			s.kill("x").item(system, "returned", "pull", "e", "x", `,"attempt":1,"reason":"stopped"`)
		}, func(s *story) { s.start(source("z"), "pull", "f", 2, 1) }},
		{"queued again stands where it was", broken(ruleOrder), func(s *story) {
			s.item(pull, "skipped", "pull", "e", "pull", "").add(admin, "queue.item_requeued",
				`{"queue":"pull","taskId":"e"}`)
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
			s.report(work, "complete", `,"taskIds":["b"]`).reopen(orch, "b", "in_progress", "m")
		}, func(s *story) { s.start(source("x"), "pool", "c", 1, 0) }},
		{"trusted word is not taken", broken(ruleOrder), func(s *story) {
			trusted(s)
			s.report(work, "complete", `,"taskIds":["b"]`).kill("work")
		}, func(s *story) { s.start(source("x"), "pool", "e", 1, 1) }},
		{"too few passed over", broken(rulePassed), nothing, func(s *story) { s.start(pull, "pull", "e", 1, 0) }},
		{
			"the deleted are not in line", broken(rulePassed), func(s *story) {
				s.add(admin, "task.deleted",
					`{"taskId":"c"}`)
			},
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
	}
}

// givenBack: pull2 was killed with e held; another pulls from the same queue.
func givenBack(s *story) {
	s.puller("dead", "pull").puller("pull2", "pull").start(source("dead"), "pull", "e", 1, 1).kill("dead")
	s.item(system, "returned", "pull", "e", "dead", `,"attempt":1,"reason":"stopped"`)
}

// trusted: in the queue pool, which trusts reports, c waits for b and e for nothing; session x pulls from it.
func trusted(s *story) {
	s.add(admin, "queue.created", `{"queue":"pool","trustReports":true,"maxAttempts":3}`)
	s.add(admin, "queue.item_pushed", `{"queue":"pool","taskId":"c"}`).add(admin, "queue.item_pushed",
		`{"queue":"pool","taskId":"e"}`)
	s.puller("x", "pool")
}

// itemPlants are about who holds an item.
func itemPlants() []plant {
	held := func(s *story) { s.puller("pull2", "pull").start(pull, "pull", "e", 1, 1) }
	pool := func(s *story) {
		s.add(admin, "queue.created", `{"queue":"pool","maxAttempts":3}`).add(admin, "queue.item_pushed",
			`{"queue":"pool","taskId":"e"}`)
	}
	return []plant{
		{"an item in two hands", broken(ruleHolder, ruleAttempt), held, func(s *story) {
			s.start(source("pull2"),
				"pull", "e", 1, 1)
		}},
		{"two items in one hand", broken(ruleHolder), held, func(s *story) { s.start(pull, "pull", "f", 1, 1) }},
		{
			"a skipped item is started", broken(ruleHolder), func(s *story) {
				s.item(pull, "skipped", "pull", "e",
					"pull", "")
			},
			func(s *story) { s.start(pull, "pull", "e", 1, 1) },
		},
		{"another completes it", broken(ruleHolder), held, func(s *story) {
			s.item(source("pull2"), "completed",
				"pull", "e", "pull2", "")
		}},
		{"another fails it", broken(ruleHolder), held, func(s *story) {
			s.item(source("pull2"), "failed", "pull", "e",
				"pull2", "")
		}},
		{"another skips it", broken(ruleHolder), held, func(s *story) {
			s.item(source("pull2"), "skipped", "pull", "e", "pull2", `,"held":true`)
		}},
		{
			"it is completed twice", broken(ruleHolder), func(s *story) {
				held(s)
				s.item(pull, "completed", "pull",
					"e", "pull", "")
			},
			func(s *story) { s.item(pull, "completed", "pull", "e", "pull", "") },
		},
		{"nobody held it", broken(ruleHolder), nothing, func(s *story) {
			s.item(pull, "completed", "pull", "e",
				"pull", "")
		}},
		{"one held, and the next is skipped", broken(ruleHolder), held, func(s *story) {
			s.item(pull, "skipped",
				"pull", "f", "pull", "")
		}},
		{"what another holds is skipped as the next", broken(ruleHolder), held, func(s *story) {
			s.item(source("pull2"), "skipped", "pull", "e", "pull2", "")
		}},
		{"a lost session completes what was given back", broken(ruleHolder), func(s *story) {
			held(s)
			s.lose("pull").item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`)
			s.add(system, "session.recovered", `{"sessionId":"pull"}`)
		}, func(s *story) { s.item(pull, "completed", "pull", "e", "pull", "") }},
		{"from another's queue", broken(rulePull), pool, func(s *story) { s.start(pull, "pool", "e", 1, 0) }},
		{"a worker without a queue, by the user's hand", broken(rulePull), pool, func(s *story) {
			s.add(admin, "queue.item_started", `{"queue":"pool","taskId":"e","sessionId":"work","attempt":1}`)
		}},
		{"a lost session pulls", broken(rulePull), func(s *story) { s.lose("pull") }, func(s *story) {
			s.start(pull,
				"pull", "e", 1, 1)
		}},
		{"a session that said that it is done pulls", broken(rulePull), func(s *story) {
			s.add(pull, "session.completed", `{"sessionId":"pull"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 1, 1) }},
		{"for an ended session", broken(rulePull), func(s *story) { s.kill("pull") }, func(s *story) {
			s.add(admin, "queue.item_started",
				`{"queue":"pull","taskId":"e","sessionId":"pull","attempt":1,"passedOver":1}`)
		}},
		{"an ended session pulls", broken(ruleEnded), func(s *story) { s.kill("pull") }, func(s *story) {
			s.start(pull,
				"pull", "e", 1, 1)
		}},
		{"a first start that counts two", broken(ruleAttempt), nothing, func(s *story) {
			s.start(pull, "pull", "e", 2,
				1)
		}},
		{"a second start that counts one", broken(ruleAttempt), givenBack, func(s *story) {
			s.start(pull, "pull", "e",
				1, 0)
		}},
		{"an attempt from before it was queued again", broken(ruleAttempt), func(s *story) {
			held(s)
			s.item(pull, "failed", "pull", "e", "pull", "").add(admin, "queue.item_requeued",
				`{"queue":"pull","taskId":"e"}`)
			s.add(admin, "task.deleted", `{"taskId":"f"}`).add(admin, "task.deleted", `{"taskId":"g"}`)
		}, func(s *story) { s.start(pull, "pull", "e", 2, 1) }},
		{"an item held is moved", broken(ruleMoved), held, func(s *story) {
			s.add(admin, "queue.item_moved", `{"queue":"pull","taskId":"e"}`)
		}},
		{"an item is moved before one held", broken(ruleMoved), held, func(s *story) {
			s.add(admin, "queue.item_moved", `{"queue":"pull","taskId":"f","before":"e"}`)
		}},
		{"an item held is removed", broken(ruleMoved), held, func(s *story) {
			s.add(admin, "queue.item_removed", `{"queue":"pull","taskId":"e"}`)
		}},
		{"a queue with items is deleted", broken(ruleMoved), pool, func(s *story) {
			s.add(admin, "queue.deleted", `{"queue":"pool"}`)
		}},
		{"a session deletes a queue", broken(rulePermitted), func(s *story) {
			s.add(admin, "queue.created", `{"queue":"pool","maxAttempts":3}`)
		}, func(s *story) { s.add(pull, "queue.deleted", `{"queue":"pool"}`) }},
		{"a queued item is queued again", broken(ruleRequeue), nothing, func(s *story) {
			s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`)
		}},
		{"an item held is queued again", broken(ruleRequeue), held, func(s *story) {
			s.add(admin, "queue.item_requeued", `{"queue":"pull","taskId":"e"}`)
		}},
		{
			"a completed item is queued again", broken(ruleRequeue), func(s *story) {
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
		{"its holder is alive", broken(ruleReturn), held, func(s *story) {
			s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"lost"`)
		}},
		{"its holder only said that it is done", broken(ruleReturn), func(s *story) {
			held(s)
			s.add(pull, "session.completed", `{"sessionId":"pull"}`)
		}, func(s *story) { s.item(system, "returned", "pull", "e", "pull", `,"attempt":1,"reason":"stopped"`) }},
		{"its holder is well again", broken(ruleReturn), func(s *story) {
			held(s)
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
			held(s)
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
