package commands

import (
	"maestro/events"
	"maestro/projections"
)

// maxBeside is how many places next to a sibling are searched to find out whether the task is there already.
const maxBeside = 200

// order returns the place among its siblings that an update gives the task; nil if the update does not move it, or if
// the task is there already.
func (x *UpdateTask) order(s *projections.State, c Call, t *projections.Task, parent *string) (*events.SiblingOrder,
	error,
) {
	pointer, id, after := "/before", x.Before, false
	if x.After != "" {
		if x.Before != "" {
			return nil, invalid("/before", "'before' and 'after' cannot be used together")
		}
		pointer, id, after = "/after", x.After, true
	}
	if id == "" {
		return nil, nil
	}
	sibling, err := x.sibling(s, t, parent, pointer, id)
	if err != nil {
		return nil, err
	}
	if standsBeside(s, t, sibling, after) {
		return nil, nil
	}
	order := &events.SiblingOrder{Key: s.KeyBeside(sibling, after), Before: x.Before, After: x.After}
	if int64(len(order.Key)) > LimitOrderKey.Value {
		order.Key, order.Respaced = s.RespacedKey(t, order.Key), true
	}
	return order, nil
}

// sibling returns the task next to which another one is put. It must be below the parent that the other one has after
// the update.
func (x *UpdateTask) sibling(s *projections.State, t *projections.Task, parent *string, pointer, id string) (
	*projections.Task, error,
) {
	if err := ValidID(pointer, id); err != nil {
		return nil, err
	}
	sibling := s.Task(id)
	below := s.ParentOf(t)
	if parent != nil {
		below = *parent
	}
	switch {
	case sibling == nil:
		return nil, notFound("Task", id)
	case sibling.ID == t.ID:
		return nil, invalid(pointer, "Task '%s' cannot be placed next to itself", t.ID)
	case sibling.ProjectID != t.ProjectID:
		return nil, elsewhere(pointer, "Task", id, t.ProjectID)
	case s.ParentOf(sibling) != below:
		refusal := invalid(pointer, "Task '%s' is not below the same parent as task '%s'", id, t.ID)
		refusal.Next = "move the task there too: --parent " + s.ParentOf(sibling)
		if s.ParentOf(sibling) == "" {
			refusal.Next += rootParent
		}
		return nil, refusal
	}
	return sibling, nil
}

// standsBeside reports whether a task is directly before or after a sibling, as far as it searches.
func standsBeside(s *projections.State, t, sibling *projections.Task, after bool) bool {
	walk := s.WalkBeside(t.ProjectID, sibling.SiblingKey(), after)
	for range maxBeside {
		beside, found := walk.Next()
		if !found {
			return false
		}
		switch at := beside.Task; {
		case at == nil || at.Deleted:
		case at.ID == t.ID:
			return s.ParentOf(at) == s.ParentOf(sibling)
		case s.ParentOf(at) == s.ParentOf(sibling):
			return false
		}
	}
	return false
}
