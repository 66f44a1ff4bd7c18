package projections

import (
	"fmt"
	"strings"
	"testing"

	"maestro/events"
)

// claimed lets the runner local begin a run.
func claimed(session string, run int) given {
	return by("/runners/local", &events.SessionClaimed{
		SessionID: session,
		Runner:    "local",
		Run:       run,
		Host:      "box",
	})
}

// exited lets it say how the run ended: "" leaves the session waiting.
func exited(session string, run, code int, status events.SessionStatus) given {
	return by("/runners/local", &events.SessionExited{
		SessionID: session,
		Run:       run,
		ExitCode:  &code,
		Status:    status,
	})
}

func resumed(session string, run int) given {
	return by(admin, &events.SessionResumed{SessionID: session, Run: run, Generation: run})
}

func used(model string, turns int64) given {
	return by("/runners/local", &events.SessionUsed{
		SessionID: "w",
		Run:       1,
		Model:     model,
		Turns:     turns,
	})
}

// What a session shows of its runs.
func TestRunView(t *testing.T) {
	ordered := by(admin, &events.SessionSpawned{
		SessionID: "w",
		Name:      "w",
		Role:      events.RoleWorker,
		Strategy:  events.StrategySimple,
		TaskIDs:   []string{"t1"},
		Timeout:   1000,
		Runner:    "local",
	})
	then := continued(project(), task("t1"), ordered)
	running := continued(then(claimed("w", 1))...)
	stuck := by("/runners/local", &events.SessionStuck{
		SessionID: "w",
		Run:       1,
		Kind:      events.StuckLoop,
		Detail:    "ls",
		Since:     5,
	})
	isStuck := `{"kind":"loop","detail":"ls","since":5}`
	blocked := by("/runners/local", &events.SandboxBlocked{
		SessionID: "w",
		Run:       1,
		Command:   "rm",
		Reason:    "no",
	})
	for _, c := range []struct {
		name  string
		story []given
		want  want
	}{
		{"spawned for a runner", then(), want{"runner": `"local"`, "run": "", "usage": "", "status": `"spawning"`}},
		{"claimed", running(), want{
			"run":          `{"number":1,"runner":"local","host":"box","layers":[],"claimedAt":` + ms(4) + `}`,
			"status":       `"spawning"`,
			"lastActivity": ms(4),
		}},
		{"it works", running(report(worker, "w", events.ReportProgress, "on it")), want{"status": `"running"`}},
		{"it failed", running(exited("w", 1, 3, events.SessionEndFailed)), want{
			"status": `"failed"`, "endedAt": ms(5), "completedAt": ms(5), "exitedAt": ms(5), "exitCode": "3",
			"endReason":  `"its agent ended with exit code 3 without reporting completion"`,
			"run.status": `"failed"`, "run.exitedAt": ms(5), "run.exitCode": "3", "run.waits": "",
		}},
		{"a signal ended it", running(by("/runners/local", &events.SessionExited{
			SessionID:    "w",
			Run:          1,
			Signal:       "killed",
			Status:       events.SessionEndFailed,
			Reason:       "no output for an hour",
			LastOutput:   strings.Repeat("x", 1024) + "yz",
			Conversation: "c1",
		})), want{
			"exitCode": "", "exitedAt": ms(5), "run.signal": `"killed"`, "run.conversation": `"c1"`,
			"endReason":      `"its agent ended by signal killed without reporting completion: no output for an hour"`,
			"run.lastOutput": `"` + strings.Repeat("x", 1022) + `yz"`,
		}},
		{
			"it had said that it is done",
			running(report(worker, "w", events.ReportProgress, "on it"),
				by(worker, &events.SessionCompleted{SessionID: "w"}), exited("w", 1, 0, events.SessionSaidDone)),
			want{
				"status": `"completed"`, "completedAt": ms(6), "endedAt": ms(7), "endReason": "",
				"run.status": `"completed"`,
			},
		},
		{
			"it had said that it is done, and crashed",
			running(by(worker, &events.SessionCompleted{SessionID: "w"}), exited("w", 1, 1, events.SessionSaidDone)),
			want{
				"status":    `"completed"`,
				"endReason": `"its agent ended with exit code 1 after it reported completion"`,
			},
		},
		{"it waits for an answer", running(asks("w", "i1", "which?"), exited("w", 1, 0, "")), want{
			"status": `"running"`, "endedAt": "", "exitedAt": ms(6), "exitCode": "0", "run.waits": "true",
		}},
		{
			"its next run brings the answer",
			running(asks("w", "i1", "which?"), exited("w", 1, 0, ""), answered("w", "i1", "this"), claimed("w", 2)),
			want{"run.number": "2", "run.waits": "", "run.exitedAt": "", "exitedAt": "", "exitCode": ""},
		},
		{"killed while it runs", running(killed("w")), want{"status": `"stopped"`, "run.exitedAt": ""}},
		{"killed, and its agent ended", running(killed("w"), exited("w", 1, 137, "")), want{
			"status": `"stopped"`, "endedAt": ms(5), "run.exitedAt": ms(6), "run.exitCode": "137", "run.waits": "",
			"exitCode": "137",
		}},
		{
			"resumed",
			running(killed("w"), by(admin, &events.SessionResumed{
				SessionID:  "w",
				Run:        2,
				Generation: 2,
				Deadline:   at(100),
			})),
			want{
				"status": `"spawning"`, "endedAt": "", "completedAt": "null", "endReason": "", "exitedAt": "",
				"run.number": "1", "run.resumed": "true", "deadline": ms(100), "lastActivity": ms(6),
			},
		},
		{"resumed after it was lost", running(lost("w"), resumed("w", 2)), want{
			"status": `"spawning"`, "lostAt": "", "run.resumed": "true", "deadline": "",
		}},
		{"resumed and claimed", running(killed("w"), resumed("w", 2), claimed("w", 2)), want{
			"run.number": "2", "run.resumed": "", "run.claimedAt": ms(7),
		}},
		{"blocked", running(blocked, blocked), want{"blocked": "2", "lastActivity": ms(6)}},
		{"stuck", running(stuck), want{"stuck": isStuck, "lastActivity": ms(4)}},
		{"not stuck any more", running(stuck, by("/runners/local", &events.SessionStuck{SessionID: "w", Run: 1})), want{
			"stuck": "",
		}},
		{"stuck until it ended", running(stuck, exited("w", 1, 1, events.SessionEndFailed)), want{"stuck": ""}},
		{"stuck until it was resumed", running(lost("w"), stuck, resumed("w", 2)), want{"stuck": ""}},
		{"usage", running(used("haiku", 2), used("", 3), used("haiku", 4)), want{
			"usage": `{"turns":9,"models":[{"model":"haiku","turns":6},{"model":"other","turns":3}]}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			match(t, s.SessionView(s.Session("w")), c.want)
		})
	}
}

// The models that a session used are bounded, and so is every sum.
func TestUsageIsBounded(t *testing.T) {
	story := []given{project(), task("t1"), spawn("w", "t1"), claimed("w", 1)}
	for i := range 40 {
		story = append(story, used(fmt.Sprint("m", i), 1<<52))
	}
	story = append(story, used("m0", 1<<52), used("m0", 1<<52))
	runs := stateOf(t, story...).Session("w").Runs
	if len(runs.Models) != mostModels || runs.Models[mostModels-1].Model != otherModels {
		t.Errorf("%d models, the last one is %q", len(runs.Models), runs.Models[len(runs.Models)-1].Model)
	}
	if runs.Used.Turns != mostUsed || runs.Models[0].Turns != mostUsed {
		t.Errorf("the sums are %d and %d", runs.Used.Turns, runs.Models[0].Turns)
	}
}

// What the inbox says of runs.
func TestInboxOfRuns(t *testing.T) {
	then := continued(project(), task("t1"), spawn("w", "t1"), claimed("w", 1),
		report(worker, "w", events.ReportProgress, "on it", "t1"))
	stuck := func(kind events.StuckKind) given {
		return by("/runners/local", &events.SessionStuck{
			SessionID: "w",
			Run:       1,
			Kind:      kind,
			Detail:    "for 10 min",
			Since:     at(6),
		})
	}
	const steps = `maestro session message w "…", or maestro session kill w`
	for _, c := range []struct {
		name  string
		story []given
		want  []string
	}{
		{"it works", then(), nil},
		{"silent", then(stuck(events.StuckSilent)), []string{
			"stuck w/t1 at 6: w: its agent has written nothing since then: for 10 min → " + steps,
		}},
		{"it repeats itself", then(stuck(events.StuckLoop)), []string{
			"stuck w/t1 at 6: w: its agent does the same again and again: for 10 min → " + steps,
		}},
		{"it goes on", then(stuck(events.StuckLoop), stuck("")), nil},
		{"it crashed", then(exited("w", 1, 1, events.SessionEndFailed)), []string{
			"failed w/t1 at 6: w: its agent ended with exit code 1 without reporting completion → " +
				"maestro why w, or maestro session resume w, or maestro session spawn --task-ids t1",
		}},
		{"it crashed, and was resumed", then(exited("w", 1, 1, events.SessionEndFailed), resumed("w", 2)), nil},
		{"it waits for an answer", then(asks("w", "i1", "which?"), exited("w", 1, 0, "")), []string{
			`question w/t1 i1 [] at 6: w: which? → maestro input answer i1 "…"`,
		}},
		{"it was answered", then(asks("w", "i1", "which?"), exited("w", 1, 0, ""), answered("w", "i1", "this")), nil},
		{"it is lost", then(lost("w")), []string{
			"lost w/t1 at 6: w: nothing has been heard from it; it goes on when it is heard again → " +
				"maestro session resume w, or maestro session kill w",
		}},
		{
			"its question is open again",
			then(asks("w", "i1", "which?"), killed("w"), resumed("w", 2)),
			[]string{`question w/t1 i1 [] at 6: w: which? → maestro input answer i1 "…"`},
		},
		{
			"it was done, and its task is not",
			then(by(worker, &events.SessionCompleted{SessionID: "w"}), exited("w", 1, 0, events.SessionSaidDone)),
			[]string{"unattended w/t1 at 7: Title of t1: no session works on it: session w is completed, and nobody " +
				"says that it is done → maestro task complete t1, or maestro session spawn --task-ids t1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			equalLists(t, "inbox", inboxLines(stateOf(t, c.story...).Inbox("p", nil)), c.want...)
		})
	}
	// It asked about a task that was completed meanwhile.
	about := by(worker, &events.SessionReported{
		SessionID: "w",
		Kind:      events.ReportNeedsInput,
		Message:   "which?",
		InputID:   "i1",
		TaskIDs:   []string{"t1"},
	})
	s := stateOf(t, then(about, exited("w", 1, 0, ""), moved("t1", events.TaskCompleted))...)
	equalLists(t, "inbox", inboxLines(s.Inbox("p", nil)), "exited w/t1 at 7: w: its agent ended while it waited for "+
		"an answer, and nobody has to answer it any more → maestro session resume w, or maestro session kill w")
}

// A runner that the spawn names, and did not start the session.
func TestInboxOfAWaitingSession(t *testing.T) {
	s := stateOf(t, project(), task("t1"), by(admin, &events.SessionSpawned{
		SessionID: "w",
		Name:      "w",
		Role:      events.RoleWorker,
		TaskIDs:   []string{"t1"},
		Runner:    "local",
	}), lost("w"))
	equalLists(t, "inbox", inboxLines(s.Inbox("p", nil)), "unstarted w/t1 at 3: w: it was spawned for runner local, "+
		"which has not started its agent → maestro session exec w -- <command>, or maestro session kill w")
}

// What contradicts the runs of a session is damage.
func TestRunsContradicted(t *testing.T) {
	then := continued(project(), task("t1"), spawn("w", "t1"))
	for name, story := range map[string][]given{
		"a second claim":             then(claimed("w", 1), claimed("w", 2)),
		"another run":                then(claimed("w", 2)),
		"an exit before the claim":   then(exited("w", 1, 0, "")),
		"a second exit":              then(claimed("w", 1), exited("w", 1, 0, ""), exited("w", 1, 0, "")),
		"an exit of a run given up":  then(claimed("w", 1), killed("w"), resumed("w", 2), exited("w", 1, 0, "")),
		"an end as stopped":          then(claimed("w", 1), exited("w", 1, 0, events.SessionStopped)),
		"a resumption without a run": then(killed("w"), resumed("w", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(t, story[:len(story)-1]...)
			before := encode(t, s)
			if try(t, s, story[len(story)-1]) {
				t.Error("it was folded")
			}
			if encode(t, s) != before {
				t.Error("it changed the state")
			}
		})
	}
}
