package oracle

import (
	"strconv"
	"strings"
	"time"
)

const (
	hour  = time.Hour
	local = "/runners/local"
	byTTY = "/runners/terminal"
)

// claim lets a runner begin a run.
func (s *story) claim(source, session, run, more string) *story {
	s.t.Helper()
	runner := strings.TrimPrefix(source, "/runners/")
	return s.add(source, "session.claimed", `{"sessionId":"`+session+`","runner":"`+runner+`","run":`+run+more+`}`)
}

// exit lets a runner say that the agent of a run ended.
func (s *story) exit(source, session, run, more string) *story {
	s.t.Helper()
	return s.add(source, "session.exited", `{"sessionId":"`+session+`","run":`+run+more+`}`)
}

func (s *story) resume(source, session, run, generation string) *story {
	s.t.Helper()
	return s.add(source, "session.resumed", `{"sessionId":"`+session+`","run":`+run+`,"generation":`+generation+`}`)
}

// inAnHour is an hour after the next event, in milliseconds since 1970.
func (s *story) inAnHour() string { return strconv.FormatInt(s.milli(-hour-time.Second), 10) }

const (
	exitOK     = `,"exitCode":0`
	exitFailed = `,"exitCode":1,"status":"failed"`
)

// runsStory: a session is launched, asks, is killed and resumed, ends without a report, and another one as it should.
func runsStory(s *story) {
	s.spawn("agent", `"role":"worker","strategy":"simple","taskIds":["free"],"started":["free"],"runner":"local",`+
		byDefault("W"))
	agent := source("agent")
	s.claim(local, "agent", "1", `,"host":"box","agent":"claude","layers":["landlock"]`)
	s.add(local, "preflight.failed",
		`{"sessionId":"agent","run":1,"check":"login","message":"not logged in","fix":"log in","inputId":"pre1"}`)
	s.add(admin, "input.answered", `{"inputId":"pre1","sessionId":"agent","answer":"retry"}`, s.because(s.last))
	s.add(agent, "input.delivered", `{"inputId":"pre1","sessionId":"agent"}`, s.because(s.last))
	s.add(agent, "session.registered", `{"sessionId":"agent"}`)
	s.add(local, "sandbox.blocked", `{"sessionId":"agent","run":1,"command":"rm -rf /","reason":"outside"}`)
	s.add(local, "session.used", `{"sessionId":"agent","run":1,"model":"haiku","inputTokens":7}`)
	s.add(local, "session.stuck", `{"sessionId":"agent","run":1,"kind":"loop","detail":"ls","since":1}`)
	s.add(local, "session.stuck", `{"sessionId":"agent","run":1}`)
	s.report(agent, "needs-input", `,"inputId":"q1"`)
	asked := s.last
	s.exit(local, "agent", "1", exitOK+`,"conversation":"c1"`)
	s.add(admin, "input.answered", `{"inputId":"q1","sessionId":"agent","answer":"main"}`, s.because(asked))
	s.claim(local, "agent", "2", `,"resumes":true`)
	s.add(agent, "input.delivered", `{"inputId":"q1","sessionId":"agent"}`, s.because(s.last))
	s.kill("agent")
	s.exit(local, "agent", "2", `,"signal":"killed"`)
	s.resume(admin, "agent", "3", "2")
	s.claim(byTTY, "agent", "3", `,"resumes":true`)
	s.exit(byTTY, "agent", "3", exitFailed)
	s.claim(byTTY, "orch2", "1", "")
	s.add(source("orch2"), "session.completed", `{"sessionId":"orch2"}`)
	s.exit(byTTY, "orch2", "1", `,"exitCode":1,"status":"completed"`)
}

