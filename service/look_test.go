package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"maestro/engine"
	"maestro/service/wire"
)

// listed returns the ids of the tasks of one page, and where the next continues.
func (w *world) listed(c *Caller, in *wire.TaskFilter, asked PageOf) (ids []string, next *PageEnd) {
	w.Helper()
	caller := *c
	caller.Page = func() (PageOf, error) { return asked, nil }
	var finish func() (TaskPage, error)
	if err := w.Look(w.Context(), &caller, func(v View) (err error) {
		finish, err = v.ListTasks(in)
		return err
	}); err != nil {
		w.Fatal(err)
	}
	if err := RecoverPart(func() error {
		page, err := finish()
		if err != nil {
			return err
		}
		for task := range page.Items {
			ids = append(ids, task.ID)
		}
		next = page.Next
		return nil
	}); err != nil {
		w.Fatal(err)
	}
	return ids, next
}

// All pages together are the whole list, in each order and with each filter, across several projects.
func TestPagesOfTasksAreTheList(t *testing.T) {
	w := newWorld(t)
	projects := []string{
		w.make(w.admin(), "project:create", `{"name":"P"}`), w.make(w.admin(), "project:create", `{"name":"Q"}`),
	}
	var made []string
	for i := range 30 {
		fields := `,"priority":"` + []string{"low", "high"}[i%3/2] + `"`
		if i > 4 {
			fields += `,"dependencies":["` + made[i-2-2*(i%2)] + `"]`
		}
		made = append(made, w.make(w.admin(), "task:create", `{"project":"`+projects[i%2]+`","title":"T"`+fields+`}`))
	}
	w.do(w.admin(), "task:update", `{"taskId":"`+made[0]+`","dependencies":["`+made[8]+`"]}`)
	w.do(w.admin(), "task:delete", `{"taskId":"`+made[29]+`"}`)
	for _, in := range []wire.TaskFilter{
		{},
		{ProjectID: projects[1]},
		{Priority: "high"},
		{Ready: "true"},
		{ParentID: "null", Order: "dependencies"},
		{Order: "dependencies"},
		{Order: "completion"},
		{Order: "completion", IDs: strings.Join([]string{made[12], made[3], made[8], made[29]}, ",")},
		{Order: "dependencies", Priority: "high", ProjectID: projects[0]},
	} {
		whole, _ := w.listed(w.admin(), &in, PageOf{})
		if in == (wire.TaskFilter{}) && !slices.Equal(whole, made[:29]) {
			t.Errorf("%v, want %v", whole, made[:29])
		}
		named := slices.DeleteFunc(slices.Clone(whole), func(id string) bool { return strings.Contains(in.IDs, id) })
		if in.IDs != "" && (len(whole) != 3 || len(named) > 0) {
			t.Errorf("%v, want 3 of %s", whole, in.IDs)
		}
		for n := range 14 {
			limit, gone := n%7+1, n >= 7 && in.Order != "" // the last task of each page is deleted before the next
			var all []string
			asked := PageOf{Limit: limit}
			for pages := 0; ; pages++ {
				ids, next := w.listed(w.admin(), &in, asked)
				if all = append(all, ids...); next == nil {
					break
				}
				if asked.After, asked.Position = next.ID, next.Position; len(ids) != limit || pages > 30 {
					t.Fatalf("%+v: a page of %d has %d tasks and a next one", in, limit, len(ids))
				}
				if gone {
					asked.After = "task_gone"
				}
			}
			if len(whole) == 0 || !slices.Equal(all, whole) {
				t.Errorf("%+v in pages of %d: %v, want %v", in, limit, all, whole)
			}
		}
	}
}

