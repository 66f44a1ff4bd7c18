package commands

import (
	"slices"

	"maestro/events"
	"maestro/projections"
)

// mostNotified bounds how many sessions one event tells.
const mostNotified = 100

// noticeOf gives the living sessions that are told of a move of a task's status: those that have the task or reported
// on it, when a task that was done or blocked is open again; nil for any other move. again says that the command opens
// a task which is only reported as done. Who moves it is not told, and neither is a session that was not shown so many
// notices before.
func noticeOf(
	s *projections.State, c Call, t *projections.Task, to events.TaskStatus, again bool,
) *events.Notice {
	if !thirdOn(c.Rules) || to != events.TaskTodo && to != events.TaskInProgress {
		return nil
	}
	switch t.Status {
	case events.TaskCompleted, events.TaskCancelled, events.TaskBlocked:
	case events.TaskTodo, events.TaskInProgress:
		if !again {
			return nil
		}
	}
	var told []string
	tell := func(id string, has func(x *projections.Session) bool) {
		x := s.Session(id)
		if x == nil || x.Ended() || c.By.Kind == ActorSession && c.By.Name == id || !has(x) || full(x) {
			return
		}
		told = append(told, id)
	}
	for _, id := range t.SessionIDs {
		tell(id, func(x *projections.Session) bool { return slices.Contains(x.TaskIDs, t.ID) })
	}
	for _, said := range t.AllSays() {
		tell(said.SessionID, func(*projections.Session) bool { return true })
	}
	if told == nil {
		return nil
	}
	slices.Sort(told)
	told = slices.Compact(told)
	told = told[:min(len(told), mostNotified)]
	taken := func(id string) bool {
		return s.Input(id) != nil ||
			slices.ContainsFunc(told, func(session string) bool { return s.Session(session).Message(id) != nil })
	}
	return &events.Notice{MailID: newID("msg", c, taken), SessionIDs: told}
}

// full reports whether so many notices wait for a session that no other joins them.
func full(x *projections.Session) bool {
	notices := int64(0)
	for _, m := range x.Mail {
		if m.Notice != "" {
			notices++
		}
	}
	return notices >= LimitMail.Value
}
