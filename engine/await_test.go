package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/projections"
)

// awaiting is a call of Await in progress.
type awaiting struct {
	looks    atomic.Int32 // how often it looked
	returned atomic.Bool
	err      error // once it has returned
}

// await starts to wait for a condition; for an item of a queue, if that is the first key.
func (w *world) await(ctx context.Context, holds func(*projections.State) bool, keys ...Key) *awaiting {
	a := &awaiting{}
	looks := func(s *projections.State) bool { a.looks.Add(1); return holds(s) }
	go func() {
		if project, queue, _ := strings.Cut(keys[0].ID, "/"); keys[0].Kind == projections.KindQueue {
			hasNone := func(s *projections.State) bool {
				has := looks(s)
				return has && s.ReadyItems(s.Queue(project, queue)) == 0
			}
			var turn *Turn
			if turn, a.err = w.h.AwaitItem(ctx, project, queue, hasNone, keys[1:]...); turn != nil {
				turn.End()
			}
		} else {
			a.err = w.h.Await(ctx, looks, keys...)
		}
		a.returned.Store(true)
	}()
	synctest.Wait()
	return a
}

// waits is how many keys somebody waits for.
func (w *world) waits() int {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	n := len(w.h.waiters)
	for _, lines := range w.h.lines {
		n += len(lines)
	}
	return n
}

