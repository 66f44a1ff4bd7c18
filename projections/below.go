package projections

// SumsMost bounds the steps of one answer for summing up what lies below its tasks.
const SumsMost = 2_000_000

// Sums caches what lies below tasks, so that one answer examines each task once, and bounds the work.
type Sums struct {
	known map[string]sumBelow
	// alive are the sessions that were looked up.
	alive map[string]bool
	// left is the remaining number of steps.
	left uint64
}

// NewSums returns sums that take at most so many steps together. A state that does not count steps takes none.
func NewSums(most uint64) *Sums { return &Sums{map[string]sumBelow{}, map[string]bool{}, most} }

// Size returns the approximate memory of the sums, in bytes.
func (x *Sums) Size() int64 {
	const entrySize, aliveSize = 112, 40
	return int64(len(x.known))*entrySize + int64(len(x.alive))*aliveSize
}

// sumBelow sums up everything below a task.
type sumBelow struct {
	tasks    int
	progress Progress
}

func (b *sumBelow) any() bool { return b.tasks > 0 || b.progress.Unread > 0 }

// Sum is a sum over everything below a task. [State.SumOn] computes it, in as many portions as needed.
type Sum struct {
	sums  *Sums
	below sumBelow
	// path leads from the top to the current position.
	path []summed
}

// summed is a task with the number of its children still to be added.
type summed struct {
	// task is nil for the one whose sum it is.
	task *Task
	id   string
	rest siblings
	sumBelow
}

// SumBelow starts to sum up the tasks below one.
func (s *State) SumBelow(task string, sums *Sums) *Sum {
	if known, ok := sums.known[task]; ok {
		return &Sum{sums: sums, below: known}
	}
	if children := s.children.get(task); len(children) > 0 {
		return &Sum{sums: sums, path: []summed{{id: task, rest: siblings{created: children}}}}
	}
	return nothingBelow
}

// nothingBelow is the sum over nothing, which is done; most tasks have nothing below them.
var nothingBelow = &Sum{}

// SumOn continues a sum until the state has counted so many steps, and reports whether it is done.
func (s *State) SumOn(x *Sum, until uint64) (done bool) {
	for len(x.path) > 0 {
		before := s.Steps()
		if before >= until {
			return false
		}
		at := &x.path[len(x.path)-1]
		if x.sums.left == 0 {
			at.progress.Unread += at.rest.left()
			at.rest = siblings{}
		}
		if !at.rest.empty() {
			if t := s.next(&at.rest); t != nil && !t.Deleted {
				s.sumChild(x, at, t)
			}
		} else {
			s.sumUp(x)
		}
		x.sums.left -= min(x.sums.left, s.Steps()-before)
	}
	return true
}

// sumChild adds a task, or descends into it if there may be something below it.
func (s *State) sumChild(x *Sum, at *summed, t *Task) {
	id := t.ID
	at.tasks++
	if known, ok := x.sums.known[id]; ok {
		at.tasks += known.tasks
		at.progress.add(known.progress)
	} else if children := s.children.get(id); len(children) > 0 {
		x.path = append(x.path, summed{task: t, id: id, rest: siblings{created: children}})
	} else {
		s.countLeaf(&at.progress, t, x.sums)
	}
}

// sumUp ascends from a task whose children are all added.
func (s *State) sumUp(x *Sum) {
	last := len(x.path) - 1
	it := x.path[last]
	x.path = x.path[:last]
	if it.any() && it.id != "" {
		x.sums.known[it.id] = it.sumBelow
	}
	if last == 0 {
		x.below = it.sumBelow
		return
	}
	above := &x.path[last-1]
	if !it.any() {
		s.countLeaf(&above.progress, it.task, x.sums)
		return
	}
	above.tasks += it.tasks
	above.progress.add(it.progress)
}

// Progress returns the finished sum, nil when nothing lies below the task.
func (x *Sum) Progress() *Progress {
	if !x.below.any() {
		return nil
	}
	sum := x.below.progress
	return &sum
}
