package projections

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"maestro/events"
)

// below creates a task below another, with dependencies.
func below(id, parent string, dependencies ...string) given {
	return by(admin, &events.TaskCreated{
		TaskID:       id,
		Title:        id,
		Priority:     "low",
		ParentID:     parent,
		Dependencies: dependencies,
	})
}

func TestProgress(t *testing.T) {
	move := func(id string, to events.TaskStatus) given {
		return by(admin, &events.TaskStatusChanged{TaskID: id, To: to})
	}
	// t1 has the leaves t2 and t5, and t3 below it, with the leaf t4.
	tree := []given{
		project(), task("t1"), below("t2", "t1"), below("t3", "t1"), below("t4", "t3"), below("t5", "t1"),
		task("t6"),
	}
	for _, c := range []struct {
		name   string
		events []given
		want   map[string]Progress
	}{
		{"nothing is begun", nil, map[string]Progress{"t1": {Total: 3}, "t3": {Total: 1}}},
		{"a leaf is done", []given{move("t4", events.TaskCompleted)}, map[string]Progress{"t1": {
			Total:     3,
			Completed: 1,
		}, "t3": {Total: 1, Completed: 1}}},
		{
			"a parent counts for what is below it alone",
			[]given{move("t3", events.TaskCompleted)},
			map[string]Progress{"t1": {Total: 3}, "t3": {Total: 1}},
		},
		{
			"said is not done",
			[]given{spawn("w", "t4"), report(worker, "w", events.ReportComplete, "", "t4")},
			map[string]Progress{"t1": {Total: 3, Said: 1}, "t3": {Total: 1, Said: 1}},
		},
		{
			"said and confirmed is done",
			[]given{
				spawn("w", "t4"), report(worker, "w", events.ReportComplete, "", "t4"),
				move("t4", events.TaskCompleted),
			},
			map[string]Progress{"t1": {Total: 3, Completed: 1}},
		},
		{
			"blocked and failed, each leaf once",
			[]given{
				move("t2", events.TaskBlocked), spawn("w", "t2", "t4", "t5"), report(worker, "w", events.ReportBlocked,
					"", "t2", "t4"),
				report(worker, "w", events.ReportError, "", "t5"),
			},
			map[string]Progress{"t1": {Total: 3, Blocked: 2, Failed: 1}},
		},
		{"cancelled is not to be done", []given{move("t2", events.TaskCancelled)}, map[string]Progress{"t1": {
			Total:     2,
			Cancelled: 1,
		}}},
		{"deleted is out, and its parent a leaf", []given{
			move("t3", events.TaskCompleted),
			by(admin, &events.TaskDeleted{TaskID: "t4"}),
		}, map[string]Progress{"t1": {Total: 3, Completed: 1}}},
		{
			"what is below a deleted task is no longer below its parent",
			[]given{by(admin, &events.TaskDeleted{TaskID: "t3"})},
			map[string]Progress{"t1": {Total: 2}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, append(tree, c.events...)...)
			inTree := map[string]*Progress{}
			var enter func([]TaskTree)
			enter = func(trees []TaskTree) {
				for _, tree := range trees {
					inTree[tree.ID] = tree.Progress
					enter(tree.Children)
				}
			}
			enter(s.TaskTrees("p", MaxTreeTasks))
			for id, want := range c.want {
				if got := s.TaskView(s.Task(id)).Progress; got == nil || *got != want {
					t.Errorf("%s: %+v, want %+v", id, got, want)
				}
				if got := inTree[id]; got == nil || *got != want {
					t.Errorf("%s in the tree: %+v, want %+v", id, got, want)
				}
			}
			if s.TaskView(s.Task("t6")).Progress != nil || inTree["t6"] != nil {
				t.Error("a task with nothing below it shows progress")
			}
		})
	}
}

func TestInDependencyOrder(t *testing.T) {
	// t1 waits for t3, which waits for t2 and for t4; t4 is not among the tasks to be ordered.
	s := stateOf(t, project(), task("t1"), task("t2"), task("t3"), task("t4"), task("t5"),
		by(admin, &events.TaskUpdated{TaskID: "t1", Dependencies: &[]string{"t3"}}),
		by(admin, &events.TaskUpdated{TaskID: "t3", Dependencies: &[]string{"t2", "t4"}}))
	var some []*Task
	for _, id := range []string{"t1", "t2", "t3", "t5"} {
		some = append(some, s.Task(id))
	}
	var got []string
	for _, v := range InDependencyOrder(some) {
		got = append(got, v.ID)
	}
	equalLists(t, "order", got, "t2", "t3", "t1", "t5")
	if some[0].ID != "t1" {
		t.Error("the argument was changed")
	}
}

func TestInCompletionOrder(t *testing.T) {
	// t3 and t2 are below t1, and t2 depends on t5; t4 is below t3, and t6 is not among the tasks to be ordered.
	s := stateOf(t, project(), task("t1"), below("t3", "t1"), below("t2", "t1"), below("t4", "t3"), task("t6"),
		task("t5"), by(admin, &events.TaskUpdated{TaskID: "t2", Dependencies: &[]string{"t5", "t6"}}))
	var some []*Task
	for _, id := range []string{"t1", "t3", "t2", "t4", "t5"} {
		some = append(some, s.Task(id))
	}
	var got []string
	for _, v := range InCompletionOrder(some) {
		got = append(got, v.ID)
	}
	equalLists(t, "order", got, "t4", "t3", "t5", "t2", "t1")
}

