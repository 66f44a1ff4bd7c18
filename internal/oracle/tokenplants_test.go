package oracle

import (
	"fmt"
	"strconv"
	"strings"
)

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
		{"an answer to another session", broken(ruleQuestion), asked, func(s *story) {
			s.add(admin, "input.answered", `{"inputId":"i","sessionId":"orch","answer":"yes"}`)
		}},
		{"one answer of an orchestrator too many", broken(ruleLimit), func(s *story) {
			for n := range maxMail {
				id := strconv.Itoa(n)
				s.report(work, "needs-input", `,"inputId":"`+id+`"`)
				s.add(orch, "input.answered", `{"inputId":"`+id+`","sessionId":"work","answer":"x"}`)
			}
			asked(s)
		}, func(s *story) { s.add(orch, "input.answered", `{"inputId":"i","sessionId":"work","answer":"yes"}`) }},
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

func messagePlants() []plant {
	write := func(source, to, id, text string) func(s *story) {
		return func(s *story) {
			s.add(source, "session.messaged", `{"sessionId":"`+to+`","messageId":"`+id+`","text":"`+text+`"}`)
		}
	}
	received := func(s *story) {
		s.add(work, "input.delivered", `{"inputId":"m","sessionId":"work"}`, s.because(s.last))
	}
	sent := write(orch, "work", "m", "Go on")
	return []plant{
		{"a message to a session that does not exist", broken(ruleExists), nothing, write(admin, "none", "m", "x")},
		{"an empty message", broken(ruleSession), nothing, write(admin, "work", "m", " ")},
		{"a message twice", broken(ruleExists), sent, sent},
		{"a message to an unrelated session", broken(ruleSpawner), nothing, write(work, "pull", "m", "x")},
		{"a message to an ended session", broken(ruleEnded), func(s *story) { s.kill("work") }, write(orch, "work", "m",
			"x")},
		{"a message to a session that said that it is done", broken(ruleEnded), func(s *story) {
			s.add(work, "session.completed", `{"sessionId":"work"}`)
		}, write(admin, "work", "m", "x")},
		{"a message that is forced for no reason", broken(ruleEnded), nothing, func(s *story) {
			s.add(orch, "session.messaged", `{"sessionId":"work","messageId":"m","text":"x","forced":true}`)
		}},
		{"a message about a task that does not exist", broken(ruleExists), nothing, func(s *story) {
			s.add(orch, "session.messaged", `{"sessionId":"work","messageId":"m","text":"x","about":"none"}`)
		}},
		{"one message of a session too many", broken(ruleLimit), func(s *story) {
			for n := range maxMailFromOne {
				write(orch, "work", "m"+strconv.Itoa(n), "x")(s)
			}
		}, write(orch, "work", "m", "x")},
		{"one message of a user too many", broken(ruleLimit), func(s *story) {
			for n := range maxMail {
				write(admin, "work", "m"+strconv.Itoa(n), "x")(s)
			}
			write(orch, "work", "o", "x")(s) // sessions have room of their own
		}, write(admin, "work", "m", "x")},
		{
			"a message too long", broken(ruleLimit), nothing,
			write(admin, "work", "m", strings.Repeat("x", maxMessage+1)),
		},
		{"a message is received twice", broken(ruleExists), func(s *story) { sent(s); received(s) }, received},
		{"a session receives a message for another", broken(ruleOwn), sent, func(s *story) {
			s.add(orch, "input.delivered", `{"inputId":"m","sessionId":"work"}`)
		}},
	}
}

