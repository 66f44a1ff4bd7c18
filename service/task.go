package service

import (
	"cmp"
	"context"

	"maestro/projections"
	"maestro/service/wire"
)

// PermitTask returns a task that the caller may see by a row of the table.
func (v View) PermitTask(row, id string) (*projections.Task, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	if v.callerEnded() && !v.OwnTask(id) {
		return nil, v.AfterEnd(row)
	}
	t := v.Task(id)
	if t == nil {
		return nil, NotFound("Task", id)
	}
	return t, v.Permit(row, t.ProjectID)
}

// ListTasks returns the tasks that the caller may see, in order of creation, of siblings or of dependency. The returned
// function may run without the state.
func (v View) ListTasks(in *wire.TaskFilter) (func() (TaskPage, error), error) {
	projects, err := v.PermitProjects("task:list", in.ProjectID)
	if err != nil {
		return nil, err
	}
	parent := in.ParentID
	if parent == rootTasks {
		parent = ""
	}
	if err := cmp.Or(v.namedTask(parent), v.namedSession(in.SessionID)); err != nil {
		return nil, err
	}
	filter, err := filterOf(in)
	if err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	after, place := uint64(0), ""
	switch in.Order {
	case "":
		after, err = v.createdAt(asked.After)
	case inSiblingOrder:
		place, err = v.placeOf(asked.After)
	}
	if err != nil {
		return nil, err
	}
	return func() (TaskPage, error) {
		walk := new(projections.Walk)
		err := projects.each(v, func(v View, p *projections.Project) {
			if in.Order == inSiblingOrder {
				v.WalkSiblings(walk, p.ID, place)
			} else {
				v.WalkTasks(walk, p.ID, after)
			}
		})
		if err != nil {
			return TaskPage{}, err
		}
		if byDependency(in) {
			return v.tasksByDependency(walk, asked, filter)
		}
		return v.taskPage(walk, asked, filter)
	}, nil
}

// GetTask returns a task. The returned function runs without the state.
func (v View) GetTask(in *wire.TaskID) (func() (projections.TaskView, error), error) {
	t, err := v.PermitTask("task:get", in.ID)
	if err != nil {
		return nil, err
	}
	return v.shownTask(t), nil
}

// shownTask shows a task as it is. What lies below it is summed up without the state.
func (v View) shownTask(t *projections.Task) func() (projections.TaskView, error) {
	shown := v.TaskViewAlone(t)
	shown.Names = v.namesIn(&shown)
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
		err = RecoverPart(func() (err error) {
			shown, err = finish()
			return err
		})
	}
	return shown, err
}

// ListChildren returns the tasks directly below one, in sibling order.
func (v View) ListChildren(in *wire.TaskID) (func() (TaskPage, error), error) {
	t, err := v.PermitTask("task:children", in.ID)
	if err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	after, err := v.placeOf(asked.After)
	if err != nil {
		return nil, err
	}
	walk := v.WalkChildren(t.ID, after)
	return func() (TaskPage, error) { return v.taskPage(walk, asked, &taskFilter{}) }, nil
}
