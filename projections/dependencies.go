package projections

import (
	"iter"
	"slices"

	"maestro/events"
)

// Startable reports whether somebody could start a task now: it is todo, all its dependencies are completed, it is not
// reported as completed or blocked, and neither a queue, nor a session at work, nor a tree worker above it has it.
func (s *State) Startable(t *Task) bool {
	if t.Status != events.TaskTodo || s.Open(t.ID) > 0 {
		return false
	}
	s.lookedThrough(t.Speakers())
	switch says, session := s.SessionStatus(t); {
	case says == events.SaysCompleted:
		return false
	case says == events.SaysBlocked && s.Stands(t, t.SaidBy(session)) == events.SaysBlocked:
		return false
	}
	return !slices.ContainsFunc(t.Dependencies, func(id string) bool { return !s.satisfied(id, false) }) &&
		!slices.ContainsFunc(t.SessionIDs, func(id string) bool { return s.Attends(s.Session(id), t) }) &&
		s.TreeWorkerAbove(t) == ""
}

// TreeWorkerAbove returns a session at work with the tree strategy that has a task above one: it works on everything
// below that. "" if there is none.
func (s *State) TreeWorkerAbove(t *Task) string {
	for up := s.Task(t.ParentID); up != nil; up = s.Task(up.ParentID) {
		s.work(1)
		for _, id := range slices.Backward(up.SessionIDs) {
			x := s.Session(id)
			s.work(1)
			if x != nil && x.Strategy == events.StrategyTree && s.Attends(x, up) {
				return id
			}
		}
	}
	return ""
}

// UnmetDependencies returns the dependencies of a task that are not completed; a dependency that was deleted before its
// completion stays unmet.
func (s *State) UnmetDependencies(t *Task) []string {
	var unmet []string
	for _, id := range t.Dependencies {
		if !s.satisfied(id, false) {
			unmet = append(unmet, id)
		}
	}
	return unmet
}

// GoneDependencies returns the dependencies of a task that were deleted or are cancelled. Nothing completes them any
// more.
func (s *State) GoneDependencies(t *Task) []GoneDependency {
	var gone []GoneDependency
	for _, id := range t.Dependencies {
		if why := s.GoneBecause(id); why != "" {
			gone = append(gone, GoneDependency{id, why})
		}
	}
	return gone
}

// GoneBecause returns why nothing completes a dependency any more, [GoneDeleted] or [GoneCancelled]; "" if something
// may.
func (s *State) GoneBecause(id string) string {
	switch d := s.tasks.get(id); {
	case d == nil:
	case d.Deleted:
		return GoneDeleted
	case d.Status == events.TaskCancelled:
		return GoneCancelled
	}
	return ""
}

// GoneDependency is a dependency that was deleted or is cancelled.
type GoneDependency struct {
	TaskID string `json:"taskId"`
	// Why is [GoneDeleted] or [GoneCancelled].
	Why string `json:"why"`
}

// Why a dependency is gone.
const (
	GoneDeleted   = "deleted"
	GoneCancelled = "cancelled"
)

// WaitFor yields the open tasks that depend on one, unless it is completed.
func (s *State) WaitFor(task string) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		if !s.satisfied(task, false) {
			s.OpenDependents(task)(yield)
		}
	}
}

// OpenDependents yields the open tasks that depend on one.
func (s *State) OpenDependents(task string) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for id := range once(s.dependents.get(task)) {
			s.work(1)
			t := s.Task(id)
			if t != nil && t.Status != events.TaskCompleted && t.Status != events.TaskCancelled && !yield(t) {
				return
			}
		}
	}
}

// DependentCount counts the tasks that depend on one, including deleted ones.
func (s *State) DependentCount(task string) int { return len(s.dependents.get(task)) }

// satisfied reports whether a dependency is met: its task is completed, or, where reports are trusted, said to be.
func (s *State) satisfied(id string, trust bool) bool {
	d := s.tasks.get(id)
	if d == nil || d.Status == events.TaskCompleted {
		return true
	}
	if !trust || d.Deleted {
		return false
	}
	return s.saidDone(d)
}

// dependOn records a task as the dependent of others, once even if it names one repeatedly.
func (s *State) dependOn(task string, dependencies []string) {
	for id := range once(dependencies) {
		s.dependents.put(id, append(s.dependents.get(id), task))
	}
	s.countAnew(task)
	s.await(dependencies, s.Open(task))
	s.attendTask(task)
}

// dependNoMore removes a task from the dependents of those that it no longer depends on.
func (s *State) dependNoMore(task string, before, after []string) {
	gone := without(before, after)
	for id := range once(gone) {
		s.dependents.put(id, s.omit(s.dependents.get(id), task))
	}
	s.countAnew(task)
	s.await(gone, -s.Open(task))
}

// once yields each id once, in order.
func once(ids []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(ids) == 1 { // most tasks depend on one or none
			yield(ids[0])
			return
		}
		seen := make(map[string]bool, len(ids))
		for _, id := range ids {
			if seen[id] {
				continue
			}
			if seen[id] = true; !yield(id) {
				return
			}
		}
	}
}

// without returns the ids that are not among others.
func without(ids, others []string) []string {
	if len(ids) == 0 {
		return nil
	}
	drop := make(map[string]bool, len(others))
	for _, id := range others {
		drop[id] = true
	}
	var rest []string
	for _, id := range ids {
		if !drop[id] {
			rest = append(rest, id)
		}
	}
	return rest
}
