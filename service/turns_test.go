package service

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// starting is a call of queue:start that waits.
type starting struct {
	admission *Admission
	cancel    context.CancelFunc
	ended     chan struct{}
	done      Done
	err       error
}

// waitFor starts to wait for an item, as a session that pulls from a queue.
func (s *stage) waitFor(c *Caller, key string) *starting {
	s.Helper()
	caller := *c
	caller.Meta = Meta{Key: key}
	ctx, cancel := context.WithCancel(s.Context())
	admission, err := s.Admit(ctx, &caller, Demand{Writes: true})
	if err != nil {
		s.Fatal(err)
	}
	call := &starting{admission, cancel, make(chan struct{}), Done{}, nil}
	go func() {
		defer close(call.ended)
		call.done, call.err = s.Do(ctx, &caller, Call{
			ID:      "queue:start",
			Body:    func() ([]byte, error) { return []byte(`{}`), nil },
			Drop:    func() {},
			Options: Options{Wait: waitLongest},
		})
	}()
	return call
}

// asked counts the commands that calls sent to the writer, and those of them that got an item.
func asked(calls []*starting) (commands, got int) {
	synctest.Wait()
	for _, call := range calls {
		commands += call.admission.came
		select {
		case <-call.ended:
			if call.done.Event != nil {
				got++
			}
		default:
		}
	}
	return commands, got
}

// pull spawns sessions that pull from the queue "q".
func (s *stage) pull(n int) []*Caller {
	s.Helper()
	s.do(s.admin(), "queue:create", `{"project":"`+s.alpha+`","queue":"q"}`)
	all := make([]*Caller, n)
	for i := range all {
		all[i] = s.caller(s.do(s.admin(), "session:spawn",
			`{"project":"`+s.alpha+`","strategy":"queue","queue":"q"}`).Token)
	}
	return all
}

// push pushes a new task to the queue "q".
func (s *stage) push() {
	s.Helper()
	task := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`)
	s.do(s.admin(), "queue:push", `{"project":"`+s.alpha+`","queue":"q","taskId":"`+task+`"}`)
}

// TestPushAsksWriterOnce: however many callers wait for a queue, a push costs the writer one more command, and the
// waiting callers pay for only that one. No caller is forgotten: the next items go to others, and the rest end with the
// server.
func TestPushAsksWriterOnce(t *testing.T) {
	const sessions, each, items = 16, 4, 8
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		stopping, stop := context.WithCancel(t.Context())
		s.Stopping = stopping
		var calls []*starting
		for i, c := range s.pull(sessions) {
			for j := range each {
				calls = append(calls, s.waitFor(c, fmt.Sprint(i, " ", j)))
			}
		}
		before, got := asked(calls)
		if before != len(calls) || got != 0 {
			t.Fatalf("%d calls sent %d commands, and %d got an item", len(calls), before, got)
		}
		for i := range items {
			s.push()
			after, got := asked(calls)
			// The other waits of the session that got it end: it holds an item.
			if after-before > each || got != i+1 {
				t.Errorf("item %d: %d commands, and %d got one", i, after-before, got)
			}
			before = after
		}
		calls[len(calls)-1].cancel()
		stop()
		over := 0
		for _, call := range calls {
			<-call.ended
			if call.err != nil {
				over++
			}
			call.admission.Leave()
			call.cancel()
		}
		if over != len(calls)-items*each {
			t.Errorf("%d calls waited until the end", over)
		}
	})
}

// TestFutileWaitCostsOneCommand: a wait pays for one command at its end, whatever happens to the queue meanwhile, and
// is refunded if it ends without sending that.
func TestFutileWaitCostsOneCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		if err := s.Limits.Set("session-commands=0.001/100"); err != nil {
			t.Fatal(err)
		}
		s.ledger = newLedger(&s.Limits)
		waits := s.pull(1)[0]
		account := s.accountsOf(waits.By, s.alpha, false)
		defer account.letGo()
		paid := func() int { return 100 - int(s.ledger.left(account.credential, useCommands)+0.5) }
		cancelled := s.waitFor(waits, "cancelled")
		synctest.Wait()
		cancelled.cancel()
		<-cancelled.ended
		cancelled.admission.Leave()
		if paid() != 1 {
			t.Errorf("a wait that was cancelled cost %d commands", paid())
		}
		call := s.waitFor(waits, "in vain")
		synctest.Wait()
		first := s.make(s.admin(), "task:create", `{"project":"`+s.alpha+`","title":"T"}`)
		for range 10 { // the pushed item cannot be started
			task := s.make(s.admin(), "task:create",
				`{"project":"`+s.alpha+`","title":"T","dependencies":["`+first+`"]}`)
			s.do(s.admin(), "queue:push", `{"project":"`+s.alpha+`","queue":"q","taskId":"`+task+`"}`)
			synctest.Wait()
		}
		time.Sleep(waitLongest)
		<-call.ended
		call.admission.Leave()
		call.cancel()
		if call.err != nil || call.done.Event != nil || paid() != 3 {
			t.Errorf("a wait in vain: %v, and %d commands", call.err, paid()-1)
		}
	})
}
