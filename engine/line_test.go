package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/projections"
)

// inLine is a call of AwaitItem in progress.
type inLine struct {
	looks    atomic.Int32 // how often it looked
	over     atomic.Bool  // its wait is over, which it notices when it looks
	returned atomic.Bool
	turn     *Turn // set once it has returned
	err      error
}

// lineUp starts to wait for an item of the queue "main".
func (w *world) lineUp(ctx context.Context, keys ...Key) *inLine {
	a := &inLine{}
	go func() {
		a.turn, a.err = w.h.AwaitItem(ctx, w.ids["p"], "main", func(*projections.State) bool {
			a.looks.Add(1)
			return a.over.Load()
		}, keys...)
		a.returned.Store(true)
	}()
	synctest.Wait()
	return a
}

// turns returns the calls that have a turn, and how often all calls looked in total.
func turns(all []*inLine) (have []*inLine, looks int32) {
	synctest.Wait()
	for _, a := range all {
		looks += a.looks.Load()
		if a.returned.Load() && a.turn != nil {
			have = append(have, a)
		}
	}
	return have, looks
}

// pushNew creates a task and pushes it to the queue "main".
func (w *world) pushNew(name string) {
	w.make(name, "admin", "task:create", `{"project":"{p}","title":"T"}`)
	w.take(pushTo(name))
}

// TestOneItemGivesOneTurn: as many waiting callers get a turn as there are items, in order; no others look. A turn that
// ends while its item is still there passes to the next caller.
func TestOneItemGivesOneTurn(t *testing.T) {
	const waiters, items = 50, 3
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		w.take(named)
		ctx, cancel := context.WithCancel(t.Context())
		var all []*inLine
		for range waiters {
			all = append(all, w.lineUp(ctx))
		}
		for i := range items {
			w.pushNew(fmt.Sprint("item", i))
			have, looks := turns(all)
			if len(have) != i+1 || looks != waiters+int32(i)+1 || have[i] != all[i] {
				t.Fatalf("%d items: %d turns after %d looks", i+1, len(have), looks)
			}
		}
		for i := range items { // none of them starts the item
			all[i].turn.End()
			all[i].turn.End()
			have, looks := turns(all)
			if len(have) != items+i+1 || looks != waiters+items+int32(i)+1 {
				t.Fatalf("%d turns ended: %d were given after %d looks", i+1, len(have), looks)
			}
		}
		for i := range items { // each of these starts an item
			who := fmt.Sprint("puller", i)
			w.take(puller(who))
			w.take(starts(who))
			all[items+i].turn.End()
		}
		if have, looks := turns(all); len(have) != 2*items || looks != waiters+2*items {
			t.Errorf("%d turns without an item, after %d looks", len(have)-2*items, looks)
		}
		cancel()
		for _, a := range all[2*items:] {
			synctest.Wait()
			if !a.returned.Load() || !errors.Is(a.err, context.Canceled) {
				t.Errorf("cancelled: returned %t with %v", a.returned.Load(), a.err)
			}
		}
		if w.waits() != 0 {
			t.Errorf("%d lines are left", w.waits())
		}
	})
}

// TestCancelledTurnIsPassedOn: a caller whose wait has ended or was cancelled when its turn comes passes the turn on.
func TestCancelledTurnIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		w.take(named)
		over, next, ended, last := w.lineUp(t.Context()), w.lineUp(t.Context()),
			w.lineUp(t.Context(), Key{projections.KindSession, w.ids["w"]}), w.lineUp(t.Context())
		over.over.Store(true)
		w.pushNew("one")
		synctest.Wait()
		if !over.returned.Load() || over.turn != nil || over.err != nil || !next.returned.Load() || next.turn == nil {
			t.Errorf("over: %t with %v; the next: %t", over.returned.Load(), over.turn, next.returned.Load())
		}
		ended.over.Store(true)
		w.take(kill("w"))
		synctest.Wait()
		if !ended.returned.Load() || ended.turn != nil || last.returned.Load() {
			t.Errorf("its session ended: %t; the next: %t", ended.returned.Load(), last.returned.Load())
		}
		next.turn.End()
		synctest.Wait()
		if !last.returned.Load() || last.turn == nil {
			t.Fatal("the turn was not passed on")
		}
		last.turn.End()
		if w.waits() != 0 {
			t.Errorf("%d lines are left", w.waits())
		}
	})
}

