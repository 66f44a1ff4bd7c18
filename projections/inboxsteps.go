package projections

import (
	"slices"
	"sort"

	"maestro/events"
)

// The steps of an inbox item are commands that are accepted as things stand: each function returns the command for a
// task, or the one that has to come before it.

// complete returns the command that confirms a task. It is refused while a task directly below is open, so that one
// comes first.
func (b *inbox) complete(t *Task) string {
	below, all := b.SomeUnfinished(t.ID, 1)
	switch {
	case all == 0:
		return "maestro task complete " + t.ID
	case all == 1 && len(below) == 1:
		return "maestro task get " + below[0]
	}
	return "maestro task children " + t.ID
}

// SpawnFor returns the command that gives a task to a new session, which is like the last one that had it.
func (s *State) SpawnFor(t *Task) string {
	return s.spawnLike(s.lastSession(t)) + " --task-ids " + t.ID
}

// spawnLike begins the command that spawns a session like another, nil for a worker. The caller adds tasks,
// unless the session pulls from a queue.
func (s *State) spawnLike(x *Session) string {
	spawn := "maestro session spawn"
	switch {
	case x == nil:
		return spawn
	case s.isSpecial(x):
		return spawn + " --like " + x.ID
	}
	if x.Role == events.RoleOrchestrator {
		spawn += " --role orchestrator"
	}
	switch x.Strategy {
	case events.StrategyTree, events.StrategyBatching, events.StrategyDAG:
		spawn += " --strategy " + string(x.Strategy)
	case events.StrategySimple, events.StrategyDefault, events.StrategyQueue:
	}
	return spawn
}

// isSpecial reports whether a session was given more than its role and its strategy, belongs to a team, or left mail
// that only its successor is told.
func (s *State) isSpecial(x *Session) bool {
	return x.Permissions != nil && x.Permissions.Explicit || x.Options != nil || x.Model != "" || x.Agent != "" ||
		len(x.Skills) > 0 || len(x.Context) > 0 || x.Deadline > 0 || x.OwnManifest || s.Leader(x) != "" ||
		s.leftMail(x)
}

// leftMail reports whether a session that pulls from a queue has unread mail that names no task: whoever takes its item
// is not told it.
func (s *State) leftMail(x *Session) bool {
	if x.Queue == "" {
		return false
	}
	s.work(uint64(len(x.Mail)))
	for _, m := range x.Mail {
		if m.Notice == "" && m.About == "" {
			return true
		}
	}
	for _, id := range s.Undelivered(x.ID) {
		if asked := s.Input(id); asked != nil && len(asked.TaskIDs) == 0 {
			return true
		}
	}
	return false
}

// SpawnForQueue returns the command that spawns a session for the items of a queue.
func SpawnForQueue(project, queue string) string {
	return "maestro session spawn --strategy queue --queue " + queue + " --project " + project
}

// spawnFor returns the command that spawns a session for the items of a queue, like the one that pulled from it.
func (b *inbox) spawnFor(q *Queue, before string) string {
	if x := b.SessionEver(before); x != nil && x.Queue == q.Name && b.isSpecial(x) {
		return b.spawnLike(x)
	}
	return SpawnForQueue(q.ProjectID, q.Name)
}

// LastRole returns the role of the last session that had a task, a worker's if none had it.
func (s *State) LastRole(t *Task) events.Role {
	if x := s.lastSession(t); x != nil {
		return x.Role
	}
	return events.RoleWorker
}

// lastSession returns the last session that had a task, nil if none had it.
func (s *State) lastSession(t *Task) *Session {
	if n := len(t.SessionIDs); n > 0 {
		return s.sessions.get(t.SessionIDs[n-1])
	}
	return nil
}

// workedLooked is how many of a task's last sessions are searched for one that left something.
const workedLooked = 20

// lastWorked returns the last session that had a task and did or was told something, or else the last one; nil if none
// had it.
func (s *State) lastWorked(t *Task) *Session {
	for _, id := range slices.Backward(t.SessionIDs[max(0, len(t.SessionIDs)-workedLooked):]) {
		s.work(1)
		if x := s.sessions.get(id); !s.leftNothing(x) {
			return x
		}
	}
	return s.lastSession(t)
}

// leftNothing reports whether a session has ended without spawning others, and its timeline shows only its creation,
// its end, and that it was lost meanwhile.
func (s *State) leftNothing(x *Session) bool {
	if !x.Ended() || x.DoneSequence > 0 || x.Losses > 1 || s.HasSpawned(x.ID) {
		return false
	}
	timeline := s.SessionTimeline(x.ID)
	for range 2 + x.Losses {
		if len(timeline) == 0 {
			return true
		}
		event := timeline[0].Sequence()
		at := sort.Search(len(timeline), func(i int) bool { return timeline[i].Sequence() > event })
		timeline = timeline[at:]
	}
	return len(timeline) == 0
}

// requeue returns the command that puts an item back into its queue.
func requeue(item *Item) string {
	return "maestro queue requeue " + item.TaskID + " --queue " + item.Queue
}

// spawn returns the steps by which an open task gets a session.
func (b *inbox) spawn(t *Task) []string {
	_, steps := b.StepsToStart(t)
	return steps
}

// StepsToStart returns the commands of which one gets an open task to a session. The spawn is refused while a task is
// open that it waits for: that one, which it returns, comes first, or its removal if nothing completes it any more.
func (s *State) StepsToStart(t *Task) (waitsFor string, steps []string) {
	s.lookedThrough(len(t.Dependencies))
	spawn, unmet := s.SpawnFor(t), s.UnmetDependencies(t)
	if len(unmet) == 0 {
		return "", []string{spawn}
	}
	for _, id := range unmet {
		if on := s.Task(id); on == nil || on.Over() { // deleted or cancelled
			return id, []string{s.dropGone(t)}
		}
	}
	return unmet[0], []string{"maestro task get " + unmet[0], spawn + " --force"}
}
