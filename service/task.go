package service

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// PermitTask gives a task that the caller may see by a row of the table.
func (v View) PermitTask(row, id string) (*projections.Task, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	if v.callerEnded() && !v.OwnTask(id) {
		return nil, AfterEnd(v.Caller.By, row)
	}
	t := v.Task(id)
	if t == nil {
		return nil, NotFound("Task", id)
	}
	return t, v.Permit(row, t.ProjectID)
}

// ListTasks gives the tasks that the caller may see, in order of creation or of dependency. The function that it
// returns may be called when the state has moved.
func (v View) ListTasks(in *wire.TaskFilter) (func() (TaskPage, error), error) {
	projects, err := v.PermitProjects("task:list", in.ProjectID)
	if err != nil {
		return nil, err
	}
	if err := checkTasks(in); err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(projects))
	for i, p := range projects {
		ids[i] = p.ID
	}
	if byDependency(in) {
		return v.tasksByDependency(in, ids, asked)
	}
	after, err := v.createdAt(asked.After)
	if err != nil {
		return nil, err
	}
	return v.taskPage(v.TasksAfter(ids, after), asked, func(t *projections.Task) bool { return v.taskMatches(in, t) })
}

func checkTasks(f *wire.TaskFilter) error {
	if f.Order != "" && !byDependency(f) {
		return unknownOrder(f.Order)
	}
	if f.Ready != "" && f.Ready != "true" {
		return Invalid("/ready", "'%s' is not a value of ready; it is true, or left out", safetext.Printable(f.Ready))
	}
	if f.Planned != "" && f.Planned != "true" {
		return Invalid("/planned", "'%s' is not a value of planned; it is true, or left out",
			safetext.Printable(f.Planned))
	}
	if f.Unconfirmed != "" && f.Unconfirmed != "true" {
		return Invalid("/unconfirmed", "'%s' is not a value of unconfirmed; it is true, or left out",
			safetext.Printable(f.Unconfirmed))
	}
	if n := utf8.RuneCountInString(f.Search); n > searchMost {
		return Invalid("/search", "a search has at most %d characters, this has %d", searchMost, n)
	}
	return nil
}

// searchMost is how long a text is that is searched for, in characters.
const searchMost = 200

// textPerStep is how much text that is searched costs as much as one look-up.
const textPerStep = 1 << 10

// holdsWords reports whether every word is in the task's title, description, labels or plan id, in any case. Of a long
// description only the beginning is searched, which the task holds.
func (v View) holdsWords(t *projections.Task, words string) bool {
	text := strings.ToLower(strings.Join(append([]string{t.Title, t.Description, t.PlanID}, t.Labels...), "\n"))
	v.Worked(len(text) / textPerStep)
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func byDependency(f *wire.TaskFilter) bool { return f.Order == inDependencyOrder }

// inDependencyOrder names the order in which each task follows those that it depends on.
const inDependencyOrder = "dependencies"

func unknownOrder(order string) error {
	return Invalid("/order", "'%s' is not an order of tasks; it is dependencies, or left out",
		safetext.Printable(order))
}

// taskMatches answers from the task, and from the little beside it that a filter asks for: no view is made of what is
// left out.
func (v View) taskMatches(f *wire.TaskFilter, t *projections.Task) bool {
	parent := t.ParentID
	if parent == "" {
		parent = "null"
	}
	if f.Status != "" && f.Status != string(t.Status) || f.ParentID != "" && f.ParentID != parent ||
		f.Priority != "" && f.Priority != t.Priority {
		return false
	}
	if f.Label != "" && !slices.Contains(t.Labels, f.Label) || f.PlanID != "" && f.PlanID != t.PlanID ||
		f.Planned != "" && t.PlanID == "" {
		return false
	}
	if f.Search != "" && !v.holdsWords(t, f.Search) {
		return false
	}
	if f.SessionID != "" {
		v.Worked(len(t.SessionIDs) / namesPerStep)
		if !slices.Contains(t.SessionIDs, f.SessionID) {
			return false
		}
	}
	if f.SessionStatus != "" || f.Unconfirmed != "" {
		says, _ := v.SessionStatus(t)
		if f.SessionStatus != "" && f.SessionStatus != string(says) ||
			f.Unconfirmed != "" && !projections.Unconfirmed(says, t.Status) {
			return false
		}
	}
	return f.Ready == "" || v.Startable(t)
}

// GetTask gives a task. The function that it returns is called when the state has moved.
func (v View) GetTask(in *wire.TaskID) (func() (projections.TaskView, error), error) {
	t, err := v.PermitTask("task:get", in.ID)
	if err != nil {
		return nil, err
	}
	return v.shownTask(t), nil
}

// shownTask shows a task as it is. What lies below it is summed up when the state has moved.
func (v View) shownTask(t *projections.Task) func() (projections.TaskView, error) {
	shown := v.TaskViewAlone(t)
	return func() (projections.TaskView, error) {
		shown.Progress = v.below(t.ID)
		return shown, nil
	}
}

// ShowTask shows a caller the task that it changed.
func (s *Service) ShowTask(ctx context.Context, c *Caller, id string) (shown projections.TaskView, err error) {
	leave, err := s.admitted(ctx, c, Demand{})
	if err != nil {
		return shown, err
	}
	defer leave()
	var finish func() (projections.TaskView, error)
	err = s.Look(ctx, c, func(v View) error {
		t := v.Task(id)
		if t == nil {
			return NotFound("Task", id)
		}
		finish = v.shownTask(t)
		return nil
	})
	if err == nil {
		err = Unbroken(func() (err error) {
			shown, err = finish()
			return err
		})
	}
	return shown, err
}

// ListChildren gives the tasks directly below one.
func (v View) ListChildren(in *wire.TaskID) (func() (TaskPage, error), error) {
	t, err := v.PermitTask("task:children", in.ID)
	if err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	after, err := v.createdAt(asked.After)
	if err != nil {
		return nil, err
	}
	return v.taskPage(v.ChildrenAfter(t.ID, after), asked, func(*projections.Task) bool { return true })
}
