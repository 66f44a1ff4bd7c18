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
	w := walk{parser: p, before: make([][]step, len(p.plan.Tasks)), state: make([]mark, len(p.plan.Tasks))}
	for i, t := range p.plan.Tasks {
		if above, known := index[t.Parent]; known {
			w.before[i] = append(w.before[i], step{above, "is part of"})
		}
	}
	for _, r := range p.parents {
		if _, known := index[r.to]; !known {
			p.fault(r.line, r.pointer, "there is no task %q to be its parent", r.to)
		}
	}
	dependents := map[string]int{}
	for _, r := range p.dependencies {
		if dependents[r.to]++; dependents[r.to] == MaxDependents+1 {
			p.fault(r.line, r.pointer, "at most %d tasks can depend on one task, but more depend on %q", MaxDependents,
				r.to)
		}
		before, known := index[r.to]
		if !known {
			p.fault(r.line, r.pointer, "there is no task %q to depend on", r.to)
			continue
		}
		w.before[r.task] = append(w.before[r.task], step{before, "waits for"})
	}
	for i := range p.plan.Tasks {
		w.visit(i, "")
	}
	if len(p.faults) == 0 {
		p.levels(index, w.order)
	}
	if len(p.faults) > 0 {
		return
	}
	for _, r := range p.dependencies {
		if p.within(index, r.task, r.to) {
			p.fault(r.line, r.pointer, "task %q cannot wait for %q, which it is part of", p.plan.Tasks[r.task].ID, r.to)
		}
	}
	sorted := make([]Task, len(w.order))
	for i, at := range w.order {
		sorted[i] = p.plan.Tasks[at]
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
	for parent := p.plan.Tasks[task].Parent; parent != ""; parent = p.plan.Tasks[index[parent]].Parent {
		if parent == id {
			return true
		}
	}
	return false
}

type mark int

const (
	unseen mark = iota
	entered
	left
)

// walk goes from each task to what must be created before it: its parent and its dependencies.
type walk struct {
	*parser
	// before holds what must be created before each task.
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
