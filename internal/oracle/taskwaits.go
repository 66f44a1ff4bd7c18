package oracle

import "slices"

// placed is a task as an event leaves it: its parent, and what it depends on.
type placed struct {
	id, parent   string
	dependencies []string
}

// circular judges that no task waits for itself once the event has happened: a task waits for its dependencies, and a
// parent for what is below it (docs/contract.md, "Decisions"). Only what the event adds counts: fresh are the new
// dependencies, and moved says that the parent is new.
func (c *trial) circular(t placed, fresh []string, moved bool) {
	if !c.thirdOn() {
		return
	}
	for _, id := range fresh {
		if c.waits(id, t.id, t, map[string]bool{}) {
			c.fault(ruleTask, "it depends on %s, which waits for it", id)
		}
	}
	if moved && t.parent != "" && c.waits(t.id, t.parent, t, map[string]bool{}) {
		c.fault(ruleTask, "it is part of %s, for which it waits", t.parent)
	}
}

// waits reports whether one task waits for another, directly or not. Nobody waits through a deleted task.
func (j *Judge) waits(id, other string, as placed, seen map[string]bool) bool {
	if id == other {
		return true
	}
	t := j.tasks[id]
	if seen[id] || id != as.id && (t == nil || t.deleted) {
		return false
	}
	seen[id] = true
	through := func(next string) bool { return j.waits(next, other, as, seen) }
	if id == as.parent && id != "" && through(as.id) {
		return true
	}
	if t != nil {
		for _, child := range t.children {
			if x := j.tasks[child]; child != as.id && x.parent == id && !x.deleted && through(child) {
				return true
			}
		}
	}
	dependencies := as.dependencies
	if id != as.id {
		dependencies = t.dependencies
	}
	return slices.ContainsFunc(dependencies, through)
}
