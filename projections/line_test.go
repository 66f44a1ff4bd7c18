package projections

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// equalLine compares a line with a sorted list of places.
func equalLine(t *testing.T, l line, want []uint64) {
	t.Helper()
	var walked []string
	l.walk(func(task string) bool { walked = append(walked, task); return true })
	if len(walked) != len(want) || l.len() != len(want) {
		t.Fatalf("walk gives %d places, len %d, want %d", len(walked), l.len(), len(want))
	}
	for i, place := range want {
		if walked[i] != named(place) {
			t.Fatalf("walk gives %s at index %d, want %s", walked[i], i, named(place))
		}
	}
	task, place, ok := l.first()
	switch {
	case len(want) == 0:
		if ok || task != "" || place != 0 {
			t.Fatalf("an empty line starts with %s at %d", task, place)
		}
	case !ok || place != want[0] || task != named(want[0]):
		t.Fatalf("the line starts with %s at %d, want %d", task, place, want[0])
	}
}

func named(place uint64) string { return fmt.Sprint("task ", place) }

// A line is a sorted list whatever is added and removed, and its earlier versions do not change.
func TestLine(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		places := make([]uint64, 40)
		for i := range places {
			places[i] = uint64(i/2+1) | uint64(i%2)*notReturned // both kinds of place
		}
		var l line
		var list []uint64
		type version struct {
			line line
			list []uint64
		}
		versions := []version{{}}
		for range 300 {
			place := places[r.IntN(len(places))]
			at, there := slices.BinarySearch(list, place)
			if l.has(place) != there {
				t.Fatalf("seed %d: has(%d) is %t", seed, place, !there)
			}
			if got := l.before(place); got != at {
				t.Fatalf("seed %d: %d are before %d, want %d", seed, got, place, at)
			}
			if there {
				l, list = l.without(place), slices.Delete(slices.Clone(list), at, at+1)
			} else {
				if without := l.without(place); without.len() != len(list) {
					t.Fatalf("seed %d: removing a missing place left %d of %d", seed, without.len(), len(list))
				}
				l, list = l.with(place, named(place)), slices.Insert(slices.Clone(list), at, place)
			}
			equalLine(t, l, list)
			versions = append(versions, version{l, list})
		}
		for _, v := range versions {
			equalLine(t, v.line, v.list)
		}
		if got := l.before(math.MaxUint64); got != len(list) {
			t.Fatalf("seed %d: %d are before the end of %d", seed, got, len(list))
		}
	}
}

func TestLineWalkStops(t *testing.T) {
	var l line
	for place := range uint64(10) {
		l = l.with(place, named(place))
	}
	for stop := 1; stop <= 10; stop++ {
		seen := 0
		l.walk(func(string) bool { seen++; return seen < stop })
		if seen != stop {
			t.Errorf("asked to stop after %d, it stopped after %d", stop, seen)
		}
	}
}

// A line's shape depends on its places alone: a line built from a snapshot in another order is the same.
func TestLineShape(t *testing.T) {
	var shape func(n *lineNode) string
	shape = func(n *lineNode) string {
		if n == nil {
			return "."
		}
		return fmt.Sprintf("(%s %d/%d %s)", shape(n.left), n.place, n.size, shape(n.right))
	}
	var up, down, back line
	for place := range uint64(200) {
		up, down = up.with(place, "t"), down.with(199-place, "t")
		back = back.with(place, "t").with(place+1000, "t")
	}
	for place := range uint64(200) {
		back = back.without(place + 1000)
	}
	if shape(up.root) != shape(down.root) || shape(up.root) != shape(back.root) {
		t.Error("equal lines have different shapes")
	}
}

// A queue is filled in ascending order, which would turn a plain tree into a list.
func TestLineStaysShallow(t *testing.T) {
	const n = 100_000
	for name, bit := range map[string]uint64{"pushed": notReturned, "given back": 0} {
		t.Run(name, func(t *testing.T) {
			var l line
			for place := uint64(1); place <= n; place++ {
				l = l.with(place|bit, "t")
			}
			var deepest func(n *lineNode) int
			deepest = func(n *lineNode) int {
				if n == nil {
					return 0
				}
				return 1 + max(deepest(n.left), deepest(n.right))
			}
			// A treap of n has a depth of about 2 ln n to 3 log2 n: 17 would be perfect.
			if depth, most := deepest(l.root), 3*bits.Len(n); depth > most || l.len() != n {
				t.Errorf("%d items are %d deep, want at most %d", l.len(), depth, most)
			}
			// with and without create no more new nodes than lie on one path.
			known := map[*lineNode]bool{}
			var note func(n *lineNode)
			note = func(n *lineNode) {
				if n != nil {
					known[n] = true
					note(n.left)
					note(n.right)
				}
			}
			note(l.root)
			var fresh func(n *lineNode) int
			fresh = func(n *lineNode) int {
				if n == nil || known[n] {
					return 0
				}
				return 1 + fresh(n.left) + fresh(n.right)
			}
			for what, other := range map[string]line{
				"with one behind": l.with((n+1)|bit, "t"), "with one before": l.with(bit, "t"),
				"without the first":  l.without(1 | bit),
				"without the middle": l.without(n/2 | bit), "without the last": l.without(n | bit),
			} {
				if made := fresh(other.root); made > 3*bits.Len(n) {
					t.Errorf("%s: %d new nodes", what, made)
				}
			}
		})
	}
}

// Adding or removing many items at once gives the same line as one after another.
func TestLineOfMany(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		var one, all line
		var list []uint64
		for range 20 {
			var come, leave []placed
			for range r.IntN(60) {
				place := uint64(1 + r.IntN(100))
				item := placed{place, named(place)}
				if _, there := slices.BinarySearch(list, place); there {
					leave = append(leave, item)
				} else if !slices.Contains(come, item) {
					come = append(come, item)
				}
			}
			for _, item := range leave {
				one = one.without(item.place)
				if at, there := slices.BinarySearch(list, item.place); there {
					list = slices.Delete(list, at, at+1)
				}
			}
			for _, item := range come {
				at, _ := slices.BinarySearch(list, item.place)
				one, list = one.with(item.place, item.task), slices.Insert(list, at, item.place)
			}
			all = all.withoutAll(append(leave, leave...)).withAll(append(come, come...))
			equalLine(t, all, list)
			if !reflect.DeepEqual(one, all) {
				t.Fatalf("seed %d: the treap has another shape", seed)
			}
		}
	}
}
