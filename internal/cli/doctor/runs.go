package doctor

import (
	"context"
	"strconv"

	"maestro/internal/cli"
	"maestro/service/wire"
)

// asksMost bounds the questions that are shown one by one.
const asksMost = 10

// lookAtRuns looks for runs that wait for an answer before they start their agents: nothing else goes on there.
func lookAtRuns(ctx context.Context, x *examination) (found []Finding) {
	if !x.may("questions of runs") {
		return nil
	}
	items, err := x.server.Inbox(ctx, wire.InboxFilter{Kind: "question"})
	if err != nil {
		return x.silent(err)
	}
	more := 0
	for _, item := range items {
		switch {
		case item.Run == 0: // the question of an agent, which works
		case len(found) == asksMost:
			more++
		default:
			asks, next := cli.LaunchQuestion(item)
			found = append(found, runAsks.found("Run "+strconv.Itoa(item.Run)+" of session "+item.SessionID+
				" waits for your answer: "+asks, "its agent is not started before that", next))
		}
	}
	if more > 0 {
		found = append(found, runAsks.found(cli.Many(more, "further run")+" of sessions wait for your answers",
			"their agents are not started before that", "see `maestro inbox --all-projects --kind question`"))
	}
	return found
}
