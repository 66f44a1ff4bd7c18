package projections

// MaxTreeDepth bounds the levels of tasks in one tree: JSON readers support about ten thousand levels, and each task
// has two.
const MaxTreeDepth = 1000

// MaxTreeTasks bounds the tasks below their roots in the trees of one answer.
const MaxTreeTasks = 20_000

// TaskTree shows a task with everything below it.
type TaskTree struct {
	TaskView
	Children []TaskTree `json:"children"`
	// Below counts the tasks below it that are not shown, because the tree ends at [MaxTreeDepth] or [MaxTreeTasks].
	Below int `json:"below,omitempty"`
}

// TaskTrees shows a project's tasks as trees, as found by [State.Branches].
func (s *State) TaskTrees(project string, most int) []TaskTree {
	return s.Trees(s.Branches(project, "", 0, most))
}

// Trees shows branches.
func (s *State) Trees(branches []*Branch) []TaskTree {
	trees := []TaskTree{}
	for _, b := range branches {
		tree, unseen := b.Tree()
		s.See(unseen)
		trees = append(trees, *tree)
	}
	return trees
}
