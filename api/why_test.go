package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
	"maestro/projections"
)

// told is an answer of why.
type told struct{ Chains []chain }

type chain struct {
	What  string
	Steps []struct {
		Sequence         uint64
		ID, Source, Type string
		Time             int64
		What             string
	}
	Root string
}

func (w *world) why(token, id string) told {
	w.Helper()
	var answer told
	if err := json.Unmarshal(w.send(http.MethodGet, "/api/why/"+id, token, "").is(200).body, &answer); err != nil {
		w.Fatal(err)
	}
	return answer
}

// types returns the short names of a chain's events, newest first.
func (a told) types(chain int) []string {
	var types []string
	for _, step := range a.Chains[chain].Steps {
		types = append(types, strings.TrimSuffix(strings.TrimPrefix(step.Type, "maestro."), ".v1"))
	}
	return types
}

// TestWhyATaskIsStartedAgain follows a task from a queue, whose first holder was lost, back to the person who started
// it all.
func TestWhyATaskIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, withLeases(t, 6*time.Second))
		project := w.project()
		task, second := w.task(project), w.task(project)
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
		_, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
		first, holder := w.session(orchestrator, project, second, `,"strategy":"queue","queue":"q"`)
		w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+task+`"}`).is(200)
		w.do(holder, "queue:start", `{}`).is(200)
		w.do(holder, "queue:complete", `{}`).is(200)
		w.do(holder, "queue:start", `{}`).is(200)
		w.send(http.MethodPost, "/api/sessions/"+first+"/heartbeat", holder, "").is(204)
		stop := w.keepLeases()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stop()
		next := w.queueSession(project, "q")
		w.do(next, "queue:start", `{}`).is(200)

		down := []string{
			"queue.item_started", "queue.item_returned", "session.lost", "session.spawned",
			"session.spawned",
		}
		for id, what := range map[string]string{
			task: "task " + task + " is processing in queue q", "q/" + task: "task " + task +
				" is processing in queue q", "q%2F" + task: "is processing",
			fmt.Sprint(w.log.head()): fmt.Sprintf("event %d", w.log.head()), w.last().ID.String(): "event " +
				w.last().ID.String(),
		} {
			answer := w.why(adminToken, id)
			at := slices.IndexFunc(answer.Chains, func(c chain) bool { return strings.Contains(c.What, what) })
			if at < 0 {
				t.Fatalf("why %s: %+v", id, answer)
			}
			if !slices.Equal(answer.types(at), down) || answer.Chains[at].Root != "user admin" {
				t.Errorf("why %s: %v, back to %s", id, answer.types(at), answer.Chains[at].Root)
			}
			for i, step := range answer.Chains[at].Steps {
				if step.What == "" || step.ID == "" || step.Source == "" || step.Time == 0 || i > 0 &&
					step.Sequence >= answer.Chains[at].Steps[i-1].Sequence {
					t.Errorf("step %d: %+v", i, step)
				}
			}
		}
		lost := w.why(adminToken, first)
		if len(lost.Chains) != 1 || lost.Chains[0].What != "session "+first+" is lost" ||
			lost.types(0)[0] != "session.lost" {
			t.Errorf("why %s: %+v", first, lost)
		}
		done := w.why(orchestrator, second)
		if len(done.Chains) != 3 || done.types(1)[0] != "queue.item_completed" ||
			done.types(2)[0] != "queue.item_completed" ||
			!strings.Contains(done.Chains[1].What, "is reported as completed by "+first) {
			t.Errorf("why %s: %+v", second, done)
		}
		w.everyEventHasItsCause()
	})
}