func runPlants() []plant {
	given := func(s *story) {
		s.spawn("agent", `"role":"worker","strategy":"simple","taskIds":["free"],"started":["free"],`+
			`"runner":"local","timeout":3600000,`+byDefault("W"))
	}
	begun := func(s *story) { given(s); s.claim(local, "agent", "1", "") }
	over := func(s *story) { begun(s); s.exit(local, "agent", "1", exitFailed) }
	asks := func(s *story) { begun(s); s.report(source("agent"), "needs-input", `,"inputId":"q1"`) }
	waits := func(s *story) { asks(s); s.exit(local, "agent", "1", exitOK) }
	done := func(s *story) { begun(s); s.report(source("agent"), "complete", `,"sessionCompleted":true`) }
	plants := []plant{}
	add := func(name, rule string, before, bad func(*story)) {
		plants = append(plants, plant{name, broken(rule), before, bad})
	}
	claims := func(source, run, more string) func(*story) {
		return func(s *story) { s.claim(source, "agent", run, more) }
	}
	exits := func(source, run, more string) func(*story) {
		return func(s *story) { s.exit(source, "agent", run, more) }
	}
	says := func(short, data string) func(*story) {
		return func(s *story) { s.add(local, short, `{"sessionId":"agent","run":1`+data+`}`) }
	}
	leads := func(s *story) {
		s.add(admin, "project.updated", `{"projectId":"p1","workingDir":"/code"}`)
		s.spawn("lead", `"role":"orchestrator","strategy":"default","taskIds":["free"],"started":["free"],`+
			`"options":{"permissionMode":"interactive","network":"443,8080"},`+byDefault("O"))
	}
	gives := func(options string) func(*story) {
		return func(s *story) {
			s.add(source("lead"), "session.spawned", `{"sessionId":"low","name":"low","role":"worker",`+
				`"strategy":"simple","spawnedBy":"lead","options":{`+options+`},`+byDefault("W")+`}`)
		}
	}
	add("a child may do what its parent asks about", rulePermissions, leads, gives(`"network":"none"`))
	add("a child has a port that its parent does not have", rulePermissions, leads,
		gives(`"permissionMode":"readOnly","network":"443,22"`))
	add("a child has a network that its parent does not have", rulePermissions, leads,
		gives(`"permissionMode":"readOnly"`))
	add("a child works beside its parent", rulePermissions, leads,
		gives(`"permissionMode":"readOnly","network":"8080","workingDirectory":"/code/../etc"`))
	add("a manifest that is issued again gives a child more", rulePermissions, func(s *story) {
		leads(s)
		gives(`"permissionMode":"readOnly","network":"8080","workingDirectory":"/code/a"`)(s)
	}, func(s *story) {
		s.add(source("lead"), "session.updated", `{"sessionId":"low","manifestDigest":"sha256-`+
			strings.Repeat("0", 64)+`","options":{"permissionMode":"readOnly"}}`)
	})
	add("a second claim", ruleRun, begun, claims(local, "2", ""))
	add("a claim in a terminal of what a runner has", ruleRun, begun, claims(byTTY, "2", ""))
	add("a claim by another runner", ruleRun, given, claims("/runners/other", "1", ""))
	add("a claim of the second run as the first", ruleRun, given, claims(local, "2", ""))
	add("a claim for another runner", ruleRun, given, func(s *story) {
		s.add(byTTY, "session.claimed", `{"sessionId":"agent","runner":"local","run":1}`)
	})
	add("a claim of a session that has ended", ruleEnded, over, claims(local, "2", ""))
	add("a claim of a session that is done", ruleRun, func(s *story) {
		given(s)
		s.report(source("agent"), "complete", `,"sessionCompleted":true`)
	}, claims(local, "1", ""))
	add("a claim that resumes nothing", ruleRun, given, claims(local, "1", `,"resumes":true`))
	plants = append(plants, plant{"a user claims", broken(rulePermitted, ruleRun), given, func(s *story) {
		s.add(admin, "session.claimed", `{"sessionId":"agent","runner":"admin","run":1}`)
	}})
	add("an exit of a run that was not claimed", ruleRun, given, exits(local, "1", exitFailed))
	add("an exit of another runner", ruleRun, begun, exits(byTTY, "1", exitFailed))
	add("an exit of another run", ruleRun, begun, exits(local, "2", exitFailed))
	add("a second exit", ruleRun, waits, exits(local, "1", exitFailed))
	add("an exit without a report is success", ruleRun, begun, exits(local, "1", exitOK+`,"status":"completed"`))
	add("an exit without a report ends nothing", ruleRun, begun, exits(local, "1", exitOK))
	add("an agent that failed waits for an answer", ruleRun, asks, exits(local, "1", `,"exitCode":1`))
	add("an agent that a signal ended waits for an answer", ruleRun, asks,
		exits(local, "1", exitOK+`,"signal":"interrupt"`))
	add("an agent that waits has failed", ruleRun, asks, exits(local, "1", exitOK+`,"status":"failed"`))
	add("an agent that is done has failed", ruleRun, done, exits(local, "1", exitFailed))
	add("an exit ends a session that had ended", ruleRun, func(s *story) { begun(s); s.kill("agent") },
		exits(local, "1", exitFailed))
	add("an exit after the session was resumed", ruleRun, func(s *story) {
		begun(s)
		s.kill("agent")
		s.add(admin, "session.resumed", `{"sessionId":"agent","run":2,"generation":2,"deadline":`+s.inAnHour()+`}`)
	}, exits(local, "1", exitFailed))
	add("a last output that is too long", ruleSession, begun,
		exits(local, "1", exitFailed+`,"lastOutput":"`+strings.Repeat("x", maxOutput+1)+`"`))
	add("a use of nothing", ruleSession, begun, says("session.used", ``))
	add("a negative use", ruleSession, begun, says("session.used", `,"inputTokens":1,"turns":-1`))
	add("a use by no run", ruleRun, given, says("session.used", `,"turns":1`))
	add("a blocked command without a reason", ruleSession, begun, says("sandbox.blocked", `,"command":"x"`))
	add("a check fails before any run", ruleRun, given,
		says("preflight.failed", `,"check":"disk","message":"full","inputId":"new"`))
	add("a check fails after the end", ruleEnded, over,
		says("preflight.failed", `,"check":"disk","message":"full","inputId":"new"`))
	add("a check asks with a question that exists", ruleQuestion, asks,
		says("preflight.failed", `,"check":"disk","message":"full","inputId":"q1"`))
	add("a check asks twice", ruleQuestion, func(s *story) {
		begun(s)
		says("preflight.failed", `,"check":"disk","message":"full","inputId":"new"`)(s)
	}, says("preflight.failed", `,"check":"disk","message":"full","inputId":"another"`))
	add("a run is not stuck any more that never was", ruleRun, begun, says("session.stuck", ``))
	add("a run is stuck in an unknown way", ruleSession, begun, says("session.stuck", `,"kind":"bored","since":1`))
	add("a run that is over is stuck", ruleRun, waits, says("session.stuck", `,"kind":"silent","since":1`))
	add("a session that waits for an answer is lost", ruleLease, waits, func(s *story) {
		s.wait(hour)
		s.add(system, "session.lost", `{"sessionId":"agent","lastheard":1,"lease":60000}`)
	})
	resumes := func(run, generation, deadline string) func(*story) {
		return func(s *story) {
			if deadline == "" {
				deadline = s.inAnHour()
			}
			s.add(admin, "session.resumed", `{"sessionId":"agent","run":`+run+`,"generation":`+generation+
				`,"deadline":`+deadline+`}`)
		}
	}
	add("a session that never ran is resumed", ruleRun, given, resumes("1", "2", ""))
	add("a session that runs is resumed", ruleRun, begun, resumes("2", "2", ""))
	add("a session is resumed twice", ruleRun, func(s *story) { over(s); resumes("2", "2", "")(s) },
		resumes("2", "3", ""))
	add("a session is resumed for another run", ruleRun, over, resumes("1", "2", ""))
	add("a session is resumed with its former secret", ruleRun, over, resumes("2", "1", ""))
	add("a session is resumed without its time limit", ruleTimeout, over, resumes("2", "2", "0"))
	add("a session without open tasks is resumed", ruleRun, func(s *story) {
		over(s)
		s.status(admin, "free", "in_progress", "completed")
	}, resumes("2", "2", ""))
	add("an orchestrator resumes a session that it did not spawn", ruleSpawner, over, func(s *story) {
		s.add(orch, "session.resumed", `{"sessionId":"agent","run":2,"generation":2,"deadline":`+s.inAnHour()+`}`)
	})
	plants = append(plants, plant{
		"older rules resume a session", broken(rulePermitted, ruleOlder), over,
		func(s *story) { resumes("2", "2", "")(s.by("5")) },
	})
	add("a spawn names no runner", ruleSpawn, nothing, func(s *story) {
		s.spawn("x", `"role":"worker","strategy":"simple","taskIds":["free"],"started":["free"],"runner":"a b",`+
			byDefault("W"))
	})
	return plants
}
