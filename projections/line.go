package projections

import (
	"cmp"
	"slices"
)

// line is an ordered set of a queue's items by their place, smallest first; or of all held items, by the sequence of
// their start. It is persistent: with and without return another line and share what did not change, so an overlay is
// dropped by dropping its line. Every operation but walk costs the logarithm of the length.
//
// It is a treap; the priorities are derived from the places, so its shape is the same on every machine.
type line struct{ root *lineNode }

type lineNode struct {
	place       uint64
	task        string
	size        int
	left, right *lineNode
}

// priority mixes a place's bits (the finalizer of splitmix64).
func priority(place uint64) uint64 {
	place ^= place >> 30
	place *= 0xbf58476d1ce4e5b9
	place ^= place >> 27
	place *= 0x94d049bb133111eb
	return place ^ place>>31
}

func (n *lineNode) len() int {
	if n == nil {
		return 0
	}
	return n.size
}

func newLineNode(place uint64, task string, left, right *lineNode) *lineNode {
	return &lineNode{place, task, left.len() + right.len() + 1, left, right}
}

func (l line) len() int { return l.root.len() }

func (l line) first() (task string, place uint64, ok bool) {
	n := l.root
	if n == nil {
		return "", 0, false
	}
	for n.left != nil {
		n = n.left
	}
	return n.task, n.place, true
}

// before counts the items with a smaller place.
func (l line) before(place uint64) int {
	count := 0
	for n := l.root; n != nil; {
		if place <= n.place {
			n = n.left
			continue
		}
		count += n.left.len() + 1
		n = n.right
	}
	return count
}

// walk calls yield for each item, first to last, until it returns false.
func (l line) walk(yield func(task string) bool) { l.root.walk(yield) }

// tasks returns all items, first to last.
func (l line) tasks() []string {
	if l.root == nil {
		return nil
	}
	ids := make([]string, 0, l.len())
	l.walk(func(id string) bool {
		ids = append(ids, id)
		return true
	})
	return ids
}

func (n *lineNode) walk(yield func(task string) bool) bool {
	return n == nil || n.left.walk(yield) && yield(n.task) && n.right.walk(yield)
}

func (l line) has(place uint64) bool {
	n := l.root
	for n != nil && n.place != place {
		if place < n.place {
			n = n.left
		} else {
			n = n.right
		}
	}
	return n != nil
}

// with adds an item at an unused place.
func (l line) with(place uint64, task string) line {
	left, right := split(l.root, place)
	return line{merge(merge(left, newLineNode(place, task, nil, nil)), right)}
}

func (l line) without(place uint64) line { return line{remove(l.root, place)} }

// set adds or removes an item.
func (l line) set(place uint64, task string, in bool) line {
	if in {
		return l.with(place, task)
	}
	return l.without(place)
}

// placed is an item at its place.
type placed struct {
	place uint64
	task  string
}

func (p placed) compare(other placed) int { return cmp.Compare(p.place, other.place) }

// withAll adds items at unused places. It changes the given list.
func (l line) withAll(items []placed) line {
	slices.SortFunc(items, placed.compare)
	return line{union(l.root, treapOf(slices.Compact(items)))}
}

// withoutAll removes items. It changes the given list.
func (l line) withoutAll(items []placed) line {
	slices.SortFunc(items, placed.compare)
	return line{difference(l.root, slices.Compact(items))}
}

// treapOf returns the treap of items in order.
func treapOf(items []placed) *lineNode {
	if len(items) == 0 {
		return nil
	}
	top := 0
	for i, item := range items {
		if priority(item.place) > priority(items[top].place) {
			top = i
		}
	}
	return newLineNode(items[top].place, items[top].task, treapOf(items[:top]), treapOf(items[top+1:]))
}

// union returns what is in either; the two must be disjoint.
func union(a, b *lineNode) *lineNode {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case priority(a.place) < priority(b.place):
		a, b = b, a
	}
	left, right := split(b, a.place)
	return newLineNode(a.place, a.task, union(a.left, left), union(a.right, right))
}

// difference returns a treap without the given items, which are in order.
func difference(n *lineNode, gone []placed) *lineNode {
	if n == nil || len(gone) == 0 {
		return n
	}
	at, found := slices.BinarySearchFunc(gone, n.place, func(p placed, place uint64) int {
		return cmp.Compare(p.place, place)
	})
	if !found {
		return newLineNode(n.place, n.task, difference(n.left, gone[:at]), difference(n.right, gone[at:]))
	}
	return merge(difference(n.left, gone[:at]), difference(n.right, gone[at+1:]))
}

// split returns what is before and after a place; the place itself must be unused.
func split(n *lineNode, place uint64) (left, right *lineNode) {
	switch {
	case n == nil:
		return nil, nil
	case place < n.place:
		left, right = split(n.left, place)
		return left, newLineNode(n.place, n.task, right, n.right)
	}
	left, right = split(n.right, place)
	return newLineNode(n.place, n.task, n.left, left), right
}

func merge(left, right *lineNode) *lineNode {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case priority(left.place) > priority(right.place):
		return newLineNode(left.place, left.task, left.left, merge(left.right, right))
	}
	return newLineNode(right.place, right.task, merge(left, right.left), right.right)
}

func remove(n *lineNode, place uint64) *lineNode {
	switch {
	case n == nil:
		return nil
	case place < n.place:
		return newLineNode(n.place, n.task, remove(n.left, place), n.right)
	case place > n.place:
		return newLineNode(n.place, n.task, n.left, remove(n.right, place))
	}
	return merge(n.left, n.right)
}
