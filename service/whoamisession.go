package service

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// ownTasksListed is how many of its tasks a session is shown.
	ownTasksListed = 10
	// lostLooked is how many of its newest timeline entries are searched for the session's loss.
	lostLooked = 20
)

// whoamiSession fills in what a session learns about itself.
func (v View) whoamiSession(x *projections.Session, body *wire.Whoami) {
	body.Session, body.Name, body.SpawnedBy, body.Queue = x.ID, x.Name, x.SpawnedBy, x.Queue
	body.Role, body.Strategy, body.Project, body.Status = string(x.Role), string(x.Strategy), x.ProjectID, x.Status
	if spawner := v.Session(x.SpawnedBy); spawner != nil {
		body.SpawnedByName = spawner.Name
	}
	if p := v.Project(x.ProjectID); p != nil {
		body.ProjectName = p.Name
	}
	body.Tasks, body.TasksMore = v.ownTasks(x)
	if x.Ended() {
		body.Ended = commands.HowEnded(x)
	}
	body.Lost = v.wasLost(x)
	body.Next, body.BeforeEnd = v.nextOf(x, body.Tasks), v.beforeEnd(x)
	if x.Active() && x.Role == events.RoleOrchestrator && v.AskedByWorkers(x.ID) && v.mayFollow("`maestro inbox`") {
		body.Next = "your workers wait for answers, which `maestro inbox` lists; then: " + body.Next
	}
}

// ownTasks returns the tasks of a session, the item that it holds first; more counts those that are omitted.
func (v View) ownTasks(x *projections.Session) (tasks []wire.OwnTask, more int) {
	held := ""
	if item := v.Holds(x); item != nil {
		held = item.TaskID
	}
	ids := slices.DeleteFunc(slices.Clone(x.TaskIDs), func(id string) bool { return id == held })
	if held != "" {
		ids = slices.Insert(ids, 0, held)
	}
	v.Worked(len(ids) / namesPerStep)
	for _, id := range ids[:min(len(ids), ownTasksListed)] {
		t := v.Task(id)
		if t == nil { // deleted
			continue
		}
		v.Worked(t.Speakers())
		tasks = append(tasks, wire.OwnTask{
			ID:     t.ID,
			PlanID: t.PlanID,
			Title:  t.Title,
			Status: t.Status,
			Says:   v.Stands(t, t.SaidBy(x.ID)),
			Held:   id == held,
		})
	}
	return tasks, max(len(ids)-ownTasksListed, 0)
}

// wasLost returns when a session was last lost, if its newest entries show that.
func (v View) wasLost(x *projections.Session) string {
	loss := v.Loss(x)
	if loss == nil || len(v.SessionTimeline(x.ID))-loss.Entries >= lostLooked {
		return ""
	}
	item := v.Holds(x)
	if item != nil && item.StartedAt > loss.At { // it knows, and went on
		return ""
	}
	at := time.UnixMilli(loss.At).UTC().Format(time.RFC3339)
	lost := "you have been lost since " + at
	if loss.Recovered {
		lost = "you were lost, and heard again at " + at
	}
	if x.Strategy == events.StrategyQueue && item == nil {
		lost += "; an item that you held may be another session's now"
	}
	return lost
}

// reported reports whether a task needs nothing more from the session: the task has ended, or the session has said how
// its work on it ended.
func reported(t wire.OwnTask) bool {
	return t.Status.Over() || t.Says == events.SaysCompleted || t.Says == events.SaysFailed
}

// halted reports whether a task is blocked, or the session said so.
func halted(t wire.OwnTask) bool {
	return t.Status == events.TaskBlocked || t.Says == events.SaysBlocked
}

// nextTask returns the first task that the session can work on, or else the first one that is blocked; nil if it has
// reported on all.
func nextTask(tasks []wire.OwnTask) *wire.OwnTask {
	var next *wire.OwnTask
	for i := range tasks {
		switch t := &tasks[i]; {
		case reported(*t):
		case !halted(*t):
			return t
		case next == nil:
			next = t
		}
	}
	return next
}

