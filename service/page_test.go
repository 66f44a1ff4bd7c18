package service

import (
	"fmt"
	"testing"

	"maestro/projections"
	"maestro/service/wire"
)

// A page of sessions, questions or the inbox starts at its cursor and ends with its last item: the last page of a long
// list takes hardly more steps than that of a short one.
func TestPagesStartAtTheCursor(t *testing.T) {
	const few, many = 20, 400
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	grow := func(n int) {
		for i := range n {
			done := w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`)
			w.do(w.caller(done.Token), "report:needs-input", fmt.Sprintf(`{"message":"How? %d"}`, i))
		}
	}
	page := func(from int64) *Caller {
		c := w.admin()
		c.Page = func() (PageOf, error) { return PageOf{Limit: 1, From: from}, nil }
		return c
	}
	lists := map[string]func(from int64) (steps uint64, items int){
		"sessions": func(from int64) (steps uint64, items int) {
			found, steps := counted(w, page(from), func(v View) (func() (List[ShownSession], error), error) {
				return v.ListSessions(&wire.SessionFilter{ProjectID: project})
			})
			found.Each(func(any) bool { items++; return true })
			return steps, items
		},
		"inputs": func(from int64) (steps uint64, items int) {
			views, steps := counted(w, page(from), func(v View) (func() ([]projections.InputView, error), error) {
				return v.ListInputs(&wire.InputFilter{ProjectID: project})
			})
			return steps, len(views)
		},
		"inbox": func(from int64) (steps uint64, items int) {
			found, _, err := w.ListInbox(t.Context(), page(from), &wire.InboxFilter{ProjectID: project})
			if err != nil {
				t.Fatal(err)
			}
			return 0, len(found)
		},
	}
	before := map[string]uint64{}
	for _, n := range []int{few, many} {
		grow(n)
		var times []int64
		for x := range w.view(w.admin()).Inputs(project) {
			times = append(times, x.AskedAt)
		}
		for name, list := range lists {
			for place, from := range map[string]int64{"first": 0, "last": times[len(times)-2]} {
				steps, items := list(from)
				beside := 2
				for _, at := range times {
					if at == from {
						beside++
					}
				}
				if items == 0 || items > beside {
					t.Errorf("the %s page of %s gathers %d items of %d", place, name, items, len(times))
				}
				key := place + name
				if n == few {
					before[key] = steps
				} else if steps > before[key]+60+uint64(20*(beside-2)) { // items of the same time are visited too
					t.Errorf("the %s page of %s takes %d steps, and took %d", place, name, steps, before[key])
				}
			}
		}
	}
}

// counted returns the result of a query, and the steps of its look and of its portions.
func counted[T any](w *world, c *Caller, see func(v View) (func() (T, error), error)) (found T, steps uint64) {
	w.Helper()
	found, err := look(w, c, func(v View) (func() (T, error), error) {
		begun := v.Steps()
		v.around = func(look func(func(View)), see func(View)) {
			look(func(v View) { see(v); steps += v.Steps() })
		}
		finish, err := see(v)
		steps = v.Steps() - begun
		return finish, err
	})
	if err != nil {
		w.Fatal(err)
	}
	return found, steps
}

// look returns the result of a query that works in portions, between which the state may change.
func look[T any](w *world, c *Caller, see func(v View) (func() (T, error), error)) (found T, err error) {
	var finish func() (T, error)
	err = w.Look(w.Context(), c, func(v View) (err error) {
		finish, err = see(v)
		return err
	})
	if err == nil {
		err = RecoverPart(func() error {
			found, err = finish()
			return err
		})
	}
	return found, err
}

// All pages of the inbox together are the whole inbox, for each kind.
func TestPartsOfAnInboxAreTheWhole(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	root := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
	talker := w.caller(w.do(w.admin(), "session:spawn",
		`{"project":"`+project+`","role":"orchestrator","taskIds":["`+root+`"]}`).Token)
	for i := range projections.InboxListed + 10 {
		task := w.make(w.admin(), "task:create", `{"project":"`+project+`","title":"T"}`)
		w.do(talker, "report:blocked", `{"message":"m","taskIds":["`+task+`"]}`)
		if i < 15 {
			w.do(talker, "report:needs-input", `{"message":"How?"}`)
		}
	}
	for _, kind := range []projections.InboxKind{"", projections.InboxQuestion, projections.InboxBlocked} {
		in := &wire.InboxFilter{ProjectID: project, Kind: string(kind)}
		whole, _, err := w.ListInbox(t.Context(), w.admin(), in)
		if err != nil || len(whole) == 0 {
			t.Fatal(whole, err)
		}
		for at := range whole {
			from := whole[at].Since
			part, _, err := w.listInbox(t.Context(), w.admin(), in, "", PageOf{Limit: 3, From: int64(from)})
			if err != nil {
				t.Fatal(err)
			}
			first := at
			for first > 0 && whole[first-1].Since == from {
				first--
			}
			if len(part) < min(4, len(whole)-at) {
				t.Errorf("%q from %d: %d items of %d", kind, at, len(part), len(whole))
			}
			for i, item := range part {
				want := whole[first+i]
				item.Waited, want.Waited = 0, 0
				if fmt.Sprint(item) != fmt.Sprint(want) {
					t.Errorf("%q from %d: item %d is %v, want %v", kind, at, i, item, want)
				}
			}
		}
	}
}
