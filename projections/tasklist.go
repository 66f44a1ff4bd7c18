package projections

import (
	"container/heap"
	"iter"
	"sort"
)

// Tasks gives a project's tasks in order of creation.
func (s *State) Tasks(project string) iter.Seq[*Task] { return s.tasksIn(s.taskIDs.get(project)) }

// Children gives the tasks directly below one, in order of creation.
func (s *State) Children(task string) iter.Seq[*Task] { return s.tasksIn(s.children.get(task)) }

// ChildIDs gives the tasks directly below one in order of creation, deleted ones too. The list does not change.
func (s *State) ChildIDs(task string) []string { return s.children.get(task) }

// DependentIDs gives the tasks that depend on one, deleted ones too. The list does not change.
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

// TasksAfter gives the tasks of projects in order of creation, behind the one that was made at a sequence; 0 for all.
func (s *State) TasksAfter(projects []string, after uint64) iter.Seq[*Task] {
	if len(projects) == 1 {
		return s.tasksFrom(s.taskIDs.get(projects[0]), after)
	}
	return func(yield func(*Task) bool) {
		var lists inTurn
		for _, project := range projects {
			ids := s.taskIDs.get(project)
			if ids = s.livingFrom(ids[s.behind(ids, after):]); len(ids) > 0 {
				lists = append(lists, taskList{s.tasks.get(ids[0]).CreatedSequence, ids})
			}
		}
		heap.Init(&lists)
		for len(lists) > 0 {
			first := &lists[0]
			if !yield(s.tasks.get(first.ids[0])) {
				return
			}
			if first.ids = s.livingFrom(first.ids[1:]); len(first.ids) == 0 {
				heap.Pop(&lists)
				continue
			}
			first.created = s.tasks.get(first.ids[0]).CreatedSequence
			heap.Fix(&lists, 0)
		}
	}
}

// ChildrenAfter gives the tasks directly below one, as TasksAfter does.
func (s *State) ChildrenAfter(task string, after uint64) iter.Seq[*Task] {
	return s.tasksFrom(s.children.get(task), after)
}

// tasksFrom gives those of the tasks that are not deleted, behind the one that was made at a sequence.
func (s *State) tasksFrom(ids []string, after uint64) iter.Seq[*Task] {
	if after == 0 {
		return s.tasksIn(ids)
	}
	return s.tasksIn(ids[s.behind(ids, after):])
}

// behind gives where the tasks begin that were made after a sequence. ids are in order of creation.
func (s *State) behind(ids []string, after uint64) int {
	return sort.Search(len(ids), func(i int) bool { return s.tasks.get(ids[i]).CreatedSequence > after })
}

// livingFrom leaves the deleted tasks at the beginning of a list out.
func (s *State) livingFrom(ids []string) []string {
	for len(ids) > 0 && s.Task(ids[0]) == nil {
		ids = ids[1:]
	}
	return ids
}

// taskList is the rest of a project's tasks, by when the first of them was made.
type taskList struct {
	created uint64
	ids     []string
}

// inTurn is a heap of lists: first the one whose first task was made first.
type inTurn []taskList

func (l inTurn) Len() int { return len(l) }

func (l inTurn) Less(i, j int) bool { return l[i].created < l[j].created }

func (l inTurn) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push implements heap.Interface; lists are only taken away.
func (l *inTurn) Push(any) {}

// Pop implements heap.Interface.
func (l *inTurn) Pop() any {
	*l = (*l)[:len(*l)-1]
	return nil
}
