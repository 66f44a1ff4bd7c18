package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
	"maestro/service/wire"
)

// later starts a call that waits, in a goroutine of its own.
func later(do func() reply) <-chan reply {
	done := make(chan reply, 1)
	go func() { done <- do() }()
	return done
}

// still checks that a call keeps waiting once everything else has come to rest.
func still(t *testing.T, waiting <-chan reply) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-waiting:
		t.Fatalf("it did not wait: %d %s", r.status, r.body)
	default:
	}
}

// at returns the reply of a call that ends now, without any time passing.
func at(t *testing.T, waiting <-chan reply) reply {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-waiting:
		return r
	default:
		t.Fatal("it keeps waiting")
		return reply{}
	}
}

// pushBlocked pushes an item that waits for an open task: the queue is not finished, but nothing can be started.
func (w *world) pushBlocked(project, queue string) {
	w.Helper()
	open := w.task(project)
	blocked := w.do(adminToken, "task:create", `{"project":"`+project+`","title":"T","dependencies":["`+open+`"]}`).
		is(200).text("event", "data", "taskId")
	w.do(adminToken, "queue:push", `{"project":"`+project+`",`+queue+`,"taskId":"`+blocked+`"}`).is(200)
}

func TestWaitingForAnItem(t *testing.T) {
	const start = "queue:start?wait=25s"
	waits := func(w *world, token string) <-chan reply {
		return later(func() reply { return w.do(token, start, `{}`) })
	}
	for name, run := range map[string]func(t *testing.T, w *world, project string){
		"another pushes": func(t *testing.T, w *world, project string) {
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
			token := w.queueSession(project, "q")
			waiting := waits(w, token)
			still(t, waiting)
			time.Sleep(10 * time.Second)
			still(t, waiting)
			task := w.task(project)
			still(t, waiting)
			w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+task+`"}`).is(200)
			if r := at(t, waiting).is(200); r.text("event", "data", "taskId") != task {
				t.Errorf("the item: %s", r.body)
			}
			// A session that holds an item does not wait.
			if r := at(t, waits(w, token)).is(200); r.at("event") != nil {
				t.Errorf("it holds one already: %s", r.body)
			}
		},
		"what it depends on completes": func(t *testing.T, w *world, project string) {
			first := w.task(project)
			task := w.do(adminToken, "task:create",
				`{"project":"`+project+`","title":"x","dependencies":["`+first+`"]}`).is(200).text("event", "data",
				"taskId")
			_, token := w.session(adminToken, project, task, `,"strategy":"queue"`)
			waiting := waits(w, token)
			still(t, waiting)
			w.do(adminToken, "task:update", `{"taskId":"`+first+`","title":"y"}`).is(200)
			still(t, waiting)
			w.do(adminToken, "task:complete", `{"taskId":"`+first+`"}`).is(200)
			if r := at(t, waiting).is(200); r.text("event", "data", "taskId") != task {
				t.Errorf("the item: %s", r.body)
			}
		},
		"a trusted report says so": func(t *testing.T, w *world, project string) {
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q","trustReports":true}`).is(200)
			first := w.task(project)
			_, worker := w.session(adminToken, project, first, ``)
			task := w.do(adminToken, "task:create",
				`{"project":"`+project+`","title":"x","dependencies":["`+first+`"]}`).is(200).text("event", "data",
				"taskId")
			w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+task+`"}`).is(200)
			waiting := waits(w, w.queueSession(project, "q"))
			still(t, waiting)
			w.do(worker, "report:complete", `{"message":"m","taskIds":["`+first+`"]}`).is(200)
			if r := at(t, waiting).is(200); r.text("event", "data", "taskId") != task {
				t.Errorf("the item: %s", r.body)
			}
		},
		"several wait for one": func(t *testing.T, w *world, project string) {
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
			const many = 8
			replies := make(chan reply, many)
			for range many {
				token := w.queueSession(project, "q")
				go func() { replies <- w.do(token, start, `{}`) }()
			}
			got := map[string]bool{}
			for n := range 3 {
				synctest.Wait()
				task := w.task(project)
				w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+task+`"}`).is(200)
				synctest.Wait()
				if len(replies) != 1 {
					t.Fatalf("item %d woke %d waiting calls", n, len(replies))
				}
				r := (<-replies).is(200)
				got[r.text("event", "data", "sessionId")] = true
				if r.text("event", "data", "taskId") != task {
					t.Errorf("item %d: %s", n, r.body)
				}
			}
			if len(got) != 3 {
				t.Errorf("three items are held by %d sessions", len(got))
			}
			for range many - 3 {
				if r := (<-replies).is(200); r.at("event") != nil {
					t.Errorf("an item that was never pushed: %s", r.body)
				}
			}
		},
		"its time passes": func(t *testing.T, w *world, project string) {
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
			token := w.queueSession(project, "q")
			for wait, want := range map[string]time.Duration{
				"25s":  25 * time.Second,
				"10ms": 10 * time.Millisecond,
				"0s":   0,
				"1h":   25 * time.Second,
			} {
				began := time.Now()
				head := w.log.head()
				r := w.do(token, "queue:start?wait="+wait, `{}`).is(200)
				if r.at("event") != nil || r.at("sequence") != float64(head) || time.Since(began) != want {
					t.Errorf("wait=%s ended after %s: %s", wait, time.Since(began), r.body)
				}
			}
			for _, wait := range []string{"x", "-1s", "25"} {
				w.do(token, "queue:start?wait="+wait, `{}`).refused(400, "VALIDATION_ERROR", "wait must be a duration")
			}
		},
		"its session ends": func(t *testing.T, w *world, project string) {
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
			for _, end := range []string{"session:kill", "session:delete"} {
				id, token := w.session(adminToken, project, w.task(project), `,"strategy":"queue","queue":"q"`)
				w.do(token, "queue:start", `{}`).is(200)
				w.do(token, "queue:complete", `{}`).is(200)
				w.pushBlocked(project, `"queue":"q"`)
				waiting := waits(w, token)
				still(t, waiting)
				w.do(adminToken, end, `{"sessionId":"`+id+`"}`).is(200)
				at(t, waiting).refused(403, "NOT_ALLOWED", "")
			}
		},
		"its secret is revoked": func(t *testing.T, w *world, project string) {
			id, token := w.session(adminToken, project, w.task(project), `,"strategy":"queue"`)
			w.do(token, "queue:start", `{}`).is(200)
			w.do(token, "queue:complete", `{}`).is(200)
			w.pushBlocked(project, `"sessionId":"`+id+`"`)
			waiting := waits(w, token)
			still(t, waiting)
			fresh := w.do(adminToken, "token:revoke", `{"sessionId":"`+id+`"}`).is(200).text("token")
			at(t, waiting).refused(401, "UNAUTHENTICATED", "revoked")
			waiting = waits(w, fresh)
			still(t, waiting)
			w.do(adminToken, "queue:push", `{"sessionId":"`+id+`","taskId":"`+w.task(project)+`"}`).is(200)
			at(t, waiting).is(200).text("event", "data", "taskId")
		},
		"its user's token is revoked": func(t *testing.T, w *world, project string) {
			id, token := w.session(adminToken, project, w.task(project), `,"strategy":"queue"`)
			w.do(token, "queue:start", `{}`).is(200)
			w.do(token, "queue:complete", `{}`).is(200)
			w.pushBlocked(project, `"sessionId":"`+id+`"`)
			ops := w.token("ops", "admin")
			waiting := later(func() reply { return w.do(ops, start, `{"sessionId":"`+id+`"}`) })
			still(t, waiting)
			w.do(adminToken, "token:revoke", `{"name":"ops"}`).is(200)
			at(t, waiting).refused(401, "UNAUTHENTICATED", "revoked")
		},
		"its caller goes away": func(t *testing.T, w *world, project string) {
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
			token := w.queueSession(project, "q")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api/commands/"+start,
					strings.NewReader(`{}`))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Content-Type", "application/json")
				if resp, err := w.client.Do(r); err == nil {
					_ = resp.Body.Close()
				}
			}()
			synctest.Wait()
			cancel()
			<-done
			// Nobody takes an item that is pushed now.
			w.do(adminToken, "queue:push",
				`{"project":"`+project+`","queue":"q","taskId":"`+w.task(project)+`"}`).is(200)
			if _, ok := w.last().Data.(*events.QueueItemPushed); !ok {
				t.Errorf("a caller that had left took the item: %s", w.last().Data.EventType())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openInside(t, nil)
				run(t, w, w.project())
			})
		})
	}
}

