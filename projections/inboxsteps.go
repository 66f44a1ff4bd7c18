package projections

import "slices"

// The steps of an inbox item are commands that are accepted as things stand: each function returns the command for a
// task, or the one that has to come before it.

// complete returns the command that confirms a task. It is refused while a task directly below is open, so that one
// comes first.
func (b *inbox) complete(t *Task) string {
	below, all := b.SomeUnfinished(t.ID, 1)
	switch {
	case all == 0:
		return "maestro task complete " + t.ID
	case all == 1 && len(below) == 1:
		return "maestro task get " + below[0]
	}
	return "maestro task children " + t.ID
}

// spawn returns the command that gives a task to a new session. It is refused while a dependency of the task is open,
// so the dependency comes first.
func (b *inbox) spawn(t *Task) string {
	b.lookedThrough(len(t.Dependencies))
	spawn := "maestro session spawn --task-ids " + t.ID
	unmet := b.UnmetDependencies(t)
	switch {
	case len(unmet) == 0:
		return spawn
	case slices.ContainsFunc(unmet, func(id string) bool { return b.done(id) }): // deleted or cancelled
		return b.dropGone(t)
	}
	return "maestro task get " + unmet[0] + NextOr + spawn + " --force"
}