// everyEventHasItsCause walks the log: every event of a session or of the system leads back, step by step, to a person,
// and why shows the same chain.
func (w *world) everyEventHasItsCause() {
	w.Helper()
	at := map[string]uint64{}
	for sequence := uint64(1); sequence <= w.log.head(); sequence++ {
		at[w.event(sequence).ID.String()] = sequence
	}
	for sequence := uint64(1); sequence <= w.log.head(); sequence++ {
		event := w.event(sequence)
		_, _, bySession := projections.SessionOfSource(event.Source)
		if (bySession || event.Source == "/system") && event.CausationID == "" {
			w.Errorf("event %d, %s by %s, has no cause", sequence, event.Data.EventType(), event.Source)
			continue
		}
		var back []uint64
		for next := event; ; {
			back = append(back, at[next.ID.String()])
			if next.CausationID == "" {
				if !strings.HasPrefix(next.Source, "/users/") {
					w.Errorf("event %d goes back to %s by %s, not to a person", sequence, next.Data.EventType(),
						next.Source)
				}
				if len(back) > 1 && event.CorrelationID != next.ID.String() {
					w.Errorf("event %d goes back to %s, its correlation is %s", sequence, next.ID, event.CorrelationID)
				}
				break
			}
			before, ok := at[next.CausationID]
			if !ok || before >= at[next.ID.String()] {
				w.Errorf("event %d: its cause %s is no earlier event", sequence, next.CausationID)
				break
			}
			next = w.event(before)
		}
		answer := w.why(adminToken, fmt.Sprint(sequence))
		var steps []uint64
		for _, step := range answer.Chains[0].Steps {
			steps = append(steps, step.Sequence)
		}
		if len(answer.Chains) != 1 || !slices.Equal(steps, back) || !strings.HasPrefix(answer.Chains[0].Root, "user ") {
			w.Errorf("why %d: %v down to %s, but by the log %v", sequence, steps, answer.Chains[0].Root, back)
		}
	}
}

// TestEveryEventOfALongStoryHasItsCause: all kinds of trouble, and how people and sessions react to it.
func TestEveryEventOfALongStoryHasItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, withLeases(t, 6*time.Second))
		defer w.keepLeases()()
		project, orchestrator := w.troubled()
		for _, item := range w.send(http.MethodGet, "/api/inbox", orchestrator, "").is(200).array() {
			object := item.(map[string]any)
			switch object["kind"] {
			case "question":
				w.do(orchestrator, "input:answer", `{"inputId":"`+object["inputId"].(string)+`","answer":"80"}`).is(200)
			case "unconfirmed", "failed":
				if task, ok := object["taskId"].(string); ok {
					w.do(orchestrator, "task:complete", `{"taskId":"`+task+`"}`).is(200)
				}
			}
		}
		created := w.do(orchestrator, "project:create", `{"name":"its own"}`).is(200).text("event", "data", "projectId")
		task := w.do(orchestrator, "task:create", `{"project":"`+created+`","title":"T"}`).is(200).text("event", "data",
			"taskId")
		timed := w.do(orchestrator, "session:spawn",
			`{"project":"`+created+`","taskIds":["`+task+`"],"timeout":1000}`).is(200).text("event", "data",
			"sessionId")
		ops := w.token("ops", "admin")
		w.do(ops, "task:update", `{"taskId":"`+task+`","title":"T2"}`).is(200)
		time.Sleep(time.Minute)
		synctest.Wait()
		w.everyEventHasItsCause()
		if n := w.count("maestro.session.timed_out.v1"); n != 1 {
			t.Errorf("%d sessions ran out of time", n)
		}
		if answer := w.why(adminToken, timed); answer.types(0)[0] != "session.timed_out" ||
			answer.Chains[0].What != "session "+timed+" is failed: its time limit of 1 second was reached" {
			t.Errorf("why %s: %+v", timed, answer)
		}
		if verdict := judge(t, w.export(""), nil); len(verdict.Faults) > 0 {
			t.Errorf("the audit: %+v", verdict.Faults)
		}

		// A chain ends where it leaves the projects that its reader may see; a chain that begins there is refused.
		reader := w.token("reader", "read-only", created)
		answer := w.why(reader, task)
		last := answer.Chains[0]
		if last.Root != "something in another project" || len(last.Steps) == 0 ||
			!strings.Contains(last.Steps[0].Source, project) {
			t.Errorf("why %s, to a reader of its project alone: %+v", task, answer)
		}
		for _, step := range last.Steps {
			if e := w.event(step.Sequence); e.Project != created {
				t.Errorf("a reader of %s is shown event %d of %s", created, step.Sequence, e.Project)
			}
		}
	})
}