// TestTurnsAreNotLost: a caller that is cancelled just as its turn comes passes the turn on. Run with -race.
func TestTurnsAreNotLost(t *testing.T) {
	for i := range 50 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.h.Close()
			w.take(named)
			w.make("one", "admin", "task:create", `{"project":"{p}","title":"T"}`)
			ctx, cancel := context.WithCancel(t.Context())
			first, second := w.lineUp(ctx), w.lineUp(t.Context())
			if i%2 == 0 {
				go cancel()
				w.take(pushTo("one"))
			} else {
				go w.take(pushTo("one"))
				cancel()
			}
			synctest.Wait()
			cancel()
			if first.turn != nil { // its turn came first
				first.turn.End()
			}
			synctest.Wait()
			if !second.returned.Load() || second.turn == nil {
				t.Fatal("the turn is lost")
			}
			second.turn.End()
		})
	}
}

// TestTurnsUnderLoad: many callers wait for items while others push, take items without waiting, and leave. Every item
// is started, and a caller keeps waiting only if there is no item. Run with -race.
func TestTurnsUnderLoad(t *testing.T) {
	const waiters, items = 20, 60
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		w.take(named)
		ctx, cancel := context.WithCancel(t.Context())
		var pushes []string
		for i := range items {
			w.make(fmt.Sprint("item", i), "admin", "task:create", `{"project":"{p}","title":"T"}`)
			pushes = append(pushes, w.fillIn(fmt.Sprintf(`{"project":"{p}","queue":"main","taskId":"{item%d}"}`, i)))
		}
		w.take(puller("thief"))
		for i := range waiters {
			w.take(puller(fmt.Sprint("puller", i)))
		}
		var asked, got, keys atomic.Int32
		var working sync.WaitGroup
		do := func(who, id, body string) Answer {
			answer, err := w.withKey(who, id, body, fmt.Sprint("load ", keys.Add(1)))
			if err != nil {
				t.Error(err)
			}
			return answer
		}
		ask := func(who string) {
			asked.Add(1)
			if do(who, "queue:start", `{}`).Event != nil {
				got.Add(1)
				do(who, "queue:complete", `{}`)
			}
		}
		for i := range waiters {
			who := fmt.Sprint("puller", i)
			working.Go(func() {
				for n := 0; ; n++ {
					mine, leave := context.WithCancel(ctx)
					if n%3 == i%3 {
						go leave()
					}
					turn, err := w.h.AwaitItem(mine, w.ids["p"], "main", func(*projections.State) bool { return false })
					leave()
					if ctx.Err() != nil {
						return
					}
					if err == nil {
						ask(who)
						turn.End()
					}
				}
			})
		}
		for i, body := range pushes {
			go do("admin", "queue:push", body)
			if i%10 == 0 {
				ask("thief")
			}
		}
		time.Sleep(time.Minute) // the writer gathers commands for a moment, so the bubble may be idle before the end
		if got.Load() != items {
			t.Errorf("%d of %d items were started", got.Load(), items)
		}
		cancel()
		working.Wait()
		if w.waits() != 0 {
			t.Errorf("%d lines are left", w.waits())
		}
		t.Logf("%d items took %d asks", items, asked.Load())
	})
}

