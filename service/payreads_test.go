package service

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service/wire"
)

// Calls that wait for the inbox read it again after each change. However many a session has, and however much there is
// to read, they leave half of what it may read to its other calls, and to those of its project.
func TestInboxWaitIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst, waits = 400, 10
		w := bounded(t, fmt.Sprintf("session-reads=1/%d", burst), fmt.Sprintf("project-reads=1/%d", burst))
		project := w.make(w.admin(), "project:create", `{"name":"P"}`)
		create := func() string {
			return w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
		}
		token := w.do(w.admin(), "session:spawn",
			fmt.Sprintf(`{"project":%q,"taskIds":[%q],"role":"orchestrator"}`, project, create())).Token
		for range 3000 {
			create()
		}
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range waits {
			waiting.Go(func() {
				items, _, err := w.ListInbox(ctx, w.caller(token), &wire.InboxFilter{Wait: "20s"})
				if err != nil || len(items) > 0 {
					t.Errorf("a call that waits: %v %v", items, err)
				}
			})
		}
		synctest.Wait()
		caller := w.caller(token)
		a, err := w.Admit(ctx, caller, Demand{})
		if err != nil {
			t.Fatal(err)
		}
		for second := range 20 {
			create() // a change, after which each of them reads again
			time.Sleep(time.Second)
			synctest.Wait()
			for name, account := range map[string]*account{"session": a.credential, "project": a.project} {
				if left := w.ledger.left(account, useReads); left < burst/2 {
					t.Fatalf("after %d s the %s may read %v, want %d", second, name, left, burst/2)
				}
			}
		}
		a.Leave()
		waiting.Wait()
		cancel()
	})
}

// A session that has much work done at once pays for it as far as it can ever owe, and its project no more than that:
// the project's other sessions go on.
func TestSessionDoesNotExhaustProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, team := w.team()
		busy, err := w.Admit(t.Context(), team.orchestrator, Demand{})
		if err != nil {
			t.Fatal(err)
		}
		defer busy.Leave()
		for range 8 { // as many calls as may be in progress, each with the most work that one may do
			team.orchestrator.chargeSteps(2_000_000)
			busy.worked(2_000_000)
			busy.chargeBytes(100 << 20)
		}
		other, err := w.Admit(t.Context(), team.other, Demand{})
		if err != nil {
			t.Fatalf("another session of the project: %v", err)
		}
		defer other.Leave()
		for name, r := range map[string]resource{"reads": useReads, "commands": useCommands} {
			own := w.ledger.quotas[ClassSession][r]
			most := own.Burst + own.Value*longestDebt.Seconds()
			whole := w.ledger.quotas[classProject][r].Burst
			if left := w.ledger.left(busy.project, r); left < whole-most-2 {
				t.Errorf("the project has %v %s left of %v, and one session may owe %v", left, name, whole, most)
			}
			if w.ledger.owes(busy.credential, r) == nil {
				t.Errorf("the session owes no %s", name)
			}
		}
	})
}

// While others have used up what a project may use, a session that uses little goes on, at a higher price of its own.
func TestProjectDebtDoesNotStopSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst = 200
		for _, r := range []resource{useReads, useCommands} {
			name := resourceNames[r]
			w := bounded(t, fmt.Sprintf("session-%s=1/%d", name, burst), fmt.Sprintf("project-%s=1/300", name))
			_, team := w.team()
			admit := func(c *Caller) bool {
				a, err := w.Admit(t.Context(), c, Demand{Writes: r == useCommands})
				if err == nil {
					a.Leave()
				}
				return err == nil
			}
			for _, greedy := range []*Caller{team.orchestrator, team.other} {
				for admit(greedy) {
				}
			}
			calls := 0
			for admit(team.another) {
				calls++
			}
			if least := burst/crowdedPrice - 2; calls < least || calls > burst/crowdedPrice+2 {
				t.Errorf("%s: a session that used nothing makes %d calls, want about %d", name, calls, least)
			}
			time.Sleep(2 * crowdedPrice * time.Second)
			if !admit(team.another) {
				t.Errorf("%s: it is not admitted at a tenth of its rate", name)
			}
		}
	})
}
