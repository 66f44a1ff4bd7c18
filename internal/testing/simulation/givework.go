package simulation

// planQueue is the queue in which the tasks of a plan wait.
const planQueue = "plans"

// givesWork gives a session a task in each possible way except a spawn, or puts the task in a queue.
func (c composer) givesWork(project, task string) wish {
	w := wish{by: admin, id: pick(c, []string{
		"session:link", "session:update", "session:register", "queue:push", "queue:push", "queue:push",
	})}
	f := &w.fields
	var sessions []string
	for _, id := range c.m.sessionIDs {
		if x, live := c.m.liveSession(id); live && x.Project == project {
			sessions = append(sessions, id)
		}
	}
	if len(sessions) > 0 && c.chance(15) {
		w.id, f.SessionID = "session:kill", pick(c, sessions)
		return w
	}
	_, created := c.m.queues[queueID(project, planQueue)]
	switch {
	case w.id == "queue:push" && !created:
		w.id, f.Project, f.Queue = "queue:create", project, planQueue
	case w.id == "queue:push":
		for _, i := range c.m.queues[queueID(project, planQueue)].Items {
			if i.Status == "queued" && c.m.tasks[i.Task].Status != "cancelled" && c.chance(70) {
				w.id, f.Project, f.Queue = "queue:skip", project, planQueue
				return w
			}
		}
		f.Project, f.Queue, f.TaskID = project, planQueue, task
		switch c.m.itemOf(project, planQueue, task).Status {
		case "":
		case "skipped":
			w.id = "queue:requeue"
		default:
			w.id, f.TaskID = "queue:skip", ""
		}
	case w.id == "session:register" || len(sessions) == 0:
		w.id, f.Project, f.TaskIDs, f.Force = "session:register", project, &[]string{task}, c.chance(40)
	case w.id == "session:link":
		f.SessionID, f.TaskID, f.Force = pick(c, sessions), task, c.chance(40)
	default:
		f.SessionID, f.Force = pick(c, sessions), c.chance(40)
		given := append(c.m.sessions[f.SessionID].Tasks[:0:0], task)
		if c.chance(50) {
			given = append(given, c.m.sessions[f.SessionID].Tasks...)
		}
		f.TaskIDs = &given
	}
	return w
}
