package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/service/wire"
)

// countingLog counts the messages that are read.
type countingLog struct {
	*memoryLog
	read int
}

func (l *countingLog) Read(ctx context.Context, from, to uint64, yield func(events.Message) error) error {
	return l.memoryLog.Read(ctx, from, to, func(m events.Message) error {
		l.read++
		return yield(m)
	})
}

func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &countingLog{}
		w := openInside(t, func(c *setup) { log.memoryLog = c.Log.(*memoryLog); c.Log = log })
		since := func(token string, query ...string) reply {
			t.Helper()
			values := url.Values{}
			for i := 0; i < len(query); i += 2 {
				values.Set(query[i], query[i+1])
			}
			return w.send(http.MethodGet, "/api/since?"+values.Encode(), token, "").is(200)
		}
		number := func(r reply, key string) int { t.Helper(); return int(r.at(key).(float64)) }
		expect := func(name string, r reply, from, to uint64, count, inbox, fresh, refused int) {
			t.Helper()
			if number(r, "from") != int(from) || number(r, "to") != int(to) || number(r, "events") != count ||
				len(r.at("inbox").([]any)) != inbox || number(r, "new") != fresh || number(r, "refused") != refused {
				t.Errorf("%s: expected %d to %d, %d events, %d in the inbox, %d of them new, %d refused: %s", name,
					from, to, count, inbox, fresh, refused, r.body)
			}
			if r.header.Get(wire.HeaderSequence) != fmt.Sprint(to) {
				t.Errorf("%s: Maestro-Sequence is %s", name, r.header.Get(wire.HeaderSequence))
			}
		}
		expect("an empty log", since(adminToken), 0, 0, 0, 0, 0, 0)

		project, other := w.project(), w.project()
		task, second, foreign := w.task(project), w.task(project), w.task(other)
		_, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		id, token := w.session(orchestrator, project, task, ``)
		_, stranger := w.session(adminToken, other, foreign, `,"role":"orchestrator"`)
		w.ask(token, "Before?", ``)
		w.send(http.MethodGet, "/api/sessions", token, "").is(403)
		before := w.log.head()

		time.Sleep(time.Hour)
		noon := time.Now()
		w.do(token, "report:blocked", `{"message":"no key","taskIds":["`+task+`"]}`).is(200)
		time.Sleep(time.Minute)
		w.do(orchestrator, "task:complete", `{"taskId":"`+second+`"}`).is(200)
		w.ask(stranger, "After?", ``)
		ops := w.token("ops", "admin")
		w.send(http.MethodGet, "/api/sessions", token, "").is(403)
		w.send(http.MethodGet, "/api/tasks/"+task, stranger, "").is(403)
		head := w.log.head()

		for _, from := range []string{
			fmt.Sprint(before), noon.Format(time.RFC3339Nano),
			noon.Add(-time.Minute).Format(time.RFC3339), noon.In(time.FixedZone("", 3600)).Format(time.RFC3339),
		} {
			r := since(adminToken, "from", from)
			expect("since "+from, r, before, head, 4, 3, 2, 2)
			// What needs a person comes first, then the changes, newest first.
			if kinds := fmt.Sprint(r.at("inbox").([]any)[0].(map[string]any)["message"],
				r.at("inbox").([]any)[1].(map[string]any)["message"]); kinds != "Before?no key" {
				t.Errorf("the inbox: %s", r.body)
			}
			like(t, "tasks",
				`[{"id":"`+second+`","name":"T","was":"todo","is":"completed","events":1,"last":"TEXT",
			   "sequence":"NUMBER","at":"NUMBER"},
			  {"id":"`+task+`","name":"T","is":"in_progress","says":"blocked","events":1,"last":"TEXT"}]`,
				r.at("tasks"))
			like(t, "sessions",
				`[{"is":"running"},{"is":"running","events":1},{"id":"`+id+`","is":"running","events":1}]`,
				r.at("sessions"))
		}
		expect("from the beginning", since(adminToken), 0, head, int(head), 3, 3, 3)
		expect("from 0", since(adminToken, "from", "0"), 0, head, int(head), 3, 3, 3)
		expect("of one project", since(adminToken, "from", fmt.Sprint(before), "projectId", project), before, head, 2,
			2, 1, 1)
		expect("of the other", since(adminToken, "from", fmt.Sprint(before), "projectId", other), before, head, 1, 1, 1,
			1)
		expect("to the second admin", since(ops, "from", fmt.Sprint(before)), before, head, 4, 3, 2, 2)
		// An orchestrator sees the changes of its project, and the inbox items that concern its sessions.
		expect("to an orchestrator", since(orchestrator, "from", fmt.Sprint(before)), before, head, 2, 2, 1, 1)
		expect("to the other", since(stranger, "from", fmt.Sprint(before)), before, head, 1, 0, 0, 1)
		w.send(http.MethodGet, "/api/since?projectId="+other, orchestrator, "").refused(403, "NOT_ALLOWED",
			"may not touch project")
		w.send(http.MethodGet, "/api/since?projectId="+other, w.token("reader", "read-only", project), "").refused(403,
			"NOT_ALLOWED", "reader")
		w.send(http.MethodGet, "/api/since", token, "").refused(403, "NOT_ALLOWED", "since")

		// Nothing happened since then except a refusal.
		time.Sleep(time.Minute)
		head = w.log.head()
		later := time.Now()
		for _, from := range []string{fmt.Sprint(head), "99999", later.Format(time.RFC3339Nano)} {
			expect("nothing since "+from, since(adminToken, "from", from), head, head, 0, 3, 0, 0)
		}
		w.send(http.MethodGet, "/api/inbox", token, "").is(403)
		w.do(token, "report:progress", `{"message":"m","taskIds":["`+foreign+`"]}`, wire.HeaderOccurredAt,
			later.Format(time.RFC3339)).is(403)
		for _, from := range []string{fmt.Sprint(head), later.Format(time.RFC3339Nano)} {
			expect("refusals since "+from, since(adminToken, "from", from), head, head, 0, 4, 1, 2)
		}
		for _, from := range []string{"x", "-1", "yesterday", "2026-02-30", "1.5"} {
			w.send(http.MethodGet, "/api/since?from="+from, adminToken, "").refused(400, "VALIDATION_ERROR",
				"from must be")
		}

		// The sequence of a time is found by binary search: each step reads one message.
		for range 1000 {
			time.Sleep(time.Second)
			w.do(adminToken, "session:note", `{"sessionId":"`+id+`","message":"m"}`).is(200)
		}
		head = w.log.head()
		log.read = 0
		expect("the last ten",
			since(adminToken, "from", time.Now().Add(-9500*time.Millisecond).Format(time.RFC3339Nano)), head-10, head,
			10, 4, 0, 0)
		if log.read > 10+11 {
			t.Errorf("the last ten of %d events took %d reads of messages", head, log.read)
		}
	})
}

