package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"maestro/engine"
	"maestro/internal/testing/race"
	"maestro/projections"
	"maestro/service/wire"
)

// fatState returns a state of tasks below one root, each with reports of this many sessions.
func fatState(t *testing.T, tasks, words int) *projections.State {
	t.Helper()
	var says []projections.StatusReport
	for i := range words {
		report := projections.StatusReport{SessionID: fmt.Sprint("s", i), Status: "working", Sequence: uint64(i + 1)}
		says = append(says, report)
	}
	made := []*projections.Task{{Status: "todo", TaskFields: &projections.TaskFields{ID: "root", ProjectID: "p"}}}
	for i := range tasks {
		fields := projections.TaskFields{
			ID:              fmt.Sprint("t", i),
			ProjectID:       "p",
			ParentID:        "root",
			CreatedSequence: uint64(i + 1),
		}
		made = append(made, &projections.Task{Status: "todo", Says: says, TaskFields: &fields})
	}
	encoded, err := json.Marshal(map[string]any{
		"Projects": []*projections.Project{{ID: "p", CreatedBy: "/users/admin", Tasks: len(made)}}, "Tasks": made,
	})
	if err != nil {
		t.Fatal(err)
	}
	state, err := projections.Decode(append(encoded, '\n'))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// A page of large tasks is created in portions of few steps and few bytes, and its memory is counted.
func TestLargeViewsAreMadeInPortions(t *testing.T) {
	race.Without(t)
	const tasks, words = 200, 990
	w := newWorld(t)
	state := fatState(t, tasks, words)
	for name, show := range map[string]func(v View) (*taskViews, func() int){
		"a list": func(v View) (*taskViews, func() int) {
			found := slices.Collect(state.Tasks("p"))
			made := v.viewsOf(len(found), func(i int) *projections.Task { return found[i] })
			made.sums = projections.NewSums(projections.SumsMost)
			return made, func() int {
				for range found {
					made.next()
				}
				return len(found)
			}
		},
		"a tree": func(v View) (*taskViews, func() int) {
			tree := v.shownTrees(state.Branches("p", "", 0, projections.MaxTreeTasks))[0]
			return tree.views, func() int {
				tree.Task()
				shown := 1
				for child := range tree.Children().Items {
					child.Task()
					shown++
				}
				return shown
			}
		},
	} {
		c := w.admin()
		a, err := w.Admit(t.Context(), c, Demand{})
		if err != nil {
			t.Fatal(err)
		}
		var made *taskViews
		portions, most, total, held := 0, uint64(0), uint64(0), int64(0)
		v := View{Caller: c, around: func(_ func(func(View)), see func(View)) {
			if held > 0 && (made.counted < held || made.counted > 2*held || a.answered != made.counted) {
				t.Errorf("%s: a portion of %d bytes is counted as %d", name, held, made.counted)
			}
			reader, steps := state.Reader(1<<30, nil)
			see(View{State: reader, Caller: c})
			portions, most, total = portions+1, max(most, *steps), total+*steps
			if made == nil {
				return
			}
			held = 0
			for i := range made.ready {
				held += made.ready[i].Size()
			}
			if held > bytesAtOnce {
				t.Errorf("%s: a portion of %d bytes", name, held)
			}
			if made.sums != nil {
				held += made.sums.Size()
			}
		}}
		var write func() int
		made, write = show(v)
		made.expected = 0 // so that everything is counted as it is created
		if shown := write(); shown != tasks+1 {
			t.Errorf("%s shows %d tasks", name, shown)
		}
		if total < tasks*words || most > stepsAtOnce+4*words || portions < int(total/(stepsAtOnce+4*words)) {
			t.Errorf("%s: %d portions of %d steps at most, %d in all", name, portions, most, total)
		}
		if made.end(); a.answered != 0 || held == 0 {
			t.Errorf("%s: %d bytes are counted at the end, after a portion of %d", name, a.answered, held)
		}
		a.Leave()
	}
}

// What a view copies is charged to its reader.
func TestCopiedTextsAreCharged(t *testing.T) {
	const tasks, words = 200, 24
	w := bounded(t, "session-reads=0.001/1000")
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	var ids []string
	for range tasks {
		ids = append(ids, w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`))
	}
	named, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	var c *Caller
	cost := func() int {
		before := w.ledger.left(c.admission.credential, useReads)
		if shown, _ := w.listed(c, &wire.TaskFilter{ProjectID: project}, PageOf{Limit: tasks}); len(shown) != tasks {
			t.Fatalf("%d tasks", len(shown))
		}
		return int(before - w.ledger.left(c.admission.credential, useReads) + .5)
	}
	speak := func() *Caller {
		done := w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":`+string(named)+`}`)
		c := w.caller(done.Token)
		w.do(c, "report:progress", `{"message":"m","taskIds":`+string(named)+`}`)
		return c
	}
	c = speak()
	a, err := w.Admit(t.Context(), c, Demand{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Leave()
	few := cost()
	for range words {
		speak()
	}
	if more := cost() - few; more < (projections.ListedSays-2)*tasks/StepsPerRead {
		t.Errorf("%d words of %d tasks cost %d more reads", projections.ListedSays, tasks, more)
	}
}

// A project whose root alone takes more steps than one look allows can still be read in every way, and on every page.
func TestLargeRootHidesNothing(t *testing.T) {
	const tasks, speakers, most = 1000, 9, 8000
	log := &memoryLog{}
	w := worldOn(t, log)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	root := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	want := []string{root}
	for range tasks {
		want = append(want, w.make(w.admin(), "task:create", fmt.Sprintf(
			`{"project":%q,"title":"T","parentId":%q}`, project, root)))
	}
	named, err := json.Marshal(want[1:])
	if err != nil {
		t.Fatal(err)
	}
	for range speakers {
		done := w.do(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, project, root))
		_, id := done.Data.Aggregate()
		w.do(w.caller(done.Token), "report:complete", `{"message":"m","taskIds":`+string(named)+`}`)
		w.do(w.admin(), "session:kill", fmt.Sprintf(`{"sessionId":%q}`, id))
	}
	handler, err := engine.Open(t.Context(), engine.Config{
		Log:      log,
		Now:      time.Now,
		After:    time.After,
		ReadMost: most,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handler.Close)
	w.Handler = handler
	whole := projections.Progress{Total: tasks, Said: tasks}

	var all []string
	asked := PageOf{Limit: 100}
	for range 2 * tasks {
		ids, next := w.listed(w.admin(), &wire.TaskFilter{}, asked)
		if all = append(all, ids...); next == nil {
			break
		}
		asked.After = next.ID
	}
	if !slices.Equal(all, want) {
		t.Errorf("pages show %d tasks", len(all))
	}
	shown, err := w.ShowTask(t.Context(), w.admin(), root)
	if err != nil || shown.Progress == nil || *shown.Progress != whole {
		t.Errorf("the root: %+v %v", shown.Progress, err)
	}
	c := w.admin()
	c.Page = func() (PageOf, error) { return PageOf{Limit: 1}, nil }
	var tree func() (Tree, error)
	var trees func() (TreePage, error)
	var status func() (projections.ProjectStatus, error)
	for name, see := range map[string]func(v View) error{
		"status": func(v View) (err error) {
			status, err = v.GetProjectStatus(&wire.ProjectID{ID: project})
			return err
		},
		"tree":  func(v View) (err error) { tree, err = v.GetTaskTree(&wire.TreeOf{ID: root}); return err },
		"trees": func(v View) (err error) { trees, err = v.GetProjectTree(&wire.TreeOf{ID: project}); return err },
	} {
		if err := w.Look(t.Context(), c, see); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(RecoverPart(func() error {
		one, err := tree()
		if got := one.whole(); err != nil || len(got.Children) != tasks || *got.Progress != whole {
			t.Errorf("a tree of %d: %+v %v", len(got.Children), got.Progress, err)
		}
		return nil
	}), RecoverPart(func() error {
		page, err := trees()
		shown := 0
		for one := range page.Items {
			if got := one.whole(); len(got.Children) == tasks && *got.Progress == whole {
				shown++
			}
		}
		if err != nil || shown != 1 {
			t.Errorf("%d whole trees: %v", shown, err)
		}
		return nil
	})); err != nil {
		t.Error(err)
	}
	var stands projections.ProjectStatus
	if err := RecoverPart(func() (err error) {
		stands, err = status()
		return err
	}); err != nil || stands.Says["completed"] != tasks {
		t.Errorf("the status has %v: %v", stands.Says, err)
	}
	since, err := w.Since(t.Context(), w.admin(), &wire.SinceQuery{})
	if err != nil || len(since.Tasks) != wire.SinceListed || since.TasksMore != tasks+1-wire.SinceListed {
		t.Errorf("since shows %d tasks, %d more: %v", len(since.Tasks), since.TasksMore, err)
	}
}
