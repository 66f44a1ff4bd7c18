package projections

import "math"

// Branch is a task with everything below it, before it is shown: it holds only immutable values, so that it can be
// sorted and shown in parts after the state has changed.
type Branch struct {
	Task     *Task
	Children []*Branch
	// Below and Progress are those of [TaskTree].
	Below    int
	Progress *Progress
}

// TreeBuild is a set of trees under construction. [State.BuildTrees] builds them, in as many portions as needed.
type TreeBuild struct {
	// Branches are the trees, in sibling order, as are the children of each.
	Branches []*Branch
	// left are the remaining candidates for roots; roots is the maximum number of roots, 0 for all.
	left  siblings
	roots int
	// most is how many more tasks below the roots may be shown.
	most int
	sums *Sums
	made int
	// path leads from the top to the current position.
	path []growing
}

// Made returns the number of tasks in the trees so far.
func (g *TreeBuild) Made() int { return g.made }

// growing is a branch whose children are still being added.
type growing struct {
	branch *Branch
	// levels is the maximum number of its levels, including its own.
	levels int
	// rest are its children that were not examined yet, next the first child branch that is not complete.
	rest siblings
	next int
	// below sums up everything below it.
	below sumBelow
	// hidden sums up what is below it but not shown.
	hidden *Sum
}

// NewGrowth starts trees of a project's tasks, with at most so many tasks below the roots. A task whose parent was
// deleted is a root. It begins after the key of a sibling, "" for the beginning, and ends after so many roots, 0 for
// all.
func (s *State) NewGrowth(project, after string, roots, most int, sums *Sums) *TreeBuild {
	return &TreeBuild{
		Branches: []*Branch{},
		left:     s.siblingsIn(s.taskIDs.get(project), orderOf(project), after),
		roots:    roots,
		most:     most,
		sums:     sums,
	}
}

// GrowthOf starts the tree of one task, down to [MaxTreeDepth] levels and with [MaxTreeTasks] tasks below it.
func (s *State) GrowthOf(t *Task, sums *Sums) *TreeBuild {
	g := &TreeBuild{most: MaxTreeTasks, sums: sums}
	g.root(s, t)
	return g
}

// Branches returns a project's tasks as trees, as NewGrowth does, in a single portion.
func (s *State) Branches(project, after string, roots, most int) []*Branch {
	g := s.NewGrowth(project, after, roots, most, NewSums(math.MaxUint64))
	s.BuildTrees(g, math.MaxUint64)
	return g.Branches
}

// BuildTrees continues trees until the state has counted so many steps, and reports whether they are done.
func (s *State) BuildTrees(g *TreeBuild, until uint64) (done bool) {
	for {
		switch {
		case s.Steps() >= until:
			return false
		case len(g.path) > 0:
			s.growOn(g, until)
		case g.left.empty() || g.roots > 0 && len(g.Branches) == g.roots:
			return true
		default:
			t := s.next(&g.left)
			if t != nil && !t.Deleted && s.ParentOf(t) == "" {
				g.root(s, t)
			}
		}
	}
}

func (g *TreeBuild) root(s *State, t *Task) {
	b := &Branch{Task: t}
	g.made++
	g.Branches = append(g.Branches, b)
	g.path = append(g.path, growing{branch: b, levels: MaxTreeDepth, rest: s.childrenInOrder(t.ID)})
}

// growOn takes one step: it adds a child, descends into one, sums up hidden ones, or completes a branch.
func (s *State) growOn(g *TreeBuild, until uint64) {
	at := &g.path[len(g.path)-1]
	switch b := at.branch; {
	case !at.rest.empty() && at.levels > 1 && g.most > 0:
		if child := s.next(&at.rest); child != nil && !child.Deleted {
			g.most--
			g.made++
			b.Children = append(b.Children, &Branch{Task: child})
		}
	case at.next < len(b.Children):
		child := b.Children[at.next]
		at.next++
		g.path = append(g.path, growing{branch: child, levels: at.levels - 1, rest: s.childrenInOrder(child.Task.ID)})
	case !at.rest.empty():
		at.hidden = &Sum{sums: g.sums, path: []summed{{rest: at.rest}}}
		at.rest = siblings{}
	case at.hidden != nil && !s.SumOn(at.hidden, until):
	default:
		s.grown(g)
	}
}

// grown ascends from a complete branch.
func (s *State) grown(g *TreeBuild) {
	last := len(g.path) - 1
	it := g.path[last]
	g.path = g.path[:last]
	if it.hidden != nil {
		hidden := &it.hidden.below
		it.branch.Below = hidden.tasks + hidden.progress.Unread
		it.below.tasks += hidden.tasks
		it.below.progress.add(hidden.progress)
	}
	if it.below.any() {
		it.branch.Progress = &it.below.progress
	}
	if last == 0 {
		return
	}
	above := &g.path[last-1].below
	above.tasks += 1 + it.below.tasks
	if it.branch.Progress != nil {
		above.progress.add(*it.branch.Progress)
	} else {
		s.countLeaf(&above.progress, it.branch.Task, g.sums)
	}
}

// tree converts the branch to the form in which it is shown, with views that hold only their progress, and adds them to
// unseen in order.
func (b *Branch) tree(into *TaskTree, unseen *[]PendingView) {
	into.Below, into.Children = b.Below, make([]TaskTree, len(b.Children))
	*unseen = append(*unseen, PendingView{b, into})
	for i, child := range b.Children {
		child.tree(&into.Children[i], unseen)
	}
}

// PendingView is a task of a tree whose view is still to be created.
type PendingView struct {
	branch *Branch
	tree   *TaskTree
}

// Tree returns the branch as a tree, and the tasks in it whose views [State.See] has to fill in.
func (b *Branch) Tree() (tree *TaskTree, unseen []PendingView) {
	tree = new(TaskTree)
	b.tree(tree, &unseen)
	return tree, unseen
}

// See fills in the views of a tree's tasks.
func (s *State) See(these []PendingView) {
	for _, it := range these {
		it.tree.TaskView = s.ListedTask(it.branch.Task)
		it.tree.Progress = it.branch.Progress
	}
}

// Count counts the tasks of the branch, including its own.
func (b *Branch) Count() int {
	n := 1
	for _, child := range b.Children {
		n += child.Count()
	}
	return n
}
