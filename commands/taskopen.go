package commands

import (
	"maestro/events"
	"maestro/projections"
)

// nextOfOpen says how work on a task that is open goes on: at a session, in a queue, or with a new worker.
func nextOfOpen(s *projections.State, c Call, t *projections.Task) string {
	tell := func(session string) string {
		return "it is open, and session " + session + " works on it: say what is missing with " +
			"`maestro session message " + session + " \"…\"`"
	}
	for _, item := range s.QueuesOf(t.ID) {
		switch {
		case item.Status == events.ItemProcessing:
			return tell(item.SessionID)
		case item.Status == events.ItemQueued:
			return "it is open, and queued in " + item.Queue + ": to tell whoever starts it something, change its " +
				"description with `maestro task update " + t.ID + " --description \"…\"`"
		case item.Status == events.ItemCompleted:
		case c.By.Kind == ActorUser:
			return "it is open, and " + string(item.Status) + " in queue " + item.Queue + ": queue it again with " +
				"`maestro queue requeue " + t.ID + " --queue " + item.Queue + " --reason \"…\"`; whoever starts it " +
				"is told the reason, and what was said last"
		default:
			return "it is open, and " + string(item.Status) + " in queue " + item.Queue + ": let the user queue it " +
				"again, or give it to a session of its own with `" + s.SpawnFor(t) + "`"
		}
	}
	for _, id := range t.SessionIDs[max(0, len(t.SessionIDs)-belowNamed):] {
		says := t.SaidBy(id).Status
		if says != events.SaysCompleted && says != events.SaysFailed && s.Attends(s.Session(id), t) {
			return tell(id)
		}
	}
	whom := "a worker"
	if s.LastRole(t) == events.RoleOrchestrator {
		whom = "an orchestrator"
	}
	switch on, steps := s.StepsToStart(t); {
	case on == "":
		return "it is open: give it to " + whom + " with `" + steps[0] + "`"
	case len(steps) == 1:
		return "it is open, and waits for task " + on + ", which nobody will complete: `" + steps[0] + "` ends that"
	default:
		return "it is open, and waits for task " + on + ": see `" + steps[0] + "`, or give it to " + whom + " all " +
			"the same with `" + steps[1] + "`"
	}
}

// dependentsLooked bounds the tasks that depend on one which are searched for sessions at work.
const dependentsLooked = 1000

// buildOn warns of the sessions at work on tasks that depend on one whose result no longer stands: nobody tells them.
func buildOn(s *projections.State, task string) (warnings []Warning) {
	looked, more := 0, false
	for t := range s.OpenDependents(task) {
		if looked++; looked > dependentsLooked {
			break
		}
		for _, id := range workersOn(s, t) {
			if len(warnings) == belowNamed {
				more = true
				break
			}
			warnings = append(warnings, Warning{
				Text: sessionNamed(s.Session(id)) + " is at work on task " + t.ID + ", which builds on task " + task +
					", and does not learn of this",
				Next:     []string{"`maestro session message " + id + " \"…\" --about " + task + "` tells it"},
				Tasks:    []string{t.ID, task},
				Sessions: []string{id},
				Except:   id,
			})
		}
		if more {
			break
		}
	}
	if more {
		warnings = append(warnings, Warning{
			Text:  "more sessions are at work on tasks that build on task " + task + " than are named here",
			Next:  []string{"`maestro session list --active` shows them all"},
			Tasks: []string{task},
		})
	}
	return warnings
}

// workersOn returns the sessions that hold an item of a task, or have the task and go on with it.
func workersOn(s *projections.State, t *projections.Task) (ids []string) {
	holds := map[string]bool{}
	for _, item := range s.QueuesOf(t.ID) {
		s.Worked(1)
		if x := s.Session(item.SessionID); item.Status == events.ItemProcessing && x != nil && x.Active() {
			holds[x.ID] = true
			ids = append(ids, x.ID)
		}
	}
	for _, id := range t.SessionIDs[max(0, len(t.SessionIDs)-belowNamed):] {
		x := s.Session(id)
		if holds[id] || !s.Attends(x, t) || s.HasLeft(x, t) {
			continue
		}
		if says := t.SaidBy(id).Status; says != events.SaysCompleted && says != events.SaysFailed {
			ids = append(ids, id)
		}
	}
	return ids
}

// endedInQueues warns that no worker gets an open task from the queues in which its item has ended. The inbox shows a
// quarantined item itself.
func endedInQueues(s *projections.State, t *projections.Task) (warnings []Warning) {
	items := s.QueuesOf(t.ID)
	for _, item := range items[:min(len(items), belowNamed)] {
		switch item.Status {
		case events.ItemCompleted, events.ItemFailed, events.ItemSkipped:
		case events.ItemQueued, events.ItemProcessing, events.ItemQuarantined:
			continue
		}
		requeue := "`maestro queue requeue " + t.ID + " --queue " + item.Queue + "`"
		next := []string{requeue + " does that"}
		if !s.Requeueable(item) { // a session says that the task is completed
			next[0] = "`maestro task reopen " + t.ID + " \"<what is missing>\"`, and then " + requeue + ", do that"
		}
		if len(s.UnmetDependencies(t)) == 0 {
			next = append(next, "`"+s.SpawnFor(t)+"` gives it to a session of its own")
		}
		warnings = append(warnings, Warning{
			Text: "task " + t.ID + " is still " + string(item.Status) + " in queue " + item.Queue +
				", so no worker gets it there until it is queued again",
			Next:  next,
			Tasks: []string{t.ID},
		})
	}
	return warnings
}
