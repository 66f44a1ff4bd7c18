package service

import (
	"context"
	"strings"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// completedBy returns the session that an event completes, "" if it completes none.
func completedBy(data events.Data) string {
	switch d := data.(type) {
	case *events.SessionCompleted:
		return d.SessionID
	case *events.SessionReported:
		if d.SessionCompleted {
			return d.SessionID
		}
	}
	return ""
}

// leftOpen lists the tasks that a session leaves open. The command has succeeded, so a caller that has used up its
// reads gets no list.
func (s *Service) leftOpen(ctx context.Context, c *Caller, session string) (left wire.LeftOpen) {
	err := s.work(ctx, c, func(v View) error {
		left.LeavesOpen, left.LeavesOpenMore = v.LeftOpen(v.Session(session), projections.MostNamed)
		left.LeavesOpenNext = v.nextOfLeft(session, left.LeavesOpen)
		return nil
	})
	if err != nil {
		return wire.LeftOpen{}
	}
	return left
}

// nextOfLeft says what the caller can do about tasks that a session leaves open.
func (v View) nextOfLeft(session string, tasks []string) string {
	named := strings.Join(tasks, ",")
	switch by := v.Caller.By; {
	case len(tasks) == 0:
		return ""
	case by.Kind == commands.ActorSession && by.Name == session && v.Permit("report:complete", by.Project) == nil:
		return "if they are done, run `maestro report complete \"<summary>\" --task " + named + "`"
	case v.Permit("task:complete", by.Project) == nil:
		return "if they are done, run `maestro task complete " + strings.Join(tasks, " ") + "`"
	}
	return "they are somebody else's now: you have no command that reports them as done"
}