// TestAwait: a waiting caller is woken by what it waits for, looks once more, and leaves nothing behind; other changes
// do not wake it.
func TestAwait(t *testing.T) {
	queueOf := func(queue string) func(w *world) Key {
		return func(w *world) Key { return Key{projections.KindQueue, w.fillIn("{p}/" + queue)} }
	}
	hasTop := func(queue string) func(w *world, s *projections.State) bool {
		return func(w *world, s *projections.State) bool {
			top, _ := s.Top(s.Queue(w.ids["p"], w.fillIn(queue)))
			return top != nil
		}
	}
	session := func(w *world) Key { return Key{projections.KindSession, w.ids["w"]} }
	gone := func(w *world, s *projections.State) bool { return s.Gone(w.ids["w"]) != "" }
	trusting := step{"admin", "queue:create", `{"project":"{p}","queue":"main","trustReports":true}`}
	unrelated := []step{
		{"w", "session:note", `{"message":"m"}`},
		{"v", "report:progress", `{"message":"m","taskIds":["{t3}"]}`},
		{"o", "task:complete", `{"taskId":"{t1}","force":true}`},
		{"admin", "task:create", `{"project":"{q}","title":"U2"}`},
		{"admin", "session:spawn", `{"project":"{p}","taskIds":["{t1}"]}`},
		{"admin", "queue:create", `{"project":"{p}","queue":"other"}`},
		{"admin", "queue:push", `{"project":"{p}","queue":"other","taskId":"{t2}"}`},
		{"v", "report:needs-input", `{"message":"?"}`},
		kill("v"),
		{"admin", "token:create", `{"name":"other","kind":"admin"}`},
	}
	for _, c := range []struct {
		name  string
		given []step
		key   func(w *world) Key
		holds func(w *world, s *projections.State) bool
		when  step
		// looks is how often it looks in all, 2 if 0.
		looks int32
	}{
		{"a push", []step{named}, queueOf("main"), hasTop("main"), pushTo("t1"), 0},
		{"a push into a session's own", nil, queueOf("{k}"), hasTop("{k}"), push("t1"), 0},
		{
			"what comes back",
			[]step{named, puller("a"), pushTo("t1"), starts("a"), kill("a")},
			queueOf("main"),
			hasTop("main"), giveUp("t1"), 0,
		},
		{
			"what is queued again",
			[]step{push("t1"), {"k", "queue:skip", `{}`}},
			queueOf("{k}"), hasTop("{k}"),
			step{"admin", "queue:requeue", `{"taskId":"{t1}"}`},
			0,
		},
		{"a dependency that is completed", []step{push("t4")}, queueOf("{k}"), hasTop("{k}"), step{
			"o", "task:complete",
			`{"taskId":"{t3}"}`,
		}, 0},
		{
			"a dependency that is completed by an update",
			[]step{push("t4")},
			queueOf("{k}"), hasTop("{k}"),
			step{"o", "task:update", `{"taskId":"{t3}","status":"completed"}`},
			0,
		},
		{"a dependency that is left out", []step{push("t4")}, queueOf("{k}"), hasTop("{k}"), step{
			"o", "task:update",
			`{"taskId":"{t4}","dependencies":[]}`,
		}, 0},
		{
			"a task that is reopened",
			[]step{push("t2"), {"o", "task:block", `{"taskId":"{t2}"}`}},
			queueOf("{k}"),
			hasTop("{k}"),
			step{"o", "task:reopen", `{"taskId":"{t2}"}`},
			0,
		},
		{
			"a dependency that is said to be done, where reports are trusted",
			[]step{trusting, pushTo("t4")},
			queueOf("main"), hasTop("main"),
			step{"v", "report:complete", `{"message":"m","taskIds":["{t3}"]}`},
			0,
		},
		{"the end of who said otherwise, where reports are trusted", []step{
			trusting, pushTo("t4"),
			{"r", "report:complete", `{"message":"m","taskIds":["{t3}"]}`},
			{
				"v", "report:progress",
				`{"message":"m","taskIds":["{t3}"]}`,
			},
		}, queueOf("main"), hasTop("main"), kill("v"), 0},
		{
			"an answer",
			[]step{{"w>i", "report:needs-input", `{"message":"?"}`}},
			func(w *world) Key { return Key{projections.KindInput, w.ids["i"]} },
			func(w *world, s *projections.State) bool { return s.Input(w.ids["i"]).AnsweredAt != 0 },
			step{"o", "input:answer", `{"inputId":"{i}","answer":"so"}`},
			0,
		},
		{
			"an answer for a session whose agent ended to wait for it",
			[]step{
				{"admin>x", "session:spawn", `{"project":"{p}","taskIds":["{t1}"],"runner":"runner"}`},
				{"runner", "session:claim", `{"sessionId":"{x}","run":1,"agent":"claude"}`},
				{"x>i", "report:needs-input", `{"message":"?"}`},
				{"runner", "session:exited", `{"sessionId":"{x}","run":1,"exitCode":0}`},
			},
			func(*world) Key { return AnyRunner },
			func(w *world, s *projections.State) bool { return s.AwaitsRun(s.Session(w.ids["x"])) },
			step{"admin", "input:answer", `{"inputId":"{i}","answer":"so"}`},
			0,
		},
		{
			"a token that is revoked",
			[]step{{"admin", "token:create", `{"name":"ci","kind":"admin"}`}},
			func(*world) Key { return Key{projections.KindToken, "ci"} },
			func(_ *world, s *projections.State) bool { return !s.Token("ci").Live() },
			step{"admin", "token:revoke", `{"name":"ci"}`},
			0,
		},
		{"a session's secret that is revoked", nil, session, func(w *world,
			s *projections.State,
		) bool {
			return s.Session(w.ids["w"]).Generation == 2
		}, step{
			"admin", "token:revoke",
			`{"sessionId":"{w}"}`,
		}, 0},
		{"a session that is killed", nil, session, gone, kill("w"), 0},
		{"a session that is deleted", nil, session, gone, step{"admin", "session:delete", `{"sessionId":"{w}"}`}, 0},
		{"a session that is lost", nil, session, gone, lose("w"), 0},
		{"a session that is out of time", []step{{
			"admin>w", "session:spawn",
			`{"project":"{p}","taskIds":["{t1}"],"timeout":1000}`,
		}, {"time", "", "2s"}}, session, gone, step{
			"system",
			"session:timed-out", `{"sessionId":"{w}"}`,
		}, 0},
		{"what holds at once", []step{push("t1")}, queueOf("{k}"), hasTop("{k}"), step{}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.h.Close()
				for _, s := range c.given {
					w.take(s)
				}
				a := w.await(
					t.Context(), func(s *projections.State) bool { return c.holds(w, s) }, c.key(w),
					Key{projections.KindQueue, "of/another"},
				)
				if c.looks == 0 {
					c.looks = 2
					if a.returned.Load() || a.looks.Load() != 1 || w.waits() != 2 {
						t.Fatalf(
							"returned: %t after %d looks, and %d keys are waited for", a.returned.Load(),
							a.looks.Load(), w.waits(),
						)
					}
					w.take(c.when)
					synctest.Wait()
				}
				if !a.returned.Load() || a.err != nil || a.looks.Load() != c.looks || w.waits() != 0 {
					t.Errorf(
						"returned: %t with %v after %d looks, and %d keys are waited for", a.returned.Load(), a.err,
						a.looks.Load(), w.waits(),
					)
				}
			})
		})
	}
	t.Run("unrelated changes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.h.Close()
			for _, s := range []step{push("t4"), {"w>i", "report:needs-input", `{"message":"?"}`}} {
				w.take(s)
			}
			ctx, cancel := context.WithCancel(t.Context())
			a := w.await(
				ctx,
				func(s *projections.State) bool { return hasTop("{k}")(w, s) || gone(w, s) },
				queueOf(
					"{k}",
				)(
					w,
				),
				session(w),
				Key{projections.KindInput, w.ids["i"]},
				Key{projections.KindToken, "auditor"},
			)
			for _, s := range unrelated {
				w.change(s)
				if synctest.Wait(); a.looks.Load() != 1 {
					t.Fatalf("%v woke it", s)
				}
			}
			cancel()
			synctest.Wait()
			if !a.returned.Load() || !errors.Is(a.err, context.Canceled) || w.waits() != 0 {
				t.Errorf("cancelled: %t with %v, and %d keys are waited for", a.returned.Load(), a.err, w.waits())
			}
		})
	})
	t.Run("changes that do not make it true", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.h.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			a := w.await(ctx, func(s *projections.State) bool { return hasTop("{k}")(w, s) }, queueOf("{k}")(w))
			w.take(push("t4")) // it waits for t3
			if synctest.Wait(); a.looks.Load() != 1 || a.returned.Load() {
				t.Errorf("%d looks, returned: %t", a.looks.Load(), a.returned.Load())
			}
			time.Sleep(time.Minute) // of the bubble's clock
			synctest.Wait()
			if !a.returned.Load() || !errors.Is(a.err, context.DeadlineExceeded) || w.waits() != 0 {
				t.Errorf("out of time: %t with %v, and %d keys are waited for", a.returned.Load(), a.err, w.waits())
			}
		})
	})
}

