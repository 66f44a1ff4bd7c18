package projections

// taskPlace is where a task is in its tree, and what lies below it. One that is deleted, or not known yet, counts for
// nothing above it.
type taskPlace struct {
	parent string
	// children counts the tasks directly below it that are not deleted.
	children int
	deleted  bool
	// own is what it counts for as a leaf, below the sum of the leaves below it.
	own, below Progress
}

func (p *Progress) take(below Progress) {
	p.Total -= below.Total
	p.Completed -= below.Completed
	p.Said -= below.Said
	p.Blocked -= below.Blocked
	p.Failed -= below.Failed
	p.Cancelled -= below.Cancelled
}

// whole is what a task and the leaves below it count for together.
func (p *taskPlace) whole() Progress {
	sum := p.below
	sum.add(p.own)
	return sum
}

func (x *ViewIndex) placeOf(task string) *taskPlace {
	p := x.places[task]
	if p == nil {
		p = &taskPlace{deleted: true}
		x.places[task] = p
	}
	return p
}

// place brings the place of a task up to date, and adds the tasks above it whose progress changed.
func (x *ViewIndex) place(s *State, t *Task) {
	p, parent := x.placeOf(t.ID), s.ParentOf(t)
	if p.deleted != t.Deleted || p.parent != parent {
		if !p.deleted {
			x.above(p, Progress{}, p.whole())
			x.children(s, p.parent, -1)
		}
		p.parent, p.deleted = parent, t.Deleted
		if !p.deleted {
			x.children(s, p.parent, 1)
			x.above(p, p.whole(), Progress{})
		}
	}
	x.count(s, t.ID, p)
}

// children adds by to the number of a task's children. A task without children is a leaf.
func (x *ViewIndex) children(s *State, task string, by int) {
	if task == "" {
		return
	}
	p := x.placeOf(task)
	p.children += by
	x.add(KindTask, task)
	x.count(s, task, p)
}

// count brings up to date what a task counts for as a leaf.
func (x *ViewIndex) count(s *State, task string, p *taskPlace) {
	var own Progress
	if t := s.Task(task); t != nil && p.children == 0 {
		says, _ := s.SessionStatus(t)
		own.count(t.Status, says)
	}
	if own == p.own {
		return
	}
	before := p.own
	p.own = own
	if !p.deleted {
		x.above(p, own, before)
	}
}

// above adds to the sums of all tasks above a place, and takes from them.
func (x *ViewIndex) above(p *taskPlace, more, less Progress) {
	if more == less {
		return
	}
	for !p.deleted && p.parent != "" {
		task := p.parent
		p = x.placeOf(task)
		p.below.add(more)
		p.below.take(less)
		x.add(KindTask, task)
	}
}
