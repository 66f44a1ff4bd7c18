package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
)

// troubled creates a project with an inbox item of each kind, a minute apart, and returns it with the orchestrator of
// the sessions concerned.
func (w *world) troubled() (project, orchestrator string) {
	w.Helper()
	project = w.project()
	pass := func() { time.Sleep(time.Minute) }
	task := func(title string) string {
		return w.do(adminToken, "task:create", `{"project":"`+project+`","title":"`+title+`"}`).is(200).text("event",
			"data", "taskId")
	}
	_, orchestrator = w.session(adminToken, project, task("all"), `,"role":"orchestrator"`)
	asked, blocked, failed, done := task("asked"), task("blocked"), task("failed"), task("done")
	poison, missing, gone, left := task("poison"), task("missing"), task("gone"), task("left")
	_, worker := w.session(orchestrator, project, asked, ``)
	_, others := w.session(adminToken, project, blocked, ``)

	pass()
	w.ask(worker, "Which port?", `,"taskIds":["`+asked+`"],"options":["80","443"]`)
	pass()
	w.do(others, "report:blocked", `{"message":"no key","taskIds":["`+blocked+`"]}`).is(200)
	pass()
	_, breaker := w.session(orchestrator, project, failed, ``)
	w.do(breaker, "report:error", `{"message":"it burns","taskIds":["`+failed+`"]}`).is(200)
	pass()
	_, finisher := w.session(orchestrator, project, done, ``)
	w.do(finisher, "report:complete", `{"message":"all of it","taskIds":["`+done+`"]}`).is(200)
	pass()
	w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q","maxAttempts":1}`).is(200)
	w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+poison+`"}`).is(200)
	spawned := w.do(orchestrator, "session:spawn", `{"project":"`+project+`","strategy":"queue","queue":"q"}`).is(200)
	w.do(spawned.text("token"), "queue:start", `{}`).is(200)
	w.do(adminToken, "session:kill", `{"sessionId":"`+spawned.text("event", "data", "sessionId")+`"}`).is(200)
	w.system(&commands.QuarantineItem{ProjectRef: commands.ProjectRef{Project: project}, Queue: "q", TaskID: poison})
	pass()
	waits := w.do(adminToken, "task:create",
		`{"project":"`+project+`","title":"stuck","dependencies":["`+missing+`"]}`).is(200).text("event", "data",
		"taskId")
	w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+waits+`"}`).is(200)
	w.do(adminToken, "task:delete", `{"taskId":"`+missing+`","force":true}`).is(200)
	pass()
	ended, _ := w.session(orchestrator, project, gone, `,"strategy":"queue"`)
	w.do(adminToken, "session:kill", `{"sessionId":"`+ended+`"}`).is(200)
	pass()
	lost, silent := w.session(orchestrator, project, left, ``)
	w.do(silent, "session:register", `{}`).is(200)
	w.system(&commands.LoseSession{SessionID: lost, SilentFor: 60_000, Lease: 60_000})
	pass()
	over, late := w.session(orchestrator, project, left, ``)
	w.do(adminToken, "session:kill", `{"sessionId":"`+over+`"}`).is(200)
	w.do(late, "report:progress", `{"message":"I had more","taskIds":["`+left+`"]}`, wire.HeaderOccurredAt,
		time.Now().Format(time.RFC3339Nano)).is(200)
	pass()
	w.do(late, "report:error", `{"message":"kept","taskIds":["`+gone+`"]}`, wire.HeaderOccurredAt,
		"2026-02-03T04:05:06Z").is(403)
	return project, orchestrator
}

// system executes a command of the system actor.
func (w *world) system(command commands.Command) {
	w.Helper()
	if _, err := w.handler.Do(w.Context(), engine.Request{
		By:      commands.System(),
		Command: command,
		Key:     command.ID(),
	}); err != nil {
		w.Fatal(err)
	}
}

