package plan

import (
	"slices"
	"testing"

	"maestro/service/wire"
)

// An exported plan uses plan ids unless they are the ids of tasks, and names only tasks that it contains.
func TestOf(t *testing.T) {
	parent, gone := "task_1", "task_9"
	p := Of(&wire.Project{Name: "P", WorkingDir: "/w"}, []wire.Task{
		{ID: "task_1", PlanID: "a"},
		{ID: "task_2", ParentID: &parent, Dependencies: []string{"task_1", "task_9"}},
		{ID: "task_3", PlanID: "task_2", ParentID: &gone, Dependencies: []string{"task_2"}},
	})
	if p.Name != "P" || p.WorkingDir != "/w" || len(p.Tasks) != 3 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []Task{
		{ID: "a"},
		{ID: "task_2", Parent: "a", Dependencies: []string{"a"}},
		{ID: "task_3", Dependencies: []string{"task_2"}},
	} {
		got := p.Tasks[i]
		if got.ID != want.ID || got.Parent != want.Parent || !slices.Equal(got.Dependencies, want.Dependencies) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
