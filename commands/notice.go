package commands

import (
	"slices"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// mostNotified bounds how many sessions one event notifies.
const mostNotified = 100

// noticeOf returns the living sessions that are notified of a change of a task's status: those that have the task or
// reported on it, when the task is blocked or cancelled, or is open again after it was done or blocked; those still at
// work on it, when it is completed; nil for any other change. If the user makes the change, the orchestrators that lead
// the work are among them. again is set for a command that also opens a task that is only reported as done. It omits
// the session that makes the change, and sessions with too many unread notices.
func noticeOf(
	s *projections.State, c Call, t *projections.Task, to events.TaskStatus, again bool,
) *events.Notice {
	isUndone := func(status events.TaskStatus) bool {
		return status == events.TaskTodo || status == events.TaskInProgress
	}
	if isUndone(to) && isUndone(t.Status) && !again {
		return nil
	}
	return noticeTo(s, c, to == events.TaskCompleted, t)
}

// noticeTo returns the notice to the sessions that tasks concern; nil if there are none.
func noticeTo(s *projections.State, c Call, atWork bool, tasks ...*projections.Task) *events.Notice {
	if !thirdOn(c.Rules) {
		return nil
	}
	var told []string
	above := newSessionsAbove(fifthOn(c.Rules) && c.By.Kind == ActorUser)
	for _, t := range tasks {
		told = append(told, toldOf(s, c, t, atWork, above)...)
	}
	if told == nil {
		return nil
	}
	s.Worked(len(told))
	slices.Sort(told)
	told = slices.Compact(told)
	told = told[:min(len(told), mostNotified)]
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

// sessionsAbove finds the sessions that what is below their tasks concerns too: those with the tree strategy and, with
// orchestrators, each orchestrator.
type sessionsAbove struct {
	orchestrators bool
	// byTask caches which of them have a task, or one above it, and leaders which orchestrators lead what a session
	// spawned or created.
	byTask, leaders map[string][]string
}

func newSessionsAbove(orchestrators bool) sessionsAbove {
	return sessionsAbove{orchestrators, map[string][]string{}, map[string][]string{}}
}

// haveAbove returns those that have a task, or one above it.
func (x sessionsAbove) haveAbove(s *projections.State, t *projections.Task) []string {
	var climbed []*projections.Task
	for up := t; up != nil; up = s.Task(up.ParentID) {
		if _, known := x.byTask[up.ID]; known {
			break
		}
		climbed = append(climbed, up)
	}
	for _, up := range slices.Backward(climbed) {
		found := slices.Clone(x.byTask[up.ParentID])
		s.Worked(1 + len(up.SessionIDs))
		for _, id := range up.SessionIDs {
			session := s.Session(id)
			if session == nil || !x.includes(session) {
				continue
			}
			if s.Worked(len(session.TaskIDs) / namesPerStep); slices.Contains(session.TaskIDs, up.ID) {
				found = append(found, id)
			}
		}
		x.byTask[up.ID] = found
	}
	return x.byTask[t.ID]
}

func (x sessionsAbove) includes(session *projections.Session) bool {
	return session.Strategy == events.StrategyTree || x.orchestrators && session.Role == events.RoleOrchestrator
}

// forTask returns the sessions that a task concerns although it is not theirs: those that have one above it and, with
// orchestrators, those that lead the work on it. They created it, or spawned a session that has it or reported on it,
// or succeed the orchestrator that did.
func (x sessionsAbove) forTask(s *projections.State, t *projections.Task) []string {
	found := x.haveAbove(s, t)
	if !x.orchestrators {
		return found
	}
	found = slices.Clone(found)
	if _, author, ok := projections.SessionOfSource(t.CreatedBy); ok {
		found = append(found, x.leading(s, author)...)
	}
	says := t.AllSays()
	s.Worked(len(t.SessionIDs) + len(says))
	spoke := make(map[string]bool, len(says))
	at := slices.Clone(t.SessionIDs)
	for _, said := range says {
		spoke[said.SessionID] = true
		at = append(at, said.SessionID)
	}
	for _, id := range at {
		session := s.Session(id)
		if session == nil || session.SpawnedBy == "" {
			continue
		}
		s.Worked(len(session.TaskIDs) / namesPerStep)
		if spoke[id] || slices.Contains(session.TaskIDs, t.ID) {
			found = append(found, x.leading(s, session.SpawnedBy)...)
		}
	}
	return found
}

// leading returns the orchestrator with an id, and those that succeed it with one of its first tasks.
func (x sessionsAbove) leading(s *projections.State, id string) []string {
	found, known := x.leaders[id]
	if known {
		return found
	}
	before := s.SessionEver(id)
	if before != nil && before.Role == events.RoleOrchestrator {
		found = append(found, id)
		if !before.Active() || before.Deleted {
			found = append(found, s.Successors(before)...)
		}
	}
	x.leaders[id] = found
	return found
}

// toldOf finds the sessions to notify, at most mostNotified: the first ones in order of their ids. others finds those
// that the task concerns although it is not theirs. With atWork, it omits those whose work is done, on the task or as a
// whole. It counts the lists of each session that it searches, and stops after the last session to notify.
func toldOf(s *projections.State, c Call, t *projections.Task, atWork bool, others sessionsAbove) (told []string) {
	says := t.AllSays()
	above := others.forTask(s, t)
	concerned := setOf(above)
	candidates := slices.Concat(t.SessionIDs, above)
	for _, said := range says {
		candidates = append(candidates, said.SessionID)
	}
	s.Worked(len(candidates))
	slices.Sort(candidates)
	spoke := make(map[string]events.TaskSessionStatus, len(says))
	for _, said := range says {
		spoke[said.SessionID] = said.Status
	}
	for _, id := range slices.Compact(candidates) {
		x := s.Session(id)
		if x == nil || x.Ended() || c.By.Kind == ActorSession && c.By.Name == id {
			continue
		}
		said, hasSpoken := spoke[id]
		if atWork && (!x.Active() || said == events.SaysCompleted) {
			continue
		}
		room := LimitMail.Value
		if !hasSpoken {
			s.Worked(len(x.TaskIDs) / namesPerStep)
			has := slices.Contains(x.TaskIDs, t.ID)
			switch {
			case !has && !concerned[id]:
				continue
			case !has && atWork && x.Role == events.RoleOrchestrator: // what stops work has the rest of the room
				room /= 2
			}
		}
		if s.Worked(len(x.Mail) / namesPerStep); notices(x) >= room {
			continue
		}
		if told = append(told, id); len(told) == mostNotified {
			break
		}
	}
	return told
}

// workStopped warns of sessions that are at work on one of these tasks, which were completed, cancelled or deleted;
// about names them. An orchestrator that only leads the work is told without a warning. exist says that they still
// exist.
func workStopped(s *projections.State, n *events.Notice, about string, exist bool, tasks ...string) (
	warnings []Warning,
) {
	if n == nil {
		return nil
	}
	for _, id := range n.SessionIDs {
		x := s.Session(id)
		if x == nil || !isAtWorkOn(s, x, tasks) {
			continue
		}
		if len(warnings) == belowNamed {
			break
		}
		told := ", and is told"
		if s.Exit(x) != nil {
			told += " with the next command that it runs"
		}
		warning := Warning{
			Text:     sessionNamed(x) + " is at work on " + about + told,
			Sessions: []string{id},
		}
		if exist {
			warning.Tasks = tasks
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// isAtWorkOn reports whether a session that is notified of a decision about tasks is at work on one of them: an
// orchestrator may only lead the work.
func isAtWorkOn(s *projections.State, x *projections.Session, tasks []string) bool {
	if !x.Active() || x.Role != events.RoleOrchestrator {
		return x.Active()
	}
	s.Worked(len(x.TaskIDs) + len(tasks))
	has := setOf(x.TaskIDs)
	return slices.ContainsFunc(tasks, func(id string) bool { return has[id] })
}

// unheardNotice warns of the sessions to which a notice goes and whose command has ended.
func unheardNotice(s *projections.State, n *events.Notice) (warnings []Warning) {
	if n == nil {
		return nil
	}
	for _, id := range n.SessionIDs {
		if warnings = append(warnings, unheardSince(s, id)...); len(warnings) == belowNamed {
			break
		}
	}
	return warnings
}

// sessionNamed names a session in a text, with its id.
func sessionNamed(x *projections.Session) string {
	return "session " + x.ID + " (" + safetext.Printable(x.Name) + ")"
}

// notices counts the unread notices of a session: at most so many wait.
func notices(x *projections.Session) (n int64) {
	for _, m := range x.Mail {
		if m.Notice != "" {
			n++
		}
	}
	return n
}
