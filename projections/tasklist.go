package projections

import (
	"container/heap"
	"iter"
	"sort"
)

// Tasks returns a project's tasks in order of creation.
func (s *State) Tasks(project string) iter.Seq[*Task] { return s.tasksIn(s.taskIDs.get(project)) }

// Children returns the tasks directly below one, in order of creation.
func (s *State) Children(task string) iter.Seq[*Task] { return s.tasksIn(s.children.get(task)) }

// ChildIDs returns the tasks directly below one in order of creation, deleted ones too. The list does not change.
func (s *State) ChildIDs(task string) []string { return s.children.get(task) }

// DependentIDs returns the tasks that depend on one, deleted ones too. The list does not change.
func (s *State) DependentIDs(task string) []string { return s.dependents.get(task) }

func (s *State) tasksIn(ids []string) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, id := range ids {
			if t := s.Task(id); t != nil && !yield(t) {
				return
			}
		}
	}
}

// Walk goes through tasks in order of creation, in as many portions as it takes. [State.WalkTasks] adds the tasks of a
// project, of which those that are made later are no part of it; [State.WalkOn] takes it on.
type Walk struct {
	lists inTurn
	// Last is the task that it came to last, also a deleted one; nil at the beginning.
	Last *Task
}

// Left counts the tasks that it has still to come to, deleted ones too.
func (w *Walk) Left() (n int) {
	for _, list := range w.lists {
		n += list.left()
	}
	return n
}

// WalkTasks adds the tasks of a project to a walk that has not begun, those behind the one that was made at a sequence;
// 0 for all.
func (s *State) WalkTasks(w *Walk, project string, after uint64) {
	ids := s.taskIDs.get(project)
	if after > 0 {
		ids = ids[s.behind(ids, after):]
	}
	w.add(s, siblings{created: ids})
}

// WalkSiblings adds the tasks of a project to a walk in the order of siblings, behind the key of one of them; "" for
// all. The walk has those of no other project.
func (s *State) WalkSiblings(w *Walk, project, after string) {
	w.add(s, s.siblingsIn(s.taskIDs.get(project), orderOf(project), after))
}

// WalkChildren begins a walk through the tasks directly below one in the order of siblings, behind the key of one of
// them; "" for all.
func (s *State) WalkChildren(task, after string) *Walk {
	w := new(Walk)
	w.add(s, s.siblingsIn(s.children.get(task), task, after))
	return w
}

func (w *Walk) add(s *State, list siblings) {
	if !list.empty() {
		heap.Push(&w.lists, taskList{s.firstCreated(list), list})
	}
}

func (s *State) firstCreated(list siblings) uint64 {
	if len(list.created) == 0 {
		return 0 // it is alone
	}
	return s.tasks.get(list.created[0]).CreatedSequence
}

// WalkOn calls see with the next tasks that are not deleted, until see returns false or the state has counted so many
// steps. It reports whether the walk is done.
func (s *State) WalkOn(w *Walk, until uint64, see func(*Task) bool) (done bool) {
	for len(w.lists) > 0 {
		if s.Steps() >= until {
			return false
		}
		first := &w.lists[0]
		t := s.next(&first.siblings)
		if t != nil {
			w.Last = t
		}
		if first.empty() {
			heap.Pop(&w.lists)
		} else if len(w.lists) > 1 {
			first.first = s.firstCreated(first.siblings)
			heap.Fix(&w.lists, 0)
		}
		if t != nil && !t.Deleted && !see(t) {
			break
		}
	}
	return len(w.lists) == 0
}

// behind returns where the tasks begin that were made after a sequence. ids are in order of creation.
func (s *State) behind(ids []string, after uint64) int {
	return sort.Search(len(ids), func(i int) bool { return s.tasks.get(ids[i]).CreatedSequence > after })
}

// taskList is the rest of a list of tasks, by when the first of them was made.
type taskList struct {
	first uint64
	siblings
}

// inTurn is a heap of lists: first the one whose first task was made first.
type inTurn []taskList

func (l inTurn) Len() int { return len(l) }

func (l inTurn) Less(i, j int) bool { return l[i].first < l[j].first }

func (l inTurn) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push implements heap.Interface.
func (l *inTurn) Push(list any) {
	if list, ok := list.(taskList); ok {
		*l = append(*l, list)
	}
}

// Pop implements heap.Interface.
func (l *inTurn) Pop() any {
	*l = (*l)[:len(*l)-1]
	return nil
}
