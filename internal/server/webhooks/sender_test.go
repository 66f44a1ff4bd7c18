package webhooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
	"maestro/internal/testing/race"
)

func bodyOf(r *http.Request) (body []byte, subject, kind string) {
	body, _ = io.ReadAll(r.Body)
	var e struct{ Subject, Type string }
	_ = json.Unmarshal(body, &e)
	return body, e.Subject, events.ShortType(e.Type)
}

// A receiver gets every event after the creation of its webhook, as it is stored, once.
func TestDelivery(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		after := w.head()
		task := w.task()
		for n := range 30 {
			w.change(task, n)
		}
		settle(0)
		w.complete(h, after)
		for i, g := range h.took() {
			stored := w.log.messages[after+uint64(i)]
			if string(g.body) != string(stored.Body) || g.header.Get("Content-Type") != "application/cloudevents+json" {
				t.Errorf("request %d has the body %s", i, g.body)
			}
		}
		if n := len(h.requests()); n != 31 {
			t.Errorf("it got %d requests for 31 events", n)
		}
	})
}

// The filters of a webhook: a project, types and nouns.
func TestFilters(t *testing.T) {
	bubble(t, func(w *world) {
		other := w.do("project:create", `{"name":"Beta"}`).(*events.ProjectCreated).ProjectID
		_, ofProject := w.hook("project", `"projectId":"`+other+`"`)
		_, ofTypes := w.hook("types", `"types":["task.created","project"]`)
		task := w.task()
		w.change(task, 1)
		w.do("task:create", `{"project":"`+other+`","title":"T"}`)
		w.do("project:update", `{"projectId":"`+other+`","name":"B"}`)
		settle(0)
		kinds := func(h *host) (all []string) {
			for _, g := range h.took() {
				all = append(all, g.kind)
			}
			return all
		}
		if got := fmt.Sprint(kinds(ofProject)); got != "[task.created project.updated]" &&
			got != "[project.updated task.created]" {
			t.Errorf("of the project it got %s", got)
		}
		if got := len(kinds(ofTypes)); got != 3 {
			t.Errorf("of the types it got %v", kinds(ofTypes))
		}
	})
}

// A subject that fails holds up its own later events only, which come in order once it is accepted.
func TestFailingSubject(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		after := w.head()
		bad, good := w.task(), w.task()
		settle(0)
		h.answers(func(_ http.ResponseWriter, _ *http.Request, g got) int {
			if g.subject == "task/"+bad {
				return 500
			}
			return 200
		})
		for n := range 20 {
			w.change(bad, n)
			w.change(good, n)
		}
		settle(time.Minute)
		ofBad, ofGood := 0, 0
		for _, g := range h.took() {
			switch g.subject {
			case "task/" + bad:
				ofBad++
			case "task/" + good:
				ofGood++
			}
		}
		if ofBad != 1 || ofGood != 21 {
			t.Errorf("while one subject fails, it accepted %d of its events and %d of another's", ofBad, ofGood)
		}
		first := map[string]bool{}
		for _, g := range h.requests() {
			if g.subject == "task/"+bad && g.kind == "task.updated" {
				first[g.id] = true
			}
		}
		if len(first) != 1 {
			t.Errorf("%d events of the failing subject were tried", len(first))
		}
		h.status(200)
		settle(2 * time.Minute)
		w.complete(h, after)
	})
}

// Failures are tried again with growing pauses, under the same id.
func TestBackOff(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		h.status(503)
		w.task()
		settle(10 * time.Minute)
		tries := h.requests()
		if len(tries) < 8 || len(tries) > 13 {
			t.Fatalf("it was tried %d times in 10 minutes", len(tries))
		}
		for i := 1; i < len(tries); i++ {
			pause, want := tries[i].at.Sub(tries[i-1].at), firstPause<<(i-1)
			if pause > want || pause < want*8/10 {
				t.Errorf("pause %d is %s, want up to %s", i, pause, want)
			}
			if tries[i].id != tries[0].id {
				t.Errorf("try %d has another id", i)
			}
		}
	})
}