// A page of a filter that finds little ends before it is full, and the next one continues.
func TestSparsePageEndsEarly(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	const tasks, wanted = 100, 10
	text := strings.Repeat("x", 60<<10)
	for i := range tasks {
		plan := ""
		if i%(tasks/wanted) == 0 {
			plan = fmt.Sprintf(`,"planId":"1234567zz-%d"`, i)
		}
		w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T","description":"`+text+`"`+plan+`}`)
	}
	asked, pages, found := PageOf{Limit: tasks}, 0, 0
	for ; pages < tasks; pages++ {
		ids, next := w.listed(w.admin(), &wire.TaskFilter{Search: "1 2 3 4 5 6 7 zz"}, asked)
		found += len(ids)
		if next == nil {
			break
		}
		asked.After = next.ID
	}
	least := (tasks - wanted) * 9 * len(text) / textPerStep / scanMost
	if found != wanted || pages < least || pages > least+2 {
		t.Errorf("%d found in %d pages, want %d in %d pages", found, pages, wanted, least)
	}
}

// The work of a read is charged to the session and to its project, and a small read costs only one.
func TestReadsAreChargedByTheirWork(t *testing.T) {
	const tasks = 3000
	w := bounded(t, "session-reads=0.001/1000", "project-reads=0.001/1000")
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	for range tasks {
		w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	}
	done := w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+
		w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)+`"]}`)
	c := w.caller(done.Token)
	a, err := w.Admit(t.Context(), c, Demand{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Leave()
	cost := func(see func()) (session, root int) {
		left := [2]float64{w.ledger.left(a.credential, useReads), w.ledger.left(a.project, useReads)}
		see()
		return int(left[0] - w.ledger.left(a.credential, useReads) + .5),
			int(left[1] - w.ledger.left(a.project, useReads) + .5)
	}
	for name, x := range map[string]struct {
		in   wire.TaskFilter
		want int
	}{
		"a page of one":       {wire.TaskFilter{ProjectID: project}, 0},
		"what nothing is":     {wire.TaskFilter{ProjectID: project, SessionStatus: "failed"}, tasks / StepsPerRead},
		"order by dependency": {wire.TaskFilter{ProjectID: project, Order: "dependencies"}, 2 * tasks / StepsPerRead},
	} {
		session, root := cost(func() { w.listed(c, &x.in, PageOf{Limit: 1}) })
		if session != x.want || root != x.want {
			t.Errorf("%s costs the session %d and its project %d more reads, want %d", name, session, root, x.want)
		}
	}
	a.looked = 0
	if session, _ := cost(func() {
		for range 5 {
			if err := w.Look(t.Context(), c, func(v View) error { v.Worked(600); return nil }); err != nil {
				t.Error(err)
			}
		}
	}); session != 3 {
		t.Errorf("five parts of 600 steps cost %d reads, want 3", session)
	}
}

// An answer in parts ends when its caller leaves, and the later parts are not created.
func TestAnswerEndsWithCaller(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	for i := range 2*tasksAtOnce + 1 {
		w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T%d"}`, project, i))
	}
	ctx, leave := context.WithCancel(t.Context())
	var finish func() (TaskPage, error)
	if err := w.Look(ctx, w.admin(), func(v View) (err error) {
		finish, err = v.ListTasks(&wire.TaskFilter{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	page, err := finish()
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	err = RecoverPart(func() error {
		for range page.Items {
			if shown++; shown == 10 {
				leave()
			}
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || shown != tasksAtOnce {
		t.Errorf("%d tasks were shown: %v", shown, err)
	}
	var p *Problem
	err = w.Look(t.Context(), w.admin(), func(v View) error {
		v.Worked(engine.ReadMost + 1)
		return nil
	})
	if !errors.As(err, &p) || p.Kind != KindTooLarge || p.Next == "" {
		t.Errorf("a read that is too long gets %v", err)
	}
}

// A list of named tasks has at most so many, and refuses more.
func TestTasksAreNamedUpToALimit(t *testing.T) {
	for n, refused := range map[int]bool{wire.TaskIDsMost: false, wire.TaskIDsMost + 1: true} {
		_, err := filterOf(&wire.TaskFilter{IDs: strings.Repeat("task_1,", n-1) + "task_1"})
		if (err != nil) != refused {
			t.Errorf("%d ids: %v", n, err)
		}
	}
}
