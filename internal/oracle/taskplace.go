package oracle

import (
	"slices"
	"strings"

	"maestro/internal/lazyregexp"
)

// parent judges the parent that a task gets; "" is none.
func (c *trial) parent(id, project string) {
	if p := c.tasks[id]; id != "" && (p == nil || p.deleted || p.project != project) {
		c.fault(ruleTask, "parent %q is not a task of the project", id)
	}
}

// taskIDs match the form of task ids.
var taskIDs = lazyregexp.New(`^task_[0-9a-hjkmnp-tv-z]{10,}$`)

// planID judges an id in a plan, which only one task of a project has at a time.
func (c *trial) planID(task, id, project string) {
	if id == "" {
		return
	}
	if strings.ContainsAny(id, " \t\n") {
		c.fault(ruleTask, "plan id %q contains a space", id)
	}
	if c.thirdOn() && (c.tasks[id] != nil && id != task || taskIDs().MatchString(id)) {
		c.fault(rulePlanID, "plan id %q is the id of a task, or could become one", id)
	}
	for _, t := range c.tasks {
		if t.planID == id && t.id != task && t.project == project && !t.deleted {
			c.fault(rulePlanID, "task %s already has the plan id %q", t.id, id)
		}
	}
}

// place judges a move below another parent, with the dependencies after the update.
func (f *taskUpdated) place(c *trial, t *task) {
	if f.ParentID == nil || t == nil {
		return
	}
	c.parent(*f.ParentID, t.project)
	above := map[string]bool{}
	c.above(*f.ParentID, func(id string) bool { above[id] = true; return false })
	if above[t.id] {
		c.fault(ruleTask, "task %s cannot move below itself", t.id)
		return
	}
	moving := c.moving(t.id)
	for _, part := range moving {
		waitsFor := c.tasks[part.id].dependencies
		if part.id == t.id && f.Dependencies != nil {
			waitsFor = *f.Dependencies
		}
		for _, id := range waitsFor {
			if above[id] {
				c.fault(ruleTask, "task %s cannot move below %s, which it depends on", part.id, id)
			}
		}
	}
	levels := moving[len(moving)-1].level + len(above)
	if len(above) > 0 && levels > maxTaskDepth {
		c.fault(ruleLimit, "the subtasks would be nested %d levels deep", levels)
	}
}

// moved is a task that moves, and its level below the named one, which has level 1.
type moved struct {
	id    string
	level int
}

// moving returns a task and the existing tasks below it, level by level.
func (j *Judge) moving(id string) []moved {
	all := []moved{{id, 1}}
	children := map[string][]string{}
	for _, child := range j.order.tasks {
		if t := j.tasks[child]; !t.deleted {
			children[t.parent] = append(children[t.parent], child)
		}
	}
	for next := 0; next < len(all); next++ {
		for _, child := range children[all[next].id] {
			all = append(all, moved{child, all[next].level + 1})
		}
	}
	return all
}

// changed returns a list after additions and removals; nil if the command does not change it.
func changed(has []string, given *[]string, add, remove []string) *[]string {
	if given == nil && len(add) == 0 && len(remove) == 0 {
		return nil
	}
	if given != nil {
		has = *given
	}
	all := slices.Concat(has, add)
	kept := []string{}
	for _, one := range unique(&all) {
		if !slices.Contains(remove, one) {
			kept = append(kept, one)
		}
	}
	return &kept
}

// validLabels refuses labels that are empty or contain a comma, and trims them.
func (a *asked) validLabels(labels *[]string) *[]string {
	if labels == nil {
		return nil
	}
	var trimmed []string
	for _, label := range *labels {
		label = strings.TrimSpace(label)
		if label == "" || strings.Contains(label, ",") {
			a.refuse(codeInvalid)
		}
		trimmed = append(trimmed, label)
	}
	kept := append([]string{}, unique(&trimmed)...)
	return &kept
}

// differs drops a value that is already so, and reports whether anything is left.
func differs[T any](given **T, same func(T) bool) bool {
	if *given != nil && same(**given) {
		*given = nil
	}
	return *given != nil
}
