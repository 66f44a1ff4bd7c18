package commands

import (
	"slices"
	"strconv"
	"testing"

	"maestro/events"
)

// ordered decides and applies a move, and returns its place; nil if the task stands there.
func (g *ground) ordered(task, before, after string) *events.SiblingOrder {
	g.t.Helper()
	update := &UpdateTask{TaskID: task, Before: before, After: after}
	data, err := update.Decide(g.s, called(Admin(AuthnToken), RulesVersion))
	if err != nil {
		g.t.Fatalf("%s before %q after %q: %v", task, before, after, err)
	}
	if data == nil {
		return nil
	}
	g.apply(data)
	return data.(*events.TaskUpdated).Order
}

// roots returns the tasks of the project in sibling order.
func (g *ground) roots() (ids []string) {
	for _, b := range g.s.Branches("p", "", 0, 1<<30) {
		ids = append(ids, b.Task.ID)
	}
	return ids
}

// However often tasks are put at the same place, there is room for the next one: keys stay short, and new ones are
// given once in hundreds of moves, at a cost that is counted.
func TestThereIsAlwaysRoomBetweenSiblings(t *testing.T) {
	const moves = 5000
	for name, next := range map[string]func(i int) (task, before, after string){
		"two tasks, always after the same one": func(i int) (string, string, string) {
			return "t" + strconv.Itoa(1+i%2), "", "t0"
		},
		"two tasks, always before the same one": func(i int) (string, string, string) {
			return "t" + strconv.Itoa(i%2), "t299", ""
		},
		"many, each after the one before": func(i int) (string, string, string) {
			return "t" + strconv.Itoa(2+i%297), "", "t" + strconv.Itoa(2+(i+296)%297)
		},
		"always between the last two that were moved": func(i int) (string, string, string) {
			if i%2 == 0 {
				return "t" + strconv.Itoa(i%298), "", "t" + strconv.Itoa((i+297)%298)
			}
			return "t" + strconv.Itoa(i%298), "t" + strconv.Itoa((i+297)%298), ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			want := g.tasks("t", 300)
			respaced := 0
			steps := g.s.CountReads()
			for i := range moves {
				task, before, after := next(i)
				sofar := *steps
				order := g.ordered(task, before, after)
				if order == nil {
					continue
				}
				if order.Respaced {
					respaced++
				}
				if int64(len(order.Key)) > LimitOrderKey.Value {
					t.Fatalf("move %d gives a key of %d digits", i, len(order.Key))
				}
				if took := *steps - sofar; took == 0 || took > 2000 {
					t.Fatalf("move %d takes %d steps", i, took)
				}
				want = slices.DeleteFunc(want, func(id string) bool { return id == task })
				at := slices.Index(want, before+after)
				if after != "" {
					at++
				}
				want = slices.Insert(want, at, task)
			}
			if got := g.roots(); !slices.Equal(got, want) {
				t.Errorf("the order is %v, not %v", got, want)
			}
			if respaced > moves/500 {
				t.Errorf("tasks got new keys %d times", respaced)
			}
		})
	}
}
