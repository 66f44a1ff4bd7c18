package projections

import (
	"cmp"
	"slices"

	"maestro/events"
)

// MaxTreeDepth is how many levels of tasks one tree shows: JSON readers take about ten thousand levels, and each task
// has two.
const MaxTreeDepth = 1000

// MaxTreeTasks is how many tasks below their roots the trees of one answer show.
const MaxTreeTasks = 20_000

// TaskTree shows a task with everything below it.
type TaskTree struct {
	TaskView
	Children []TaskTree `json:"children"`
	// Below counts the tasks below it that are not shown, because the tree ends at [MaxTreeDepth] or [MaxTreeTasks].
	Below int `json:"below,omitempty"`
}

// TaskTrees shows a project's tasks as trees, roots in order of creation, with so many tasks below them at most. A task
// whose parent was deleted is a root.
func (s *State) TaskTrees(project string, most int) []TaskTree {
	trees := []TaskTree{}
	for t := range s.Tasks(project) {
		if t.ParentID == "" || s.Task(t.ParentID) == nil {
			trees = append(trees, s.treeTo(t, MaxTreeDepth, &most))
		}
	}
	return trees
}

// TaskTree shows a task with everything below it, down to [MaxTreeDepth] levels and with [MaxTreeTasks] tasks.
func (s *State) TaskTree(t *Task) TaskTree {
	most := MaxTreeTasks
	return s.treeTo(t, MaxTreeDepth, &most)
}

// treeTo shows so many levels of a tree, with at most so many tasks below its root; it takes them from most.
func (s *State) treeTo(t *Task, levels int, most *int) TaskTree {
	tree := TaskTree{TaskView: s.viewAlone(t), Children: []TaskTree{}}
	if levels == 1 {
		tree.Below, tree.Progress = len(s.Descendants(t.ID, 0)), s.Progress(t)
		return tree
	}
	children := slices.Collect(s.Children(t.ID))
	shown := min(len(children), *most)
	*most -= shown
	for i, child := range children {
		if i >= shown {
			tree.Below += 1 + len(s.Descendants(child.ID, 0))
			continue
		}
		below := s.treeTo(child, levels-1, most)
		tree.Children = append(tree.Children, below)
		if tree.Progress == nil {
			tree.Progress = &Progress{}
		}
		if below.Progress != nil {
			tree.Progress.add(*below.Progress)
		} else {
			tree.Progress.count(child.Status, below.SessionStatus)
		}
	}
	if tree.Below > 0 {
		tree.Progress = s.Progress(t)
	}
	return tree
}

// Progress counts the leaves below a task: the tasks with nothing further below them. What was deleted does not count, and a
// parent counts for what is below it, not for itself.
type Progress struct {
	// Total is what is to be done, or is done: all leaves but the cancelled ones.
	Total     int `json:"total"`
	Completed int `json:"completed"`
	// Said are those that an agent says are done and nobody has confirmed.
	Said int `json:"said"`
	// Blocked are those that are blocked, or of which that is said; Failed those of which that is said.
	Blocked   int `json:"blocked"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// Progress sums up what lies below a task, nil when nothing does.
func (s *State) Progress(t *Task) *Progress { return s.progress(t, map[string]*Progress{}) }

// progress is Progress with what is known already of other tasks.
func (s *State) progress(t *Task, known map[string]*Progress) *Progress {
	if sum, ok := known[t.ID]; ok {
		return sum
	}
	var sum *Progress
	for child := range s.Children(t.ID) {
		if sum == nil {
			sum = &Progress{}
		}
		if below := s.progress(child, known); below != nil {
			sum.add(*below)
		} else {
			says, _ := s.SessionStatus(child)
			sum.count(child.Status, says)
		}
	}
	known[t.ID] = sum
	return sum
}

func (p *Progress) add(below Progress) {
	p.Total += below.Total
	p.Completed += below.Completed
	p.Said += below.Said
	p.Blocked += below.Blocked
	p.Failed += below.Failed
	p.Cancelled += below.Cancelled
}

// count adds a leaf. The authoritative status decides; what is said tells apart only what is still to be done.
func (p *Progress) count(status events.TaskStatus, says events.TaskSessionStatus) {
	if status == events.TaskCancelled {
		p.Cancelled++
		return
	}
	p.Total++
	switch {
	case status == events.TaskCompleted:
		p.Completed++
	case says == events.SaysCompleted:
		p.Said++
	case says == events.SaysFailed:
		p.Failed++
	case status == events.TaskBlocked || says == events.SaysBlocked:
		p.Blocked++
	}
}

// InDependencyOrder puts tasks in an order in which each comes after those of them that it depends on, directly or not, and
// otherwise as they were.
func InDependencyOrder(tasks []TaskView) []TaskView {
	ids, needs := []string{}, map[string][]string{}
	for _, t := range tasks {
		ids = append(ids, t.ID)
		needs[t.ID] = t.Dependencies
	}
	at := ranks(ids, func(id string) []string { return needs[id] })
	ordered := slices.Clone(tasks)
	slices.SortStableFunc(ordered, func(a, b TaskView) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	return ordered
}

// OrderTrees puts the tasks on each level of trees in an order in which each comes after those of which it, or anything
// below it, depends on something; otherwise as they were, also where branches wait for each other.
func OrderTrees(trees []TaskTree) {
	type place struct {
		tree  *TaskTree
		above string
		depth int
	}
	places := map[string]place{}
	var roots []string
	var enter func(trees []TaskTree, above string, depth int)
	enter = func(trees []TaskTree, above string, depth int) {
		for i := range trees {
			if depth == 0 {
				roots = append(roots, trees[i].ID)
			}
			places[trees[i].ID] = place{&trees[i], above, depth}
			enter(trees[i].Children, trees[i].ID, depth+1)
		}
	}
	enter(trees, "", 0)
	// branchOf gives the uppermost task that one is, or is below of, and another is not; "" when the other is below the one.
	branchOf := func(one, other string) string {
		for places[other].depth > places[one].depth {
			other = places[other].above
		}
		branch := ""
		for one != other {
			branch = one
			if places[one].depth == places[other].depth {
				other = places[other].above
			}
			one = places[one].above
		}
		return branch
	}
	at := ranks(roots, func(id string) []string {
		it := places[id]
		var first []string
		for _, dependency := range it.tree.Dependencies {
			if _, there := places[dependency]; !there {
				continue
			}
			if branch := branchOf(dependency, id); branch != "" { // all of it has to come first
				first = append(first, branch)
			}
		}
		for _, child := range it.tree.Children {
			first = append(first, child.ID)
		}
		return first
	})
	var order func(trees []TaskTree)
	order = func(trees []TaskTree) {
		for i := range trees {
			order(trees[i].Children)
		}
		slices.SortStableFunc(trees, func(a, b TaskTree) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	}
	order(trees)
}

// ranks gives each id a place after all that it needs.
func ranks(ids []string, needs func(id string) []string) map[string]int {
	at, seen := map[string]int{}, map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		if seen[id] {
			return
		}
		seen[id] = true
		for _, first := range needs(id) {
			visit(first)
		}
		at[id] = len(at)
	}
	for _, id := range ids {
		visit(id)
	}
	return at
}
