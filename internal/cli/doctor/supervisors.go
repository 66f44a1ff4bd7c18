package doctor

import (
	"context"
	"encoding/json"
	"fmt"

	"maestro/service/wire"
	"maestro/workers/processes"
	"maestro/workers/supervisor"
)

// lookAtSupervisors looks for supervisors on this machine that run, although their session is lost.
func lookAtSupervisors(ctx context.Context, x *examination) (found []Finding) {
	if x.home == nil || !x.own || !x.may("the supervisors of agents") {
		return nil
	}
	lost, err := x.server.Sessions(ctx, wire.SessionFilter{Status: wire.StatusLost})
	if err != nil {
		return x.silent(err)
	}
	for _, session := range lost {
		if !x.home.Supervised(session.ID) {
			continue
		}
		var saved supervisor.Saved
		content, err := x.home.ReadRun(session.ID)
		if err != nil || json.Unmarshal(content, &saved) != nil || saved.Ticks == 0 ||
			processes.Started(saved.PID) != saved.Ticks {
			continue // it has just begun, or ended
		}
		found = append(found, ofHanging(session.ID, saved))
	}
	return found
}

// ofHanging says what can be done about a supervisor that is not heard. A runner ends its own ones once their session
// has ended, also stopped ones, but none of those in terminals.
func ofHanging(session string, saved supervisor.Saved) Finding {
	what := fmt.Sprintf("The supervisor of session %s runs as process %d, but was not heard in time", session,
		saved.PID)
	if saved.Runner == wire.TerminalRunner {
		return supervisorHangs.found(what,
			"it was stopped in its terminal, perhaps with Ctrl-Z, or hangs, and its session is lost",
			fmt.Sprintf("continue it with `fg` in its terminal, or with `kill -CONT %d`; if you run "+
				"`maestro session kill %s` before, it ends with its agent once it is continued", saved.PID, session))
	}
	return supervisorHangs.found(what,
		"it was stopped, or hangs: its agent holds one of the runner's places, and its session is lost",
		fmt.Sprintf("continue it with `kill -CONT %d`, or end it and its agent with `maestro session kill %s`",
			saved.PID, session))
}
