package oracle

import (
	"regexp"
	"slices"
	"strings"
)

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// isID reports whether a text has the form of an id.
func isID(id string) bool {
	return idForm.MatchString(id)
}

// unique gives a list without what stands in it twice.
func unique(list *[]string) []string {
	if list == nil {
		return nil
	}
	var kept []string
	for _, id := range *list {
		if !slices.Contains(kept, id) {
			kept = append(kept, id)
		}
	}
	return kept
}

// liveTask gives a task that is there, and refuses the command if there is none.
func (a *asked) liveTask(id string) *task {
	t := a.tasks[id]
	switch {
	case !isID(id):
		a.refuse(codeInvalid)
	case t == nil || t.deleted:
		a.refuse(codeFound)
	default:
		return t
	}
	return nil
}

// task gives the task that the command means, in the project that it names.
func (a *asked) task() *task {
	t := a.liveTask(a.f.TaskID)
	if t != nil && a.f.Project != "" && a.f.Project != t.project {
		a.refuse(codeInvalid)
	}
	if a.refused() {
		return nil
	}
	return t
}

// tasksOf refuses tasks that are not there, or are another project's.
func (a *asked) tasksOf(project string, ids []string) {
	for _, id := range ids {
		if t := a.liveTask(id); t != nil && t.project != project {
			a.refuse(codeInvalid)
		}
	}
}

func (a *asked) createTask() fact {
	switch {
	case a.f.Title == nil || strings.TrimSpace(*a.f.Title) == "":
		return a.no(codeInvalid)
	case !a.liveProject(a.event.Project):
		return nil
	}
	wanted := unique(a.f.Dependencies)
	a.dependencies(a.event.Project, "", a.f.ParentID, wanted)
	return &taskCreated{
		TaskID:       a.fresh,
		Title:        strings.TrimSpace(*a.f.Title),
		ParentID:     a.f.ParentID,
		Dependencies: wanted,
	}
}

// dependencies refuses tasks that are not there, are another project's, or that the task is part of.
func (a *asked) dependencies(project, id, parent string, wanted []string) {
	a.tasksOf(project, wanted)
	for _, dependency := range wanted {
		if dependency == id || a.above(parent, func(up string) bool { return up == dependency }) {
			a.refuse(codeInvalid)
		}
	}
}

func (a *asked) updateTask() fact {
	t := a.task()
	if t == nil {
		return nil
	}
	update := &taskUpdated{TaskID: t.id, Title: a.f.Title}
	if a.f.Dependencies != nil {
		wanted := unique(a.f.Dependencies)
		a.dependencies(t.project, t.id, t.parent, wanted)
		update.Dependencies = &wanted
	}
	switch {
	case a.f.Status == nil:
	case *a.f.Status != t.status:
		update.Status = &move{From: t.status, To: *a.f.Status}
	default:
		if a.moves(t, t.status, t.status); a.refused() {
			return nil
		}
		if a.f.Title == nil && a.f.Dependencies == nil {
			return a.so()
		}
	}
	return update
}

func (a *asked) moveTask() fact {
	t := a.task()
	if t == nil {
		return nil
	}
	to := map[string]string{"task:complete": completed, "task:block": blocked, "task:reopen": inProgress}[a.ID]
	switch {
	case to == inProgress && t.status != completed && t.status != blocked && a.shown(t) != completed:
		return a.no(codeRule)
	case to != inProgress && to == t.status:
		return a.so()
	}
	return &taskStatusChanged{TaskID: t.id, From: t.status, To: to}
}

func (a *asked) deleteTask() fact {
	t := a.task()
	if t == nil {
		return nil
	}
	deleted := &taskDeleted{TaskID: t.id, Recursive: a.f.Recursive}
	if a.f.Recursive {
		deleted.Descendants = a.below(t.id)
	}
	return deleted
}

// below gives what is still there below a task, each after its parent.
func (a *asked) below(id string) []string {
	var all []string
	for _, child := range a.order.tasks {
		if t := a.tasks[child]; t.parent == id && !t.deleted {
			all = append(append(all, child), a.below(child)...)
		}
	}
	return all
}
