package oracle

import (
	"slices"
	"strings"

	"maestro/internal/lazyregexp"
)

var idForm = lazyregexp.New(`^[A-Za-z0-9_-]{1,128}$`)

// isID reports whether a text has the form of an id.
func isID(id string) bool {
	return idForm().MatchString(id)
}

// unique removes the duplicates from a list.
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

// liveTask returns an existing task, and refuses the command if there is none.
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

// task returns the command's task, in the project that it names.
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

// tasksOf refuses tasks that do not exist, or belong to another project.
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
	created := &taskCreated{
		TaskID:       a.fresh,
		Title:        strings.TrimSpace(*a.f.Title),
		Dependencies: wanted,
	}
	if a.f.ParentID != nil {
		created.ParentID = *a.f.ParentID
	}
	created.Forced = a.f.Force && a.isCompleted(created.ParentID)
	if a.f.PlanID != nil {
		created.PlanID = *a.f.PlanID
	}
	if labels := a.validLabels(a.f.Labels); labels != nil {
		created.Labels = *labels
	}
	a.dependencies(a.event.Project, "", created.ParentID, wanted)
	return created
}

// dependencies refuses tasks that do not exist, belong to another project, or contain the task.
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
	update := &taskUpdated{
		TaskID:       t.id,
		Dependencies: changed(t.dependencies, a.f.Dependencies, a.f.AddDependencies, a.f.RemoveDependencies),
		ParentID:     a.f.ParentID,
		PlanID:       a.f.PlanID,
		Labels:       a.validLabels(changed(t.labels, a.f.Labels, a.f.AddLabels, a.f.RemoveLabels)),
	}
	if a.f.Title != nil {
		trimmed := strings.TrimSpace(*a.f.Title)
		update.Title = &trimmed
		a.title(trimmed)
	}
	parent := t.parent
	if update.ParentID != nil {
		if parent = *update.ParentID; parent == "null" {
			parent = ""
		}
		update.ParentID = &parent
		if parent == t.parent {
			a.parent(parent, t.project) // it may have been deleted since
		} else {
			update.place(a.trial, t) // one of several refusals, if there are others
		}
	}
	update.Order = a.wantedOrder(t, update.ParentID)
	if update.Dependencies != nil {
		wanted := *update.Dependencies
		if a.f.Dependencies == nil { // adding dependencies does not re-check the others
			old := func(id string) bool {
				return slices.Contains(t.dependencies, id) && !slices.Contains(a.f.AddDependencies, id)
			}
			wanted = slices.DeleteFunc(slices.Clone(wanted), old)
		}
		a.dependencies(t.project, t.id, parent, wanted)
	}
	switch {
	case a.f.Status == nil:
	case *a.f.Status != t.status:
		update.Status = &move{From: t.status, To: *a.f.Status}
	default:
		a.moves(t, t.status, t.status)
	}
	above, to := update.leaves(t)
	update.Forced = a.f.Force && a.outOfOrder(t, above, to)
	if a.refused() {
		return nil
	}
	if !update.narrow(t) && update.Status == nil {
		return a.so()
	}
	if update.Status != nil {
		update.Notice = a.notify(t, update.Status.To, false, a.fresh)
	}
	return update
}

// narrow drops the values that the task already has, and reports whether anything is left.
func (f *taskUpdated) narrow(t *task) bool {
	same := func(has string) func(string) bool { return func(given string) bool { return given == has } }
	all := func(has []string) func([]string) bool {
		return func(given []string) bool { return slices.Equal(given, has) }
	}
	left := []bool{
		differs(&f.Title, same(t.title)),
		differs(&f.ParentID, same(t.parent)),
		differs(&f.PlanID, same(t.planID)),
		differs(&f.Dependencies, all(t.dependencies)),
		differs(&f.Labels, all(t.labels)),
		f.Order != nil,
	}
	return slices.Contains(left, true)
}

func (a *asked) moveTask() fact {
	t := a.task()
	if t == nil {
		return nil
	}
	to := map[string]string{"task:complete": completed, "task:block": blocked, "task:reopen": inProgress}[a.ID]
	switch {
	case to == inProgress && t.status != completed && t.status != blocked && a.shown(t) != completed &&
		!a.explains(t, a.f.Reason):
		return a.no(codeRule)
	case to != inProgress && to == t.status && (to != blocked || a.f.Reason == "" || a.f.Reason == t.reason):
		return a.so()
	}
	return &taskStatusChanged{
		TaskID: t.id,
		From:   t.status,
		To:     to,
		Reason: a.f.Reason,
		Forced: a.f.Force && a.outOfOrder(t, t.parent, to),
		Notice: a.notify(t, to, to == inProgress, a.fresh),
	}
}

func (a *asked) deleteTask() fact {
	t := a.task()
	if t == nil {
		return nil
	}
	deleted := &taskDeleted{TaskID: t.id, Recursive: a.f.Recursive, Title: t.title}
	if a.f.Recursive {
		deleted.Descendants = a.below(t.id)
	}
	deleted.Notice = noticeTo(a.affected(true, deleted.tasks(a.trial)...), a.fresh)
	return deleted
}

// below returns the existing tasks below a task, level by level.
func (a *asked) below(id string) []string {
	var all []string
	for _, part := range a.moving(id)[1:] {
		all = append(all, part.id)
	}
	return all
}
