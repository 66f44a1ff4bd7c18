package projections

import "maestro/events"

// goldenRuns is the part with the runs of a session: it is killed in the first, resumed, and fails in the second.
func goldenRuns() []given {
	runner := func(data events.Data) given { return by("/runners/local", data) }
	return []given{
		runner(&events.SessionClaimed{
			SessionID: "x",
			Runner:    "local",
			Run:       1,
			Host:      "box",
			Agent:     "claude",
			Layers:    []string{"landlock", "pid namespace"},
		}),
		runner(&events.PreflightFailed{
			SessionID: "x",
			Run:       1,
			Check:     "target_dir",
			Path:      "/src",
			Message:   "it may not be written to",
			Fix:       "chmod u+w /src",
			InputID:   "i4",
		}),
		runner(&events.SandboxBlocked{
			SessionID: "x",
			Run:       1,
			Tool:      "Bash",
			Command:   "rm -rf /",
			Reason:    "it deletes outside of the target",
		}),
		runner(&events.SessionStuck{
			SessionID: "x",
			Run:       1,
			Kind:      events.StuckLoop,
			Detail:    "the same call 20 times",
			Since:     epoch.UnixMilli(),
		}),
		runner(&events.SessionUsed{
			SessionID:    "x",
			Run:          1,
			Model:        "haiku",
			Turns:        3,
			InputTokens:  1200,
			OutputTokens: 300,
			CostMicros:   42,
		}),
		by(admin, &events.SessionKilled{SessionID: "x", Status: events.SessionStopped, Reason: "reboot"}),
		runner(&events.SessionExited{
			SessionID:    "x",
			Run:          1,
			Signal:       "terminated",
			LastOutput:   "…and then",
			Conversation: "conv-1",
		}),
		by(admin, &events.SessionResumed{SessionID: "x", Run: 2, Generation: 3}),
		runner(&events.SessionClaimed{
			SessionID: "x",
			Runner:    "local",
			Run:       2,
			Host:      "box",
			Agent:     "claude",
			Resumes:   true,
		}),
		runner(&events.SessionExited{
			SessionID: "x",
			Run:       2,
			ExitCode:  new(int),
			Status:    events.SessionEndFailed,
		}),
	}
}