func noticePlants() []plant {
	blocked := func(s *story) { s.status(admin, "b", "in_progress", "blocked") }
	opened := func(notice string) func(s *story) {
		return func(s *story) {
			s.add(admin, "task.status_changed", `{"taskId":"b","from":"blocked","to":"in_progress"`+notice+`}`)
		}
	}
	saidDone := func(s *story) { s.report(work, "complete", `,"taskIds":["b"]`) }
	reopened := func(s *story) { saidDone(s); s.reopen(admin, "b", "in_progress", "m1") }
	return []plant{
		{"no session is notified that a task is open again", broken(ruleNotice), blocked, opened("")},
		{
			"another session is notified", broken(ruleNotice),
			blocked, opened(`,"notice":{"mailId":"m","sessionIds":["pull"]}`),
		},
		{
			"an ended session is notified", broken(ruleNotice), func(s *story) { blocked(s); s.kill("work") },
			opened(`,"notice":{"mailId":"m","sessionIds":["orch","work"]}`),
		},
		{"no session is notified that a task is blocked", broken(ruleNotice), nothing, func(s *story) {
			s.add(admin, "task.status_changed", `{"taskId":"b","from":"in_progress","to":"blocked"}`)
		}},
		{"no session is notified that a task is cancelled", broken(ruleNotice), nothing, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"in_progress","to":"cancelled"}}`)
		}},
		{"no session is notified that its task is completed", broken(ruleNotice), nothing, func(s *story) {
			s.add(admin, "task.status_changed",
				`{"taskId":"b","from":"in_progress","to":"completed","forced":true,"notice":null}`)
		}},
		{"a session that is done is notified of the completion", broken(ruleNotice), saidDone, func(s *story) {
			s.add(admin, "task.status_changed", `{"taskId":"b","from":"in_progress","to":"completed","forced":true,`+
				`"notice":{"mailId":"m","sessionIds":["orch","work"]}}`)
		}},
		{"an orchestrator is not notified of what the user decides", broken(ruleNotice), nothing, func(s *story) {
			s.add(admin, "task.status_changed",
				`{"taskId":"b","from":"in_progress","to":"blocked","notice":{"mailId":"m","sessionIds":["work"]}}`)
		}},
		{"no session is notified that its task is deleted", broken(ruleNotice), nothing, func(s *story) {
			s.add(admin, "task.deleted", `{"taskId":"b","notice":null}`)
		}},
		{"another session is notified that a task is deleted", broken(ruleNotice), nothing, func(s *story) {
			s.add(admin, "task.deleted", `{"taskId":"b","notice":{"mailId":"m","sessionIds":["orch","pull","work"]}}`)
		}},
		{"no session is told why its task was reopened", broken(ruleNotice), reopened, func(s *story) {
			s.add(admin, "task.status_changed", `{"taskId":"b","from":"in_progress","to":"in_progress","reason":"no"}`)
		}},
		{"an update that unblocks a task notifies no session", broken(ruleNotice), blocked, func(s *story) {
			s.add(admin, "task.updated", `{"taskId":"b","status":{"from":"blocked","to":"todo"}}`)
		}},
		{"a notice twice", broken(ruleExists), func(s *story) {
			blocked(s)
			s.reopen(admin, "b", "blocked", "m")
			blocked(s)
		}, opened(`,"notice":{"mailId":"m","sessionIds":["orch","work"]}`)},
	}
}

func tokenPlants() []plant {
	made := func(s *story) { s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":1}`) }
	admins := func(name string, before func(s *story), short, data string) plant {
		return plant{name, broken(ruleToken), before, func(s *story) { s.add(admin, short, data) }}
	}
	return []plant{
		admins("a second token named admin", nothing, "token.created",
			`{"name":"admin","kind":"admin","generation":1}`),
		admins("a token twice", made, "token.created", `{"name":"eve","kind":"admin","generation":2}`),
		admins("an unknown kind of token", nothing, "token.created", `{"name":"eve","kind":"root","generation":1}`),
		admins("a read-only token without a project", nothing, "token.created",
			`{"name":"eve","kind":"read-only","generation":1}`),
		admins("an admin token for one project", nothing, "token.created",
			`{"name":"eve","kind":"admin","projectIds":["p1"],"generation":1}`),
		admins("a first token with generation 2", nothing, "token.created",
			`{"name":"eve","kind":"admin","generation":2}`),
		admins("a recreated token keeps its generation", func(s *story) {
			made(s)
			s.add(admin, "token.revoked",
				`{"name":"eve","generation":2}`)
		},
			"token.created", `{"name":"eve","kind":"admin","generation":1}`),
		admins("a token that does not exist is revoked", nothing, "token.revoked", `{"name":"eve","generation":1}`),
		admins("a token is revoked twice", func(s *story) {
			made(s)
			s.add(admin, "token.revoked",
				`{"name":"eve","generation":2}`)
		},
			"token.revoked", `{"name":"eve","generation":3}`),
		admins("a token is revoked again with a child that it does not have", func(s *story) {
			made(s)
			s.add(admin, "token.revoked", `{"name":"eve","generation":1}`)
		}, "token.revoked", `{"name":"eve","generation":1,"children":["none"]}`),
		admins("a revocation skips a generation", made, "token.revoked", `{"name":"eve","generation":3}`),
		{"a session's secret keeps its generation", broken(ruleToken), nothing, func(s *story) {
			s.add(admin, "token.revoked", `{"sessionId":"work","generation":1}`, with("partitionkey", "p1"))
		}},
		{"a session's secret skips a generation", broken(ruleToken), func(s *story) {
			s.add(admin, "token.revoked", `{"sessionId":"work","generation":2}`, with("partitionkey", "p1"))
		}, func(s *story) {
			s.add(admin, "token.revoked", `{"sessionId":"work","generation":4}`, with("partitionkey", "p1"))
		}},
		{"a revocation names neither token nor session", broken(ruleToken), nothing, func(s *story) {
			s.add(admin, "token.revoked",
				`{"generation":1}`, with("subject", "token/"))
		}},
	}
}

