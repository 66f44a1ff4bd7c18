package commands

import (
	"math"
	"slices"

	"maestro/projections"
)

// graph limits the work of decisions about tasks and their dependents. Rules before version 3 have no such limits.
type graph struct {
	s       *projections.State
	bounded bool
}

func graphOf(s *projections.State, c Call) graph { return graph{s, thirdOn(c.Rules)} }

// most returns a limit, or no limit if the rules have none.
func (g graph) most(l Limit) int {
	if !g.bounded {
		return math.MaxInt
	}
	return int(l.Value)
}

// below refuses a new task that would be too deep.
func (g graph) below(parent string) error {
	if !g.bounded || parent == "" {
		return nil
	}
	if depth := int64(g.s.Depth(parent, int(LimitTaskDepth.Value))) + 1; depth > LimitTaskDepth.Value {
		return LimitTaskDepth.exceeded("/parentId", "a tree of tasks", depth)
	}
	return nil
}

// dependencies refuses a new dependency of a task if it does not exist, is in another project, is above the task, or
// closes a cycle: a task waits for its dependencies, and a parent for what is below it. id is "" for a new task, which
// nothing can depend on.
func (g graph) dependencies(project, id, parent string, before, wanted []string) error {
	if err := validIDs("/dependencies", wanted); err != nil {
		return err
	}
	above := g.s.Above(parent)
	had := make(map[string]bool, len(before))
	for _, dependency := range before {
		had[dependency] = true
	}
	var fresh []string
	words := 0
	for _, dependency := range wanted {
		d := g.s.Task(dependency)
		switch {
		case d == nil:
			return notFound("Task", dependency)
		case d.ProjectID != project:
			return elsewhere("/dependencies", "Dependency", dependency, project)
		case dependency == id:
			return circular("/dependencies", "name another task", "a task cannot depend on itself")
		case above[dependency]:
			return circular("/dependencies", "name a task beside it, or move it elsewhere with `maestro task move`",
				"a task cannot wait for '%s', which it is part of", dependency)
		case had[dependency]:
			continue
		}
		if n := g.s.DependentCount(dependency); n >= g.most(LimitDependents) {
			return LimitDependents.exceeded("/dependencies", "task '"+dependency+"'", int64(n)+1)
		}
		open := g.s.Open(id)
		if n := g.s.Awaited(dependency) + open; n > g.most(LimitAwaited) {
			return LimitAwaited.exceeded("/dependencies", "what waits for task '"+dependency+"'", int64(n))
		}
		if words += d.Speakers(); open > 0 && words > g.most(LimitReportWords) {
			return LimitReportWords.exceeded("/dependencies", "what is said of the new dependencies", int64(words))
		}
		fresh = append(fresh, dependency)
	}
	waitsForIt, which := id, ""
	if id == "" { // only its parent waits for a new task
		if waitsForIt, which = parent, ", which the new task is part of"; parent == "" || !g.bounded {
			return nil
		}
	}
	waits := projections.Waits{Parts: g.bounded, Moved: id, Parent: parent}
	found, steps := g.s.Reaches(fresh, waitsForIt, waits, g.most(LimitGraph))
	if steps > g.most(LimitGraph) {
		return LimitGraph.exceeded("/dependencies", "what the new dependencies wait for", 0)
	}
	if found != "" {
		return circular("/dependencies", seeWaits(found),
			"A dependency cycle: '%s' already waits for '%s'%s", found, waitsForIt, which)
	}
	return nil
}

// standsBelow refuses to put a task, with what it waits for, below one that any of these already wait for. Rules before
// version 3 look only at what the tasks themselves depend on.
func (g graph) standsBelow(t *projections.Task, parent string, waitsFor []string) error {
	if !g.bounded || parent == "" {
		return nil
	}
	ahead := slices.Concat(waitsFor, g.s.ChildIDs(t.ID))
	waits := projections.Waits{Parts: true, Moved: t.ID, Parent: parent}
	found, steps := g.s.Reaches(ahead, parent, waits, g.most(LimitGraph))
	if steps > g.most(LimitGraph) {
		return LimitGraph.exceeded("/parentId", "what the task waits for", 0)
	}
	if found == "" {
		return nil
	}
	which := "which it waits for"
	if !slices.Contains(waitsFor, found) {
		which = "which is part of it"
	}
	return circular("/parentId", seeWaits(found),
		"Task '%s' cannot move below '%s': '%s', %s, waits for that", t.ID, parent, found, which)
}

