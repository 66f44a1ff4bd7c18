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

// ChildIDs returns the tasks directly below one in order of creation, including deleted ones. The list does not change.
func (s *State) ChildIDs(task string) []string { return s.children.get(task) }

// DependentIDs returns the tasks that depend on one, including deleted ones. The list does not change.
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

// Walk iterates over tasks in order of creation, in as many portions as needed. [State.WalkTasks] adds the tasks of a
// project, except those that are created later; [State.WalkOn] continues it.
type Walk struct {
	lists inTurn
	// Last is the last task that it reached, which may be deleted; nil at the beginning.
	Last *Task
}

// Left counts the remaining tasks, including deleted ones.
func (w *Walk) Left() (n int) {
	for _, list := range w.lists {
		n += list.left()
	}
	return n
}

// WalkTasks adds the tasks of a project to a walk that has not begun, starting after the one that was created at a
// sequence; 0 for all.
func (s *State) WalkTasks(w *Walk, project string, after uint64) {
	ids := s.taskIDs.get(project)
	if after > 0 {
		ids = ids[s.indexAfter(ids, after):]
	}
	w.add(s, siblings{created: ids})
}

// WalkSiblings adds the tasks of a project to a walk in sibling order, starting after the key of one of them; "" for
// all. The walk must have no other project.
func (s *State) WalkSiblings(w *Walk, project, after string) {
	w.add(s, s.siblingsIn(s.taskIDs.get(project), orderOf(project), after))
}

// WalkChildren starts a walk through the tasks directly below one in sibling order, after the key of one of them; ""
// for all.
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

// WalkOn calls see with the next existing tasks, until see returns false or the state has counted so many steps. It
// reports whether the walk is done.
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

// indexAfter returns the index of the first task that was created after a sequence. ids are in order of creation.
func (s *State) indexAfter(ids []string, after uint64) int {
	return sort.Search(len(ids), func(i int) bool { return s.tasks.get(ids[i]).CreatedSequence > after })
}

// taskList is the rest of a list of tasks, ordered by when the first of them was created.
type taskList struct {
	first uint64
	siblings
}

// inTurn is a heap of lists: the list whose first task was created first is on top.
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
