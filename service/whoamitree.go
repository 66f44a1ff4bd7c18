package service

import (
	"slices"
	"strconv"
	"strings"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// treeLooked bounds the tasks of a tree that are examined for those that its worker has not reported.
const treeLooked = 1000

// leftInTree returns the tasks below those of a tree worker, or of an orchestrator, of which nobody has reported the
// end. To an orchestrator that confirms tasks, one is left until it is confirmed. A blocked one waits for others.
// Of a very large tree it examines only a part; more says so.
func (v View) leftInTree(x *projections.Session) (left []wire.OwnTask, more bool) {
	seen, roots := map[string]bool{}, make([]string, 0, len(x.TaskIDs))
	for _, id := range x.TaskIDs {
		seen[id] = true
		if t := v.Task(id); t != nil && !t.Status.Over() { // nobody needs what is below a task that is over
			roots = append(roots, id)
		}
	}
	return v.leftBelow(x, roots, seen)
}

// leftBelow is leftInTree for the trees of some tasks, without those that were seen.
func (v View) leftBelow(x *projections.Session, roots []string, seen map[string]bool) (left []wire.OwnTask, more bool) {
	leads := x.Role == events.RoleOrchestrator
	if !leads && x.Strategy != events.StrategyTree {
		return nil, false
	}
	confirms := leads && v.Permit("task:complete", x.ProjectID) == nil
	looked := 0
	for _, root := range roots {
		below := v.Descendants(root, treeLooked-looked)
		v.Worked(len(below))
		for _, id := range below {
			if looked++; looked >= treeLooked {
				return left, true
			}
			t := v.Task(id)
			if t == nil || seen[id] {
				continue
			}
			seen[id] = true
			v.Worked(2 * t.Speakers())
			own := wire.OwnTask{ID: id, Status: t.Status, Says: v.Stands(t, t.SaidBy(x.ID))}
			over := t.Status.Over() || t.Status == events.TaskBlocked
			if !confirms && !over {
				says, _ := v.SessionStatus(t)
				over = reported(own) || says == events.SaysCompleted
			}
			if !over {
				left = append(left, own)
			}
		}
	}
	return left, false
}

// firstOfTree returns the task with which a tree worker begins, of those below its own that are left: one that needs
// none of the others, because it neither depends on one nor is above one. nil if there is none, and for other sessions.
func (v View) firstOfTree(x *projections.Session, left []wire.OwnTask) *wire.OwnTask {
	if x.Strategy != events.StrategyTree {
		return nil
	}
	needed, above := make(map[string]bool, len(left)), make(map[string]bool, len(left))
	for _, own := range left {
		needed[own.ID], above[v.Task(own.ID).ParentID] = true, true
	}
	v.Worked(len(left))
	for i := range left {
		t := v.Task(left[i].ID)
		v.Worked(1 + len(t.Dependencies)/namesPerStep)
		if !halted(left[i]) && !above[t.ID] &&
			!slices.ContainsFunc(t.Dependencies, func(id string) bool { return needed[id] }) {
			return &left[i]
		}
	}
	return nil
}

// ofTree introduces the next step of a tree worker with the number of tasks below its own that are not reported.
func ofTree(left []wire.OwnTask, more bool) string {
	switch {
	case len(left) == 0:
		return ""
	case more:
		return "at least " + strconv.Itoa(len(left)) + " tasks below yours are not reported yet: "
	case len(left) == 1:
		return "1 task below yours is not reported yet: "
	}
	return strconv.Itoa(len(left)) + " tasks below yours are not reported yet: "
}

// belowGoal is ofTree for an orchestrator, whose sessions do what is left.
func belowGoal(left []wire.OwnTask, more bool) string {
	switch {
	case len(left) == 0:
		return ""
	case more:
		return "at least " + strconv.Itoa(len(left)) + " tasks below yours are open: "
	case len(left) == 1:
		return "task " + left[0].ID + " below yours is open: "
	case len(left) > projections.WaitsNamed:
		return strconv.Itoa(len(left)) + " tasks below yours are open: "
	}
	ids := make([]string, 0, len(left))
	for _, t := range left {
		ids = append(ids, t.ID)
	}
	return "tasks " + strings.Join(ids, ", ") + " below yours are open: "
}

// firstStartable returns the first task of a list that somebody could start now; nil if there is none.
func (v View) firstStartable(tasks []wire.OwnTask) *projections.Task {
	for _, own := range tasks {
		if t := v.Task(own.ID); t != nil && v.Startable(t) {
			return t
		}
	}
	return nil
}

// goalReady reports whether an orchestrator has nothing to wait for before it reports a goal: there are tasks below it,
// which have all ended, and none of its sessions is at work.
func (v View) goalReady(x *projections.Session, goal string) bool {
	t := v.Task(goal)
	return t != nil && t.Status != events.TaskBlocked && len(v.ChildIDs(goal)) > 0 && v.Unfinished(goal) == 0 &&
		!v.HasWorking(x.ID) && v.Permit("report:complete", x.ProjectID) == nil
}

// nextOfLeader returns the next step of an orchestrator whose goal has no open task below it, and cannot be reported
// yet.
func (v View) nextOfLeader(x *projections.Session, goal wire.OwnTask) string {
	switch {
	case v.HasWorking(x.ID):
		return "nothing below " + goal.ID + " is open, and sessions of yours are at work: " + v.steps(
			"`maestro inbox --wait` waits for what needs you",
			"`maestro session list --mine --active` shows them",
			"`maestro session kill <sessionId>` ends one",
			"`maestro status` shows what they report")
	case halted(goal):
		return v.waitForWord(x, goal.ID, goal.Status)
	case len(v.ChildIDs(goal.ID)) == 0:
		return "nothing is planned below " + goal.ID + ": " + v.steps(
			"`maestro task create \"<title>\" --parent "+goal.ID+"` adds a task",
			"`maestro session spawn --task-ids <taskId>` gives one to a worker",
			"`maestro status` shows the project")
	}
	return "everything below " + goal.ID + " is done: end with `maestro session complete`"
}

// steps returns those of some steps that the caller may take. `maestro status` is for all.
func (v View) steps(steps ...string) string {
	return strings.Join(slices.DeleteFunc(steps, func(step string) bool { return !v.mayFollow(step) }), "; ")
}
