package commands

import (
	"slices"

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
				"`maestro queue requeue " + t.ID + " --queue " + item.Queue + "`; whoever starts it is told what was " +
				"said last"
		default:
			return "it is open, and " + string(item.Status) + " in queue " + item.Queue + ": let the user queue it " +
				"again"
		}
	}
	s.Worked(len(t.SessionIDs))
	for _, id := range t.SessionIDs {
		if x := s.Session(id); x != nil && x.Active() && worksOn(x, t) {
			return tell(id)
		}
	}
	whom := "a worker"
	if s.LastRole(t) == events.RoleOrchestrator {
		whom = "an orchestrator"
	}
	return "it is open: give it to " + whom + " with `" + s.SpawnFor(t) + "`"
}

// worksOn reports whether an active session still works on a task.
func worksOn(x *projections.Session, t *projections.Task) bool {
	switch t.SaidBy(x.ID).Status {
	case events.SaysWorking, events.SaysBlocked, events.SaysNeedsInput:
		return true
	case events.SaysCompleted, events.SaysFailed:
		return false
	}
	return x.Queue == "" && slices.Contains(x.TaskIDs, t.ID)
}
