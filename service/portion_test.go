package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
)

// reopened returns the world with a Handler that allows this many steps in one look at the state.
func (w *world) reopened(log *memoryLog, most uint64) {
	w.Helper()
	handler, err := engine.Open(w.Context(), engine.Config{
		Log:      log,
		Now:      time.Now,
		After:    time.After,
		ReadMost: most,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(handler.Close)
	w.Handler = handler
}

// charged returns how many steps of reading a caller is charged for.
func (w *world) charged(c *Caller, read func(c *Caller) error) int {
	w.Helper()
	caller := *c
	a, err := w.Admit(w.Context(), &caller, Demand{})
	if err != nil {
		w.Fatal(err)
	}
	defer a.Leave()
	before := w.ledger.left(a.credential, useReads)
	if err := read(&caller); err != nil {
		w.Fatal(err)
	}
	return int(before-w.ledger.left(a.credential, useReads)+.5)*StepsPerRead + a.looked
}

// However many tasks and sessions there are, and however long their lists and texts, a list of them holds the state for
// one portion at a time, and its comparisons are charged.
func TestListHoldsStateForOnePortion(t *testing.T) {
	const tasks, sessions, labels, text = 600, 300, 20, 4 << 10
	log := &memoryLog{}
	w := worldOn(t, log)
	if err := w.Limits.Set("session-reads=0.001/100000"); err != nil {
		t.Fatal(err)
	}
	w.ledger = newLedger(&w.Limits)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	quoted := func(v any) string {
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	named := make([]string, labels)
	for i := range named {
		named[i] = fmt.Sprint(strings.Repeat("l", 180), i)
	}
	ids := make([]string, tasks)
	for i := range ids {
		ids[i] = w.make(w.admin(), "task:create", fmt.Sprintf(
			`{"project":%q,"title":"T","description":%q,"labels":%s}`, project, strings.Repeat("b", text),
			quoted(named)))
	}
	for range 12 * tasks {
		gone := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
		w.do(w.admin(), "task:delete", fmt.Sprintf(`{"taskId":%q}`, gone))
	}
	given := quoted(ids[:300])
	for range sessions {
		w.do(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"taskIds":%s}`, project, given))
	}
	done := w.do(w.admin(), "session:spawn",
		fmt.Sprintf(`{"project":%q,"role":"orchestrator","taskIds":[%q]}`, project, ids[tasks-1]))
	w.reopened(log, stepsAtOnce+1000)
	c := w.caller(done.Token)
	c.UnknownIsEmpty = true // it may name an unknown session
	allText := tasks * (text + labels*180)
	for name, list := range map[string]struct {
		in    wire.TaskFilter
		least int
	}{
		"a word":              {wire.TaskFilter{Search: "zz"}, 2 * allText / textPerStep},
		"as many words":       {wire.TaskFilter{Search: "b1 b2 b3 b4 b5 b6 b7 b8"}, 9 * allText / textPerStep},
		"a label":             {wire.TaskFilter{Label: "zz"}, tasks * labels / namesPerStep},
		"a session":           {wire.TaskFilter{SessionID: "zz"}, 300 * sessions / namesPerStep},
		"by dependency":       {wire.TaskFilter{Order: "dependencies", Search: "b zz"}, 2 * allText / textPerStep},
		"what sessions say":   {wire.TaskFilter{SessionStatus: "failed"}, tasks},
		"what can be begun":   {wire.TaskFilter{Ready: "true", Label: "zz"}, tasks},
		"what is not planned": {wire.TaskFilter{Planned: "true"}, tasks},
	} {
		steps := w.charged(c, func(c *Caller) error {
			asked := PageOf{Limit: 1}
			for pages := 0; pages < 10*tasks; pages++ {
				_, next := w.listed(c, &list.in, asked)
				if next == nil {
					return nil
				}
				asked.After, asked.Position = next.ID, next.Position
			}
			return errors.New("no end")
		})
		if steps < list.least || steps > 3*list.least+30*tasks {
			t.Errorf("%s: %d steps are charged, but it takes %d", name, steps, list.least)
		}
		w.listed(c, &list.in, PageOf{})
	}
	for name, list := range map[string]struct {
		in    wire.SessionFilter
		least int
	}{
		"all":                   {wire.SessionFilter{}, sessions},
		"of a task":             {wire.SessionFilter{TaskID: ids[299]}, sessions * 300 / namesPerStep},
		"of a task that is not": {wire.SessionFilter{TaskID: "zz"}, sessions},
	} {
		steps := w.charged(c, func(c *Caller) error {
			var finish func() (List[ShownSession], error)
			err := w.Look(t.Context(), c, func(v View) (err error) {
				finish, err = v.ListSessions(&list.in)
				return err
			})
			if err != nil {
				return err
			}
			return RecoverPart(func() (err error) {
				_, err = finish()
				return err
			})
		})
		if steps < list.least || steps > 3*list.least+30*sessions {
			t.Errorf("sessions, %s: %d steps are charged, but it takes %d", name, steps, list.least)
		}
	}
}

// A search has few words, and its price grows with its words and with the text.
func TestSearchIsChargedByWords(t *testing.T) {
	long := &projections.Task{TaskFields: &projections.TaskFields{Description: strings.Repeat("b", 64<<10)}}
	for range 1000 {
		long.Labels = append(long.Labels, strings.Repeat("b", 199))
	}
	price := func(search string) int {
		f, err := filterOf(&wire.TaskFilter{Search: search})
		if err != nil {
			t.Fatal(err)
		}
		_, steps := f.holds(long)
		return steps
	}
	one, all := price("zz"), price("z1 z2 z3 z4 z5 z6 z7 z8")
	if text := 264 << 10; one < 2*text/textPerStep || all < 4*one {
		t.Errorf("one word costs %d steps, eight cost %d", one, all)
	}
	if again := price(strings.Repeat("zz ", 60)); again != one {
		t.Errorf("a repeated word costs %d steps, a single one %d", again, one)
	}
	if _, err := filterOf(&wire.TaskFilter{Search: "1 2 3 4 5 6 7 8 9"}); err == nil {
		t.Error("a search for nine words is accepted")
	}
}
