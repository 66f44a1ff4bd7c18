package projections

import "math"

// chores are work on a state that is done in portions: the state may change between two of them. A chore does one step,
// which takes at least one look-up, and reports whether there is more; chores that it adds run before its remaining
// steps.
type chores struct{ todo []func() (more bool) }

// untilDone makes a portion cover the whole work.
const untilDone = math.MaxUint64

func (c *chores) add(chore func() (more bool)) { c.todo = append(c.todo, chore) }

// on continues until the state has counted so many steps, and reports whether all is done.
func (c *chores) on(s *State, until uint64) (done bool) {
	for len(c.todo) > 0 {
		if s.Steps() >= until {
			return false
		}
		at := len(c.todo) - 1
		if more := c.todo[at](); !more {
			c.todo = append(c.todo[:at], c.todo[at+1:]...)
		}
	}
	return true
}

// finally returns a chore of a single step.
func finally(do func()) func() (more bool) {
	return func() bool {
		do()
		return false
	}
}

// each returns a chore with a step for each element of a list, which must not change.
func each[T any](list []T, do func(T)) func() (more bool) {
	return func() bool {
		if len(list) == 0 {
			return false
		}
		first := list[0]
		list = list[1:]
		do(first)
		return len(list) > 0
	}
}

// each returns a chore with a step for each item of the present line.
func (l line) each(do func(task string)) func() (more bool) {
	from := uint64(0)
	return func() bool {
		n := l.root.from(from)
		if n == nil {
			return false
		}
		from = n.place + 1
		do(n.task)
		return from > 0
	}
}

// from returns the first item at or after a place, nil if there is none.
func (n *lineNode) from(place uint64) (first *lineNode) {
	for n != nil {
		if n.place < place {
			n = n.right
			continue
		}
		first, n = n, n.left
	}
	return first
}
