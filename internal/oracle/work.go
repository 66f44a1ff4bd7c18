package oracle

import "slices"

// workable judges that none of the tasks is cancelled, which the rules require since version 3.
func (c *trial) workable(tasks ...string) {
	for _, id := range tasks {
		if t := c.tasks[id]; t != nil && t.status == cancelled && c.thirdOn() {
			c.fault(ruleWork, "task %s is cancelled", id)
		}
	}
}

// gives judges the tasks that a session has from then on. s is nil for a new session.
func (c *trial) gives(s *session, tasks []string, forced bool) {
	if !c.thirdOn() {
		return
	}
	c.workable(c.added(s, tasks)...)
	switch early := c.early(s, tasks); {
	case early && !forced:
		c.fault(ruleWork, "it assigns tasks with open dependencies, or to an ended session, without force")
	case !early && forced:
		c.fault(ruleWork, "it is forced without need: the tasks can be assigned")
	}
}

// added returns those of the tasks that the session does not have yet.
func (j *Judge) added(s *session, tasks []string) []string {
	if s == nil {
		return tasks
	}
	has := func(id string) bool { return slices.Contains(s.tasks, id) }
	return slices.DeleteFunc(slices.Clone(tasks), has)
}

// early reports whether a session is given a task that waits for a task not given to it, or any task after its end.
func (j *Judge) early(s *session, tasks []string) bool {
	added := j.added(s, tasks)
	if s != nil && s.ended != "" && len(added) > 0 {
		return true
	}
	return slices.ContainsFunc(added, func(id string) bool {
		t := j.tasks[id]
		return t != nil && slices.ContainsFunc(t.dependencies, func(dependency string) bool {
			return !slices.Contains(tasks, dependency) && !j.satisfied(dependency, false)
		})
	})
}

// linked returns a session's tasks with one added.
func linked(s *session, task string) []string {
	if s == nil {
		return []string{task}
	}
	return append(slices.Clone(s.tasks), task)
}
