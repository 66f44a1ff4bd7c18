package engine

import (
	"errors"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
)

// A session a for the runner "runner", and one b without a runner; both have a time limit.
var (
	spawnA = step{"o>a", "session:spawn", `{"taskIds":["{t2}"],"runner":"runner","timeout":3600000}`}
	spawnB = step{"admin>b", "session:spawn", `{"project":"{p}","taskIds":["{t5}"]}`}
	claimA = step{"runner", "session:claim", `{"sessionId":"{a}","host":"box","agent":"claude","layers":["landlock"]}`}
	asksA  = step{"a>i", "report:needs-input", `{"message":"Which branch?"}`}
	doneA  = step{"a", "report:complete", `{"message":"Done"}`}
	failA  = exits("runner", "a", `"run":1,"exitCode":1,"lastOutput":"panic","conversation":"c1"`)
	waitA  = exits("runner", "a", `"run":1,"exitCode":0`)
	resume = step{"admin", "session:resume", `{"sessionId":"{a}"}`}
)

func exits(by, session, more string) step {
	return step{by, "session:exited", `{"sessionId":"{` + session + `}",` + more + `}`}
}

func says(id, more string) step {
	return step{"runner", id, `{"sessionId":"{a}","run":1,` + more + `}`}
}

func TestClaimDecisions(t *testing.T) {
	claim := func(by, more string) step {
		return step{by, "session:claim", `{"sessionId":"{a}"` + more + `}`}
	}
	decide(t, []decision{
		{
			"claim",
			[]step{spawnA},
			claimA, "session.claimed",
			`{"sessionId":"{a}","runner":"runner","run":1,"host":"box","agent":"claude","layers":["landlock"]}`,
		},
		{"claim the expected run", []step{spawnA}, claim("runner", `,"run":1`), "session.claimed", `"run":1`},
		{"claim another run", []step{spawnA}, claim("runner", `,"run":2`), "CONFLICT", "its next run is 1"},
		{"claim again", []step{spawnA, claimA}, claimA, "already so", ""},
		{
			"claim again on another host",
			[]step{spawnA, claimA},
			claim("runner", `,"host":"desk"`),
			"CONFLICT", "claimed already: runner 'runner' has run 1 on box",
		},
		{"claim in a terminal", []step{spawnA}, claim("runner:terminal", ""), "session.claimed", `"runner":"terminal"`},
		{
			"claim in a terminal what nobody runs",
			[]step{spawnB},
			step{"runner:terminal", "session:claim", `{"sessionId":"{b}"}`},
			"session.claimed", `"sessionId":"{b}"`,
		},
		{
			"claim in a terminal what a runner has",
			[]step{spawnA, claimA},
			claim("runner:terminal", ""),
			"CONFLICT",
			"runner 'runner' has run 1 on box",
		},
		{
			"claim by another runner",
			[]step{spawnA},
			claim("runner:other", ""),
			"NOT_ALLOWED",
			"not assigned to runner 'other': it waits for runner 'runner'",
		},
		{
			"claim what no runner is to run",
			[]step{spawnB},
			step{"runner", "session:claim", `{"sessionId":"{b}"}`},
			"NOT_ALLOWED", "not assigned to runner 'runner'",
		},
		{"claim for another", []step{spawnA}, claim("runner", `,"runner":"other"`), "NOT_ALLOWED", "/runner"},
		{
			"claim with an invalid name",
			[]step{spawnA},
			claim("runner", `,"runner":"a b"`),
			"VALIDATION_ERROR",
			"/runner",
		},
		{"claim on two lines", []step{spawnA}, claim("runner", `,"host":"a\nb"`), "VALIDATION_ERROR", "/host"},
		{"claim none", nil, step{"runner", "session:claim", `{"sessionId":"none"}`}, "NOT_FOUND", "none"},
		{"claim what was killed", []step{spawnA, kill("a")}, claimA, "NOT_ALLOWED", "has ended"},
		{"claim what is done", []step{spawnA, doneA}, claimA, "NOT_ALLOWED", "has nothing left to do"},
		{"a user claims nothing", []step{spawnA}, claim("admin", ""), "NOT_ALLOWED", "session:claim"},
		{"a session claims nothing", []step{spawnA}, claim("a", ""), "NOT_ALLOWED", "session:claim"},
		{
			"the supervisor of another session claims nothing",
			[]step{spawnA, spawnB},
			claim("runner:runner/{b}", ""),
			"NOT_ALLOWED",
			"speaks for session '{b}'",
		},
		{
			"the supervisor of a session that does not exist",
			[]step{spawnA},
			claim("runner:runner/none", ""),
			"NOT_ALLOWED", "There is no session 'none'",
		},
		{
			"claim the run after an answer",
			[]step{spawnA, claimA, asksA, waitA, {"admin", "input:answer", `{"inputId":"{i}","answer":"main"}`}},
			claimA, "session.claimed", `"run":2`,
		},
		{
			"claim the run after a crash",
			[]step{spawnA, claimA, failA, resume},
			claimA, "session.claimed",
			`"run":2,"host":"box","agent":"claude","layers":["landlock"],"resumes":true`,
		},
	})
}