func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		other := w.project()
		project, orchestrator := w.troubled()
		show := func(token, query string) (kinds []string, items []map[string]any) {
			t.Helper()
			for _, item := range w.send(http.MethodGet, "/api/inbox"+query, token, "").is(200).array() {
				object := item.(map[string]any)
				kinds, items = append(kinds, object["kind"].(string)), append(items, object)
			}
			return kinds, items
		}
		all := []string{
			"question", "blocked", "failed", "unconfirmed", "quarantined", "stuck", "stranded", "lost",
			"late", "refused",
		}
		kinds, items := show(adminToken, "")
		if !slices.Equal(kinds, all) {
			t.Fatalf("the inbox, longest wait first, is %v", kinds)
		}
		for i, item := range items {
			for _, key := range []string{"what", "message"} {
				if text, _ := item[key].(string); text == "" {
					t.Errorf("%s has no %s: %v", kinds[i], key, item)
				}
			}
			if next, _ := item["next"].([]any); len(next) == 0 {
				t.Errorf("%s has no next step: %v", kinds[i], item)
			}
			if item["projectId"] != project ||
				item["waited"] != float64(time.Now().UnixMilli())-item["since"].(float64) {
				t.Errorf("%s: %v", kinds[i], item)
			}
			if i > 0 && item["since"].(float64)-items[i-1]["since"].(float64) < 0 {
				t.Errorf("%s has waited longer than %s", kinds[i], kinds[i-1])
			}
		}
		like(t, "a question",
			`{"kind":"question","message":"Which port?","options":["80","443"],"inputId":"ID","taskId":"ID",`+
				`"sessionId":"ID","waited":540000}`, any(items[0]))
		like(t, "blocked", `{"kind":"blocked","message":"no key","what":"blocked","waited":480000}`, any(items[1]))
		like(t, "quarantined", `{"kind":"quarantined","what":"poison","queue":"q"}`, any(items[4]))
		if !strings.Contains(items[9]["message"].(string), "report:error was kept and then refused: ") {
			t.Errorf("refused: %v", items[9])
		}
		time.Sleep(time.Hour)
		_, later := show(adminToken, "")
		for i, item := range later {
			if item["waited"].(float64)-items[i]["waited"].(float64) != 3_600_000 {
				t.Errorf("%s waited %v, and an hour later %v", kinds[i], items[i]["waited"], item["waited"])
			}
		}
		for _, kind := range all {
			if got, _ := show(adminToken, "?kind="+kind); !slices.Equal(got, []string{kind}) {
				t.Errorf("the items of kind %s are %v", kind, got)
			}
		}
		if got, _ := show(adminToken, "?projectId="+project); len(got) != len(all) {
			t.Errorf("the project's items are %v", got)
		}
		if got, _ := show(adminToken, "?projectId="+other); len(got) != 0 {
			t.Errorf("the other project's items are %v", got)
		}
		// An orchestrator sees what concerns the sessions that it spawned: another's is blocked, and a named queue is
		// nobody's.
		if got,
			_ := show(orchestrator, ""); !slices.Equal(got,
			slices.DeleteFunc(slices.Clone(all),
				func(kind string) bool { return kind == "blocked" || kind == "stuck" })) {
			t.Errorf("an orchestrator's inbox is %v", got)
		}
		_, second := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
		if got, _ := show(second, ""); len(got) != 0 {
			t.Errorf("another orchestrator's inbox is %v", got)
		}
		if got, _ := show(w.token("reader", "read-only", project), ""); len(got) != len(all) {
			t.Errorf("a reader's inbox is %v", got)
		}
		if got, _ := show(w.token("stranger", "read-only", other), ""); len(got) != 0 {
			t.Errorf("another project's reader's inbox is %v", got)
		}
		// Items that were dealt with disappear.
		w.do(adminToken, "input:answer", `{"inputId":"`+items[0]["inputId"].(string)+`","answer":"80"}`).is(200)
		w.do(adminToken, "task:complete", `{"taskId":"`+items[3]["taskId"].(string)+`"}`).is(200)
		w.do(adminToken, "queue:requeue", `{"taskId":"`+items[4]["taskId"].(string)+`"}`).is(200)
		if got, _ := show(adminToken, ""); slices.Contains(got, "question") || slices.Contains(got, "unconfirmed") ||
			slices.Contains(got, "quarantined") {
			t.Errorf("completed items are still listed: %v", got)
		}
	})
}