// TestSinceCountsWhatItLeavesOut: an item that stands for several counts as several new things, and the lists are
// bounded.
func TestSinceCountsWhatItLeavesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		const all, early, late = wire.SinceListed + 5, 60, 50
		var tasks []string
		for range all {
			tasks = append(tasks, w.task(project))
		}
		_, token := w.session(adminToken, project, tasks[0], `,"role":"orchestrator"`)
		blocked := func(ids []string) {
			list, err := json.Marshal(ids)
			if err != nil {
				t.Fatal(err)
			}
			w.do(token, "report:blocked", `{"message":"m","taskIds":`+string(list)+`}`).is(200)
		}
		blocked(tasks[:early])
		time.Sleep(time.Hour)
		before := w.log.head()
		blocked(tasks[early : early+late])
		since := func(from uint64) (body wire.Since) {
			t.Helper()
			r := w.send(http.MethodGet, fmt.Sprint("/api/since?from=", from), adminToken, "").is(200)
			if err := json.Unmarshal(r.body, &body); err != nil {
				t.Fatal(err)
			}
			return body
		}
		if body := since(before); body.New != late {
			t.Errorf("%d are new, want %d", body.New, late)
		}
		body := since(0)
		if body.New != early+late {
			t.Errorf("%d are new from the beginning, want %d", body.New, early+late)
		}
		if len(body.Tasks) != wire.SinceListed || body.TasksMore != all-wire.SinceListed {
			t.Errorf("%d tasks are listed and %d counted, of %d", len(body.Tasks), body.TasksMore, all)
		}
		if body.SessionsMore != 0 || body.QueuesMore != 0 || body.InboxMore != 0 {
			t.Errorf("listed sessions are counted as left out: %+v", body)
		}
	})
}

// TestSinceTruncatesLongInbox: the omitted items are counted, and the new ones among them.
func TestSinceTruncatesLongInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		const all = wire.SinceListed + 5
		for i := range all {
			id := fmt.Sprint("s", i)
			w.do(adminToken, "session:register", `{"project":"`+project+`","sessionId":"`+id+`"}`).is(200)
			lose := &commands.LoseSession{SessionID: id, SilentFor: 60_000, Lease: 60_000}
			request := engine.Request{By: commands.System(), Command: lose, Key: id}
			if _, err := w.handler.Do(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		var body wire.Since
		r := w.send(http.MethodGet, "/api/since", adminToken, "").is(200)
		if err := json.Unmarshal(r.body, &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Inbox) != wire.SinceListed || body.InboxMore != 5 || body.New != all ||
			body.Things != all {
			t.Errorf("%d items are listed, %d others of %d, %d new", len(body.Inbox), body.InboxMore, body.Things,
				body.New)
		}
		if len(body.Sessions) != wire.SinceListed || body.SessionsMore != 5 {
			t.Errorf("%d sessions are listed, %d left out", len(body.Sessions), body.SessionsMore)
		}
	})
}

// An item that stands for several counts as several.
func TestSinceCountsThingsNotItems(t *testing.T) {
	w := openManifests(t, nil)
	project := w.project()
	id, token := w.session(adminToken, project, w.task(project), ``)
	before := time.Now().Format(time.RFC3339Nano)
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
	const late = 9
	for range late {
		w.do(token, "report:progress", `{"message":"late"}`, wire.HeaderOccurredAt, before).is(200)
	}
	var body wire.Since
	r := w.send(http.MethodGet, "/api/since", adminToken, "").is(200)
	if err := json.Unmarshal(r.body, &body); err != nil {
		t.Fatal(err)
	}
	others := 0
	for i := range body.Inbox {
		if body.Inbox[i].Kind != "late" {
			others++
		}
	}
	if body.Things != late+others || len(body.Inbox) >= body.Things {
		t.Errorf("%d items, %d things: %s", len(body.Inbox), body.Things, r.body)
	}
}