func TestExitDecisions(t *testing.T) {
	exit := func(more string) step { return exits("runner", "a", `"run":1`+more) }
	decide(t, []decision{
		{
			"an exit without a report is no success",
			[]step{spawnA, claimA},
			exit(`,"exitCode":0`),
			"session.exited",
			`{"sessionId":"{a}","run":1,"exitCode":0,"status":"failed"}`,
		},
		{
			"everything that is known",
			[]step{spawnA, claimA},
			exit(`,"exitCode":3,"signal":"terminated","reason":"its time was over","lastOutput":"a\nb",` +
				`"conversation":"c"`),
			"session.exited",
			`"exitCode":3,"signal":"terminated","status":"failed","reason":"its time was over","lastOutput":"a\nb",` +
				`"conversation":"c"`,
		},
		{"an exit without a code", []step{spawnA, claimA}, exit(``), "session.exited", `"status":"failed"`},
		{
			"it had said that it is done",
			[]step{spawnA, claimA, doneA},
			exit(`,"exitCode":1`),
			"session.exited",
			`"status":"completed"`,
		},
		{"it waits for an answer", []step{spawnA, claimA, asksA}, waitA, "session.exited", `"exitCode":0}`},
		{
			"it waits for an answer that it was not shown",
			[]step{spawnA, claimA, asksA, {"admin", "input:answer", `{"inputId":"{i}","answer":"main"}`}},
			waitA, "session.exited", `"exitCode":0}`,
		},
		{
			"it was shown the answer",
			[]step{
				spawnA, claimA, asksA,
				{"admin", "input:answer", `{"inputId":"{i}","answer":"main"}`},
				{"a", "input:received", `{"inputId":"{i}"}`},
			},
			waitA, "session.exited", `"status":"failed"`,
		},
		{
			"a message is no answer",
			[]step{spawnA, claimA, {"o", "session:message", `{"sessionId":"{a}","text":"Go on"}`}},
			waitA, "session.exited", `"status":"failed"`,
		},
		{
			"it asked, and was interrupted",
			[]step{spawnA, claimA, asksA},
			exit(`,"exitCode":0,"signal":"interrupt"`),
			"session.exited", `"status":"failed"`,
		},
		{"it asked, and crashed", []step{spawnA, claimA, asksA}, failA, "session.exited", `"status":"failed"`},
		{
			"it was killed before",
			[]step{spawnA, claimA, kill("a")},
			exit(`,"signal":"killed"`),
			"session.exited",
			`"run":1,"signal":"killed"}`,
		},
		{"again", []step{spawnA, claimA, failA}, failA, "already so", ""},
		{"again, while it waits", []step{spawnA, claimA, asksA, waitA}, failA, "already so", ""},
		{
			"of another run",
			[]step{spawnA, claimA},
			exits("runner", "a", `"run":2`),
			"CONFLICT", "Run 2 is not the last run of session '{a}'",
		},
		{
			"of the run before",
			[]step{spawnA, claimA, failA, resume, claimA},
			exit(`,"exitCode":0`),
			"CONFLICT",
			"its last run is 2",
		},
		{
			"of a run that was given up",
			[]step{spawnA, claimA, kill("a"), resume},
			exit(`,"exitCode":0`),
			"CONFLICT",
			"was given up",
		},
		{"of no run", []step{spawnA}, exit(`,"exitCode":0`), "CONFLICT", "has no run 1"},
		{
			"by another runner",
			[]step{spawnA, claimA},
			exits("runner:other", "a", `"run":1`),
			"NOT_ALLOWED",
			"not assigned to runner 'other': runner 'runner' has it on box",
		},
		{
			"by the runner of the spawn, when a terminal has it",
			[]step{spawnA, {"runner:terminal", "session:claim", `{"sessionId":"{a}"}`}},
			exit(``), "NOT_ALLOWED", "runner 'terminal' has it",
		},
		{
			"by its supervisor",
			[]step{spawnA, claimA},
			exits("runner:runner/{a}", "a", `"run":1`),
			"session.exited",
			`"run":1`,
		},
		{
			"too much output",
			[]step{spawnA, claimA},
			exit(`,"lastOutput":"` + strings.Repeat("x", 4097) + `"`),
			"VALIDATION_ERROR", "at most 4096 bytes",
		},
		{
			"a signal of two lines",
			[]step{spawnA, claimA},
			exit(`,"signal":"a\nb"`),
			"VALIDATION_ERROR",
			"/signal",
		},
		{"of none", nil, step{"runner", "session:exited", `{"sessionId":"none","run":1}`}, "NOT_FOUND", "none"},
		{"by a user", []step{spawnA, claimA}, exits("admin", "a", `"run":1`), "NOT_ALLOWED", "session:exited"},
	})
}

