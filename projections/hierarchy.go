package projections

import (
	"fmt"
	"slices"
)

// Descendants returns the ids of the tasks below one, parents before children. It stops when it has more than most; 0
// is no limit.
func (s *State) Descendants(task string, most int) []string {
	var below []string
	for next := -1; next < len(below); next++ {
		parent := task
		if next >= 0 {
			parent = below[next]
		}
		for child := range s.Children(parent) {
			if below = append(below, child.ID); most > 0 && len(below) > most {
				return below
			}
		}
	}
	return below
}

// Depth counts the levels from the root down to a task: 1 for a root. It stops when it has counted more than most.
func (s *State) Depth(task string, most int) int {
	depth := 0
	for id := task; id != "" && depth <= most; depth++ {
		t := s.tasks.get(id)
		if t == nil {
			break
		}
		id = t.ParentID
	}
	return depth
}

// Above returns a task and those above it, as a set.
func (s *State) Above(task string) map[string]bool {
	above := map[string]bool{}
	for id := task; id != "" && !above[id]; {
		above[id] = true
		t := s.tasks.get(id)
		if t == nil {
			break
		}
		id = t.ParentID
	}
	return above
}

// Within returns a function that reports whether a task is one of these tasks or below one of them. It examines each
// task once, however often it is called.
func (s *State) Within(these []string) func(task string) bool {
	known := make(map[string]bool, len(these))
	for _, id := range these {
		known[id] = true
	}
	return func(task string) bool {
		var path []string
		within := false
		for id := task; id != ""; {
			answer, seen := known[id]
			if seen {
				within = answer
				break
			}
			known[id] = false // until the walk ends
			path = append(path, id)
			t := s.tasks.get(id)
			if t == nil {
				break
			}
			id = t.ParentID
		}
		for _, id := range path {
			known[id] = within
		}
		return within
	}
}

// mayStandBelow checks that a task can move below another: nil is no move, "" makes it a root.
func (s *State) mayStandBelow(task string, parent *string) error {
	if parent == nil || *parent == "" {
		return nil
	}
	if s.Task(*parent) == nil {
		return missing("task", *parent)
	}
	if s.Above(*parent)[task] {
		return fmt.Errorf("it moves task %q below itself", task)
	}
	return nil
}

// movedBelow updates the lists of children when a task had another parent before. They stay in order of creation.
func (s *State) movedBelow(t *Task, before string) {
	if t.ParentID == before {
		return
	}
	if before != "" {
		old := s.children.get(before)
		s.work(uint64(len(old)))
		s.children.put(before, without(old, []string{t.ID}))
		s.attendTask(before)
	}
	if t.ParentID != "" {
		siblings := s.children.get(t.ParentID)
		s.work(uint64(len(siblings)))
		at := s.indexAfter(siblings, t.CreatedSequence)
		s.children.put(t.ParentID, slices.Insert(slices.Clone(siblings), at, t.ID))
		s.attendTask(t.ParentID)
	}
}

// Height counts the levels from a task down: 1 for a task with nothing below it. It stops after examining more than
// most tasks.
func (s *State) Height(task string, most int) (levels, looked int) {
	level := []string{task}
	for len(level) > 0 {
		levels++
		var next []string
		for _, id := range level {
			for child := range s.Children(id) {
				if looked++; looked > most {
					return levels, looked
				}
				next = append(next, child.ID)
			}
		}
		level = next
	}
	return levels, looked
}