func TestWhyHidesOtherProjects(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task, foreign := w.task(project), w.task(other)
	_, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	_, worker := w.session(adminToken, project, task, ``)
	theirs, stranger := w.session(adminToken, other, foreign, `,"strategy":"queue"`)
	question := w.ask(stranger, "Which?", ``)
	asked := w.log.head()
	reader := w.token("reader", "read-only", project)
	made := w.log.head()
	event := w.event(asked).ID.String()
	for _, id := range []string{foreign, theirs, question, fmt.Sprint(asked), event, theirs + "/" + foreign} {
		for _, token := range []string{orchestrator, reader} {
			if r := w.send(http.MethodGet, "/api/why/"+id, token, "").refused(403, "NOT_ALLOWED",
				""); r.text("rule") != "why" || strings.Contains(string(r.body), "Which?") {
				t.Errorf("why %s: %s", id, r.body)
			}
		}
		w.send(http.MethodGet, "/api/why/"+id, adminToken, "").is(200)
	}
	// Only callers that read everything see what belongs to no project.
	for _, token := range []string{orchestrator, reader} {
		w.send(http.MethodGet, fmt.Sprint("/api/why/", made), token, "").refused(403, "NOT_ALLOWED",
			"belongs to no project")
	}
	w.send(http.MethodGet, fmt.Sprint("/api/why/", made), w.token("eye", "auditor"), "").is(200)
	w.send(http.MethodGet, "/api/why/"+task, worker, "").refused(403, "NOT_ALLOWED", "why")
	for _, id := range []string{
		"none", "0", "99999", "5e0f8b1e-0000-0000-0000-000000000000", "q/" + task, "none/none",
		"a/b/c",
	} {
		w.send(http.MethodGet, "/api/why/"+id, adminToken, "").refused(404, "NOT_FOUND", "There is nothing with the id")
	}
	if d := w.denied("?command=why"); len(d) == 0 || d[0].Rule != "why" {
		t.Errorf("recorded refusals of why: %+v", d)
	}
}

// TestWhyOfUntouchedThings: a new task, a new session, a question, and a session that reported completion.
func TestWhyOfUntouchedThings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		task := w.task(project)
		if a := w.why(adminToken, task); len(a.Chains) != 1 || a.Chains[0].What != "task "+task+" is todo" ||
			a.types(0)[0] != "task.created" {
			t.Errorf("a new task: %+v", a)
		}
		id, token := w.session(adminToken, project, task, ``)
		if a := w.why(adminToken, id); a.Chains[0].What != "session "+id+" is spawning" ||
			a.types(0)[0] != "session.spawned" {
			t.Errorf("a new session: %+v", a)
		}
		question := w.ask(token, "Which?", ``)
		if a := w.why(adminToken, question); a.Chains[0].What != "question "+question+" is asked" ||
			a.types(0)[0] != "session.reported" {
			t.Errorf("a question: %+v", a)
		}
		w.do(adminToken, "input:answer", `{"inputId":"`+question+`","answer":"A"}`).is(200)
		if a := w.why(adminToken, question); a.Chains[0].What != "question "+question+" is answered" ||
			!slices.Equal(a.types(0), []string{"input.answered", "session.reported", "session.spawned"}) {
			t.Errorf("an answered question: %+v %v", a, a.types(0))
		}
		w.do(token, "input:received", `{"inputId":"`+question+`"}`).is(200)
		if a := w.why(adminToken, fmt.Sprint(w.log.head())); !slices.Equal(a.types(0),
			[]string{"input.delivered", "input.answered", "session.reported", "session.spawned"}) {
			t.Errorf("a delivery: %v", a.types(0))
		}
		// All of the following happens in the same millisecond.
		w.do(token, "report:progress", `{"message":"nearly"}`).is(200)
		w.do(token, "report:complete", `{"message":"this one","taskIds":["`+task+`"]}`).is(200)
		w.do(token, "report:complete", `{"message":"done"}`).is(200)
		said := w.log.head()
		w.do(token, "report:progress", `{"message":"and one more"}`).is(200)
		w.do(token, "report:complete", `{"message":"that one too","taskIds":["`+task+`"]}`).is(200)
		if a := w.why(adminToken, id); a.Chains[0].What != "session "+id+" is completed" ||
			a.Chains[0].Steps[0].Sequence != said {
			t.Errorf("a session that reported completion at %d: %+v", said, a)
		}
		if reported, ok := w.event(said).Data.(*events.SessionReported); !ok || !reported.SessionCompleted {
			t.Errorf("%+v", w.event(said))
		}
	})
}