// queueSession spawns a session without tasks that pulls from a queue, and returns its secret.
func (w *world) queueSession(project, queue string) string {
	w.Helper()
	return w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","strategy":"queue","queue":"`+queue+`"}`).is(200).text("token")
}

// TestWaitGetsReturnedItem: when the holder of an item is lost, a waiting session gets the item.
func TestWaitGetsReturnedItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, withLeases(t, 6*time.Second))
		stop := w.keepLeases()
		defer stop()
		project := w.project()
		task := w.task(project)
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
		holder, first := w.session(adminToken, project, task, `,"strategy":"queue","queue":"q"`)
		w.do(first, "queue:start", `{}`).is(200)
		w.send(http.MethodPost, "/api/sessions/"+holder+"/heartbeat", first, "").is(204)
		second := w.queueSession(project, "q")
		began := time.Now()
		r := w.do(second, "queue:start?wait=25s", `{}`).is(200)
		if r.text("event", "data", "taskId") != task || r.at("event", "data", "attempt") != float64(2) {
			t.Errorf("the lost session's item: %s", r.body)
		}
		if took := time.Since(began); took < 6*time.Second || took > 8*time.Second {
			t.Errorf("it came after %s", took)
		}
		w.do(first, "queue:complete", `{}`).refused(409, "CONFLICT", "no longer holds task "+task)
		w.do(second, "queue:complete", `{}`).is(200)
	})
}