func TestRunEventDecisions(t *testing.T) {
	fails := says("preflight:failed", `"check":"target_dir","path":"/src","message":"No access","fix":"chmod u+w /src"`)
	stuck := says("session:stuck", `"kind":"loop","detail":"ls","since":1`)
	decide(t, []decision{
		{
			"usage",
			[]step{spawnA, claimA},
			says("session:usage", `"model":"haiku","turns":1,"inputTokens":2,"cachedTokens":3,"outputTokens":4,`+
				`"reasoningTokens":5,"costMicros":6`),
			"session.used", `{"sessionId":"{a}","run":1,"model":"haiku","turns":1,"inputTokens":2,"cachedTokens":3,` +
				`"outputTokens":4,"reasoningTokens":5,"costMicros":6}`,
		},
		{
			"usage after the exit",
			[]step{spawnA, claimA, failA},
			says("session:usage", `"turns":1`),
			"session.used",
			`"turns":1`,
		},
		{"no usage", []step{spawnA, claimA}, says("session:usage", `"model":"haiku"`), "VALIDATION_ERROR", "nothing"},
		{
			"negative usage",
			[]step{spawnA, claimA},
			says("session:usage", `"turns":-1`),
			"VALIDATION_ERROR",
			"/turns",
		},
		{
			"too much usage",
			[]step{spawnA, claimA},
			says("session:usage", `"costMicros":1000000000001`),
			"VALIDATION_ERROR",
			"/costMicros",
		},
		{"usage of no run", []step{spawnA}, says("session:usage", `"turns":1`), "CONFLICT", "has no run 1"},
		{
			"a blocked command",
			[]step{spawnA, claimA},
			says("sandbox:blocked", `"tool":"Bash","command":"rm -rf /","reason":"outside","killed":true`),
			"sandbox.blocked", `"run":1,"tool":"Bash","command":"rm -rf /","reason":"outside","killed":true}`,
		},
		{
			"no blocked command",
			[]step{spawnA, claimA},
			says("sandbox:blocked", `"reason":"outside"`),
			"VALIDATION_ERROR",
			"/command",
		},
		{
			"no reason to block it",
			[]step{spawnA, claimA},
			says("sandbox:blocked", `"command":"ls"`),
			"VALIDATION_ERROR",
			"/reason",
		},
		{
			"a check failed",
			[]step{spawnA, claimA},
			fails, "preflight.failed",
			`"run":1,"check":"target_dir","path":"/src","message":"No access","fix":"chmod u+w /src","inputId":"input_`,
		},
		{"the same check failed", []step{spawnA, claimA, fails}, fails, "already so", ""},
		{
			"it failed again after the answer",
			[]step{
				spawnA, claimA,
				{"runner>i", fails[1], fails[2]},
				{"o", "input:answer", `{"inputId":"{i}","answer":"retry"}`},
			},
			fails, "preflight.failed", `"check":"target_dir"`,
		},
		{
			"an answer that was no option",
			[]step{spawnA, claimA, {"runner>i", fails[1], fails[2]}},
			step{"admin", "input:answer", `{"inputId":"{i}","answer":"hm"}`},
			"VALIDATION_ERROR", "one of: retry, give up",
		},
		{
			"a check without an id",
			[]step{spawnA, claimA},
			says("preflight:failed", `"check":"a b","message":"m"`),
			"VALIDATION_ERROR",
			"/check",
		},
		{
			"a check without a message",
			[]step{spawnA, claimA},
			says("preflight:failed", `"check":"disk"`),
			"VALIDATION_ERROR",
			"/message",
		},
		{"a check after the end", []step{spawnA, claimA, failA}, fails, "NOT_ALLOWED", "has ended"},
		{"a check after the exit", []step{spawnA, claimA, asksA, waitA}, fails, "CONFLICT", "is over"},
		{
			"stuck",
			[]step{spawnA, claimA},
			stuck, "session.stuck",
			`{"sessionId":"{a}","run":1,"kind":"loop","detail":"ls","since":1}`,
		},
		{
			"stuck since now",
			[]step{spawnA, claimA},
			says("session:stuck", `"kind":"silent"`),
			"session.stuck",
			`"since":1`,
		},
		{"stuck again", []step{spawnA, claimA, stuck}, stuck, "already so", ""},
		{
			"stuck in another way",
			[]step{spawnA, claimA, stuck},
			says("session:stuck", `"kind":"silent","since":2`),
			"session.stuck",
			`"kind":"silent"`,
		},
		{
			"not stuck any more",
			[]step{spawnA, claimA, stuck},
			says("session:stuck", `"kind":""`),
			"session.stuck",
			`{"sessionId":"{a}","run":1}`,
		},
		{"not stuck", []step{spawnA, claimA}, says("session:stuck", `"kind":""`), "already so", ""},
		{
			"stuck in the future",
			[]step{spawnA, claimA},
			says("session:stuck", `"kind":"loop","since":99999999999999`),
			"VALIDATION_ERROR", "/since",
		},
		{
			"stuck in an unknown way",
			[]step{spawnA, claimA},
			says("session:stuck", `"kind":"bored"`),
			"VALIDATION_ERROR",
			"/kind",
		},
		{"stuck after the end", []step{spawnA, claimA, failA}, stuck, "NOT_ALLOWED", "has ended"},
		{"stuck after it was given up", []step{spawnA, claimA, kill("a"), resume}, stuck, "CONFLICT", "given up"},
	})
}

