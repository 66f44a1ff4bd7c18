package commands

import (
	"maestro/events"
	"maestro/projections"
)

// CauseOf returns the event that caused a decision; what a person started has none. Like everything else it depends on
// the state before the event, so that the audit can repeat it.
func CauseOf(s *projections.State, by Actor, rules string, data events.Data) projections.Cause {
	if rules != firstRules {
		if cause, ok := ownCause(s, data); ok {
			return cause
		}
	}
	if by.Kind == ActorSession {
		if x := s.Session(by.Name); x != nil {
			return x.Cause
		}
	}
	return projections.Cause{}
}

// ownCause returns the cause that the object itself determines, whoever asked for it.
func ownCause(s *projections.State, data events.Data) (projections.Cause, bool) {
	switch d := data.(type) {
	case *events.QueueItemStarted:
		return causeOfItem(s, d.SessionID, d.Queue, d.TaskID)
	case *events.QueueItemCompleted:
		return causeOfItem(s, d.SessionID, d.Queue, d.TaskID)
	case *events.QueueItemFailed:
		return causeOfItem(s, d.SessionID, d.Queue, d.TaskID)
	case *events.QueueItemSkipped:
		return causeOfItem(s, d.SessionID, d.Queue, d.TaskID)
	case *events.QueueItemReturned:
		return goneCause(s, d.SessionID)
	case *events.QueueItemQuarantined:
		return goneCause(s, d.SessionID)
	case *events.SessionRecovered:
		return goneCause(s, d.SessionID)
	case *events.SessionLost:
		return madeCause(s, d.SessionID)
	case *events.SessionTimedOut:
		return madeCause(s, d.SessionID)
	case *events.SessionClaimed:
		return claimCause(s, d.SessionID)
	case *events.SessionExited:
		return runCause(s, d.SessionID)
	case *events.SessionUsed:
		return runCause(s, d.SessionID)
	case *events.SandboxBlocked:
		return runCause(s, d.SessionID)
	case *events.PreflightFailed:
		return runCause(s, d.SessionID)
	case *events.SessionStuck:
		return runCause(s, d.SessionID)
	case *events.WebhookParked:
		if x := s.Webhook(d.WebhookID); x != nil {
			return x.Began, true
		}
	case *events.InputAnswered:
		if x := s.Input(d.InputID); x != nil {
			return x.Asked, true
		}
	case *events.InputDelivered:
		if x := s.Input(d.InputID); x != nil {
			return x.Answered, true
		}
		if x := s.Session(d.SessionID); x != nil && x.Message(d.InputID) != nil {
			return x.Message(d.InputID).Sent, true
		}
	}
	return projections.Cause{}, false
}

// causeOfItem returns what put an item into its queue, or caused its holder to start it.
func causeOfItem(s *projections.State, session, queue, task string) (projections.Cause, bool) {
	project := s.SessionProject(session)
	if project == "" {
		project = s.TaskProject(task)
	}
	if item := s.Item(project, queue, task); item != nil {
		return item.Cause, true
	}
	return projections.Cause{}, false
}

func goneCause(s *projections.State, session string) (projections.Cause, bool) {
	if x := s.SessionEver(session); x != nil {
		return x.Gone, true
	}
	return projections.Cause{}, false
}

func madeCause(s *projections.State, session string) (projections.Cause, bool) {
	if x := s.SessionEver(session); x != nil {
		return x.Cause, true
	}
	return projections.Cause{}, false
}

// claimCause returns what lets a runner claim a session: that it was resumed, or created.
func claimCause(s *projections.State, session string) (projections.Cause, bool) {
	x := s.SessionEver(session)
	switch {
	case x == nil:
		return projections.Cause{}, false
	case x.LastRun().IsResumed():
		return x.LastRun().Resumed, true
	}
	return x.Cause, true
}

// runCause returns what began the last run of a session.
func runCause(s *projections.State, session string) (projections.Cause, bool) {
	x := s.SessionEver(session)
	if x == nil || x.LastRun() == nil {
		return projections.Cause{}, false
	}
	return x.LastRun().Claim, true
}
