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
		found = append(found, supervisorHangs.found(
			fmt.Sprintf("The supervisor of session %s runs as process %d, but was not heard in time", session.ID,
				saved.PID),
			"it was stopped, or hangs: its agent holds one of the runner's places, and its session is lost",
			fmt.Sprintf("continue it with `kill -CONT %d`, or end it and its agent with `maestro session kill %s`",
				saved.PID, session.ID)))
	}
	return found
}
