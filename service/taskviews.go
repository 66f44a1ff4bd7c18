package service

import (
	"errors"
	"sync"

	"maestro/projections"
)

// Views of tasks are created while they are written. Creating a portion holds the state, and all others wait: a portion
// ends after so many tasks, steps of work, or bytes of views.
const (
	tasksAtOnce = 200
	stepsAtOnce = 5000
	bytesAtOnce = 256 << 10
)

// taskViews creates the views of a list of tasks, one after the other.
type taskViews struct {
	view View
	n    int
	task func(i int) *projections.Task
	// progress returns what is known about everything below a task; if it is nil, sums computes it.
	progress func(i int) *projections.Progress
	sums     *projections.Sums
	sum      *projections.Sum
	// ready are views that are created and not yet written, of the tasks before at. They are in made, which the next
	// portion uses again.
	ready []projections.TaskView
	made  *[]projections.TaskView
	at    int
	// used is how many views made holds, or held.
	used int
	// expected is how many bytes the views of a portion take; counted is what they and the sums take beyond that.
	expected, counted int64
}

// viewsOf starts the views of n tasks. The caller must not hold the state.
func (v View) viewsOf(n int, task func(i int) *projections.Task) *taskViews {
	x := &taskViews{view: v, n: n, task: task}
	v.again(func(v View) {
		for i := 0; i < min(n, tasksAtOnce) && x.expected < bytesAtOnce; i++ {
			x.expected += v.ListedSize(task(i))
		}
	})
	return x
}

// next returns the view of the next task, which is valid until the view after it is created. It panics with brokenOff
// if that fails.
func (x *taskViews) next() *projections.TaskView {
	for len(x.ready) == 0 {
		x.make()
	}
	view := &x.ready[0]
	x.ready = x.ready[1:]
	return view
}

// portionsMade keeps the memory of portions: a page would otherwise allocate more for its views than for anything else.
var portionsMade = sync.Pool{New: func() any { return new([]projections.TaskView) }}

// room returns the empty memory of the next portion.
func (x *taskViews) room() []projections.TaskView {
	if x.made == nil {
		x.made = portionsMade.Get().(*[]projections.TaskView)
	}
	need := min(x.n-x.at, tasksAtOnce)
	if cap(*x.made) < need {
		*x.made = make([]projections.TaskView, need)
	}
	x.used = max(x.used, need)
	return (*x.made)[:0]
}

// make creates a portion, and counts its memory.
func (x *taskViews) make() {
	x.ready = x.room()
	size := int64(0)
	x.view.again(func(v View) {
		for x.at < x.n && len(x.ready) < tasksAtOnce && v.Steps() < v.portionSteps() && size < bytesAtOnce {
			t := x.task(x.at)
			below, done := x.below(v, t)
			if !done {
				return
			}
			view := v.ListedTask(t)
			view.Progress = below
			size += view.Size()
			x.ready = append(x.ready, view)
			x.at++
		}
	})
	if x.sums != nil {
		size += x.sums.Size()
	}
	x.count(max(0, size-x.expected))
}

// below returns the progress below the next task, or continues to sum it up.
func (x *taskViews) below(v View, t *projections.Task) (sum *projections.Progress, done bool) {
	if x.progress != nil {
		return x.progress(x.at), true
	}
	if x.sum == nil {
		x.sum = v.SumBelow(t.ID, x.sums)
	}
	if !v.SumOn(x.sum, v.portionSteps()) {
		return nil, false
	}
	sum, x.sum = x.sum.Progress(), nil
	return sum, true
}

// count counts bytes beyond what was expected; they are allocated already.
func (x *taskViews) count(bytes int64) {
	a := x.view.Caller.admission
	if a == nil || bytes == x.counted {
		return
	}
	if bytes > x.counted {
		a.RenderAnyway(bytes - x.counted)
	} else {
		a.Free(x.counted - bytes)
	}
	x.counted = bytes
}

// end ends the list: no view is used any more.
func (x *taskViews) end() {
	x.count(0)
	if x.made != nil {
		clear((*x.made)[:x.used])
		portionsMade.Put(x.made)
		x.made, x.ready = nil, nil
	}
}

// below sums up everything below a task, in portions. The caller must not hold the state.
func (v View) below(task string) *projections.Progress {
	sums := projections.NewSums(projections.SumsMost)
	var sum *projections.Sum
	v.portions(func(v View, until uint64) (done bool) {
		if sum == nil {
			sum = v.SumBelow(task, sums)
		}
		return v.SumOn(sum, until)
	})
	return sum.Progress()
}

// listing is portions for a list: all of them together take no more than one read may.
func (v View) listing(work func(v View, until uint64) (done bool)) error {
	return v.listingWith(nil, work)
}

// listingWith is listing for a search whose memory is counted.
func (v View) listingWith(held *holding, work func(v View, until uint64) (done bool)) error {
	steps := uint64(0)
	for done := false; !done; {
		if steps > v.Service.listMost {
			return tooMuchToRead()
		}
		v.again(func(v View) {
			done = work(v, v.portionSteps())
			steps += v.Steps()
		})
		if err := held.grow(done); err != nil {
			return err
		}
	}
	return nil
}

// listingSome is listingWith that reports whether it is done, instead of refusing what takes too much.
func (v View) listingSome(held *holding, work func(v View, until uint64) (done bool)) (whole bool, err error) {
	held.some = true
	err = RecoverPart(func() error { return v.listingWith(held, work) })
	var p *Problem
	if errors.As(err, &p) && p.Kind == KindTooLarge {
		return false, nil
	}
	return err == nil, err
}

// portions reads the state repeatedly, each time for so many steps, until work is done. It panics with brokenOff if
// that fails.
func (v View) portions(work func(v View, until uint64) (done bool)) {
	for done := false; !done; {
		v.again(func(v View) { done = work(v, v.portionSteps()) })
	}
}
