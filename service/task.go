package service

import (
	"cmp"
	"slices"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// PermitTask gives a task that the caller may see by a row of the table.
func (v View) PermitTask(row, id string) (*projections.Task, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	if err := v.Own(row, v.OwnTask(id)); err != nil {
		return nil, err
	}
	t := v.Task(id)
	if t == nil {
		return nil, NotFound("Task", id)
	}
	return t, v.Permit(row, t.ProjectID)
}

// ListTasks gives the tasks that the caller may see, in order of creation or of dependency.
func (v View) ListTasks(in *wire.TaskFilter) ([]projections.TaskView, error) {
	projects, err := v.PermitProjects("task:list", in.ProjectID)
	if err != nil {
		return nil, err
	}
	if err := checkTasks(in); err != nil {
		return nil, err
	}
	found := []projections.TaskView{}
	for _, p := range projects {
		found = append(found, v.TaskViews(func(yield func(*projections.Task) bool) {
			for t := range v.Tasks(p.ID) {
				if (byDependency(in) || taskMatches(in, t)) && !yield(t) {
					return
				}
			}
		})...)
	}
	slices.SortStableFunc(found, func(a, b projections.TaskView) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	if byDependency(in) { // what is left out stands between what is not
		found = projections.InDependencyOrder(found)
	}
	return slices.DeleteFunc(found,
		func(t projections.TaskView) bool { return !taskMatches(in, v.Task(t.ID)) || !taskShown(in, &t) }), nil
}

func checkTasks(f *wire.TaskFilter) error {
	if f.Order != "" && !byDependency(f) {
		return unknownOrder(f.Order)
	}
	if f.Ready != "" && f.Ready != "true" {
		return Invalid("/ready", "'%s' is not a value of ready; it is true, or left out", safetext.Printable(f.Ready))
	}
	return nil
}

func byDependency(f *wire.TaskFilter) bool { return f.Order == inDependencyOrder }

// inDependencyOrder names the order in which each task follows those that it depends on.
const inDependencyOrder = "dependencies"

func unknownOrder(order string) error {
	return Invalid("/order", "'%s' is not an order of tasks; it is dependencies, or left out",
		safetext.Printable(order))
}

func taskMatches(f *wire.TaskFilter, t *projections.Task) bool {
	parent := t.ParentID
	if parent == "" {
		parent = "null"
	}
	return (f.Status == "" || f.Status == string(t.Status)) &&
		(f.ParentID == "" || f.ParentID == parent) &&
		(f.Priority == "" || f.Priority == t.Priority) &&
		(f.SessionID == "" || slices.Contains(t.SessionIDs, f.SessionID))
}

// shows is the part that the views have to tell.
func taskShown(f *wire.TaskFilter, t *projections.TaskView) bool {
	return (f.SessionStatus == "" || f.SessionStatus == string(t.SessionStatus)) &&
		(f.Ready == "" || t.Status == events.TaskTodo && len(t.UnmetDependencies) == 0)
}

// GetTask gives a task.
func (v View) GetTask(in *wire.TaskID) (projections.TaskView, error) {
	t, err := v.PermitTask("task:get", in.ID)
	if err != nil {
		return projections.TaskView{}, err
	}
	return v.TaskView(t), nil
}

// ListChildren gives the tasks directly below one.
func (v View) ListChildren(in *wire.TaskID) ([]projections.TaskView, error) {
	t, err := v.PermitTask("task:children", in.ID)
	if err != nil {
		return nil, err
	}
	return v.TaskViews(v.Children(t.ID)), nil
}

// GetTaskTree gives a task with everything below it.
func (v View) GetTaskTree(in *wire.TreeOf) (projections.TaskTree, error) {
	t, err := v.PermitTask("task:tree", in.ID)
	if err != nil {
		return projections.TaskTree{}, err
	}
	tree := []projections.TaskTree{v.TaskTree(t)}
	err = orderTrees(tree, in.Order)
	return tree[0], err
}

// orderTrees puts the tasks of trees in an order: "" is that of creation.
func orderTrees(trees []projections.TaskTree, order string) error {
	switch order {
	case "":
	case inDependencyOrder:
		projections.OrderTrees(trees)
	default:
		return unknownOrder(order)
	}
	return nil
}
