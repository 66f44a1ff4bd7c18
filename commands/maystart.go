package commands

import (
	"slices"
	"strings"

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
		return false, waitsFor(s, tasks, unmet, "repeat it with --force")
	}
	if err := noneCancelled(s, c, tasks...); err != nil {
		return false, err
	}
	return len(unmet) > 0, nil
}

// waitsFor is the refusal of work on tasks whose dependencies are not met; instead is the other way out. Nothing
// completes a dependency that was deleted or cancelled, so it has to be removed.
func waitsFor(s *projections.State, tasks, unmet []string, instead string) *Refusal {
	named := slices.Clone(unmet[:min(len(unmet), belowNamed)])
	next := "complete them first"
	if remove := removeGone(s, tasks, named); remove != "" {
		next = remove
		if slices.ContainsFunc(unmet, func(id string) bool { return s.GoneBecause(id) == "" }) {
			next += " and complete the others"
		}
	}
	for i, id := range named {
		if why := s.GoneBecause(id); why != "" {
			named[i] = id + " (" + why + ")"
		}
	}
	return forbidden("the work would start before its dependencies are done", next+", or "+instead,
		"Dependencies are not completed: %s", someOf(named, len(unmet)))
}

// removeGone advises to remove those dependencies that were deleted or cancelled from the first task that has any; ""
// if there are none. Another attempt names those of the next task.
func removeGone(s *projections.State, tasks, unmet []string) string {
	open := setOf(unmet)
	for _, task := range tasks {
		var gone []string
		for _, id := range s.Task(task).Dependencies {
			if open[id] && s.GoneBecause(id) != "" {
				gone = append(gone, id)
				delete(open, id) // named once
			}
		}
		if len(gone) > 0 {
			return "remove what nothing completes any more with `maestro task update " + task +
				" --remove-depends-on " + strings.Join(gone, ",") + "`"
		}
	}
	return ""
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
