package service

import (
	"encoding/json"
	"slices"

	"maestro/projections"
	"maestro/service/wire"
)

// TreePage is a part of a project's trees. They are created while they are written, one after the other.
type TreePage struct {
	List[Tree]
	// Next is where the next page continues; nil if there is none.
	Next *PageEnd
	// Held is the memory that the page takes in addition to the bytes written.
	Held int64
}

// GetTaskTree returns a task with everything below it. The returned function may run without the state.
func (v View) GetTaskTree(in *wire.TreeOf) (func() (Tree, error), error) {
	t, err := v.PermitTask("task:tree", in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkOrder(in.Order); err != nil {
		return nil, err
	}
	growth := v.GrowthOf(t, projections.NewSums(projections.SumsMost))
	return func() (tree Tree, err error) {
		err = v.grown(growth, in.Order, func(branches []*projections.Branch) {
			tree = v.shownTrees(branches)[0]
		})
		return tree, err
	}, nil
}

// GetProjectTree returns the tasks of a project as trees. The returned function may run without the state.
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
	sums := projections.NewSums(projections.SumsMost)
	after, roots := "", 0
	if in.Order == "" {
		if after, err = v.placeOf(asked.After); err != nil {
			return nil, err
		}
		if roots = asked.Limit; roots > 0 {
			roots++ // one more shows whether there is a next page
		}
	}
	growth := v.NewGrowth(p.ID, after, roots, projections.MaxTreeTasks, sums)
	return func() (page TreePage, err error) {
		err = v.grown(growth, in.Order, func(branches []*projections.Branch) {
			page = v.treePage(branches, asked, in.Order != "")
		})
		return page, err
	}, nil
}

func checkOrder(order string) error {
	if order != "" && order != inDependencyOrder {
		return unknownOrder(order, inDependencyOrder)
	}
	return nil
}

// orderBranches sorts branches by dependency, unless there are too many, and then calls then.
func (v View) orderBranches(branches []*projections.Branch, then func()) error {
	tasks, steps := 0, 0
	var count func(branches []*projections.Branch)
	count = func(branches []*projections.Branch) {
		for _, b := range branches {
			tasks++
			steps += 1 + len(b.Task.Dependencies)
			count(b.Children)
		}
	}
	count(branches)
	v.Caller.chargeSteps(steps)
	v.live()
	if steps > orderMost {
		return tooMuchToRead()
	}
	return v.counted(int64(tasks)*orderedSize, func() error {
		projections.OrderBranches(branches)
		then()
		return nil
	})
}

// treePage cuts a page from branches. Ordered branches are complete; others begin after the task that the page follows.
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
	trees := v.shownTrees(shown)
	page.List = List[Tree]{Items: slices.Values(trees)}
	for _, b := range branches[:from] {
		page.Held += int64(b.Count()) * branchSize
	}
	for _, b := range branches[from+len(shown):] {
		page.Held += int64(b.Count()) * branchSize
	}
	if len(trees) > 0 {
		page.Held += trees[0].Held()
	}
	return page
}

// branchSize is the size of a branch with its place in a list and its progress, in bytes.
const branchSize = 128

// grown builds trees of tasks, in an order if one is named, and returns them to show. The caller must not hold the
// state.
func (v View) grown(
	growth *projections.TreeBuild, order string, show func(branches []*projections.Branch),
) error {
	if order == "" {
		return v.grow(growth, func() error {
			show(growth.Branches)
			return nil
		})
	}
	return v.ordered(0, func() error {
		return v.grow(growth, func() error {
			return v.orderBranches(growth.Branches, func() { show(growth.Branches) })
		})
	})
}

// grow builds trees in portions, then calls then. After each portion it counts their memory, until then returns.
func (v View) grow(growth *projections.TreeBuild, then func() error) error {
	held := v.holding(func() int64 { return int64(growth.Made()) * branchSize })
	defer held.free()
	for done := false; !done; {
		v.again(func(v View) { done = v.BuildTrees(growth, v.portionSteps()) })
		if err := held.grow(done); err != nil {
			return err
		}
	}
	return then()
}

// Tree is a task with everything below it. Its views are created while it is written, a portion at a time: first that
// of the task, then those of each child and everything below that. So it can be written only once, in that order.
type Tree struct {
	branch *projections.Branch
	views  *taskViews
}

// shownTrees shows branches, which have to be written in order.
func (v View) shownTrees(branches []*projections.Branch) []Tree {
	var all []*projections.Branch
	var enter func(b *projections.Branch)
	enter = func(b *projections.Branch) {
		all = append(all, b)
		for _, child := range b.Children {
			enter(child)
		}
	}
	trees := make([]Tree, len(branches))
	for i, b := range branches {
		enter(b)
		trees[i].branch = b
	}
	views := v.viewsOf(len(all), func(i int) *projections.Task { return all[i].Task })
	views.progress = func(i int) *projections.Progress { return all[i].Progress }
	for i := range trees {
		trees[i].views = views
	}
	return trees
}

// Task creates the view of the task, which is valid until the next one is created.
func (t Tree) Task() *projections.TaskView { return t.views.next() }

// Children returns what is directly below the task.
func (t Tree) Children() List[Tree] {
	return List[Tree]{Items: func(yield func(Tree) bool) {
		for _, b := range t.branch.Children {
			if !yield(Tree{b, t.views}) {
				return
			}
		}
	}}
}

// Below counts the tasks below that are not shown.
func (t Tree) Below() int { return t.branch.Below }

// Held is the memory that the tree, and those written after it, take in addition to the bytes written.
func (t Tree) Held() int64 { return int64(t.views.n)*branchSize + t.views.expected }

// MarshalJSON implements json.Marshaler, for a tree that is not rendered in parts.
func (t Tree) MarshalJSON() ([]byte, error) { return json.Marshal(t.whole()) }

func (t Tree) whole() projections.TaskTree {
	tree := projections.TaskTree{TaskView: *t.Task(), Children: []projections.TaskTree{}, Below: t.Below()}
	for child := range t.Children().Items {
		tree.Children = append(tree.Children, child.whole())
	}
	return tree
}
