package commands

import (
	"maestro/events"
	"maestro/projections"
)

// mayHave refuses to give a session tasks that it may not start. session is nil for a new one, and tasks are all its
// tasks afterwards. Tasks that it has already are not checked again.
func mayHave(s *projections.State, c Call, command string, session *projections.Session, tasks []string, force bool) (
	forced bool, err error,
) {
	if !thirdOn(c.Rules) {
		return false, nil
	}
	added := tasks
	if session != nil {
		s.Worked((len(session.TaskIDs) + len(tasks)) / setPerStep)
		has := setOf(session.TaskIDs)
		added = make([]string, 0, len(tasks))
		for _, id := range tasks {
			if !has[id] {
				added = append(added, id)
			}
		}
	}
	if len(added) == 0 {
		return false, nil
	}
	over := session != nil && session.Ended()
	if over && !force {
		return false, ended(s, command, session)
	}
	if err := graphOf(s, c).waits(added); err != nil {
		return false, err
	}
	forced, err = mayStart(s, c, added, unmetDependencies(s, added, tasks), force)
	return forced || over && err == nil, err
}

// mayStart refuses work on tasks that are cancelled, or that wait for others.
func mayStart(s *projections.State, c Call, tasks, unmet []string, force bool) (forced bool, err error) {
	if len(unmet) > 0 && !force {
		return false, waitsFor(unmet, "complete them first, or repeat it with --force")
	}
	if err := noneCancelled(s, c, tasks...); err != nil {
		return false, err
	}
	return len(unmet) > 0, nil
}

// waitsFor is the refusal of work whose dependencies are not met.
func waitsFor(unmet []string, next string) *Refusal {
	return forbidden("the work would start before its dependencies are done", next,
		"Dependencies are not completed: %s",
		someOf(unmet[:min(len(unmet), belowNamed)], len(unmet)))
}

// noneCancelled refuses work on tasks that the user cancelled. Force does not override it.
func noneCancelled(s *projections.State, c Call, tasks ...string) error {
	if !thirdOn(c.Rules) {
		return nil
	}
	for _, id := range tasks {
		if s.Task(id).Status != events.TaskCancelled {
			continue
		}
		next := "leave it out, or ask the user"
		if c.By.Kind == ActorUser {
			next = "leave it out, or reverse that with `maestro task update " + id + " --status todo`"
		}
		return forbidden("the user cancelled it: nobody may work on it", next, "Task '%s' is cancelled", id)
	}
	return nil
}

// unmetDependencies returns the unmet dependencies of tasks, except those that are worked on together with them.
func unmetDependencies(s *projections.State, tasks, all []string) []string {
	var unmet []string
	known := setOf(all)
	for _, id := range tasks {
		for _, dependency := range s.UnmetDependencies(s.Task(id)) {
			if !known[dependency] {
				known[dependency] = true
				unmet = append(unmet, dependency)
			}
		}
	}
	return unmet
}