// TestAwaitTogether: a change wakes all callers that wait for it, even if another server wrote it, but only once it is
// committed.
func TestAwaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.h.Close() }()
		holds := func(s *projections.State) bool { return s.Gone(w.ids["w"]) != "" }
		key := Key{projections.KindSession, w.ids["w"]}
		var all []*awaiting
		for range 50 {
			all = append(all, w.await(t.Context(), holds, key))
		}
		g := w.log.hold()
		done := make(chan error, 1)
		go func() { _, err := w.do("admin", "session:kill", `{"sessionId":"{w}"}`); done <- err }()
		<-g.reached
		synctest.Wait()
		if all[0].looks.Load() != 1 {
			t.Error("a change that is not committed woke a caller")
		}
		close(g.open)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for i, a := range all {
			if !a.returned.Load() || a.looks.Load() != 2 {
				t.Errorf("%d: returned %t after %d looks", i, a.returned.Load(), a.looks.Load())
			}
		}
		w.log.when(nil)

		other := open(t, Config{Log: w.log, Now: w.now})
		defer other.Close()
		a := w.await(
			t.Context(), func(s *projections.State) bool { return s.Gone(w.ids["v"]) != "" },
			Key{projections.KindSession, w.ids["v"]},
		)
		if _, err := other.Do(
			t.Context(),
			Request{
				By:      commands.Admin(commands.AuthnToken),
				Command: &commands.KillSession{SessionID: w.ids["v"]},
				Key:     "theirs",
			},
		); err != nil {
			t.Fatal(err)
		}
		w.must("o", "session:note", `{"message":"m"}`) // meets the other's event
		if synctest.Wait(); !a.returned.Load() || w.waits() != 0 {
			t.Error("another server's event woke no caller")
		}
	})
}

// TestAwaitUnderLoad: no caller misses the change that it waits for, even if the change happens just after the caller
// looked. Run with -race.
func TestAwaitUnderLoad(t *testing.T) {
	w := newWorld(t)
	defer w.h.Close()
	const rounds = 200
	woken := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range rounds {
		name := fmt.Sprint("s", i)
		w.make(name, "admin", "session:spawn", `{"project":"{p}","taskIds":["{t1}"]}`)
		session := w.ids[name]
		go func() {
			woken <- w.h.Await(
				ctx, func(s *projections.State) bool { return s.Gone(session) != "" },
				Key{projections.KindSession, session},
			)
		}()
		w.take(kill(name))
		if err := <-woken; err != nil {
			t.Fatal(err)
		}
	}
}
