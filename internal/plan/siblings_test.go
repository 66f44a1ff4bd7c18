package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"maestro/internal/plan"
	"maestro/service/wire"
)

// Siblings get the order of the file with the fewest moves; if they are already in that order, nothing is moved.
func TestOrderOfAPlan(t *testing.T) {
	for _, c := range []struct {
		there string
		moves int
	}{
		{"abcdef", 0}, {"fabcde", 1}, {"bacdef", 1}, {"fedcba", 5}, {"bcdefa", 1}, {"badcfe", 3}, {"xaybzcdef", 0},
	} {
		var file strings.Builder
		file.WriteString("tasks:\n")
		var planned []wire.Task
		for _, id := range "abcdef" {
			fmt.Fprintf(&file, "  - id: %c\n    title: T\n", id)
			planned = append(planned, wire.Task{ID: "task_" + string(id), PlanID: string(id)})
		}
		p, err := plan.Parse([]byte(file.String()))
		if err != nil {
			t.Fatal(err)
		}
		d := plan.NewDiff(nil, "")
		d.Found(p, planned)
		for i := range p.Tasks {
			d.Apply(&p.Tasks[i], "task_"+p.Tasks[i].ID, nil)
		}
		var there []string
		for _, id := range c.there {
			there = append(there, "task_"+string(id))
		}
		moves := d.Order(p, there)
		if len(moves) != c.moves {
			t.Errorf("%s takes %d moves, want %d", c.there, len(moves), c.moves)
		}
		for _, m := range moves {
			update, _ := d.Place(m)
			d.Moved(m.Task)
			there = slices.DeleteFunc(there, func(id string) bool { return id == update.TaskID })
			at := slices.Index(there, update.Before+update.After)
			if update.After != "" {
				at++
			}
			there = slices.Insert(there, at, update.TaskID)
		}
		if d.Count(plan.Updated) != c.moves || len(d.Order(p, there)) != 0 {
			t.Errorf("%s becomes %v with %d updates", c.there, there, d.Count(plan.Updated))
		}
	}
}

// Moves between two siblings that stay begin in the middle, so that no gap is halved much more often than there are
// doublings of the number of tasks: what a place costs grows with the halvings.
func TestMovesAreBalanced(t *testing.T) {
	const tasks = 2000
	var file strings.Builder
	file.WriteString("tasks:\n")
	var there []string
	for i := range tasks {
		fmt.Fprintf(&file, "  - id: x%d\n    title: T\n", i)
		there = append(there, fmt.Sprint("task_x", i))
	}
	for name, change := range map[string]func(ids []string) []string{
		"reversed between two": func(ids []string) []string {
			slices.Reverse(ids[1 : tasks-1])
			return ids
		},
		"reversed":       func(ids []string) []string { slices.Reverse(ids); return ids },
		"the last first": func(ids []string) []string { return append(slices.Clone(ids[1000:]), ids[:1000]...) },
	} {
		p, err := plan.Parse([]byte(file.String()))
		if err != nil {
			t.Fatal(err)
		}
		d := plan.NewDiff(nil, "")
		for i := range p.Tasks {
			d.Apply(&p.Tasks[i], "task_"+p.Tasks[i].ID, nil)
		}
		order := change(slices.Clone(there))
		halvings := map[string]int{} // of the gap that a task was put into
		for _, m := range d.Order(p, order) {
			update, _ := d.Place(m)
			order = slices.DeleteFunc(order, func(id string) bool { return id == update.TaskID })
			at := slices.Index(order, update.Before+update.After)
			if update.After != "" {
				at++
			}
			low, high := 0, 0
			if at > 0 {
				low = halvings[order[at-1]]
			}
			if at < len(order) {
				high = halvings[order[at]]
			}
			if halvings[update.TaskID] = max(low, high) + 1; halvings[update.TaskID] > 12 {
				t.Fatalf("%s: task %s is put into a gap that was halved %d times", name, update.TaskID,
					halvings[update.TaskID])
			}
			order = slices.Insert(order, at, update.TaskID)
		}
		if !slices.Equal(order, there) {
			t.Errorf("%s: the order is wrong", name)
		}
	}
}