func TestOrderBranches(t *testing.T) {
	for _, c := range []struct {
		name  string
		story []given
		want  string
	}{
		{"as they were", []given{task("t1"), below("t2", "t1"), below("t3", "t1")}, "t1(t2() t3())"},
		{
			"siblings",
			[]given{task("t1"), below("t2", "t1"), below("t3", "t1"), by(admin, &events.TaskUpdated{
				TaskID:       "t2",
				Dependencies: &[]string{"t3"},
			})},
			"t1(t3() t2())",
		},
		{
			"what is below waits for what is below another",
			[]given{
				task("t1"), below("t2", "t1"), task("t3"), below("t4", "t3"),
				by(admin, &events.TaskUpdated{TaskID: "t2", Dependencies: &[]string{"t4"}}),
			},
			"t3(t4()) t1(t2())",
		},
		{
			"by way of a third",
			[]given{
				task("t1"), task("t2"), below("t3", "t2"), task("t4"),
				by(admin, &events.TaskUpdated{TaskID: "t1", Dependencies: &[]string{"t3"}}),
				by(admin, &events.TaskUpdated{TaskID: "t3", Dependencies: &[]string{"t4"}}),
			},
			"t4() t2(t3()) t1()",
		},
		{
			"branches that wait for each other",
			[]given{
				task("t1"), below("t2", "t1"), task("t3"), below("t4", "t3", "t2"), below("t5", "t3"),
				by(admin, &events.TaskUpdated{TaskID: "t2", Dependencies: &[]string{"t5"}}),
			},
			"t3(t4() t5()) t1(t2())",
		},
		{
			"a task waits for the one above it",
			[]given{task("t1"), below("t2", "t1", "t1"), below("t3", "t1")},
			"t1(t2() t3())",
		},
		{"something deleted is no obstacle", []given{
			task("t1"), below("t2", "", "t1"),
			by(admin, &events.TaskDeleted{TaskID: "t1"}),
		}, "t2()"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, append([]given{project()}, c.story...)...)
			branches := s.Branches("p", "", 0, MaxTreeTasks)
			OrderBranches(branches)
			trees := s.Trees(branches)
			var draw func(trees []TaskTree) string
			draw = func(trees []TaskTree) string {
				text := ""
				for _, tree := range trees {
					text += " " + tree.ID + "(" + draw(tree.Children) + ")"
				}
				return strings.TrimSpace(text)
			}
			if got := draw(trees); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestDeepTrees: a tree that is too deep for JSON ends at a limit and says so, and a deep plan costs no more than a
// broad one.
func TestDeepTrees(t *testing.T) {
	const depth = 12_000
	s := stateOf(t, project(), task("t0"))
	for i := 1; i <= depth; i++ {
		apply(t, s, below(fmt.Sprint("t", i), fmt.Sprint("t", i-1)))
	}
	branches := s.Branches("p", "", 0, MaxTreeTasks)
	OrderBranches(branches)
	trees := s.Trees(branches)
	levels := 0
	for level := trees; len(level) == 1; level = level[0].Children {
		if levels < depth && (level[0].Progress == nil || *level[0].Progress != Progress{Total: 1}) {
			t.Fatalf("level %d: %+v", levels, level[0].Progress)
		}
		levels++
		if last := levels == MaxTreeDepth; last != (level[0].Below > 0) ||
			last && level[0].Below != depth+1-MaxTreeDepth {
			t.Fatalf("level %d says that %d tasks are below it and not shown", levels, level[0].Below)
		}
	}
	if levels != MaxTreeDepth {
		t.Errorf("%d levels", levels)
	}
	text, err := json.Marshal(trees)
	if err != nil || json.Unmarshal(text, new([]TaskTree)) != nil {
		t.Errorf("a deep tree cannot be read as JSON: %v", err)
	}
	for _, v := range s.TaskViews(s.Tasks("p")) {
		if (v.Progress == nil) != (v.ID == fmt.Sprint("t", depth)) {
			t.Fatalf("%s: %+v", v.ID, v.Progress)
		}
	}
}

// The cost of a dependency depends little on the depth of the tasks.
func TestOrderBranchesInDeepTrees(t *testing.T) {
	const depth, hubs, waiting = 300, 20, 30
	s := stateOf(t, project(), task("a0"), task("b0"))
	for i := 1; i < depth; i++ {
		apply(t, s, below(fmt.Sprint("a", i), fmt.Sprint("a", i-1)))
		apply(t, s, below(fmt.Sprint("b", i), fmt.Sprint("b", i-1)))
	}
	var awaited []string
	for i := range hubs {
		awaited = append(awaited, fmt.Sprint("hub", i))
		apply(t, s, below(awaited[i], fmt.Sprint("b", depth-1)))
	}
	for i := range waiting {
		apply(t, s, below(fmt.Sprint("w", i), fmt.Sprint("a", depth-1), awaited...))
	}
	branches := s.Branches("p", "", 0, MaxTreeTasks)
	reads := orderBranches(branches)
	if branches[0].Task.ID != "b0" {
		t.Error("a dependency does not come first")
	}
	if most := hubs * waiting * 40; reads > most {
		t.Errorf("%d look-ups for %d dependencies, want %d at most", reads, hubs*waiting, most)
	}
}
