package service

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"

	"maestro/service/wire"
)

// chained creates a project with a chain of tasks, each of which depends on the previous one.
func (w *world) chained(tasks int) (project string) {
	w.Helper()
	project = w.make(w.admin(), "project:create", `{"name":"P"}`)
	last := ""
	for range tasks {
		after := ""
		if last != "" {
			after = fmt.Sprintf(`,"dependencies":[%q]`, last)
		}
		last = w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"%s}`, project, after))
	}
	return project
}

// orderedReads starts each kind of read that sorts. watched is called before each look at the state.
func (w *world) orderedReads(ctx context.Context, c *Caller, project string, watched func()) map[string]func() error {
	w.Helper()
	c.Page = func() (PageOf, error) { return PageOf{Limit: 1}, nil }
	reads := map[string]func() error{}
	if err := w.Look(ctx, c, func(v View) error {
		v.around = func(look func(func(View)), see func(View)) {
			watched()
			look(see)
		}
		list, err := v.ListTasks(&wire.TaskFilter{ProjectID: project, Order: inDependencyOrder})
		tree, failed := v.GetProjectTree(&wire.TreeOf{ID: project, Order: inDependencyOrder})
		reads["list"] = func() error { return RecoverPart(func() error { _, err := list(); return err }) }
		reads["tree"] = func() error { return RecoverPart(func() error { _, err := tree(); return err }) }
		return errors.Join(err, failed)
	}); err != nil {
		w.Fatal(err)
	}
	return reads
}

// Sorting takes one of the places, and its memory is counted before it is allocated and until it is released.
func TestOrderingCountsItsMemory(t *testing.T) {
	w := newWorld(t)
	project := w.chained(4000)
	c := w.admin()
	a, err := w.Admit(t.Context(), c, Demand{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Leave()
	peak, places := int64(0), 0
	watched := func() { peak, places = max(peak, a.answered), max(places, w.ordering.taken()) }
	for name, read := range w.orderedReads(t.Context(), c, project, watched) {
		peak, places = 0, 0
		percent := debug.SetGCPercent(-1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read()
		runtime.ReadMemStats(&after)
		debug.SetGCPercent(percent)
		if took := after.TotalAlloc - before.TotalAlloc; err != nil || uint64(peak) < took {
			t.Errorf("%s takes %d bytes, and %d are counted: %v", name, took, peak, err)
		}
		if places != 1 || w.ordering.taken() != 0 {
			t.Errorf("%s takes %d places, and leaves all but %d", name, places, w.ordering.taken())
		}
		if a.answered != 0 {
			t.Errorf("%s: %d bytes still count", name, a.answered)
		}
	}
}

// A caller for which there is no room, or that has a debt, is refused before the walk begins. So is a caller that
// leaves while it waits for its turn.
func TestOrderingIsRefusedBeforeItBegins(t *testing.T) {
	w := bounded(t, "session-reads=0.001/1000", "session-answers=100000")
	project := w.chained(600)
	token := w.do(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"role":"orchestrator","taskIds":[%q]}`,
		project, w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project)))).Token
	for name, x := range map[string]struct {
		before func(a *Admission, leave func()) (after func())
		why    func(err error) bool
	}{
		"no room": {
			func(a *Admission, _ func()) func() {
				a.RenderAnyway(60_000)
				return func() { a.Free(60_000) }
			},
			isBusy,
		},
		"debt": {
			func(a *Admission, _ func()) func() {
				a.ledger.charge(a.credential, useReads, 2000)
				return func() { a.credential.paid[useReads] = 0 }
			},
			isBusy,
		},
		"gone": {
			func(_ *Admission, leave func()) func() {
				others := make([]placeTaken, orderings)
				for i := range others {
					others[i], _ = w.ordering.take(t.Context(), &Caller{})
				}
				leave()
				return func() {
					for _, other := range others {
						other.leave()
					}
				}
			},
			func(err error) bool { return errors.Is(err, context.Canceled) },
		},
	} {
		ctx, leave := context.WithCancel(t.Context())
		c := w.caller(token)
		a, err := w.Admit(ctx, c, Demand{})
		if err != nil {
			t.Fatal(err)
		}
		looks := 0
		reads := w.orderedReads(ctx, c, project, func() { looks++ })
		after := x.before(a, leave)
		counted := a.answered
		for read, finish := range reads {
			looks = 0
			if err := finish(); !x.why(err) || a.answered != counted || read == "list" && looks > 1 {
				left := a.answered - counted
				t.Errorf("%s, %s: %v after %d looks, and %d bytes still count", read, name, err, looks, left)
			}
		}
		after()
		a.Leave()
		leave()
	}
	if taken := w.ordering.taken(); taken != 0 {
		t.Errorf("%d places are still taken", taken)
	}
}

func isBusy(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Kind == KindBusy
}
