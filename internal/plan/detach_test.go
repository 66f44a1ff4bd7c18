package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"maestro/internal/plan"
	"maestro/service/wire"
)

// waiting is a project whose tasks wait for each other: a task for its dependencies, and for what is below it.
type waiting map[string]wire.Task

func (w waiting) cycle() bool {
	for start := range w {
		seen, next := map[string]bool{}, []string{start}
		for len(next) > 0 {
			id := next[0]
			next = append(next[1:], w[id].Dependencies...)
			for part, t := range w {
				if t.ParentID != nil && *t.ParentID == id {
					next = append(next, part)
				}
			}
			next = slices.DeleteFunc(next, func(id string) bool { return seen[id] })
			for _, id := range next {
				seen[id] = true
			}
			if seen[start] {
				return true
			}
		}
	}
	return false
}

// set changes a task unless that closes a cycle.
func (w waiting) set(id string, parent *string, dependencies []string) bool {
	before := w[id]
	t := before
	if parent != nil {
		if t.ParentID = nil; *parent != "" {
			t.ParentID = parent
		}
	}
	t.Dependencies = dependencies
	if w[id] = t; w.cycle() {
		w[id] = before
		return false
	}
	return true
}

// randomPlan returns a plan of n tasks in which nothing waits for itself.
func randomPlan(random *rand.Rand, n int) (*plan.Plan, string) {
	for {
		var text strings.Builder
		text.WriteString("tasks:\n")
		for _, i := range random.Perm(n) {
			fmt.Fprintf(&text, "- {id: t%d, title: T", i)
			if parent := random.IntN(2 * n); parent < n && parent != i {
				fmt.Fprintf(&text, ", parent: t%d", parent)
			}
			var dependencies []string
			for d := range n {
				if d != i && random.IntN(5) == 0 {
					dependencies = append(dependencies, fmt.Sprintf("t%d", d))
				}
			}
			fmt.Fprintf(&text, ", dependencies: [%s]}\n", strings.Join(dependencies, ", "))
		}
		if p, err := plan.Parse([]byte(text.String())); err == nil {
			return p, text.String()
		}
	}
}

// Each plan can follow each other one, however it turns around what waits for what: where the project is in the way of
// a task, the tasks are detached first.
func TestPlansFollowEachOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret
	project := waiting{}
	for i := range 6 {
		id := fmt.Sprintf("task_%d", i)
		project[id] = wire.Task{ID: id, PlanID: fmt.Sprintf("t%d", i)}
	}
	detached := 0
	for range 300 {
		p, text := randomPlan(random, len(project))
		d := plan.NewDiff([]byte(text), "")
		var planned []wire.Task
		for _, task := range project {
			planned = append(planned, task)
		}
		d.Found(p, planned)
		apply := func(entry *plan.Task) bool {
			task, _ := d.There(entry)
			body, _ := d.Update(&task, entry, true)
			if body.Dependencies == nil {
				t.Fatalf("%+v", body)
			}
			if !project.set(task.ID, body.ParentID, *body.Dependencies) {
				return false
			}
			d.Apply(entry, task.ID, nil)
			return true
		}
		all := false
		for i := range p.Tasks {
			if apply(&p.Tasks[i]) {
				continue
			}
			if all {
				t.Fatalf("%s in the way of\n%s", p.Tasks[i].ID, text)
			}
			all = true
			detached++
			for j := i; j < len(p.Tasks); j++ {
				body, _ := d.Detach(&p.Tasks[j])
				if body == nil {
					continue
				}
				left := slices.DeleteFunc(slices.Clone(project[body.TaskID].Dependencies), func(id string) bool {
					return slices.Contains(body.RemoveDependencies, id)
				})
				if !project.set(body.TaskID, body.ParentID, left) {
					t.Fatalf("%s cannot be detached", body.TaskID)
				}
			}
			if !apply(&p.Tasks[i]) {
				t.Fatalf("%s in the way of\n%s", p.Tasks[i].ID, text)
			}
		}
		for i := range p.Tasks {
			if body, _ := d.Later(&p.Tasks[i]); body != nil && !project.set(body.TaskID, nil, *body.Dependencies) {
				t.Fatalf("the dependencies of %s in\n%s", p.Tasks[i].ID, text)
			}
		}
		for i := range p.Tasks {
			task := project["task_"+p.Tasks[i].ID[1:]]
			if want := strings.ReplaceAll(strings.Join(p.Tasks[i].Dependencies, " "), "t", "task_"); want !=
				strings.Join(task.Dependencies, " ") {
				t.Fatalf("%s waits for %v, expected is %q", task.ID, task.Dependencies, want)
			}
		}
	}
	if detached < 10 {
		t.Errorf("only %d plans had anything in their way", detached)
	}
}