// TestCommitWakesItsWaiters: a commit does not wake callers that wait for a later sequence, and callers that leave
// are forgotten.
func TestCommitWakesItsWaiters(t *testing.T) {
	const waiters = 100
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		head := w.headNow()
		var reached atomic.Int32
		wait := func(ctx context.Context, sequence uint64) {
			go func() {
				if w.h.WaitFor(ctx, sequence) == nil {
					reached.Add(1)
				}
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		for i := range waiters { // in no order
			wait(ctx, head+1+uint64(i*37%waiters))
			wait(ctx, head+1000+uint64(i*37%waiters))
		}
		wait(ctx, head)
		synctest.Wait()
		waiting := func() int {
			w.h.mu.Lock()
			defer w.h.mu.Unlock()
			return len(w.h.reaches)
		}
		for i := range waiters {
			if reached.Load() != int32(i)+1 || waiting() != 2*waiters-i {
				t.Fatalf("at head %d: %d were woken, and %d wait", i, reached.Load(), waiting())
			}
			w.must("o", "session:note", `{"message":"m"}`)
			synctest.Wait()
		}
		for i := range waiters / 2 {
			alone, leave := context.WithTimeout(t.Context(), time.Duration(i)*time.Second)
			wait(alone, head+1000+uint64(i))
			defer leave()
		}
		time.Sleep(time.Minute) // of the bubble's clock
		synctest.Wait()
		if waiting() != waiters {
			t.Errorf("%d wait", waiting())
		}
		cancel()
		synctest.Wait()
		if waiting() != 0 || reached.Load() != waiters+1 {
			t.Errorf("%d are left, and %d were woken", waiting(), reached.Load())
		}
	})
}

// TestFinishedQueueEndsTheWait: all waiting callers look when the last item of a queue ends, but not when one of
// several does.
func TestFinishedQueueEndsTheWait(t *testing.T) {
	const waiters = 20
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.h.Close()
		w.take(named)
		for _, name := range []string{"first", "second"} {
			w.pushNew(name)
			w.take(puller("of " + name))
			w.take(starts("of " + name))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all []*inLine
		for range waiters {
			all = append(all, w.lineUp(ctx))
		}
		w.take(step{"of first", "queue:complete", `{}`})
		if _, looks := turns(all); looks != waiters {
			t.Errorf("an item ended while another is held: %d looks, want %d", looks, waiters)
		}
		for _, a := range all {
			a.over.Store(true)
		}
		w.take(step{"of second", "queue:complete", `{}`})
		if have, looks := turns(all); looks != 2*waiters || len(have) > 0 || w.waits() != 0 {
			t.Errorf("the queue is finished: %d looks, %d turns, %d lines are left", looks, len(have), w.waits())
		}
	})
}

// TestFinishedQueueOfDoneTasksEndsWait: the wait also ends when others complete or cancel the tasks of the remaining
// items.
func TestFinishedQueueOfDoneTasksEndsWait(t *testing.T) {
	for name, ends := range map[string]step{
		"completed": {"admin", "task:complete", `{"taskId":"{first}"}`},
		"cancelled": {"admin", "task:update", `{"taskId":"{first}","status":"cancelled"}`},
		"deleted":   {"admin", "task:delete", `{"taskId":"{first}"}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.h.Close()
			w.take(named)
			w.pushNew("first")
			w.make("other", "admin", "task:create", `{"project":"{p}","title":"Other"}`)
			w.take(step{"admin", "task:update", `{"taskId":"{first}","dependencies":["{other}"]}`}) // nothing to start
			waiting := w.lineUp(t.Context())
			w.take(step{"admin", "task:update", `{"taskId":"{other}","title":"Another"}`})
			if waiting.returned.Load() {
				t.Fatal("the wait ended although the item may be started later")
			}
			before := waiting.looks.Load()
			waiting.over.Store(true)
			w.take(ends)
			synctest.Wait()
			if !waiting.returned.Load() || waiting.looks.Load() == before {
				t.Errorf("the task is %s, but the wait continues", name)
			}
		})
	}
}
