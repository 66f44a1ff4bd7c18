package plan_test

import (
	"slices"
	"testing"

	"maestro/internal/plan"
	"maestro/service/wire"
)

// What an apply does is the difference of the plan and the project: which entry is which task, and where it moves.
func TestDiffOfAPlanAndAProject(t *testing.T) {
	p, err := plan.Parse([]byte("tasks:\n  - id: a\n    title: A\n  - id: task_1\n    title: B\n" +
		"    dependencies: [a]\n  - id: task_2\n    title: C\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := plan.NewDiff([]byte("x"), "")
	d.Project = "p"
	named := d.Found(p, []wire.Task{{ID: "task_9", PlanID: "a"}, {ID: "task_8", PlanID: "gone"}})
	if !slices.Equal(named, []string{"task_1", "task_2"}) || d.Beside != 1 {
		t.Fatalf("it names %v, and %d are beside", named, d.Beside)
	}
	d.Named(wire.Task{ID: "task_1", ProjectID: "p"})
	d.Named(wire.Task{ID: "task_2", ProjectID: "another"})
	for i := range p.Tasks {
		entry := &p.Tasks[i]
		task, there := d.There(entry)
		if there == (entry.ID == "task_2") {
			t.Errorf("%s: there %t", entry.ID, there)
		}
		var changed []string
		if there {
			changed = d.Moves(&task, entry)
		}
		d.Apply(entry, task.ID, changed)
	}
	if d.Count(plan.Created) != 1 || d.Count(plan.Updated) != 1 || d.Count(plan.Unchanged) != 1 {
		t.Errorf("it did %+v", d.Done)
	}
	if task, _ := d.There(&p.Tasks[1]); !slices.Equal(d.Moves(&task, &p.Tasks[1]), []string{"dependencies"}) {
		t.Errorf("task_1 moves %v", d.Moves(&task, &p.Tasks[1]))
	}
	if _, key := d.Update(&wire.Task{}, &p.Tasks[0], true); key != "" {
		t.Errorf("an update without a key has %q", key)
	}
	_, first := d.Create(&p.Tasks[0])
	if _, again := plan.NewDiff([]byte("x"), "").Create(&p.Tasks[0]); first != again {
		t.Errorf("the same file gives the keys %q and %q", first, again)
	}
}