// A receiver that says when it wants to be asked again is left alone until then.
func TestRetryAfter(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		h.answers(func(rw http.ResponseWriter, _ *http.Request, _ got) int {
			rw.Header().Set("Retry-After", "120")
			return 429
		})
		w.task()
		settle(0)
		w.task() // another subject waits too
		settle(119 * time.Second)
		if n := len(h.requests()); n != 1 {
			t.Errorf("it was tried %d times within 119 s", n)
		}
		h.status(200)
		settle(2 * time.Second)
		if n := len(h.took()); n != 2 {
			t.Errorf("afterwards it got %d events", n)
		}
	})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "x": 0, "-1": 0, "7": 7 * time.Second, "99999999": retryAfterMost, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
		"Fri, 02 Jan 2099 03:00:00 GMT": retryAfterMost,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("Retry-After %q is %s, want %s", text, got, want)
		}
	}
}

// A receiver that hangs, drips its header, closes its connections or answers something else than HTTP fails; it delays
// neither another webhook nor the writer.
func TestBadReceivers(t *testing.T) {
	for name, test := range map[string]struct {
		raw     func(net io.ReadWriteCloser)
		answer  func(http.ResponseWriter, *http.Request, got) int
		problem string
	}{
		"hangs": {
			answer:  func(_ http.ResponseWriter, r *http.Request, _ got) int { <-r.Context().Done(); return 0 },
			problem: "it did not answer within 20s",
		},
		"reads nothing": {raw: func(c io.ReadWriteCloser) { select {} }, problem: "it did not answer within 20s"},
		"drips its header": {
			raw: func(c io.ReadWriteCloser) {
				_, _ = c.Read(make([]byte, 1)) // an answer before its request is another fault
				go func() { _, _ = io.Copy(io.Discard, c) }()
				for _, octet := range []byte("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 5000)) {
					if _, err := c.Write([]byte{octet}); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			},
			problem: "it did not answer within 20s",
		},
		"closes": {
			raw:     func(c io.ReadWriteCloser) { _ = c.Close() },
			problem: "the connection failed before it answered",
		},
		"speaks another protocol": {
			raw: func(c io.ReadWriteCloser) {
				_, _ = c.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(c, "220 mail.example.org <script>\r\n\r\n")
				_ = c.Close()
			},
			problem: "its answer is not HTTP",
		},
		"sends an endless header": {
			raw: func(c io.ReadWriteCloser) {
				go func() { _, _ = io.Copy(io.Discard, c) }()
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
				for {
					if _, err := io.WriteString(c, "X: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
						return
					}
				}
			},
			problem: "the connection failed before it answered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "reads nothing" {
				test.raw = func(c io.ReadWriteCloser) {} // never read
			}
			bubble(t, func(w *world) {
				id, h := w.hook("bad")
				if h.answer = test.answer; test.raw != nil {
					h.raw = func(c net.Conn) { test.raw(c) }
				}
				_, fine := w.hook("fine")
				after := w.head()
				began := time.Now()
				for range 50 {
					w.task()
				}
				if waited := time.Since(began); waited != 0 {
					t.Errorf("the writer waited %s", waited)
				}
				settle(0)
				w.complete(fine, after)
				settle(35 * time.Second)
				d, _ := w.sender.Delivery(id, w.head())
				if d.Problem != test.problem || d.Accepted != 0 || d.Failures == 0 || d.FailingSince == nil ||
					d.NextTryAt == nil || d.Behind < 50 {
					t.Errorf("it is shown as %+v, want %q", d, test.problem)
				}
				if x := w.webhook(id); x.Parked != nil {
					t.Errorf("it is parked: %+v", x.Parked)
				}
			})
		})
	}
}

// The body of an answer does not matter, however long it takes.
func TestSlowBody(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		h.answers(func(rw http.ResponseWriter, r *http.Request, _ got) int {
			rw.WriteHeader(200)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(rw, "x")
				_ = http.NewResponseController(rw).Flush()
				time.Sleep(100 * time.Millisecond)
			}
			return 0
		})
		task := w.task()
		for n := range 4 {
			w.change(task, n)
		}
		settle(5 * bodyWithin)
		if n := len(h.requests()); n != 5 {
			t.Errorf("it got %d of 5 events in %s", n, 5*bodyWithin)
		}
	})
}

// A receiver that is gone is parked at once, also while others of its events wait.
func TestGone(t *testing.T) {
	bubble(t, func(w *world) {
		id, h := w.hook("a")
		h.status(410)
		w.task()
		settle(0)
		x := w.webhook(id)
		if x.Parked == nil || x.Parked.Why != events.ParkGone || x.Parked.Problem != "it answered 410" {
			t.Fatalf("parked is %+v", x.Parked)
		}
		w.task()
		settle(time.Hour)
		if n := len(h.requests()); n != 1 {
			t.Errorf("a parked webhook was sent %d requests", n)
		}
		if d, _ := w.sender.Delivery(id, w.head()); d.Pending != nil || d.Behind != 3 {
			t.Errorf("it is %d events behind, and %v wait for it", d.Behind, d.Pending)
		}
	})
}

