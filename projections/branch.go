package projections

import "slices"

// Branch is a task with what is below it, before it is shown: it holds only immutable values, so that it can be put in
// order and shown part by part when the state has moved on.
type Branch struct {
	Task     *Task
	Children []*Branch
	// Below and Progress are those of [TaskTree].
	Below    int
	Progress *Progress
}

// Branches gives a project's tasks as trees, roots in order of creation, with so many tasks below them at most. A task
// whose parent was deleted is a root. It begins behind the task that was made at a sequence, 0 for the beginning, and
// ends once it has so many roots, 0 for all.
func (s *State) Branches(project string, after uint64, roots, most int) []*Branch {
	branches := []*Branch{}
	for t := range s.tasksFrom(s.taskIDs.get(project), after) {
		if t.ParentID != "" && s.Task(t.ParentID) != nil {
			continue
		}
		branches = append(branches, s.branchTo(t, MaxTreeDepth, &most))
		if roots > 0 && len(branches) == roots {
			break
		}
	}
	return branches
}

// Branch gives a task with everything below it, down to [MaxTreeDepth] levels and with [MaxTreeTasks] tasks.
func (s *State) Branch(t *Task) *Branch {
	most := MaxTreeTasks
	return s.branchTo(t, MaxTreeDepth, &most)
}

// branchTo gives so many levels of a tree, with at most so many tasks below its root; it takes them from most.
func (s *State) branchTo(t *Task, levels int, most *int) *Branch {
	b := &Branch{Task: t}
	if levels == 1 {
		b.Below, b.Progress = len(s.Descendants(t.ID, 0)), s.Progress(t)
		return b
	}
	children := slices.Collect(s.Children(t.ID))
	shown := min(len(children), *most)
	*most -= shown
	for i, child := range children {
		if i >= shown {
			b.Below += 1 + len(s.Descendants(child.ID, 0))
			continue
		}
		below := s.branchTo(child, levels-1, most)
		b.Children = append(b.Children, below)
		if b.Progress == nil {
			b.Progress = &Progress{}
		}
		if below.Progress != nil {
			b.Progress.add(*below.Progress)
		} else {
			says, _ := s.SessionStatus(child)
			b.Progress.count(child.Status, says)
		}
	}
	if b.Below > 0 {
		b.Progress = s.Progress(t)
	}
	return b
}

// tree gives the branch as it is shown, with views that are still empty but for their progress, and adds them to
// unseen in order.
func (b *Branch) tree(into *TaskTree, unseen *[]Unseen) {
	into.Below, into.Children = b.Below, make([]TaskTree, len(b.Children))
	*unseen = append(*unseen, Unseen{b, into})
	for i, child := range b.Children {
		child.tree(&into.Children[i], unseen)
	}
}

// Unseen is a task of a tree whose view is still to be made.
type Unseen struct {
	branch *Branch
	tree   *TaskTree
}

// Tree gives the branch as a tree, and the tasks of it that [State.See] has to fill in.
func (b *Branch) Tree() (tree *TaskTree, unseen []Unseen) {
	tree = new(TaskTree)
	b.tree(tree, &unseen)
	return tree, unseen
}

// See fills in the views of tasks of a tree.
func (s *State) See(these []Unseen) {
	for _, it := range these {
		it.tree.TaskView = s.viewAlone(it.branch.Task)
		it.tree.Progress = it.branch.Progress
	}
}

// Count counts the tasks of the branch, itself too.
func (b *Branch) Count() int {
	n := 1
	for _, child := range b.Children {
		n += child.Count()
	}
	return n
}