func TestResumeDecisions(t *testing.T) {
	endTask := func(task string) step { return step{"admin", "task:complete", `{"taskId":"{` + task + `}"}`} }
	decide(t, []decision{
		{
			"after a crash",
			[]step{spawnA, claimA, failA},
			resume, "session.resumed",
			`{"sessionId":"{a}","run":2,"generation":2,"deadline":`,
		},
		{"after a kill", []step{spawnA, claimA, kill("a")}, resume, "session.resumed", `"run":2`},
		{
			"after its time was over",
			[]step{
				spawnA, claimA,
				{"time", "", "3601s"},
				{"system", "session:timed-out", `{"sessionId":"{a}"}`},
			},
			resume, "session.resumed", `"run":2`,
		},
		{"after it was lost", []step{spawnA, claimA, lose("a")}, resume, "session.resumed", `"run":2`},
		{"while it waits for an answer", []step{spawnA, claimA, asksA, waitA}, resume, "session.resumed", `"run":2`},
		{
			"without a time limit",
			[]step{spawnB, {"runner:terminal", "session:claim", `{"sessionId":"{b}"}`}, kill("b")},
			step{"admin", "session:resume", `{"sessionId":"{b}"}`},
			"session.resumed", `{"sessionId":"{b}","run":2,"generation":2}`,
		},
		{
			"by its orchestrator",
			[]step{spawnA, claimA, failA},
			step{"o", "session:resume", `{"sessionId":"{a}"}`},
			"session.resumed",
			`"run":2`,
		},
		{
			"by another orchestrator",
			[]step{spawnB, {"runner:terminal", "session:claim", `{"sessionId":"{b}"}`}, kill("b")},
			step{"o", "session:resume", `{"sessionId":"{b}"}`},
			"NOT_ALLOWED", "did not spawn",
		},
		{"by itself", []step{spawnA, claimA, failA}, step{
			"a", "session:resume", `{"sessionId":"{a}"}`,
		}, "NOT_ALLOWED", "has ended"},
		{"while it runs", []step{spawnA, claimA}, resume, "already so", ""},
		{"again", []step{spawnA, claimA, failA, resume}, resume, "already so", ""},
		{
			"again, after another end",
			[]step{
				spawnA, claimA, failA, resume, claimA,
				exits("runner", "a", `"run":2,"exitCode":1`),
			},
			resume, "session.resumed", `"run":3,"generation":3`,
		},
		{"that never ran", []step{spawnA, kill("a")}, resume, "BUSINESS_RULE_ERROR", "no runner has claimed it yet"},
		{
			"without an open task",
			[]step{spawnA, claimA, failA, endTask("t2")},
			resume, "BUSINESS_RULE_ERROR",
			"none of its tasks is open",
		},
		{
			"of a queue",
			[]step{
				{"runner:terminal", "session:claim", `{"sessionId":"{k}"}`}, kill("k"),
			},
			step{"admin", "session:resume", `{"sessionId":"{k}"}`},
			"session.resumed", `"run":2`,
		},
		{"none", nil, step{"admin", "session:resume", `{"sessionId":"none"}`}, "NOT_FOUND", "none"},
		{
			"a deleted one",
			[]step{spawnA, claimA, {"admin", "session:delete", `{"sessionId":"{a}"}`}},
			resume, "NOT_FOUND",
			"Session",
		},
	})
}