// Requests that end at the same moment park their webhook once: the log is not asked for the same again with other
// counts, which it would refuse.
func TestParkedOnce(t *testing.T) {
	bubble(t, func(w *world) {
		logged := w.logs()
		var ids []string
		for n := range 8 { // whether the second one is seen before the sender stops is chance
			id, h := w.hook(fmt.Sprint("host", n), `"types":["task"]`)
			ids = append(ids, id)
			tries, until := map[string]int{}, time.Now().Add(10*time.Second)
			h.answers(func(_ http.ResponseWriter, _ *http.Request, g got) int {
				h.mu.Lock()
				if _, known := tries[g.subject]; !known {
					tries[g.subject] = len(tries) // so many failures of its own
				}
				tries[g.subject]--
				failures := tries[g.subject]
				h.mu.Unlock()
				if failures >= 0 {
					return 500
				}
				time.Sleep(time.Until(until))
				return 410
			})
		}
		for range 4 {
			w.task()
		}
		settle(2 * time.Minute)
		for _, id := range ids {
			if x := w.webhook(id); x.Parked == nil || x.Parked.Why != events.ParkGone {
				t.Errorf("parked is %+v", x.Parked)
			}
		}
		if strings.Contains(logged.String(), "could not be parked") {
			t.Errorf("it was parked twice: %s", logged.String())
		}
	})
}

// A receiver that stays away is parked after the patience of the server, not before, and misses nothing: resumed, it
// gets everything in order, or with skip only what comes then.
func TestParkAndResume(t *testing.T) {
	for _, skip := range []bool{false, true} {
		t.Run(fmt.Sprint("skip ", skip), func(t *testing.T) {
			bubble(t, func(w *world) {
				id, h := w.hook("a")
				after := w.head()
				task := w.task()
				settle(0)
				h.status(500)
				for n := range 50 {
					w.change(task, n)
					w.task()
				}
				settle(Patience - time.Minute)
				if x := w.webhook(id); x.Parked != nil {
					t.Fatalf("it is parked too early: %+v", x.Parked)
				}
				settle(longestPause + 2*time.Minute)
				x := w.webhook(id)
				if x.Parked == nil || x.Parked.Why != events.ParkFailing || x.Parked.Problem != "it answered 500" {
					t.Fatalf("parked is %+v", x.Parked)
				}
				tried := len(h.requests())
				settle(24 * time.Hour)
				if n := len(h.requests()); n != tried {
					t.Errorf("a parked webhook was sent %d requests", n-tried)
				}
				h.status(200)
				if skip {
					h.mu.Lock()
					h.accepted = nil
					h.mu.Unlock()
					after = w.head() + 1 // not the event that resumes it
				}
				w.do("webhook:resume", fmt.Sprintf(`{"webhookId":%q,"skip":%t}`, id, skip))
				w.change(task, 99)
				settle(time.Second)
				w.complete(h, after)
			})
		})
	}
}

// What waits for a later try is tried at once if somebody asks for it, also if the receiver wants to be left alone.
func TestTryNow(t *testing.T) {
	bubble(t, func(w *world) {
		id, h := w.hook("a")
		after := w.head()
		w.sender.TryNow(id) // nothing waits
		w.sender.TryNow("hook_unknown")
		h.answers(func(rw http.ResponseWriter, _ *http.Request, _ got) int {
			rw.Header().Set("Retry-After", "3600")
			return 503
		})
		for range 3 {
			w.task()
		}
		settle(time.Minute)
		if n := len(h.took()); n != 0 {
			t.Fatalf("it accepted %d events", n)
		}
		h.status(200)
		tried := uint64(len(h.requests()))
		w.sender.TryNow(id)
		settle(0)
		w.complete(h, after)
		if accepted, failed := w.sender.Sent(); accepted != 3 || failed != tried {
			t.Errorf("it counts %d accepted events and %d failures, want 3 and %d", accepted, failed, tried)
		}
	})
}

