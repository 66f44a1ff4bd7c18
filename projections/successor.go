package projections

import (
	"strings"

	"maestro/events"
)

// mostSucceeded bounds the tasks of a session by which its successors are found, and those that the command for one
// names.
const mostSucceeded = 10

// Successor returns the command that spawns a session for the work of this one that is left: a task that is completed,
// cancelled or blocked is none, and one with an open dependency is not given out.
func (s *State) Successor(x *Session) string {
	line, _ := s.SuccessorFor(x)
	return line
}

// SuccessorFor is Successor, and reports whether there is work to give out: a queue, or a task that the command names.
func (s *State) SuccessorFor(x *Session) (line string, works bool) {
	switch {
	case x.Strategy != events.StrategyQueue || s.Queue(x.ProjectID, x.Queue) == nil: // it may be deleted
	case s.isSpecial(x):
		return s.spawnLike(x), true
	default:
		return SpawnForQueue(x.ProjectID, x.Queue), true
	}
	next := s.spawnLike(x)
	named := x.TaskIDs[:min(len(x.TaskIDs), mostSucceeded)]
	together := make(map[string]bool, len(named))
	for _, id := range named {
		together[id] = true
	}
	left := make([]string, 0, len(named))
	for _, id := range named {
		if t := s.Task(id); t != nil && !t.Over() && t.Status != events.TaskBlocked && !s.waitsFor(t, together) {
			left = append(left, id)
		}
	}
	if len(left) == 0 {
		return next + " --task-ids <taskId>", false
	}
	return next + " --task-ids " + strings.Join(left, ","), true
}

// waitsFor reports whether a task waits for another that is not among those given out together. Of very many
// dependencies it examines only the first.
func (s *State) waitsFor(t *Task, together map[string]bool) bool {
	for _, id := range t.Dependencies[:min(len(t.Dependencies), mostSucceeded)] {
		if !together[id] && !s.satisfied(id, false) {
			return true
		}
	}
	return false
}
