package service

import (
	"fmt"
	"testing"

	"maestro/projections"
	"maestro/service/wire"
)

// A page of sessions, of questions and of the inbox starts at its cursor, and ends with what it shows: the last page of
// many takes few steps more than the last page of few.
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
	look := func(c *Caller, see func(v View) error) (steps uint64) {
		t.Helper()
		if err := w.Look(t.Context(), c, func(v View) error {
			begun := v.Steps()
			defer func() { steps = v.Steps() - begun }()
			return see(v)
		}); err != nil {
			t.Fatal(err)
		}
		return steps
	}
	lists := map[string]func(from int64) (steps uint64, items int){
		"sessions": func(from int64) (steps uint64, items int) {
			var finish func() (List[ShownSession], error)
			portions := uint64(0)
			steps = look(page(from), func(v View) (err error) {
				again := v.again
				v.again = func(see func(View)) {
					again(func(v View) { see(v); portions += v.Steps() })
				}
				finish, err = v.ListSessions(&wire.SessionFilter{ProjectID: project})
				return err
			})
			found, err := finish()
			if err != nil {
				t.Fatal(err)
			}
			found.Each(func(any) bool { items++; return true })
			return steps + portions, items
		},
		"inputs": func(from int64) (steps uint64, items int) {
			steps = look(page(from), func(v View) error {
				views, err := v.ListInputs(&wire.InputFilter{ProjectID: project})
				items = len(views)
				return err
			})
			return steps, items
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
		look(w.admin(), func(v View) error {
			for x := range v.Inputs(project) {
				times = append(times, x.AskedAt)
			}
			return nil
		})
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
				} else if steps > before[key]+60 {
					t.Errorf("the %s page of %s takes %d steps, and took %d", place, name, steps, before[key])
				}
			}
		}
	}
}

// Pages of the inbox that are gathered one by one are the whole inbox, of each kind.
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
			part, _, err := w.listInbox(t.Context(), w.admin(), in, PageOf{Limit: 3, From: from})
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