// While a receiver is away, it gets a few requests, whatever happens; once it is back, nobody waits for the pauses.
func TestAway(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		after := w.head()
		h.status(502)
		for range 400 {
			w.task()
			settle(time.Second)
		}
		if n := len(h.requests()); n > 60 {
			t.Errorf("a receiver that is away got %d requests in 400 s", n)
		}
		h.status(200)
		settle(longestProbe + time.Second)
		w.complete(h, after)
	})
}

// One subject that fails does not make the receiver one that is away.
func TestFailingSubjectIsNotAway(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		bad := w.task()
		settle(0)
		h.answers(func(_ http.ResponseWriter, _ *http.Request, g got) int {
			if g.subject == "task/"+bad {
				return 400
			}
			return 200
		})
		w.change(bad, 1)
		settle(time.Hour)
		before := len(h.took())
		w.task()
		settle(0)
		if n := len(h.took()) - before; n != 1 {
			t.Errorf("an event of another subject has to wait")
		}
	})
}

// A subject that fails for long parks the webhook although others are accepted: its events must not be left out.
func TestPoisonParks(t *testing.T) {
	bubble(t, func(w *world) {
		id, h := w.hook("a")
		bad, good := w.task(), w.task()
		settle(0)
		h.answers(func(_ http.ResponseWriter, _ *http.Request, g got) int {
			if g.subject == "task/"+bad {
				return 400
			}
			return 200
		})
		w.change(bad, 1)
		for n := range 26 {
			w.change(good, n)
			settle(time.Hour)
		}
		if x := w.webhook(id); x.Parked == nil || x.Parked.Why != events.ParkFailing {
			t.Errorf("parked is %+v", x.Parked)
		}
	})
}

// A receiver that moved gets nothing at its old address, and everything at its new one.
func TestMoved(t *testing.T) {
	bubble(t, func(w *world) {
		id, h := w.hook("old")
		after := w.head()
		h.answers(func(rw http.ResponseWriter, _ *http.Request, _ got) int {
			rw.Header().Set("Location", "http://new/")
			return 308
		})
		fresh := newHost()
		w.hosts["new"] = fresh
		w.task()
		settle(time.Minute)
		if n := len(fresh.requests()); n != 0 {
			t.Errorf("a redirect was followed %d times", n)
		}
		d, _ := w.sender.Delivery(id, w.head())
		if d.Problem != "it answered 308, and redirects are not followed" {
			t.Errorf("its problem is %q", d.Problem)
		}
		w.do("webhook:update", `{"webhookId":"`+id+`","url":"http://new/"}`)
		settle(0)
		w.complete(fresh, after)
	})
}