// A session that has ended cannot fill the inbox: the inbox lists its newest reports and counts the others, and lists
// all of them if the session is named. Each appears once, on pages of any length.
func TestLateReportsInTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const told = projections.InboxLateListed + 4
		w := openInside(t, nil)
		project := w.project()
		id, token := w.session(adminToken, project, w.task(project), ``)
		other, _ := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
		w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
		for range told {
			w.do(token, "report:progress", `{"message":"`+strings.Repeat("m", 20_000)+`"}`, wire.HeaderOccurredAt,
				time.Now().Format(time.RFC3339Nano)).is(200)
		}
		walk := func(query string) (entries []string, more float64) {
			t.Helper()
			for next := ""; ; {
				r := w.send(http.MethodGet, "/api/inbox?limit=1"+query+next, adminToken, "").is(200)
				for _, item := range r.array() {
					object := item.(map[string]any)
					if n, ok := object["more"].(float64); ok {
						more += n
						continue
					}
					entries = append(entries, object["entryId"].(string))
				}
				if r.header.Get(wire.HeaderNext) == "" || len(entries) > told {
					return entries, more
				}
				next = "&cursor=" + r.header.Get(wire.HeaderNext)
			}
		}
		if entries, more := walk("&kind=late"); len(entries) != projections.InboxLateListed || more != 4 {
			t.Errorf("listed are %v, and %v more", entries, more)
		}
		all, more := walk("&kind=late&sessionId=" + id)
		if len(all) != told || more != 0 || len(slices.Compact(slices.Clone(all))) != told {
			t.Errorf("all are %v, and %v more", all, more)
		}
		whole := w.send(http.MethodGet, "/api/inbox", adminToken, "").body
		if len(whole) > 2*projections.InboxLateListed*projections.InboxText {
			t.Errorf("the inbox has %d bytes", len(whole))
		}
		for query, want := range map[string]float64{
			"?kind=late": told, "?kind=lost": 0, "?except=" + project: 0, "?kind=late&except=" + w.project(): told,
		} {
			if n := w.send(http.MethodGet, "/api/inbox/count"+query, adminToken, "").is(200).at("things"); n != want {
				t.Errorf("%q counts %v things, want %v", query, n, want)
			}
		}
		w.send(http.MethodGet, "/api/inbox/count?kind=blockd", adminToken, "").is(400)
		elsewhere := "&projectId=" + w.project()
		for _, query := range []string{"&sessionId=" + other, elsewhere + "&sessionId=" + id} {
			if entries, _ := walk(query); len(entries) > 0 {
				t.Errorf("%s finds %v", query, entries)
			}
		}
		_, orchestrator := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
		if r := w.send(http.MethodGet, "/api/inbox?sessionId="+id, orchestrator, "").is(200); len(r.array()) > 0 {
			t.Errorf("an orchestrator that did not spawn it sees %s", r.body)
		}
	})
}

// TestRefusedOfOneSessionAreAllListed: the inbox limits the refused commands of one session, and lists all of them if
// the session is named.
func TestRefusedOfOneSessionAreAllListed(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	id, token := w.session(adminToken, project, w.task(project), "")
	said := time.Now().UTC().Format(time.RFC3339Nano)
	for i := range 30 {
		w.do(token, "report:progress", fmt.Sprintf(`{"message":"m%d","taskIds":["none%d"]}`, i, i),
			wire.HeaderOccurredAt, said).is(404)
	}
	count := func(query string) int {
		return strings.Count(
			string(w.send(http.MethodGet, "/api/inbox?kind=refused"+query, adminToken, "").body),
			`"kind":"refused"`,
		)
	}
	if few, all := count(""), count("&sessionId="+id); few != 21 || all != 30 {
		t.Errorf("%d of 30 without the session, %d with it; want 20 and one that counts the others, and 30", few, all)
	}
}
