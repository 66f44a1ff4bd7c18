package plan

import (
	"slices"
	"strconv"
	"strings"
)

// link checks the references between tasks, and sorts the tasks into an order in which they can be created. It also
// runs if there are other faults, so that nobody has to correct a plan in rounds.
func (p *parser) link() {
	index := make(map[string]int, len(p.plan.Tasks))
	for i, t := range p.plan.Tasks {
		p.plan.Tasks[i].Place = i
		if _, taken := index[t.ID]; !taken && t.ID != "" {
			index[t.ID] = i
		}
	}
	above, waits := make([][]step, len(p.plan.Tasks)), make([][]step, len(p.plan.Tasks))
	for i, t := range p.plan.Tasks {
		if parent, known := index[t.Parent]; known {
			above[i] = append(above[i], step{parent, "is part of"})
		}
	}
	faults := len(p.faults)
	for _, r := range p.parents {
		if _, known := index[r.to]; !known {
			p.fault(r.line, r.pointer, "its parent %q is not in this file", r.to)
		}
	}
	tree := p.walk(above)
	isTree := len(p.faults) == faults && !p.full()
	if len(p.faults) == 0 {
		p.levels(index, tree.order)
	}
	dependents := map[string]int{}
	for _, r := range p.dependencies {
		if dependents[r.to]++; dependents[r.to] == MaxDependents+1 {
			p.fault(r.line, r.pointer, "at most %d tasks can depend on one task, but more depend on %q", MaxDependents,
				r.to)
		}
		before, known := index[r.to]
		switch {
		case !known:
			p.fault(r.line, r.pointer, "it depends on %q, which is not in this file; to depend on another task of the "+
				"project, leave it out here and add it afterwards with `maestro task update --add-depends-on`", r.to)
		case isTree && p.within(index, r.task, r.to):
			p.fault(r.line, r.pointer, "task %q cannot wait for %q, which it is part of", p.plan.Tasks[r.task].ID, r.to)
		default:
			waits[r.task] = append(waits[r.task], step{before, "waits for"})
		}
	}
	made := make([][]step, len(above))
	for i := range above {
		made[i] = slices.Concat(above[i], waits[i])
	}
	if isTree { // a parent waits for what is below it, as the server decides
		for i, parents := range above {
			for _, parent := range parents {
				waits[parent.task] = append(waits[parent.task], step{i, "contains"})
			}
		}
	}
	p.walk(waits)
	if len(p.faults) == 0 {
		p.sort(index, tree.order, made)
	}
}

// sort puts the tasks into an order in which they can be created. Where a task waits for one that must be created after
// it, such as a part of it, the order of the tree holds, and the dependency is added later.
func (p *parser) sort(index map[string]int, tree []int, made [][]step) {
	apart := *p
	order := apart.walk(made).order
	if len(apart.faults) > 0 {
		order = tree
	}
	sorted, place := make([]Task, len(order)), make([]int, len(order))
	for i, at := range order {
		sorted[i], place[at] = p.plan.Tasks[at], i
	}
	for i := range sorted {
		sorted[i].Later = slices.ContainsFunc(sorted[i].Dependencies, func(id string) bool {
			return place[index[id]] > i
		})
	}
	p.plan.Tasks = sorted
}

// levels reports the tasks that are too deep. Parents come first in order.
func (p *parser) levels(index map[string]int, order []int) {
	level := make([]int, len(p.plan.Tasks))
	for _, i := range order {
		t := p.plan.Tasks[i]
		if level[i] = 1; t.Parent != "" {
			level[i] += level[index[t.Parent]]
		}
		if level[i] == MaxDepth+1 {
			p.fault(t.Line, p.pointers[i], "a plan has at most %d levels of tasks", MaxDepth)
		}
	}
}

// within reports whether the task is below the one with this id.
func (p *parser) within(index map[string]int, task int, id string) bool {
	for range MaxDepth {
		parent := p.plan.Tasks[task].Parent
		if parent == id {
			return true
		}
		above, known := index[parent]
		if !known {
			return false
		}
		task = above
	}
	return false
}

type mark int

const (
	unseen mark = iota
	entered
	left
)

// walk goes from each task to others, such as its parent or its dependencies, and puts those first.
type walk struct {
	*parser
	// before holds what comes before each task.
	before [][]step
	state  []mark
	path   []step
	order  []int
}

// step is a task on the path, and the reason for visiting it.
type step struct {
	task int
	why  string
}

// walk reports the cycles of steps between tasks.
func (p *parser) walk(before [][]step) *walk {
	w := &walk{parser: p, before: before, state: make([]mark, len(before))}
	for i := range before {
		w.visit(i, "")
	}
	return w
}

func (w *walk) visit(task int, why string) {
	switch w.state[task] {
	case left:
		return
	case entered:
		w.cycle(task, why)
		return
	case unseen:
	}
	if w.full() {
		return
	}
	w.state[task] = entered
	w.path = append(w.path, step{task, why})
	for _, next := range w.before[task] {
		w.visit(next.task, next.why)
	}
	w.path = w.path[:len(w.path)-1]
	w.state[task] = left
	w.order = append(w.order, task)
}

// cycle reports the cycle that ends where it began.
func (w *walk) cycle(task int, why string) {
	from := slices.IndexFunc(w.path, func(s step) bool { return s.task == task })
	var b strings.Builder
	b.WriteString(w.plan.Tasks[task].ID)
	for i, s := range w.path[from+1:] {
		if i == maxCyclePath {
			b.WriteString(" … and so on over " + strconv.Itoa(len(w.path)-from) + " tasks, the last of which")
			break
		}
		b.WriteString(" " + s.why + " " + w.plan.Tasks[s.task].ID + ", which")
	}
	b.WriteString(" " + why + " " + w.plan.Tasks[task].ID)
	w.fault(w.plan.Tasks[task].Line, w.pointers[task], "a cycle: %s", b.String())
}
