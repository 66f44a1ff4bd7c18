package oracle

// leaves returns the task's parent and status after the update.
func (f *taskUpdated) leaves(t *task) (parent, status string) {
	parent, status = t.parent, t.status
	if f.ParentID != nil {
		parent = *f.ParentID
	}
	if f.Status != nil {
		status = f.Status.To
	}
	return parent, status
}

// ordered judges that only a forced event leaves a task open below a completed one, or completed above open ones.
func (c *trial) ordered(t *task, parent, to string, forced bool) {
	switch out := c.outOfOrder(t, parent, to); {
	case !c.thirdOn():
	case out && !forced:
		c.fault(ruleFinish, "task %s is left open below a completed parent, or completed above open subtasks, "+
			"without force", t.id)
	case !out && forced:
		c.fault(ruleFinish, "task %s is forced without need: its parent and its subtasks allow the change", t.id)
	}
}

// outOfOrder reports whether this parent and this status leave a completed task above an open one.
func (j *Judge) outOfOrder(t *task, parent, to string) bool {
	if to == completed {
		return t.status != completed && j.openBelow(t.id)
	}
	return isOpen(to) && (!isOpen(t.status) || parent != t.parent) && j.isCompleted(parent)
}

func isOpen(status string) bool { return status != completed && status != cancelled }

// isCompleted reports whether a task exists and is completed.
func (j *Judge) isCompleted(id string) bool {
	t := j.tasks[id]
	return t != nil && !t.deleted && t.status == completed
}
