package service

import (
	"slices"

	"maestro/projections"
	"maestro/service/wire"
)

// TreePage is a part of a project's trees. They are made while they are written, one after the other.
type TreePage struct {
	List[projections.TaskTree]
	// Next is where the next page goes on; nil if there is none.
	Next *PageEnd
	// Held is how much memory it takes beside what is written, in bytes.
	Held int64
}

// GetTaskTree gives a task with everything below it. The function that it returns may be called when the state has
// moved.
func (v View) GetTaskTree(in *wire.TreeOf) (func() (projections.TaskTree, error), error) {
	t, err := v.PermitTask("task:tree", in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkOrder(in.Order); err != nil {
		return nil, err
	}
	branch := v.Branch(t)
	return func() (projections.TaskTree, error) {
		if in.Order != "" {
			if err := v.orderBranches([]*projections.Branch{branch}); err != nil {
				return projections.TaskTree{}, err
			}
		}
		return v.grown(branch), nil
	}, nil
}

// GetProjectTree gives the tasks of a project as trees. The function that it returns may be called when the state has
// moved.
func (v View) GetProjectTree(in *wire.TreeOf) (func() (TreePage, error), error) {
	p, err := v.PermitProject("task:tree", in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkOrder(in.Order); err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	if err != nil {
		return nil, err
	}
	if in.Order != "" {
		branches := v.Branches(p.ID, 0, 0, projections.MaxTreeTasks)
		return func() (TreePage, error) {
			if err := v.orderBranches(branches); err != nil {
				return TreePage{}, err
			}
			return v.treePage(branches, asked, true), nil
		}, nil
	}
	after, err := v.createdAt(asked.After)
	if err != nil {
		return nil, err
	}
	roots := asked.Limit
	if roots > 0 {
		roots++ // one more tells whether there is a next page
	}
	branches := v.Branches(p.ID, after, roots, projections.MaxTreeTasks)
	return func() (TreePage, error) { return v.treePage(branches, asked, false), nil }, nil
}

func checkOrder(order string) error {
	if order != "" && order != inDependencyOrder {
		return unknownOrder(order)
	}
	return nil
}

// orderBranches puts branches in order of dependency, unless there is too much of them.
func (v View) orderBranches(branches []*projections.Branch) error {
	steps := 0
	var count func(branches []*projections.Branch)
	count = func(branches []*projections.Branch) {
		for _, b := range branches {
			steps += 1 + len(b.Task.Dependencies)
			count(b.Children)
		}
	}
	count(branches)
	v.Caller.looked(steps)
	if steps > orderMost {
		return tooMuchToRead()
	}
	projections.OrderBranches(branches)
	return nil
}

// treePage cuts a page from branches; ordered ones are all there are, others begin behind what it follows.
func (v View) treePage(branches []*projections.Branch, asked PageOf, ordered bool) TreePage {
	from := 0
	if ordered && asked.After != "" {
		from = min(asked.Position, len(branches))
		is := func(b *projections.Branch) bool { return b.Task.ID == asked.After }
		if i := slices.IndexFunc(branches, is); i >= 0 {
			from = i + 1
		}
	}
	shown := branches[from:]
	page := TreePage{}
	if asked.Limit > 0 && len(shown) > asked.Limit {
		shown = shown[:asked.Limit]
		last := shown[len(shown)-1].Task
		page.Next = &PageEnd{ID: last.ID, Order: last.CreatedAt, Position: from + len(shown)}
	}
	const branchSize, treeSize = 64, 1 << 10
	largest := 0
	for _, b := range branches {
		n := b.Count()
		largest = max(largest, n)
		page.Held += int64(n) * branchSize
	}
	page.Held += int64(largest) * treeSize
	page.List = List[projections.TaskTree]{Items: func(yield func(projections.TaskTree) bool) {
		for _, b := range shown {
			if !yield(v.grown(b)) {
				return
			}
		}
	}}
	return page
}

// grown shows a branch. It takes the state for a few tasks at a time.
func (v View) grown(b *projections.Branch) projections.TaskTree {
	tree, unseen := b.Tree()
	for these := range slices.Chunk(unseen, tasksAtOnce) {
		v.again(func(v View) { v.See(these) })
	}
	return *tree
}
