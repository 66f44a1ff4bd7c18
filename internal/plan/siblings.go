package plan

import (
	"cmp"
	"slices"

	"maestro/commands"
	"maestro/service/wire"
)

// Reorder puts a task of a plan directly before or after a sibling of the plan.
type Reorder struct {
	Task, Before, After *Task
}

// Order returns the smallest set of moves that sorts siblings into the order of the plan. there are the ids of the
// project's tasks, in their present sibling order; tasks that a dry run would create come after them.
func (d *Diff) Order(p *Plan, there []string) (moves []Reorder) {
	stands := make(map[string]int, len(there))
	for i, id := range there {
		stands[id] = i
	}
	below := map[string][]*Task{}
	var parents []string
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if below[t.Parent] == nil {
			parents = append(parents, t.Parent)
		}
		below[t.Parent] = append(below[t.Parent], t)
	}
	for _, parent := range parents {
		has := below[parent]
		slices.SortStableFunc(has, func(a, b *Task) int {
			return cmp.Compare(d.standsAt(stands, a), d.standsAt(stands, b))
		})
		moves = append(moves, reorder(has)...)
	}
	return moves
}

func (d *Diff) standsAt(stands map[string]int, t *Task) int {
	if at, there := stands[d.ids[t.ID]]; there {
		return at
	}
	return len(stands)
}

// reorder returns the moves that sort tasks by their places.
func reorder(has []*Task) (moves []Reorder) {
	stay := longestRising(has)
	want := slices.SortedFunc(slices.Values(has), func(a, b *Task) int { return cmp.Compare(a.Place, b.Place) })
	var before *Task
	for i := 0; i < len(want); i++ {
		from := i
		for i < len(want) && !stay[want[i]] {
			i++
		}
		if i == len(want) {
			return between(moves, before, nil, want[from:])
		}
		moves = between(moves, before, want[i], want[from:i])
		before = want[i]
	}
	return moves
}

// between adds the moves that put tasks between two others, one of which may be nil. It begins with the one in the
// middle: the keys of places grow with the moves into the same gap, and so the gaps are halved.
func between(moves []Reorder, low, high *Task, tasks []*Task) []Reorder {
	if len(tasks) == 0 {
		return moves
	}
	half := len(tasks) / 2
	move := Reorder{Task: tasks[half], After: low}
	if low == nil {
		move.Before = high
	}
	moves = append(moves, move)
	moves = between(moves, low, tasks[half], tasks[:half])
	return between(moves, tasks[half], high, tasks[half+1:])
}

// longestRising returns a longest subsequence of tasks whose places increase.
func longestRising(tasks []*Task) map[*Task]bool {
	before := make([]int, len(tasks))
	var ends []int // the last task of the best subsequence of each length
	for i, t := range tasks {
		at, _ := slices.BinarySearchFunc(ends, t.Place, func(end, place int) int {
			return cmp.Compare(tasks[end].Place, place)
		})
		before[i] = -1
		if at > 0 {
			before[i] = ends[at-1]
		}
		ends = append(ends[:at], append([]int{i}, ends[min(at+1, len(ends)):]...)...)
	}
	stay := map[*Task]bool{}
	if len(ends) == 0 {
		return stay
	}
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		stay[tasks[i]] = true
	}
	return stay
}

// Place returns the command that moves a task to its place, and its key, "" for a new one.
func (d *Diff) Place(m Reorder) (*commands.UpdateTask, string) {
	update := &commands.UpdateTask{TaskID: d.ids[m.Task.ID]}
	if m.Before != nil {
		update.Before = d.ids[m.Before.ID]
	} else {
		update.After = d.ids[m.After.ID]
	}
	if !d.given {
		return update, ""
	}
	return update, d.keys + ":order:" + m.Task.ID
}

// Stand reports whether a task and its new neighbour exist and have the same parent, so that a dry run can try the
// move.
func (d *Diff) Stand(m Reorder) bool {
	beside := m.After
	if m.Before != nil {
		beside = m.Before
	}
	one, has := d.there[m.Task.ID]
	other, too := d.there[beside.ID]
	parent := func(t wire.Task) string {
		if t.ParentID == nil {
			return ""
		}
		return *t.ParentID
	}
	return has && too && parent(one) == parent(other)
}

// Moved records that a task got another place among its siblings.
func (d *Diff) Moved(t *Task) {
	i := slices.IndexFunc(d.Done, func(done Applied) bool { return done.LocalID == t.ID })
	if i < 0 || d.Done[i].Action == Created {
		return
	}
	d.Done[i].Action = Updated
	d.Done[i].Changed = append(d.Done[i].Changed, "order")
}
