package plan

import (
	"slices"

	"maestro/commands"
)

// Detach returns the command that takes away what a task of the project waits for only in the old plan: dependencies
// that the plan does not have, and a parent that it moves the task away from. nil if there is nothing to take away. It
// is for a task that was not applied yet.
//
// A plan may turn around what waits for what. Between the old and the new order, one task after the other, there can be
// a cycle that neither of them has. What is left when all tasks are detached is part of the new order.
func (d *Diff) Detach(t *Task) (update *commands.UpdateTask, key string) {
	task, there := d.There(t)
	if !there {
		return nil, ""
	}
	update = &commands.UpdateTask{TaskID: task.ID}
	for _, id := range withoutDeleted(&task) {
		if !slices.ContainsFunc(t.Dependencies, func(local string) bool { return d.there[local].ID == id }) {
			update.RemoveDependencies = append(update.RemoveDependencies, id)
		}
	}
	if task.ParentID != nil && d.there[t.Parent].ID != *task.ParentID {
		update.ParentID = new(string)
	}
	if update.RemoveDependencies == nil && update.ParentID == nil {
		return nil, ""
	}
	if d.given {
		key = d.keys + ":detach:" + t.ID
	}
	return update, key
}

// Detached records what a task no longer waits for.
func (d *Diff) Detached(t *Task, fields []string) {
	if d.detached == nil {
		d.detached = map[string][]string{}
	}
	d.detached[t.ID] = fields
}
