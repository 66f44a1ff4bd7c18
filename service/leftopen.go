package service

import (
	"context"
	"fmt"
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

// leftOpen lists the tasks that a session leaves open: its own, and those below them that a tree worker or an
// orchestrator is responsible for. The command has succeeded, so a caller that has used up its reads gets no list.
func (s *Service) leftOpen(ctx context.Context, c *Caller, session string) (left wire.LeftOpen) {
	err := s.work(ctx, c, func(v View) error {
		left.LeavesOpen, left.LeavesOpenMore = v.LeftOpen(v.Session(session), projections.MostNamed)
		if x := v.Session(session); x != nil {
			below, _ := v.leftInTree(x)
			for _, t := range below {
				if len(left.LeavesOpen) < projections.MostNamed {
					left.LeavesOpen = append(left.LeavesOpen, t.ID)
				} else {
					left.LeavesOpenMore++
				}
			}
		}
		left.LeavesOpenNext = v.nextOfLeft(session, left.LeavesOpen)
		return nil
	})
	if err != nil {
		return wire.LeftOpen{}
	}
	return left
}

// nextOfLeft says what the caller can do about tasks that a session leaves open. A task that the session reported as
// failed or blocked is not done: what it said stands until somebody decides.
func (v View) nextOfLeft(session string, tasks []string) string {
	by := v.Caller.By
	itself := by.Kind == commands.ActorSession && by.Name == session
	var done []string
	for _, id := range tasks {
		t := v.Task(id)
		v.Worked(t.Speakers())
		says := v.Stands(t, t.SaidBy(session))
		stands := says == events.SaysFailed || says == events.SaysBlocked
		if !stands && (itself || v.Unfinished(id) == 0) {
			done = append(done, id)
		}
	}
	which := "they are"
	if len(tasks) == 1 {
		which = "it is"
	}
	if len(done) < len(tasks) {
		which = strings.Join(done, ", ") + " is"
		if len(done) > 1 {
			which = strings.Join(done, ", ") + " are"
		}
	}
	them := "them"
	if len(tasks) == 1 {
		them = "it"
	}
	reports, completes := v.Permit("report:complete", by.Project) == nil, v.Permit("task:complete", by.Project) == nil
	switch {
	case len(tasks) == 0:
		return ""
	case itself && reports && len(done) > 0:
		return "if " + which + " done, you can still report that: `maestro report complete \"<summary>\" --task " +
			strings.Join(done, ",") + "`"
	case itself && reports:
		return "what you reported about " + them + " stands: whoever gave " + them + " to you decides what comes next"
	case completes && len(done) > 0:
		return "if " + which + " done, run `maestro task complete " + strings.Join(done, " ") + "`"
	case completes && v.Permit("inbox", by.Project) == nil:
		return "`maestro inbox` says what to do about " + them
	}
	return "you have no command that reports " + them + " as done, and whoever started your session sees " + them +
		" in the inbox"
}

// leavesBelow warns a tree worker or an orchestrator that reports tasks as done of what is left below them.
func leavesBelow(v View, said *events.SessionReported) []string {
	x := v.Session(said.SessionID)
	if x == nil || said.Kind != events.ReportComplete {
		return nil
	}
	seen := map[string]bool{}
	for _, id := range said.TaskIDs {
		seen[id] = true
	}
	left, more := v.leftBelow(x, said.TaskIDs, seen)
	if len(left) == 0 {
		return nil
	}
	named := make([]string, min(len(left), projections.WaitsNamed))
	for i := range named {
		named[i] = left[i].ID
	}
	text := "it leaves open: " + strings.Join(named, ", ")
	switch rest := len(left) - len(named); {
	case more:
		text += " and more"
	case rest > 0:
		text += fmt.Sprintf(" and %d more", rest)
	}
	return []string{v.warning(text, "`maestro task children "+said.TaskIDs[0]+"` shows what is below")}
}