// childPlants are about the tokens that a revoked token created: eve created fay, and fay created gus.
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
		revoked("a token that revokes itself keeps its children", "eve", ""),
		revoked("a child that revokes its parent keeps itself", "fay", ""),
		revoked("a grandchild that revokes its grandparent keeps itself", "gus", ""),
		revoked("only the direct children are revoked", "admin", `,"children":["fay"]`),
		revoked("only the grandchildren are revoked", "admin", `,"children":["gus"]`),
		revoked("a token of another creator is revoked too", "admin", `,"children":["fay","gus","hal"]`),
		revoked("a child is revoked twice", "admin", `,"children":["fay","gus","fay"]`),
		revoked("a token is among its own children", "admin", `,"children":["eve","fay","gus"]`),
		{"the children of a token that was revoked earlier stay valid", broken(ruleToken), func(s *story) {
			line(s)
			create(s, "eve", "ida", 1)
			revoke(s, "hal", "fay", 1, "")
		}, func(s *story) { revoke(s, "admin", "eve", 1, `,"children":["ida"]`) }},
		{"a grandchild below a revoked token keeps itself", broken(ruleToken), func(s *story) {
			line(s)
			revoke(s, "hal", "fay", 1, "")
		}, func(s *story) { revoke(s, "gus", "eve", 1, "") }},
		{"the children of an earlier token of the same name stay valid", broken(ruleToken), func(s *story) {
			line(s)
			revoke(s, "hal", "eve", 1, "")
			create(s, "admin", "eve", 2)
			create(s, "eve", "ida", 1)
		}, func(s *story) { revoke(s, "admin", "eve", 2, `,"children":["ida"]`) }},
		{"a child that was revoked earlier is revoked again", broken(ruleToken), func(s *story) {
			line(s)
			revoke(s, "hal", "gus", 1, "")
		}, func(s *story) { revoke(s, "admin", "eve", 1, `,"children":["fay","gus"]`) }},
		{"the revocation of a session's secret has children", broken(ruleToken), line, func(s *story) {
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
		sessions("a worker creates a template", nothing, work, "template.created",
			`{"templateId":"x","name":"X","role":"worker","content":"x"}`),
		sessions("an orchestrator changes a template", made, orch, "template.updated",
			`{"templateId":"mine","content":"x"}`),
		sessions("an orchestrator changes its own workflow", nothing, orch, "template.updated",
			`{"templateId":"coordinate-default","content":"x"}`),
		sessions("an orchestrator resets a template", made, orch, "template.reset", `{"templateId":"mine"}`),
		sessions("a worker deletes a template", made, work, "template.deleted", `{"templateId":"mine"}`),
		admins("a template twice", ruleExists, made, "template.created",
			`{"templateId":"mine","name":"M","role":"worker","content":"x"}`),
		admins("a deleted template is created again", ruleExists, gone, "template.created",
			`{"templateId":"mine","name":"M","role":"worker","content":"x"}`),
		admins("a built-in template is created", ruleExists, nothing, "template.created",
			`{"templateId":"execute-simple","name":"M","role":"worker","content":"x"}`),
		admins("a template for an unknown role", ruleTemplate, nothing, "template.created",
			`{"templateId":"x","name":"X","role":"user","content":"x"}`),
		admins("a template without a name", ruleTemplate, nothing, "template.created",
			`{"templateId":"x","name":" ","role":"worker","content":"x"}`),
		admins("a template without content", ruleTemplate, nothing, "template.created",
			`{"templateId":"x","name":"X","role":"worker"}`),
		admins("a template that does not exist is changed", ruleExists, nothing, "template.updated",
			`{"templateId":"none","content":"x"}`),
		admins("a deleted template is changed", ruleExists, gone, "template.updated",
			`{"templateId":"mine","content":"x"}`),
		admins("an update changes nothing in a template", ruleTemplate, made, "template.updated",
			`{"templateId":"mine"}`),
		admins("a template's name is taken away", ruleTemplate, made, "template.updated",
			`{"templateId":"mine","name":""}`),
		admins("a template that does not exist is reset", ruleExists, nothing, "template.reset",
			`{"templateId":"none"}`),
		admins("an unchanged template is reset", ruleTemplate, nothing, "template.reset",
			`{"templateId":"execute-simple"}`),
		admins("a template is reset twice", ruleTemplate, func(s *story) {
			made(s)
			s.add(admin, "template.reset",
				`{"templateId":"mine"}`)
		},
			"template.reset", `{"templateId":"mine"}`),
		admins("a template that does not exist is deleted", ruleExists, nothing, "template.deleted",
			`{"templateId":"none"}`),
		admins("a template is deleted twice", ruleExists, gone, "template.deleted", `{"templateId":"mine"}`),
		admins("a built-in template is deleted", ruleTemplate, nothing, "template.deleted",
			`{"templateId":"execute-simple"}`),
	}
}
