package oracle

type taskDeleted struct {
	TaskID      string   `json:"taskId"`
	Recursive   bool     `json:"recursive"`
	Descendants []string `json:"descendants"`
	Title       string   `json:"title"`
	Notice      *notice  `json:"notice,omitempty"`
}

func (f *taskDeleted) made() string { return f.Notice.made() }

func (f *taskDeleted) about() (kind, id string) { return "task", f.TaskID }
func (f *taskDeleted) commands() []string       { return []string{"task:delete"} }

func (f *taskDeleted) judge(c *trial) {
	c.aTask(f.TaskID)
	if t := c.tasks[f.TaskID]; t != nil && f.Title != "" && f.Title != t.title {
		c.fault(ruleTask, "the event gives the title of task %s as %q, but it is %q", f.TaskID, f.Title, t.title)
	}
	if !f.Recursive && len(f.Descendants) > 0 {
		c.fault(ruleTask, "subtasks are deleted with task %s, but the deletion is not recursive", f.TaskID)
	}
	gone := map[string]bool{f.TaskID: true}
	for _, id := range f.Descendants {
		t := c.tasks[id]
		if t == nil || t.deleted || gone[id] || !c.above(t.parent, func(id string) bool { return id == f.TaskID }) {
			c.fault(ruleTask, "%q is not an existing descendant of task %s", id, f.TaskID)
			continue
		}
		if p := c.tasks[t.parent]; !gone[t.parent] && p != nil && !p.deleted {
			c.fault(ruleTask, "task %s must be listed after its parent %s", id, t.parent)
		}
		gone[id] = true
	}
	c.tells(f.Notice, c.affected(true, f.tasks(c)...))
	if f.Recursive {
		f.complete(c, gone)
		c.takes(append([]string{f.TaskID}, f.Descendants...))
	}
}

// tasks returns the deleted tasks that there are.
func (f *taskDeleted) tasks(j *trial) (all []*task) {
	for _, id := range append([]string{f.TaskID}, f.Descendants...) {
		if t := j.tasks[id]; t != nil {
			all = append(all, t)
		}
	}
	return all
}

// complete judges that nothing is left behind below the deleted tasks.
func (f *taskDeleted) complete(c *trial, gone map[string]bool) {
	for _, t := range c.tasks {
		if !t.deleted && !gone[t.id] && gone[t.parent] {
			c.fault(ruleTask, "task %s is a descendant, but is not deleted", t.id)
			return
		}
	}
}

func (f *taskDeleted) fold(c *trial) {
	c.deliver(f.Notice)
	for _, id := range append([]string{f.TaskID}, f.Descendants...) {
		if t := c.tasks[id]; t != nil {
			t.deleted = true
		}
		c.skipQueued(id, c.event.ID)
	}
}
