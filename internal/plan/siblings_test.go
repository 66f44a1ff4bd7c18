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
