package simulation

import "cmp"

// plans creates a queue with an item that was skipped, which random commands seldom do.
func (w *world) plans() *Failure {
	project := w.oracle.model().projectIDs[0]
	if f := w.ask(admin, "queue:create", fields{Project: project, Queue: planQueue}); f != nil {
		return f
	}
	if f := w.ask(admin, "task:create", fields{Project: project, Title: ptr("Skipped")}); f != nil {
		return f
	}
	item := fields{Project: project, Queue: planQueue, TaskID: last(w.oracle.model().taskIDs)}
	if f := w.ask(admin, "queue:push", item); f != nil {
		return f
	}
	return w.ask(admin, "queue:skip", fields{Project: project, Queue: planQueue})
}

// staff returns how many sessions a run keeps at work: fewer in a run about plans.
func (c composer) staff() int {
	if c.plans {
		return 2
	}
	return 4
}

// drawPlanWish draws changes of a plan: tasks with plan ids are created, deleted, and moved in a tree with
// dependencies. Some of its commands change nothing.
func (c composer) drawPlanWish() wish {
	if x, ok := c.talker(); ok && c.chance(20) {
		return x
	}
	w := wish{by: admin}
	f := &w.fields
	project := c.m.projectIDs[0]
	var tasks []string
	for _, id := range c.m.taskIDs {
		if t := c.m.tasks[id]; !t.Deleted && t.Project == project {
			tasks = append(tasks, id)
		}
	}
	if len(tasks) < 5 || c.chance(10) {
		w.id, f.Project, f.Title = "task:create", project, ptr("Planned")
		f.PlanID = ptr(pick(c, []string{"one", "one", "two", "", "task_0123456789"}))
		if len(tasks) > 0 && c.chance(70) {
			f.ParentID, f.Force = ptr(pick(c, tasks)), c.chance(20)
		}
		if len(tasks) > 0 && c.chance(40) {
			f.Dependencies = &[]string{pick(c, tasks)}
		}
		return w
	}
	f.TaskID = pick(c, tasks)
	t := c.m.tasks[f.TaskID]
	if t.Status == "cancelled" && c.chance(50) {
		return c.givesWork(project, f.TaskID)
	}
	if t.Status == "cancelled" && c.chance(60) {
		w.by, w.id = c.orchestrator(project), pick(c, []string{"task:complete", "task:block", "task:reopen"})
		if c.chance(50) {
			w.by, w.id, f.TaskID, f.TaskIDs = admin, "session:spawn", "", &[]string{f.TaskID}
			f.Project, f.Force = project, true
		}
		return w
	}
	if x, ok := c.skipped(project); ok && c.chance(12) {
		return x
	}
	if _, live := c.m.liveTask(t.Parent); live && c.chance(25) { // the task, then its parent, then reopen the task
		switch {
		case t.Status != "completed":
			w.id, f.Force = "task:complete", true
		case c.m.tasks[t.Parent].Status != "completed":
			w.id, f.TaskID, f.Force = "task:complete", t.Parent, true
		default:
			w.id, f.Force = pick(c, []string{"task:reopen", "task:reopen", "task:block"}), c.chance(30)
		}
		return w
	}
	if t.Status == "blocked" && c.chance(30) { // perhaps for another reason
		w.id, f.Reason = "task:block", pick(c, []string{"", "not yet", "no key"})
		return w
	}
	if c.chance(30) {
		return c.givesWork(project, f.TaskID)
	}
	switch n := c.IntN(100); {
	case n < 35:
		w.id, f.ParentID, f.Force = "task:update", ptr(pick(c, append(tasks, "null"))), c.chance(20)
	case n < 50:
		w.id, f.AddDependencies = "task:update", []string{pick(c, tasks)}
	case n < 60:
		w.id, f.PlanID = "task:update", ptr(pick(c, []string{"one", "two", "", "", pick(c, c.m.taskIDs)}))
	case n < 70: // changes nothing, or little
		w.id, f.ParentID = "task:update", ptr(cmp.Or(t.Parent, "null"))
		if c.chance(60) {
			f.ParentID, f.Title = nil, ptr("Planned")
		}
	case n < 73:
		w.id = "task:update"
		c.order(f, t)
	case n < 80:
		w.id, f.Status = "task:update", ptr("cancelled")
	case n < 85:
		w.id, f.Recursive = "task:delete", c.chance(60)
	case n < 90:
		w.id, f.Force = pick(c, []string{"task:reopen", "task:block"}), c.chance(20)
	default:
		w.id, f.Force = "task:complete", c.chance(20)
	}
	return w
}

// orchestrator draws an orchestrator of a project that has not ended, or any caller if there is none.
func (c composer) orchestrator(project string) caller {
	for _, id := range c.m.sessionIDs {
		if x, live := c.m.liveSession(id); live && !x.Ended && x.Project == project && x.Role == "orchestrator" {
			return caller{kind: "session", name: id, project: project}
		}
	}
	return c.caller()
}

// skipped cancels the task of a skipped item, and then requeues the item.
func (c composer) skipped(project string) (wish, bool) {
	for _, i := range c.m.queues[queueID(project, planQueue)].Items {
		w := wish{by: admin}
		switch f := &w.fields; {
		case i.Status != "skipped":
			continue
		case c.m.tasks[i.Task].Status == "cancelled":
			w.id, f.Project, f.Queue, f.TaskID = "queue:requeue", project, planQueue, i.Task
		default:
			w.id, f.TaskID, f.Status = "task:update", i.Task, ptr("cancelled")
		}
		return w, true
	}
	return wish{}, false
}

// talker has a session report its task as completed, then complete itself, and then report progress on the task.
func (c composer) talker() (wish, bool) {
	for _, id := range c.m.sessionIDs {
		x, ok := c.m.liveSession(id)
		if !ok || x.Ended || len(x.Tasks) == 0 || !c.chance(40) {
			continue
		}
		w := wish{by: caller{kind: "session", name: id, project: x.Project}, id: "report:progress"}
		w.fields.TaskIDs = &[]string{x.Tasks[0]}
		switch {
		case x.Status == "completed":
		case c.chance(60):
			w.id = "report:complete"
		default:
			w.id, w.fields = "session:complete", fields{}
		}
		return w, true
	}
	return wish{}, false
}
