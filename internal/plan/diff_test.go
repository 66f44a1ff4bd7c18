package plan_test

import (
	"slices"
	"testing"

	"maestro/commands"
	"maestro/internal/plan"
	"maestro/service/wire"
)

// The changes of an apply follow from the difference of the plan and the project: which task each entry means, and what
// changes in it.
func TestDiffOfAPlanAndAProject(t *testing.T) {
	p, err := plan.Parse([]byte("tasks:\n  - id: a\n    title: A\n  - id: task_1\n    title: B\n" +
		"    dependencies: [a]\n  - id: task_2\n    title: C\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := plan.NewDiff([]byte("x"), "")
	d.Project = "p"
	named := d.Found(p, []wire.Task{{ID: "task_9", PlanID: "a"}, {ID: "task_8", PlanID: "gone"}})
	if !slices.Equal(named, []string{"task_1", "task_2"}) || len(d.Beside) != 1 || d.Beside[0].ID != "task_8" {
		t.Fatalf("the plan names %v, and %v are not in it", named, d.Beside)
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
		t.Errorf("the apply did %+v", d.Done)
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

// An entry with a task's own id means that task, whatever plan ids exist. In another project it becomes a task whose
// plan id is not the id of a task, and applying the file again finds it.
func TestTaskIDComesBeforePlanID(t *testing.T) {
	const own = "task_0123456789"
	p, err := plan.Parse([]byte("tasks:\n  - id: " + own + "\n    title: A\n"))
	if err != nil {
		t.Fatal(err)
	}
	entry := &p.Tasks[0]
	d := plan.NewDiff([]byte("x"), "")
	d.Project = "p"
	if named := d.Found(p, []wire.Task{{ID: "task_fake", PlanID: own}}); !slices.Equal(named, []string{own}) {
		t.Fatalf("%v are looked up", named)
	}
	d.Named(wire.Task{ID: own, ProjectID: "p"})
	if task, there := d.There(entry); !there || task.ID != own || len(d.Beside) != 1 {
		t.Errorf("the entry means %q, and %v are not in the plan", task.ID, d.Beside)
	}
	elsewhere := plan.NewDiff([]byte("x"), "")
	elsewhere.Project = "q"
	elsewhere.Found(p, nil)
	elsewhere.Named(wire.Task{ID: own, ProjectID: "p"})
	if _, there := elsewhere.There(entry); there {
		t.Error("the entry means a task of another project")
	}
	created, _ := elsewhere.Create(entry)
	if commands.IsTaskID(created.PlanID) {
		t.Errorf("the task is created with the plan id %q", created.PlanID)
	}
	again := plan.NewDiff([]byte("x"), "")
	again.Project = "q"
	again.Found(p, []wire.Task{{ID: "task_copy", PlanID: created.PlanID}})
	if task, there := again.There(entry); !there || task.ID != "task_copy" || len(again.Beside) != 0 {
		t.Errorf("when applied again the entry means %q, and %v are not in the plan", task.ID, again.Beside)
	}
}