// seeWaits advises how to find and break what a task waits for.
func seeWaits(task string) string {
	return "see what it waits for with `maestro task get " + task + "` and `maestro task children " + task +
		"`, and take a dependency away with `maestro task update <taskId> --remove-depends-on <taskIds>`"
}

// circular returns the refusal of a cycle of dependencies.
func circular(pointer, next, format string, args ...any) *Refusal {
	refusal := invalid(pointer, format, args...)
	refusal.Why, refusal.Next = "each would wait for the other, and a parent waits for what is below it", next
	return refusal
}

// waits refuses tasks with too many dependencies to check.
func (g graph) waits(tasks []string) error {
	steps := 0
	for _, id := range tasks {
		if steps += len(g.s.Task(id).Dependencies); steps > g.most(LimitGraph) {
			return LimitGraph.exceeded("/taskIds", "what the tasks wait for", 0)
		}
	}
	return nil
}

// joins refuses another session for tasks that already have the maximum.
func (g graph) joins(session string, tasks []string) error {
	for _, id := range tasks {
		t := g.s.Task(id)
		if t == nil || len(t.SessionIDs) < g.most(LimitTaskSessions) {
			continue
		}
		g.s.Worked(len(t.SessionIDs) / namesPerStep)
		if slices.Contains(t.SessionIDs, session) {
			continue
		}
		return LimitTaskSessions.exceeded("/taskIds", "task '"+id+"'", int64(len(t.SessionIDs))+1)
	}
	return nil
}

// speaks refuses reports on a task from more sessions than the limit.
func (g graph) speaks(session string, t *projections.Task) error {
	n := t.Speakers()
	if n < g.most(LimitTaskSessions) {
		return nil
	}
	if g.s.Worked(n / namesPerStep); t.SaidBy(session).SessionID != "" {
		return nil
	}
	return LimitTaskSessions.exceeded("/taskIds", "task '"+t.ID+"'", int64(n)+1)
}

// queues refuses a task in more queues than the limit.
func (g graph) queues(task string) error {
	if n := g.s.QueueCount(task); n >= g.most(LimitTaskQueues) {
		return LimitTaskQueues.exceeded("/taskId", "task '"+task+"'", int64(n)+1)
	}
	return nil
}

// enters refuses tasks for a queue if too many items would wait for one task, or be in queues that trust reports; q is
// nil for the own queue of a new session.
func (g graph) enters(pointer string, q *projections.Queue, tasks ...string) error {
	if !g.bounded || len(tasks) == 0 {
		return nil
	}
	if q != nil && q.TrustReports {
		if n := g.s.Trusted(q.ProjectID) + len(tasks); n > g.most(LimitTrusted) {
			return LimitTrusted.exceeded(pointer, "project '"+q.ProjectID+"'", int64(n))
		}
	}
	more := map[string]int{}
	var awaited []string
	for _, id := range tasks {
		for _, dependency := range unique(g.s.Task(id).Dependencies) {
			if more[dependency]++; more[dependency] == 1 {
				awaited = append(awaited, dependency)
			}
			if n := g.s.Awaited(dependency) + more[dependency]; n > g.most(LimitAwaited) {
				return LimitAwaited.exceeded(pointer, "what waits for task '"+dependency+"'", int64(n))
			}
		}
	}
	if q != nil && q.TrustReports {
		return g.words(pointer, "what is said of the tasks that it waits for", awaited)
	}
	return nil
}

// words refuses a decision that would read too many statements of sessions on tasks.
func (g graph) words(pointer, what string, tasks []string) error {
	words := 0
	for _, id := range tasks {
		if t := g.s.Task(id); t != nil {
			words += t.Speakers()
		}
		if words > g.most(LimitReportWords) {
			return LimitReportWords.exceeded(pointer, what, int64(words))
		}
	}
	return nil
}

// deletes refuses to delete tasks together that have too many items and dependents.
func (g graph) deletes(tasks []string) error {
	if !g.bounded {
		return nil
	}
	items, steps := 0, 0
	for _, id := range tasks {
		items += g.s.Open(id) + g.s.Awaited(id)
		steps += len(g.s.Task(id).Dependencies) + g.s.DependentCount(id)
		limit, have := LimitDeletedItems, items
		if steps > g.most(LimitGraph) {
			limit, have = LimitGraph, steps
		}
		if have > g.most(limit) {
			refusal := limit.exceeded("/recursive", "what hangs on the tasks", 0)
			refusal.Next = "delete what is below it first, branch by branch"
			return refusal
		}
	}
	return nil
}
