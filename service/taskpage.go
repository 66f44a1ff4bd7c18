package service

import (
	"slices"

	"maestro/engine"
	"maestro/projections"
)

const (
	// scanMost is the number of steps after which a page ends before it is full: the next one continues.
	scanMost = engine.ReadMost / 4
	// orderMost is how many dependencies one answer may sort by.
	orderMost = 4 * engine.ReadMost
)

// PageOf is the requested part of a list.
type PageOf struct {
	// Limit is the maximum number of items; 0 for the whole list.
	Limit int
	// After is the id of the item that the page follows, "" for the beginning. Position is that item's index in the
	// list.
	After    string
	Position int
	// From is that item's position in the order of the list.
	From int64
	// cursor is the one for it; nil for the beginning.
	cursor *cursor
}

// part is what a list collects for a page: from the cursor's place on, and one item more than the page has.
type part struct {
	from int64
	left int // how many more, after from; 0 for all
}

func (p PageOf) part() part {
	if p.Limit == 0 {
		return part{from: p.From}
	}
	return part{p.From, p.Limit + 1}
}

// full reports whether the item at that place is the last one needed.
func (p *part) full(order int64) bool {
	if p.left == 0 || order <= p.from {
		return false
	}
	p.left--
	return p.left == 0
}

// page returns the requested part of a list.
func (c *Caller) page() (PageOf, error) {
	if c.Page == nil {
		return PageOf{}, nil
	}
	return c.Page()
}

// TaskPage is a part of a list of tasks. The views are created while the page is written, a few at a time, each as of
// the sequence of the answer or later, so that nothing is created that nobody reads.
type TaskPage struct {
	// List has pointers to views, each of which is valid until the next one is created.
	List[*projections.TaskView]
	// Next is where the next page continues; nil if there is none.
	Next *PageEnd
	// Held is the memory that the page takes in addition to the bytes written.
	Held int64
}

// PageEnd is the last item of a page.
type PageEnd struct {
	ID       string
	Order    int64
	Position int
}

// createdAt returns the sequence at which the task that a page follows was created.
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

// placeOf returns the place among its siblings of the task that a page follows.
func (v View) placeOf(after string) (string, error) {
	if after == "" {
		return "", nil
	}
	t := v.TaskEver(after)
	if t == nil {
		return "", InvalidRequest("", "cursor names no task; start again without it")
	}
	return t.SiblingKey(), nil
}

// taskPage takes a page from a walk. The caller must not hold the state.
func (v View) taskPage(walk *projections.Walk, asked PageOf, filter *taskFilter) (TaskPage, error) {
	found, next, err := v.findTasks(walk, asked.Limit, filter)
	return v.shownTasks(found, next), err
}

// findTasks finds tasks in portions: it holds the state only while it looks up a portion, and not while it searches
// their texts and lists, which do not change. A page ends after scanMost steps, even if it is not full; a whole list
// (limit 0) is refused if it takes more than one read may.
func (v View) findTasks(
	walk *projections.Walk, limit int, filter *taskFilter,
) (found []*projections.Task, next *PageEnd, err error) {
	most, portion := engine.ReadMost, tasksAtOnce
	if limit > 0 {
		most, portion = scanMost, min(limit+1, tasksAtOnce)
	}
	steps, alone := 0, 0
	for done := false; !done; portion = min(2*portion, tasksAtOnce) {
		part := make([]*projections.Task, 0, portion)
		v.again(func(v View) {
			done = v.WalkOn(walk, v.portionSteps(), func(t *projections.Task) bool {
				if filter.stands(v, t) {
					part = append(part, t)
				}
				return len(part) < portion
			})
			steps += int(v.Steps()) //nolint:gosec // about stepsAtOnce
		})
		last := walk.Last
		for i, t := range part {
			kept, took := filter.holds(t)
			v.Caller.chargeSteps(took)
			if kept && limit > 0 && len(found) == limit {
				return found, endOf(found[limit-1]), nil
			}
			if kept {
				found = append(found, t)
			}
			if alone += took; alone >= stepsAtOnce {
				v.live()
				alone = 0
			}
			if steps += took; steps > most && i < len(part)-1 {
				last, done = t, false
				break
			}
		}
		switch {
		case steps <= most || done:
		case limit == 0:
			return nil, nil, tooMuchToRead()
		default:
			return found, endOf(last), nil
		}
	}
	return found, nil, nil
}

func endOf(t *projections.Task) *PageEnd { return &PageEnd{ID: t.ID, Order: t.CreatedAt} }

// shownTasks creates the views of tasks as they are written.
func (v View) shownTasks(found []*projections.Task, next *PageEnd) TaskPage {
	made := v.viewsOf(len(found), func(i int) *projections.Task { return found[i] })
	held := int64(len(found))*itemSize + made.expected
	return TaskPage{Next: next, Held: held, List: List[*projections.TaskView]{
		Items: func(yield func(*projections.TaskView) bool) {
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

// itemSize is the memory that a list takes for a pointer to an item.
const itemSize = 8

// orderedSize is the memory that a task takes while a list or a tree is sorted, in bytes.
const orderedSize = projections.OrderSize + 64

// order sorts tasks in an order in which they follow others.
func (f *taskFilter) order(tasks []*projections.Task) []*projections.Task {
	if f.Order == inCompletionOrder {
		return projections.InCompletionOrder(tasks)
	}
	return projections.InDependencyOrder(tasks)
}

// tasksByDependency is taskPage in order of dependency. Tasks that the filter drops can connect others, so it sorts all
// tasks, on values that do not change.
func (v View) tasksByDependency(
	walk *projections.Walk, asked PageOf, filter *taskFilter,
) (page TaskPage, err error) {
	err = v.ordered(int64(walk.Left())*orderedSize, func() error {
		found, next, err := v.findByDependency(walk, asked, filter)
		if err == nil {
			page = v.shownTasks(found, next)
		}
		return err
	})
	return page, err
}

func (v View) findByDependency(
	walk *projections.Walk, asked PageOf, filter *taskFilter,
) (found []*projections.Task, next *PageEnd, err error) {
	all := make([]*projections.Task, 0, walk.Left())
	dependencies := 0
	filter.walked = func(t *projections.Task) {
		all = append(all, t)
		dependencies += len(t.Dependencies)
	}
	passed, _, err := v.findTasks(walk, 0, filter)
	if err == nil && dependencies > orderMost {
		err = tooMuchToRead()
	}
	if err != nil {
		return nil, nil, err
	}
	v.Caller.chargeSteps(len(all) + dependencies)
	v.live()
	kept := make(map[*projections.Task]bool, len(passed))
	for _, t := range passed {
		kept[t] = true
	}
	ordered := filter.order(all)
	from := 0
	if asked.After != "" {
		from = min(asked.Position, len(ordered)) // the task may be gone
		if i := slices.IndexFunc(ordered, func(t *projections.Task) bool { return t.ID == asked.After }); i >= 0 {
			from = i + 1
		}
	}
	for i, t := range ordered[from:] {
		if !kept[t] {
			continue
		}
		if asked.Limit > 0 && len(found) == asked.Limit {
			next = endOf(found[len(found)-1])
			next.Position = from + i
			break
		}
		found = append(found, t)
	}
	return found, next, nil
}