// nextOf returns a session's next step, as command lines that it may use.
func (v View) nextOf(x *projections.Session, tasks []wire.OwnTask) string {
	may := func(id string) bool { return v.Permit(id, x.ProjectID) == nil }
	switch {
	case x.Ended():
		return "stop: nothing that you do is accepted any more"
	case x.Status == events.SessionSaidDone && v.reopenedSince(x) != nil:
		task := v.reopenedSince(x).ID
		return v.firstStep("task "+task+", which you hold, was reopened after you reported that you are done: do what "+
			"is missing, then report it", completesItem(task), failsItem(task), skipsItem(task))
	case x.Status == events.SessionSaidDone && v.Holds(x) != nil:
		return v.firstStep("you reported that you are done, and still hold task "+v.Holds(x).TaskID,
			completesItem(v.Holds(x).TaskID), failsItem(v.Holds(x).TaskID), skipsItem(v.Holds(x).TaskID))
	case x.Status == events.SessionSaidDone:
		return "stop: " + whoCompleted(x)
	case x.Strategy == events.StrategyQueue && x.Queue != "" && v.Queue(x.ProjectID, x.Queue) == nil:
		return "queue " + x.Queue + " was deleted: end with `maestro session complete`"
	case x.Status == events.SessionSpawning && x.ManifestDigest != "":
		return "`maestro " + string(x.Role) + " init` prints your prompts"
	}
	if item := v.Holds(x); item != nil {
		return v.nextOfHeld(x, item)
	}
	below, more := v.leftInTree(x)
	open := v.firstOfTree(x, below)
	if open == nil {
		open = nextTask(slices.Concat(tasks, below))
	}
	if open == nil && len(below) > 0 && x.Role == events.RoleOrchestrator {
		open = &below[0] // it is reported, and not confirmed
	}
	worker := x.Strategy != events.StrategyQueue && x.Role == events.RoleWorker
	word := v.UnansweredWord(x)
	switch {
	case worker && open != nil && halted(*open):
		return v.waitForWord(x, open.ID, open.Status)
	case v.waitsForAnswer(x.ID) && may("input:wait"):
		next := "your question is open: `maestro input wait` waits for the answer"
		if x.Role == events.RoleOrchestrator && may("inbox") {
			next += "; `maestro inbox --wait` also returns for whatever else needs you"
		}
		return next
	case word != nil && open != nil && may("input:wait"):
		return "you said that you cannot continue: `maestro input wait` waits until you hear that you can go on"
	case x.Strategy == events.StrategyQueue && v.queueFinished(x):
		return "the queue is finished: end with `maestro session complete`"
	case x.Strategy == events.StrategyQueue && may("queue:start") && !v.queueReady(x):
		return "no item can be started now: `maestro queue start --wait` waits for one"
	case x.Strategy == events.StrategyQueue && may("queue:start"):
		return "`maestro queue start` takes the next item"
	case open != nil && x.Role == events.RoleOrchestrator && !may("task:complete"):
		return belowGoal(below, more) +
			"`maestro status` shows what is reported; the user, or the orchestrator that spawned you, " +
			"confirms it." +
			" When you can do no more, end with `maestro session complete`"
	case open != nil && x.Role == events.RoleOrchestrator && len(below) == 0 && v.goalReady(x, open.ID):
		return "everything below " + open.ID + " is done: check the task itself against its criteria, then " +
			"`maestro report complete \"<summary>\" --task " + open.ID + "`"
	case open != nil && x.Role == events.RoleOrchestrator && len(below) == 0:
		return v.nextOfLeader(x, *open)
	case open != nil && x.Role == events.RoleOrchestrator:
		if ready := v.firstStartable(below); ready != nil && may("session:spawn") {
			lists := ""
			if may("task:list") {
				lists = "; `maestro task list --ready` lists all that can be started"
			}
			return belowGoal(below, more) + "nobody has " + ready.ID + ": `" + v.SpawnFor(ready) +
				"` starts a session for it" + lists
		}
		return belowGoal(below, more) + v.steps("`maestro inbox --wait` waits for what needs you",
			"`maestro status` shows what your sessions report")
	case open != nil && may("report:complete"):
		return ofTree(below, more) + "work on " + open.ID + ", then `maestro report complete \"<summary>\" --task " +
			open.ID + "`"
	case open != nil:
		return ofTree(below, more) + "work on " + open.ID + ", then `maestro session complete`"
	}
	return v.nextAtEnd(x, tasks)
}