// What comes after a change of a webhook is not for its receiver, which may have another address or secret, also if it
// still runs.
func TestReceiverReadsUpToAChange(t *testing.T) {
	for name, change := range map[string]func(w *world, id string){
		"none":   func(*world, string) {},
		"update": func(w *world, id string) { w.do("webhook:update", `{"webhookId":"`+id+`","newSecret":true}`) },
		"delete": func(w *world, id string) { w.do("webhook:delete", `{"webhookId":"`+id+`"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				id, _ := w.hook("a")
				w.over()
				r := newReceiver(w.sender, w.webhook(id), plainSource{}, position{Next: w.head()})
				change(w, id)
				w.task()
				if _, err := r.fill(t.Context()); err != nil {
					t.Fatal(err)
				}
				if read := r.pending > 0; read != (name == "none") {
					t.Errorf("it has %d events to send", r.pending)
				}
			})
		})
	}
}

// A new secret signs what is sent from then on. A deleted webhook gets nothing more.
func TestSecretAndEnd(t *testing.T) {
	bubble(t, func(w *world) {
		id, h := w.hook("a")
		signed := func(generation int) bool {
			all := h.took()
			g := all[len(all)-1]
			want := sign(plainSource{}.WebhookSecret(id, generation), g.id, g.header.Get("Webhook-Timestamp"), g.body)
			return g.header.Get("Webhook-Signature") == "v1,"+want
		}
		w.task()
		settle(0)
		if !signed(1) {
			t.Error("the first event has another signature")
		}
		w.do("webhook:update", `{"webhookId":"`+id+`","newSecret":true}`)
		w.task()
		settle(0)
		if !signed(2) {
			t.Error("an event after the change has another signature")
		}
		n := len(h.requests())
		w.do("webhook:delete", `{"webhookId":"`+id+`"}`)
		w.task()
		settle(time.Minute)
		if got := len(h.requests()); got != n {
			t.Errorf("a deleted webhook was sent %d events", got-n)
		}
		if _, known := w.sender.Delivery(id, w.head()); known || strings.Contains(string(w.store.content), id) {
			t.Error("a deleted webhook's position is kept")
		}
	})
}

// After a restart a webhook goes on where it was, with what failed before.
func TestRestart(t *testing.T) {
	bubble(t, func(w *world) {
		id, h := w.hook("a")
		after := w.head()
		bad, good := w.task(), w.task()
		settle(0)
		h.answers(func(_ http.ResponseWriter, _ *http.Request, g got) int {
			if g.subject == "task/"+bad {
				return 500
			}
			return 200
		})
		for n := range 10 {
			w.change(bad, n)
			w.change(good, n)
		}
		settle(Patience / 2)
		before := len(h.took())
		w.over()
		settle(7 * 24 * time.Hour) // time without a server does not count
		w.change(good, 99)
		w.start()
		settle(Patience / 4)
		if n := len(h.took()) - before; n != 1 {
			t.Errorf("%d events were accepted after the restart, want the new one", n)
		}
		if x := w.webhook(id); x.Parked != nil {
			t.Fatalf("it is parked: %+v", x.Parked)
		}
		settle(Patience/4 + longestPause)
		if x := w.webhook(id); x.Parked == nil {
			t.Error("the time before the restart does not count")
		}
		h.status(200)
		w.do("webhook:resume", `{"webhookId":"`+id+`"}`)
		w.restart()
		settle(time.Second)
		w.complete(h, after)
	})
}

// A server that is killed saves nothing more: the next one sends again what it does not know of, and leaves nothing
// out.
func TestKill(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		after := w.head()
		h.answers(func(_ http.ResponseWriter, _ *http.Request, g got) int {
			if strings.ContainsAny(g.id[:1], "01234") && len(h.requests()) < 3000 {
				return 500
			}
			return 200
		})
		tasks := []string{w.task(), w.task(), w.task()}
		for round := range 20 {
			for n := range 15 {
				w.change(tasks[n%3], round*100+n)
				settle(time.Duration(n*7) * time.Millisecond)
			}
			content, _ := w.store.Load()
			w.over()
			_ = w.store.Save(content) // what the last save had
			w.start()
		}
		h.status(200)
		settle(time.Hour)
		w.complete(h, after)
	})
}

// A home without positions, such as a restored one, sends nothing: its webhooks are parked until somebody resumes
// them.
func TestUnknownPosition(t *testing.T) {
	bubble(t, func(w *world) {
		id, h := w.hook("a")
		after := w.head()
		parked, away := w.hook("parked")
		away.status(410)
		w.task()
		settle(0)
		w.over()
		before := len(h.requests())
		for _, content := range []string{"", "{", "null"} {
			w.store.content = []byte(content)
			w.start()
			settle(time.Minute)
			if x := w.webhook(id); x.Parked == nil || x.Parked.Why != events.ParkUnknown {
				t.Fatalf("with %q, parked is %+v", content, x.Parked)
			}
			if x := w.webhook(parked); x.Parked.Why != events.ParkGone {
				t.Errorf("one that was parked before is parked for %s", x.Parked.Why)
			}
			w.restart() // it stays so
			settle(time.Minute)
			if n := len(h.requests()); n != before {
				t.Fatalf("with %q, it got %d events", content, n-before)
			}
			w.do("webhook:resume", `{"webhookId":"`+id+`"}`)
			settle(time.Second)
			w.complete(h, after)
			w.over()
			before = len(h.requests())
		}
		w.start()
	})
}

// A webhook that must be parked while the log takes nothing, such as with a full disk, is parked once it takes events
// again, without any other event. Then the positions of the others are saved.
func TestParkedLater(t *testing.T) {
	for _, gone := range []bool{false, true} {
		bubble(t, func(w *world) {
			id, h := w.hook("a")
			settle(time.Minute)
			w.over()
			w.store.content = nil
			w.refuse(events.ErrFull)
			w.start()
			logged := w.logs()
			settle(3 * time.Minute)
			if n := strings.Count(logged.String(), "could not be parked"); n != 1 {
				t.Errorf("it is logged %d times that it could not be parked", n)
			}
			if w.webhook(id).Parked != nil || len(w.store.content) > 0 {
				t.Fatal("it is parked in a log that takes nothing")
			}
			w.refuse(nil)
			if gone {
				w.do("webhook:delete", `{"webhookId":"`+id+`"}`)
			}
			settle(2 * time.Minute)
			if x := w.webhook(id); !gone && (x.Parked == nil || x.Parked.Why != events.ParkUnknown) {
				t.Errorf("parked is %+v", x.Parked)
			}
			if len(w.store.content) == 0 {
				t.Error("positions are not saved")
			}
			if n := len(h.requests()); n != 0 {
				t.Errorf("it got %d events", n)
			}
		})
	}
}

// A save that takes long does not replace a newer one.
func TestSlowSave(t *testing.T) {
	bubble(t, func(w *world) {
		id, _ := w.hook("a")
		settle(2 * time.Second)
		w.store.mu.Lock()
		w.store.slow = 10 * time.Second
		w.store.mu.Unlock()
		w.task()
		settle(5 * time.Second) // the save of this event hangs
		w.task()
		w.hook("b") // a new receiver is saved at once
		settle(30 * time.Second)
		var last uint64
		for _, content := range w.store.before {
			positions, _, err := load(&memoryStore{content: content})
			if err != nil || positions[id].upTo() < last {
				t.Errorf("event %d was saved after event %d, %v", positions[id].upTo(), last, err)
			}
			last = positions[id].upTo()
		}
		if last != w.head() {
			t.Errorf("the last saved position is %d, and the log is at %d", last, w.head())
		}
	})
}

// A log that lost its end gives its sequences to other events: those are sent.
func TestLostEnd(t *testing.T) {
	p := position{Next: 20, Pending: []uint64{3, 7, 15}, Failing: []failing{{Sequence: 3}, {Sequence: 15}}}
	got, _ := json.Marshal(p.after(5, 10))
	if want := `{"next":10,"started":0,"pending":[7]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if up := p.upTo(); up != 2 {
		t.Errorf("it has everything up to %d", up)
	}
	if up := p.after(0, 2).upTo(); up != 2 {
		t.Errorf("then it has everything up to %d", up)
	}
}

// A store that fails loses positions, not events, and is logged once.
func TestStoreFails(t *testing.T) {
	bubble(t, func(w *world) {
		_, h := w.hook("a")
		after := w.head()
		settle(2 * time.Second)
		w.store.mu.Lock()
		w.store.fails = errors.New("no space left")
		w.store.mu.Unlock()
		w.task()
		settle(10 * time.Second)
		w.store.mu.Lock()
		w.store.fails = nil
		w.store.mu.Unlock()
		settle(2 * time.Second)
		w.restart()
		settle(time.Second)
		w.complete(h, after)
		if n := len(h.requests()); n != 1 {
			t.Errorf("it got %d requests for one event", n)
		}
	})
}

// Many events, of which some wait for long: memory is bounded, whatever the log holds.
func TestManyEvents(t *testing.T) {
	race.Without(t)
	bubble(t, func(w *world) {
		id, h := w.hook("a")
		after := w.head()
		bad := w.task()
		settle(0)
		h.answers(func(_ http.ResponseWriter, _ *http.Request, g got) int {
			if g.subject == "task/"+bad {
				return 500
			}
			return 200
		})
		w.over() // so that they come all at once
		tasks := make([]string, 100)
		for i := range tasks {
			tasks[i] = w.task()
		}
		const events = 50_000
		long := strings.Repeat("x", 2000)
		for n := range events {
			if n%10 == 0 {
				w.do("task:update", fmt.Sprintf(`{"taskId":%q,"description":%q}`, bad, fmt.Sprint(n)+long))
			} else {
				w.change(tasks[n%len(tasks)], n)
			}
		}
		h.mu.Lock()
		h.got = nil
		h.mu.Unlock()
		w.start()
		most, kept := 0, 0
		look := func() {
			for _, r := range w.sender.running() {
				r.mu.Lock()
				most, kept = max(most, r.pending), max(kept, r.kept)
				r.mu.Unlock()
			}
		}
		synctest.Wait()
		look()
		d, _ := w.sender.Delivery(id, w.head())
		if d.Accepted < events*9/10 || most > pendingMost+readAtOnce || kept > keptBytes {
			t.Errorf("%d were accepted; %d are pending with %d bytes", d.Accepted, most, kept)
		}
		h.status(200)
		settle(longestPause)
		look()
		if most > pendingMost+readAtOnce || kept > keptBytes {
			t.Errorf("%d are pending with %d bytes", most, kept)
		}
		w.complete(h, after)
	})
}
