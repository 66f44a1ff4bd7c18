package oracle

import "slices"

// workable judges that none of the tasks is cancelled, which the rules say from their third version on.
func (c *trial) workable(tasks ...string) {
	for _, id := range tasks {
		if t := c.tasks[id]; t != nil && t.status == cancelled && c.thirdOn() {
			c.fault(ruleWork, "task %s is cancelled", id)
		}
	}
}

// gives judges what a session is given to work on: all that it has from then on. s is nil for a new one.
func (c *trial) gives(s *session, tasks []string, forced bool) {
	if !c.thirdOn() {
		return
	}
	c.workable(c.added(s, tasks)...)
	if early := c.early(s, tasks); early != forced {
		c.fault(ruleWork, "it gives work before its time: %t, forced: %t", early, forced)
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

// early reports whether one of the tasks that a session is given waits for what it is not given too, or whether it has
// ended and is given one at all.
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

// linked returns what a session has with one task more.
func linked(s *session, task string) []string {
	if s == nil {
		return []string{task}
	}
	return append(slices.Clone(s.tasks), task)
}