// nextOfLeader returns the next step of an orchestrator whose goal has no open task below it, and cannot be reported yet.
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

// whoCompleted says who completed a session.
func whoCompleted(x *projections.Session) string {
	if x.DoneBy != "" {
		return commands.ByWhom(x.DoneBy) + " completed your session"
	}
	return "you reported that you are done"
}

// reopenedSince returns the task of the item that a session holds, if it was reopened after the session said that it is
// done; nil otherwise.
func (v View) reopenedSince(x *projections.Session) *projections.Task {
	item := v.Holds(x)
	if item == nil {
		return nil
	}
	if t := v.Task(item.TaskID); t != nil && t.Reopened && t.StatusSequence > x.DoneSequence {
		return t
	}
	return nil
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

// treeLooked bounds the tasks of a tree that are examined for those that its worker has not reported.
const treeLooked = 1000

// leftInTree returns the tasks below those of a tree worker, or of an orchestrator, of which nobody has reported the
// end. To an orchestrator that confirms tasks, one is left until it is confirmed. A blocked one waits for others.
// Of a very large tree it examines only a part; more says so.
func (v View) leftInTree(x *projections.Session) (left []wire.OwnTask, more bool) {
	seen := map[string]bool{}
	for _, id := range x.TaskIDs {
		seen[id] = true
	}
	return v.leftBelow(x, x.TaskIDs, seen)
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

// nextAtEnd returns the next step of a session that has nothing left to report. It says what nobody needs any more, and
// an orchestrator is reminded of the sessions that would go on without it.
func (v View) nextAtEnd(x *projections.Session, tasks []wire.OwnTask) string {
	said := "everything is reported"
	cancelled := func(t wire.OwnTask) bool { return t.Status == events.TaskCancelled }
	switch i := slices.IndexFunc(tasks, cancelled); {
	case i < 0 && len(tasks) == 0 && len(x.Unlinked) > 0:
		said = "you have no task any more"
	case i < 0:
	case len(tasks) == 1:
		said = "task " + tasks[i].ID + " is cancelled, so nobody needs work on it"
	default:
		said = "task " + tasks[i].ID + " is cancelled, and everything else is reported"
	}
	end := "end with `maestro session complete`"
	if x.Role == events.RoleOrchestrator && v.HasWorking(x.ID) && v.mayFollow("`maestro session kill`") &&
		v.mayFollow("`maestro session list`") {
		return said + "; `maestro session list --mine` shows the sessions that go on, and `maestro session kill " +
			"<sessionId>` ends one; then " + end
	}
	return said + ": " + end
}

// The steps by which a session ends its hold of the item of a task. They name the task: by then the session may hold
// another item, or none, and would skip the next one.
func completesItem(task string) string {
	return "`maestro queue complete --task " + task + "` completes its item"
}

func failsItem(task string) string {
	return "`maestro queue fail \"<reason>\" --task " + task + "` fails its item"
}

func skipsItem(task string) string { return "`maestro queue skip --task " + task + "` skips its item" }

// nextOfHeld returns the next step of a session that holds an item. Its task may have ended without it.
func (v View) nextOfHeld(x *projections.Session, item *projections.Item) string {
	t := v.Task(item.TaskID)
	completes, fails, skips := completesItem(item.TaskID), failsItem(item.TaskID), skipsItem(item.TaskID)
	if t == nil {
		return v.firstStep("task "+item.TaskID+" was deleted", skips, fails, completes)
	}
	switch t.Status {
	case events.TaskCancelled:
		return v.firstStep("task "+t.ID+" is cancelled", skips, fails, completes)
	case events.TaskCompleted:
		return v.firstStep("task "+t.ID+" is completed already", completes, skips, fails)
	case events.TaskTodo, events.TaskInProgress, events.TaskBlocked:
	}
	v.Worked(t.Speakers())
	switch says := v.Stands(t, t.SaidBy(x.ID)); {
	case says == events.SaysFailed:
		return v.firstStep("you said that "+t.ID+" failed", fails, skips)
	case t.Status == events.TaskBlocked: // until it is unblocked, the item is not completed
		return v.waitForWord(x, t.ID, t.Status)
	case says == events.SaysCompleted:
		return v.firstStep("you said that "+t.ID+" is done", completes,
			"`maestro session complete` ends your session, and the item returns to the queue")
	case says == events.SaysBlocked:
		return v.waitForWord(x, t.ID, t.Status)
	case v.waitsForAnswer(x.ID) && v.Permit("input:wait", x.ProjectID) == nil:
		return "your question is open: `maestro input wait` waits for the answer"
	case v.Permit("queue:complete", x.ProjectID) == nil:
		return "work on " + t.ID + ", then `maestro queue complete --task " + t.ID + "`"
	}
	return v.firstStep("work on "+t.ID, "then `maestro report complete \"<summary>\" --task "+t.ID+"`")
}

// firstStep returns a fact, with the first of the steps that the caller may take.
func (v View) firstStep(fact string, steps ...string) string {
	for _, step := range steps {
		if v.mayFollow(step) {
			return fact + ": " + step
		}
	}
	return fact
}

// beforeEnd returns what a session has to do before it ends, "" for nothing: an item that it holds would wait for its
// lease. A session that could only claim that the item is complete has nothing to do: that may not be true.
func (v View) beforeEnd(x *projections.Session) string {
	item := v.Holds(x)
	if item == nil || !x.Active() {
		return ""
	}
	completes, fails, skips := completesItem(item.TaskID), failsItem(item.TaskID), skipsItem(item.TaskID)
	if !v.mayFollow(fails) && !v.mayFollow(skips) {
		return ""
	}
	var steps []string
	t := v.Task(item.TaskID)
	blocked := t != nil && t.Status == events.TaskBlocked
	for _, step := range []string{completes, fails, skips} {
		if v.mayFollow(step) && (step != completes || !blocked) {
			steps = append(steps, strings.TrimSuffix(step, " its item")+" it")
		}
	}
	return "finish the item of task " + item.TaskID + ": " + strings.Join(steps, ", ")
}

// waitForWord returns the next step of a session whose task is blocked, by a decision or by its own word.
func (v View) waitForWord(x *projections.Session, task string, status events.TaskStatus) string {
	blocked, goOn := "task "+task+" is blocked", ""
	if status != events.TaskBlocked {
		blocked = "you said that " + task + " is blocked"
	}
	if status != events.TaskBlocked && v.Permit("report:progress", x.ProjectID) == nil {
		goOn = "; `maestro report progress \"<message>\" --task " + task + "` says that you go on"
	}
	if v.Permit("input:wait", x.ProjectID) != nil {
		return blocked + ": go on once it is not, or end with `maestro session complete`"
	}
	return blocked + ": `maestro input wait` waits until you hear that it goes on" + goOn
}

// queueFinished reports whether nothing is left to start in the session's queue.
func (v View) queueFinished(x *projections.Session) bool {
	q := v.Queue(x.ProjectID, x.Queue)
	return q != nil && v.Finished(q)
}

// queueReady reports whether an item of the session's queue can be started now.
func (v View) queueReady(x *projections.Session) bool {
	q := v.Queue(x.ProjectID, x.Queue)
	return q != nil && v.ReadyItems(q) > 0
}