// keepLeases lets the leases check sessions until it is stopped.
func (w *world) keepLeases() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.leases.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// TestWaitingSessionIsNotLost: a session whose supervisor stopped sending heartbeats is not lost while its call waits.
func TestWaitingSessionIsNotLost(t *testing.T) {
	for name, wait := range map[string]func(w *world, id, token string) reply{
		"for an item": func(w *world, _, token string) reply { return w.do(token, "queue:start?wait=25s", `{}`) },
		"for an answer": func(w *world, _, token string) reply {
			question := w.ask(token, "Which?", ``)
			return w.send(http.MethodGet, "/api/inputs/"+question+"?wait=25s", token, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openInside(t, withLeases(t, 6*time.Second))
				defer w.keepLeases()()
				project := w.project()
				w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
				spawned := w.do(adminToken, "session:spawn",
					`{"project":"`+project+`","strategy":"queue","queue":"q"}`).is(200)
				id, token := spawned.text("event", "data", "sessionId"), spawned.text("token")
				w.send(http.MethodPost, "/api/sessions/"+id+"/heartbeat", token, "").is(204)
				began := time.Now()
				wait(w, id, token).is(200)
				if time.Since(began) != 25*time.Second {
					t.Fatalf("it waited %s", time.Since(began))
				}
				if n := w.count("maestro.session.lost.v1"); n != 0 {
					t.Errorf("a waiting session was lost %d times", n)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n := w.count("maestro.session.lost.v1"); n != 1 {
					t.Errorf("a silent session was lost %d times", n)
				}
				w.send(http.MethodGet, "/api/whoami", token, "").is(200)
				if n := w.count("maestro.session.recovered.v1"); n != 1 {
					t.Errorf("a calling session was recovered %d times", n)
				}
			})
		})
	}
}

// count returns how many events of a type the log has.
func (w *world) count(kind string) (n int) {
	w.Helper()
	for sequence := range w.log.head() {
		if w.event(sequence+1).Data.EventType() == kind {
			n++
		}
	}
	return n
}

func TestWaitingForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		task := w.task(project)
		boss, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		id, token := w.session(orchestrator, project, task, ``)
		_, other := w.session(adminToken, project, task, ``)
		wait := func(token, question string) <-chan reply {
			return later(func() reply { return w.send(http.MethodGet, "/api/inputs/"+question+"?wait=25s", token, "") })
		}
		question := w.ask(token, "Which?", `,"options":["A","B"]`)
		asker, parent, user := wait(token, question), wait(orchestrator, question), wait(adminToken, question)
		still(t, asker)
		at(t, wait(other, question)).refused(403, "NOT_ALLOWED", "")
		at(t, wait(token, "input_none")).refused(404, "NOT_FOUND", "Question with id 'input_none' not found")
		w.do(other, "input:answer", `{"inputId":"`+question+`","answer":"A"}`).refused(403, "NOT_ALLOWED", "")
		w.do(orchestrator, "input:answer", `{"inputId":"`+question+`","answer":"C"}`).refused(400, "VALIDATION_ERROR",
			"not one of the options")
		still(t, asker)
		w.do(orchestrator, "input:answer", `{"inputId":"`+question+`","answer":"B"}`).is(200)
		for _, waiting := range []<-chan reply{asker, parent, user} {
			like(t, "the answer",
				`{"id":"`+question+`","sessionId":"`+id+`","question":"Which?","options":["A","B"],`+
					`"status":"answered","answer":"B","answeredBy":"/projects/`+project+`/sessions/`+boss+`",`+
					`"answeredAt":"NUMBER","deliveredAt":null}`, any(at(t, waiting).is(200).object()))
		}
		// A second request finds the answer.
		at(t, wait(token, question)).is(200)

		// Every answer of the server announces the mail to its session until the mail was shown.
		told := func(token string, call func() reply, want string) {
			t.Helper()
			if got := call().header.Get(wire.HeaderMail); got != want {
				t.Errorf("Maestro-Mail is %q, not %q", got, want)
			}
		}
		told(token, func() reply { return w.do(token, "report:progress", `{"message":"m"}`).is(200) }, question)
		told(token, func() reply { return w.send(http.MethodGet, "/api/tasks/"+task, token, "").is(200) }, question)
		told(token, func() reply { return w.do(token, "task:complete", `{"taskId":"`+task+`"}`).is(403) }, question)
		told(other, func() reply { return w.do(other, "report:progress", `{"message":"m"}`).is(200) }, "")
		told(adminToken, func() reply { return w.send(http.MethodGet, "/api/tasks/"+task, adminToken, "").is(200) }, "")
		next := w.ask(token, "And then?", ``)
		w.do(adminToken, "input:answer", `{"inputId":"`+next+`","answer":"stop"}`).is(200)
		told(token, func() reply { return w.send(http.MethodGet, "/api/whoami", token, "").is(200) }, question+","+next)
		w.do(token, "input:received", `{"inputId":"`+question+`"}`).is(200)
		told(token, func() reply { return w.send(http.MethodGet, "/api/whoami", token, "").is(200) }, next)
		like(t, "delivered", `{"status":"delivered","deliveredAt":"NUMBER"}`,
			any(w.send(http.MethodGet, "/api/inputs/"+question, token, "").is(200).object()))
		for query, want := range map[string]int{
			"":                  2,
			"&status=answered":  1,
			"&status=delivered": 1,
			"&status=open":      0,
		} {
			if got := w.send(http.MethodGet, "/api/inputs?sessionId="+id+query, token,
				"").is(200).array(); len(got) != want {
				t.Errorf("%s lists %d questions", query, len(got))
			}
		}

		// Without an answer, the wait ends at its timeout or with the session.
		last := w.ask(token, "Anybody?", ``)
		began := time.Now()
		like(t, "unanswered", `{"status":"open","answeredAt":null}`,
			any(w.send(http.MethodGet, "/api/inputs/"+last+"?wait=25s", token, "").is(200).object()))
		if time.Since(began) != 25*time.Second {
			t.Errorf("it waited %s", time.Since(began))
		}
		if got := w.send(http.MethodGet, "/api/inputs/"+last, token, "").is(200).at("waited"); got != float64(25_000) {
			t.Errorf("waited is %v", got)
		}
		w.send(http.MethodGet, "/api/inputs/"+last+"?wait=x", token, "").refused(400, "VALIDATION_ERROR",
			"wait must be")
		asker = wait(token, last)
		still(t, asker)
		w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
		like(t, "void", `{"status":"void"}`, any(at(t, asker).is(200).object()))
		w.do(adminToken, "input:answer", `{"inputId":"`+last+`","answer":"late"}`).refused(409, "CONFLICT",
			"needs no answer")
	})
}

// TestWaitersUnderLoad: many sessions wait for a few items while others push; each item gets one holder, and no session
// is forgotten.
func TestWaitersUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
		const many = 20
		replies := make(chan reply, many)
		for range many {
			token := w.queueSession(project, "q")
			go func() { replies <- w.do(token, "queue:start?wait=25s", `{}`) }()
		}
		for i := range many {
			task := w.task(project)
			go func() {
				w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+task+`"}`,
					wire.HeaderKey, fmt.Sprint("push", i)).is(200)
			}()
		}
		synctest.Wait()
		held, holders := map[string]bool{}, map[string]bool{}
		for range many {
			r := (<-replies).is(200)
			held[r.text("event", "data", "taskId")] = true
			holders[r.text("event", "data", "sessionId")] = true
		}
		if len(held) != many || len(holders) != many {
			t.Errorf("%d items are held by %d sessions", len(held), len(holders))
		}
	})
}
