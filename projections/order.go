package projections

import (
	"cmp"
	"slices"
)

// OrderSize bounds the memory that [InDependencyOrder] and [InCompletionOrder] take for each task, and [OrderBranches]
// for each branch, in bytes.
const OrderSize = 128

// InDependencyOrder sorts tasks so that each comes after its direct and indirect dependencies among them, and otherwise
// keeps their order.
func InDependencyOrder(tasks []*Task) []*Task {
	return afterNeeds(tasks, indexesOf(tasks), func(_, _ int) (below int, more bool) { return 0, false })
}

// InCompletionOrder sorts tasks so that each can be completed in its turn: after its direct and indirect dependencies
// among them, and after those below it.
func InCompletionOrder(tasks []*Task) []*Task {
	at := indexesOf(tasks)
	// below[from[i]:from[i+1]] are the indexes of the tasks directly below one.
	from, below := make([]int32, len(tasks)+1), make([]int32, len(tasks))
	for _, t := range tasks {
		if parent, there := at[t.ParentID]; there {
			from[parent]++
		}
	}
	sum := int32(0)
	for i, n := range from {
		sum += n
		from[i] = sum
	}
	for i := len(tasks) - 1; i >= 0; i-- { // from the end, so that they keep their order
		if parent, there := at[tasks[i].ParentID]; there {
			from[parent]--
			below[from[parent]] = int32(i) //nolint:gosec // a server has fewer tasks
		}
	}
	return afterNeeds(tasks, at, func(i, nth int) (need int, more bool) {
		if nth += int(from[i]); nth < int(from[i+1]) {
			return int(below[nth]), true
		}
		return 0, false
	})
}

func indexesOf(tasks []*Task) map[string]int32 {
	at := make(map[string]int32, len(tasks))
	for i, t := range tasks {
		at[t.ID] = int32(i) //nolint:gosec // a server has fewer tasks
	}
	return at
}

// afterNeeds sorts tasks so that each comes after its dependencies and after what belowOf returns for it, one after the
// other. at are the indexes of the tasks.
func afterNeeds(tasks []*Task, at map[string]int32, belowOf func(i, nth int) (below int, more bool)) []*Task {
	ranks := ranksOf(len(tasks), func(i, nth int) (need int, more bool) {
		dependencies := tasks[i].Dependencies
		if nth >= len(dependencies) {
			return belowOf(i, nth-len(dependencies))
		}
		if j, there := at[dependencies[nth]]; there {
			return int(j), true
		}
		return i, true
	})
	ordered := make([]*Task, len(tasks))
	for i, rank := range ranks {
		ordered[rank] = tasks[i]
	}
	return ordered
}

// ranksOf ranks n things so that each comes after all that it needs. needOf returns the nth need of one, or the thing
// itself if that need is not among them; more is false after the last. Its memory does not grow with the length of a
// chain of needs.
func ranksOf(n int, needOf func(i, nth int) (need int, more bool)) []int32 {
	const unseen = -1
	ranks := make([]int32, n)
	// nth is the index of the next need, unseen before the first; path holds the predecessor of each thing on the
	// current path.
	nth, path := make([]int32, n), make([]int32, n)
	for i := range nth {
		nth[i] = unseen
	}
	next := int32(0)
	for first := range n {
		if nth[first] != unseen {
			continue
		}
		nth[first], path[first] = 0, unseen
		for i := first; i != unseen; {
			need, more := needOf(i, int(nth[i]))
			switch {
			case !more:
				ranks[i] = next
				next++
				i = int(path[i])
				continue
			case nth[need] == unseen:
				nth[need], path[need] = 0, int32(i) //nolint:gosec // below n
				nth[i]++
				i = need
				continue
			}
			nth[i]++
		}
	}
	return ranks
}

// OrderBranches sorts the tasks on each level of branches so that each comes after those on which it, or anything below
// it, depends; otherwise it keeps their order, also for branches that wait for each other. It costs the number of tasks
// and dependencies, times the logarithm of the depth.
func OrderBranches(branches []*Branch) { orderBranches(branches) }

// orderBranches is OrderBranches, but returns how many places it read on the way up from tasks.
func orderBranches(branches []*Branch) (reads int) {
	n := 0
	for _, b := range branches {
		n += b.Count()
	}
	f := forest{places: make([]place, 1, n+1), at: make(map[string]int, n)}
	for _, b := range branches {
		f.enter(b, 0)
	}
	ranks := ranksOf(len(f.places), f.needOf)
	var order func(branches []*Branch)
	order = func(branches []*Branch) {
		for _, b := range branches {
			order(b.Children)
		}
		slices.SortStableFunc(branches, func(a, b *Branch) int {
			return cmp.Compare(ranks[f.at[a.Task.ID]], ranks[f.at[b.Task.ID]])
		})
	}
	order(branches)
	return f.reads
}

// forest numbers the tasks of branches, parents before children; 0 is above the roots.
type forest struct {
	places []place
	at     map[string]int
	// reads counts the places that were read.
	reads int
}

// place is a task's place in the tree. jump is a place further up; following jumps, a walk up takes few steps.
type place struct {
	branch             *Branch
	above, jump, depth int
}

func (f *forest) enter(b *Branch, above int) {
	i, up := len(f.places), f.places[above]
	jump := above
	if at := f.places[up.jump]; up.depth-at.depth == at.depth-f.places[at.jump].depth {
		jump = at.jump
	}
	f.places = append(f.places, place{b, above, jump, up.depth + 1})
	f.at[b.Task.ID] = i
	for _, child := range b.Children {
		f.enter(child, i)
	}
}

// needOf returns the nth thing that must come before a task: first its dependencies, then its children.
func (f *forest) needOf(i, nth int) (need int, more bool) {
	b := f.places[i].branch
	if b == nil { // it is above the roots, which are visited in their turn
		return 0, false
	}
	if nth < len(b.Task.Dependencies) {
		if dependency, there := f.at[b.Task.Dependencies[nth]]; there {
			if branch := f.branchOf(dependency, i); branch != 0 { // the whole branch must come first
				return branch, true
			}
		}
		return i, true
	}
	if nth -= len(b.Task.Dependencies); nth < len(b.Children) {
		return f.at[b.Children[nth].Task.ID], true
	}
	return 0, false
}

// branchOf returns the topmost task that contains one but not other; 0 when other contains or is below the one.
func (f *forest) branchOf(one, other int) int {
	other = f.up(other, f.places[one].depth)
	if one == other {
		return 0
	}
	branch := f.up(one, f.places[other].depth+1)
	if f.places[one].depth > f.places[other].depth {
		if f.places[branch].above == other {
			return branch
		}
		branch = f.places[branch].above
	} else {
		branch = one
	}
	for f.places[branch].above != f.places[other].above {
		f.reads++
		if a, b := f.places[branch].jump, f.places[other].jump; a != b {
			branch, other = a, b
		} else {
			branch, other = f.places[branch].above, f.places[other].above
		}
	}
	return branch
}

// up returns the task at a depth that contains one; one itself if it is no deeper.
func (f *forest) up(one, depth int) int {
	for f.places[one].depth > depth {
		f.reads++
		if jump := f.places[one].jump; f.places[jump].depth >= depth {
			one = jump
		} else {
			one = f.places[one].above
		}
	}
	return one
}
