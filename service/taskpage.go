package service

import (
	"iter"
	"slices"

	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
)

const (
	// scanMost is after how many steps a page ends before it is full: the next one goes on.
	scanMost = engine.ReadMost / 4
	// orderMost is how many dependencies one answer puts in order.
	orderMost = 4 * engine.ReadMost
	// namesPerStep is how many names in a list cost as much as one look-up.
	namesPerStep = 10
)

// PageOf says which part of a list is asked for.
type PageOf struct {
	// Limit is how many items it has at most; 0 for the whole list.
	Limit int
	// After is the id of the item that the page follows, "" for the beginning, Position where it was in the list.
	After    string
	Position int
	// From is where that item stands in the order of the list.
	From int64
	// behind is the cursor that says so; nil for the beginning.
	behind *cursor
}

// part is what a list gathers for a page: from what stands beside the cursor on, and one item more than the page has.
type part struct {
	from int64
	left int // how many more, behind from; 0 for all
}

func (p PageOf) part() part {
	if p.Limit == 0 {
		return part{from: p.From}
	}
	return part{p.From, p.Limit + 1}
}

// full reports whether an item that stands there is the last one that is needed.
func (p *part) full(order int64) bool {
	if p.left == 0 || order <= p.from {
		return false
	}
	p.left--
	return p.left == 0
}

// page gives the part of a list that is asked for.
func (c *Caller) page() (PageOf, error) {
	if c.Page == nil {
		return PageOf{}, nil
	}
	return c.Page()
}

// TaskPage is a part of a list of tasks. Its views are made while it is written, a few at a time, each as of the
// sequence of the answer or later: nothing is made that nobody takes.
type TaskPage struct {
	List[projections.TaskView]
	// Next is where the next page goes on; nil if there is none.
	Next *PageEnd
	// Held is how much memory it takes beside what is written, in bytes.
	Held int64
}

// PageEnd is the last item of a page.
type PageEnd struct {
	ID       string
	Order    int64
	Position int
}

// createdAt gives the sequence that made the task that a page follows.
func (v View) createdAt(after string) (uint64, error) {
	if after == "" {
		return 0, nil
	}
	t := v.TaskEver(after)
	if t == nil {
		return 0, InvalidRequest("", "cursor names no task; start again without it")
	}
	return t.CreatedSequence, nil
}

// taskPage takes a page from tasks in order of creation.
func (v View) taskPage(
	tasks iter.Seq[*projections.Task], asked PageOf, keep func(*projections.Task) bool,
) (func() (TaskPage, error), error) {
	var found []*projections.Task
	var next *PageEnd
	end := func(t *projections.Task) *PageEnd { return &PageEnd{ID: t.ID, Order: t.CreatedAt} }
	begun := v.Steps()
	for t := range tasks {
		kept := keep(t)
		if kept && asked.Limit > 0 && len(found) == asked.Limit {
			next = end(found[len(found)-1])
			break
		}
		if kept {
			found = append(found, t)
		}
		if asked.Limit > 0 && v.Steps()-begun > scanMost {
			next = end(t)
			break
		}
	}
	return func() (TaskPage, error) { return v.shownTasks(found, next), nil }, nil
}

// shownTasks makes the views of tasks as they are written.
func (v View) shownTasks(found []*projections.Task, next *PageEnd) TaskPage {
	made := v.viewsOf(len(found), func(i int) *projections.Task { return found[i] })
	held := int64(len(found))*itemSize + made.expected
	return TaskPage{Next: next, Held: held, List: List[projections.TaskView]{
		Items: func(yield func(projections.TaskView) bool) {
			made := *made
			made.sums = projections.NewSums(projections.SumsMost)
			defer made.end()
			for range found {
				if !yield(made.next()) {
					return
				}
			}
		},
	}}
}

// itemSize is what a list takes for an item that it points to.
const itemSize = 8

// tasksByDependency is ListTasks in order of dependency. What is left out stands between what is not, so all tasks are
// put in order, on values that do not change, when the state has moved on.
func (v View) tasksByDependency(
	in *wire.TaskFilter, projects []string, asked PageOf,
) (func() (TaskPage, error), error) {
	var all []*projections.Task
	kept := map[string]bool{}
	dependencies := 0
	for t := range v.TasksAfter(projects, 0) {
		all = append(all, t)
		dependencies += len(t.Dependencies)
		if v.taskMatches(in, t) {
			kept[t.ID] = true
		}
	}
	if dependencies > orderMost {
		return nil, tooMuchToRead()
	}
	v.Caller.looked(len(all) + dependencies)
	return func() (TaskPage, error) {
		ordered := projections.InDependencyOrder(all)
		from := 0
		if asked.After != "" {
			from = min(asked.Position, len(ordered)) // the task may be gone
			if i := slices.IndexFunc(ordered, func(t *projections.Task) bool { return t.ID == asked.After }); i >= 0 {
				from = i + 1
			}
		}
		var found []*projections.Task
		var next *PageEnd
		for i, t := range ordered[from:] {
			if !kept[t.ID] {
				continue
			}
			if asked.Limit > 0 && len(found) == asked.Limit {
				last := found[len(found)-1]
				next = &PageEnd{ID: last.ID, Order: last.CreatedAt, Position: from + i}
				break
			}
			found = append(found, t)
		}
		return v.shownTasks(found, next), nil
	}, nil
}
