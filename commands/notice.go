package commands

import (
	"slices"

	"maestro/events"
	"maestro/projections"
)

// mostNotified bounds how many sessions one event notifies.
const mostNotified = 100

// noticeOf returns the living sessions that are notified of a change of a task's status: those that have the task or
// reported on it, when the task is blocked or cancelled, or is open again after it was done or blocked; nil for any
// other change. again is set for a command that also opens a task that is only reported as done. It omits the session
// that makes the change, and sessions with too many unread notices.
func noticeOf(
	s *projections.State, c Call, t *projections.Task, to events.TaskStatus, again bool,
) *events.Notice {
	isUndone := func(status events.TaskStatus) bool {
		return status == events.TaskTodo || status == events.TaskInProgress
	}
	if !thirdOn(c.Rules) || to == events.TaskCompleted || isUndone(to) && isUndone(t.Status) && !again {
		return nil
	}
	told := toldOf(s, c, t)
	if told == nil {
		return nil
	}
	taken := func(id string) bool {
		return s.Input(id) != nil ||
			slices.ContainsFunc(told, func(session string) bool {
				x := s.Session(session)
				s.Worked(len(x.Mail) / namesPerStep)
				return x.Message(id) != nil
			})
	}
	return &events.Notice{MailID: newID("msg", c, taken), SessionIDs: told}
}

// toldOf finds the sessions to notify, at most mostNotified: the first ones in order of their ids. It counts the lists
// of each session that it searches, and stops after the last session to notify.
func toldOf(s *projections.State, c Call, t *projections.Task) (told []string) {
	says := t.AllSays()
	candidates := slices.Clone(t.SessionIDs)
	for _, said := range says {
		candidates = append(candidates, said.SessionID)
	}
	s.Worked(len(candidates))
	slices.Sort(candidates)
	spoke := make(map[string]bool, len(says))
	for _, said := range says {
		spoke[said.SessionID] = true
	}
	for _, id := range slices.Compact(candidates) {
		x := s.Session(id)
		if x == nil || x.Ended() || c.By.Kind == ActorSession && c.By.Name == id {
			continue
		}
		if s.Worked(len(x.Mail) / namesPerStep); full(x) {
			continue
		}
		if !spoke[id] {
			s.Worked(len(x.TaskIDs) / namesPerStep)
			if !slices.Contains(x.TaskIDs, t.ID) {
				continue
			}
		}
		if told = append(told, id); len(told) == mostNotified {
			break
		}
	}
	return told
}

// full reports whether so many unread notices wait for a session that no more are added.
func full(x *projections.Session) bool {
	notices := int64(0)
	for _, m := range x.Mail {
		if m.Notice != "" {
			notices++
		}
	}
	return notices >= LimitMail.Value
}
