package service

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"maestro/projections"
)

// What a search holds between its portions counts against the budgets of its caller. If they have no room, the call is
// refused; a search that takes too much of them ends early, and says so. Afterwards nothing counts.
func TestSearchMemoryIsCounted(t *testing.T) {
	const tasks, room = 6000, 6_000_000
	w := bounded(t, fmt.Sprintf("session-answers=%d", room))
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	first := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
	token := w.do(w.admin(), "session:spawn",
		fmt.Sprintf(`{"project":%q,"taskIds":[%q],"role":"orchestrator"}`, project, first)).Token
	for range tasks {
		task := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
		w.do(w.admin(), "task:block", fmt.Sprintf(`{"taskId":%q,"reason":"r"}`, task))
	}
	for name, read := range map[string]func(c *Caller) (partly bool, err error){
		"the status": func(c *Caller) (bool, error) {
			status, err := w.statusOf(c, project)
			return len(status.Unread) > 0, err
		},
		"the inbox": func(c *Caller) (bool, error) {
			v := w.later(w.Context(), c)
			var p *projections.Project
			w.Handler.View(func(state *projections.State) { p = state.Project(project) })
			everybody := v
			everybody.Caller = &Caller{By: w.admin().By, admission: c.admission}
			_, unread, err := everybody.inboxOf(p, "", projections.InboxPart{})
			return len(unread) > 0, err
		},
	} {
		c := w.caller(token)
		a, err := w.Admit(w.Context(), c, Demand{})
		if err != nil {
			t.Fatal(err)
		}
		if partly, err := read(c); partly || err != nil {
			t.Errorf("%s, with room: partly %t, %v", name, partly, err)
		}
		a.RenderAnyway(room - 1000)
		if _, err := read(c); !isBusy(err) {
			t.Errorf("%s, without room: %v", name, err)
		}
		if a.answered != room-1000 {
			t.Errorf("%s: %d bytes still count", name, a.answered-(room-1000))
		}
		a.Free(room - 1000)
		quota := &w.ledger.quotas[ClassSession][useAnswers]
		quota.Value = 500_000
		if partly, err := read(c); !partly || err != nil {
			t.Errorf("%s, with room for less than one: partly %t, %v", name, partly, err)
		}
		quota.Value = room
		a.Leave()
	}
}

// Choosing among what an inbox found sorts it: the call waits for its turn, and pays for the work.
func TestChoosingTakesATurnAndIsCharged(t *testing.T) {
	const tasks = 3000
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	for range tasks {
		task := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
		w.do(w.admin(), "task:block", fmt.Sprintf(`{"taskId":%q,"reason":"r"}`, task))
	}
	var search *projections.InboxSearch
	w.Handler.View(func(state *projections.State) {
		search = state.SearchInbox(project)
		state.SearchOn(search, nil, 1<<60)
	})
	reader := w.token(fmt.Sprintf(`{"name":"r","kind":"read-only","projectIds":[%q]}`, project))
	a, err := w.Admit(t.Context(), reader, Demand{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Leave()
	reader.parts = freeParts
	before := a.reads
	if err := w.later(t.Context(), reader).chosen(search, "", projections.InboxPart{}); err != nil {
		t.Fatal(err)
	}
	if paid := a.reads - before; paid < tasks*stepsPerFound/StepsPerRead {
		t.Errorf("choosing among %d costs %v reads", tasks, paid)
	}
	for range turnsAtOnce() {
		turn, err := w.turns.take(t.Context(), &Caller{})
		if err != nil {
			t.Fatal(err)
		}
		defer turn.leave()
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	err = w.later(gone, reader).chosen(search, "", projections.InboxPart{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("without a turn: %v", err)
	}
}