// A resumed session works as one that never ended: it reports, its question can be answered, and its former secret and
// the credential of its former supervisor are good for nothing.
func TestResumedSessionWorks(t *testing.T) {
	w := newWorld(t)
	for _, s := range []step{spawnA, claimA, asksA} {
		w.take(s)
	}
	former := w.actor("a").Current(snapshotOf(w))
	supervisor := w.actor("runner:runner/{a}").Current(snapshotOf(w))
	for _, s := range []step{kill("a"), resume} {
		w.take(s)
	}
	for name, by := range map[string]commands.Actor{"session": former, "supervisor": supervisor} {
		w.h.View(func(s *projections.State) {
			rules := commands.CurrentRules()
			if err := commands.Permit(s, rules, by, "whoami", ""); code(err) != commands.CodeNotAllowed {
				t.Errorf("the former %s may still act: %v", name, err)
			}
			if err := commands.Permit(s, rules, by.Current(s), "whoami", ""); err != nil {
				t.Errorf("the present %s may not act: %v", name, err)
			}
		})
	}
	w.h.View(func(s *projections.State) {
		x := s.Session(w.ids["a"])
		if x.Ended() || x.Status != events.SessionSpawning || x.Claimed() || s.InputStatus(s.Input(w.ids["i"])) !=
			projections.InputOpen {
			t.Errorf("resumed: %+v", x)
		}
	})
	for _, s := range []step{
		claimA,
		{"o", "input:answer", `{"inputId":"{i}","answer":"main"}`},
		{"a", "report:progress", `{"message":"On it","taskIds":["{t2}"]}`},
		doneA,
		exits("runner", "a", `"run":2,"exitCode":0`),
	} {
		w.take(s)
	}
	w.h.View(func(s *projections.State) {
		x := s.Session(w.ids["a"])
		if !x.Ended() || x.Status != events.SessionSaidDone || x.LastRun().Number != 2 {
			t.Errorf("at the end: %+v", x)
		}
		how := commands.HowEnded(x)
		if !strings.HasPrefix(how, "it had said that its work is done, and its agent ended at 20") {
			t.Errorf("how it ended: %s", how)
		}
	})
	var refusal *commands.Refusal
	if _, err := w.do("a", "report:progress", `{"message":"More"}`); !errors.As(err, &refusal) {
		t.Errorf("a session that has exited reports: %v", err)
	}
	if verdict := verify(t, w.log.messages); len(verdict.Faults) != 0 {
		t.Errorf("the audit finds: %+v", verdict.Faults)
	}
}

// snapshotOf returns the present state, which nobody changes in these tests while it is used.
func snapshotOf(w *world) (present *projections.State) {
	w.h.View(func(s *projections.State) { present = s })
	return present
}
