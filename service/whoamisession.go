package service

import (
	"slices"
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
	body.Asks = v.OpenQuestionsOf(x.ID)
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

// allBlocked reports whether somebody decided that all tasks that a session could work on are blocked.
func allBlocked(tasks []wire.OwnTask) bool {
	next := nextTask(tasks)
	return next != nil && next.Status == events.TaskBlocked
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
	case x.Role == events.RoleOrchestrator && allBlocked(tasks) && may("input:wait"):
		next := v.waitForWord(x, nextTask(tasks).ID, events.TaskBlocked)
		if may("inbox") {
			next += "; `maestro inbox --wait` also returns for whatever else needs you"
		}
		return next
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
				lists = "; `maestro task list --ready` lists all that can be started, also those of others"
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

// nextAtEnd returns the next step of a session that has nothing left to report. It says what nobody needs any more, and
// an orchestrator is reminded of the sessions that would go on without it.
func (v View) nextAtEnd(x *projections.Session, tasks []wire.OwnTask) string {
	said := "everything is reported"
	cancelled := func(t wire.OwnTask) bool { return t.Status == events.TaskCancelled }
	switch i := slices.IndexFunc(tasks, cancelled); {
	case i < 0 && len(tasks) == 0 && len(x.Unlinked) > 0:
		said = "you have no task any more"
	case i < 0 && len(tasks) == 0 && len(x.TaskIDs) > 0:
		said = "your tasks were deleted"
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
	return blocked + ": `maestro input wait` tells you when it is unblocked" + goOn
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
