package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"maestro/service/wire"
)

// events reads a part of the log.
func (w *world) events(token string, query ...string) (body wire.LogEvents) {
	w.Helper()
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	r := w.send(http.MethodGet, "/api/events?"+values.Encode(), token, "").is(200)
	if err := json.Unmarshal(r.body, &body); err != nil {
		w.Fatal(err)
	}
	return body
}

func sequencesOf(all []wire.LogEvent) (found []uint64) {
	for _, e := range all {
		found = append(found, e.Seq)
	}
	return found
}

// storedEvent is what the tests read of an event.
type storedEvent struct {
	Type    string          `json:"type"`
	Source  string          `json:"source"`
	Subject string          `json:"subject"`
	Project string          `json:"partitionkey"`
	Time    string          `json:"time"`
	Data    json.RawMessage `json:"data"`
}

// Each filter selects what a look at every event selects, and pages in both directions lose and repeat nothing.
func TestEventsAreFilteredAndPaged(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task := w.task(project)
	session, token := w.session(adminToken, project, task, ``)
	for i := range 12 {
		w.do(token, "report:progress",
			fmt.Sprintf(`{"message":"Step %d: the LIMIT \"x\" is <low>","taskIds":[%q]}`, i, task))
		w.do(adminToken, "task:update", fmt.Sprintf(`{"taskId":%q,"title":"T%d"}`, task, i)).is(200)
		w.task(other)
	}
	all := w.events(adminToken, "limit", "500").Events
	if len(all) != int(w.log.head()) {
		t.Fatalf("%d events of %d", len(all), w.log.head())
	}
	middle := all[len(all)/2]
	var at storedEvent
	if err := json.Unmarshal(middle.Event, &at); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query  []string
		passes func(sequence uint64, e storedEvent) bool
	}{
		{nil, func(uint64, storedEvent) bool { return true }},
		{[]string{"projectId", project}, func(_ uint64, e storedEvent) bool { return e.Project == project }},
		{[]string{"type", "task"}, func(_ uint64, e storedEvent) bool {
			return strings.HasPrefix(e.Type, "maestro.task.")
		}},
		{[]string{"type", "task.created, session.reported"}, func(_ uint64, e storedEvent) bool {
			return e.Type == "maestro.task.created.v1" || e.Type == "maestro.session.reported.v1"
		}},
		{[]string{"actor", session}, func(_ uint64, e storedEvent) bool {
			return strings.HasSuffix(e.Source, session)
		}},
		{[]string{"actor", "admin", "type", "maestro.task.updated.v1"}, func(_ uint64, e storedEvent) bool {
			return e.Type == "maestro.task.updated.v1"
		}},
		{[]string{"aggregate", "task/" + task}, func(_ uint64, e storedEvent) bool {
			return e.Subject == "task/"+task
		}},
		{[]string{"aggregate", session}, func(_ uint64, e storedEvent) bool {
			return e.Subject == "session/"+session
		}},
		{[]string{"text", `limit "X" is <`}, func(_ uint64, e storedEvent) bool {
			return e.Type == "maestro.session.reported.v1"
		}},
		{[]string{"text", "partitionkey"}, func(uint64, storedEvent) bool { return false }},
		{[]string{"from", "5", "to", "20"}, func(n uint64, _ storedEvent) bool { return n >= 5 && n <= 20 }},
		{[]string{"from", at.Time}, func(_ uint64, e storedEvent) bool { return e.Time >= at.Time }},
		{[]string{"to", at.Time}, func(_ uint64, e storedEvent) bool { return e.Time <= at.Time }},
	} {
		var want []uint64
		for _, e := range all {
			var stored storedEvent
			if err := json.Unmarshal(e.Event, &stored); err != nil {
				t.Fatal(err)
			}
			if c.passes(e.Seq, stored) {
				want = append(want, e.Seq)
			}
		}
		got := sequencesOf(w.events(adminToken, append(c.query, "limit", "500")...).Events)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %d, want %d", c.query, got, want)
		}
		for _, limit := range []string{"1", "4", "7"} {
			var older, newer []uint64
			query := append(slices.Clone(c.query), "limit", limit)
			for part := w.events(adminToken, query...); ; {
				older = append(sequencesOf(part.Events), older...)
				if part.Before == 0 {
					break
				}
				part = w.events(adminToken, append(slices.Clone(query), "before", fmt.Sprint(part.Before))...)
			}
			for after := uint64(0); ; {
				part := w.events(adminToken, append(slices.Clone(query), "after", fmt.Sprint(after))...)
				newer = append(newer, sequencesOf(part.Events)...)
				if part.After == after || len(part.Events) == 0 {
					break
				}
				after = part.After
			}
			if !slices.Equal(older, want) || !slices.Equal(newer, want) {
				t.Errorf("%q by %s: %d and %d, want %d", c.query, limit, older, newer, want)
			}
		}
	}
	past := w.events(adminToken, "at", fmt.Sprint(middle.Seq), "limit", "500").Events
	if !slices.Equal(sequencesOf(past), sequencesOf(all)[:middle.Seq]) {
		t.Errorf("at %d: %d", middle.Seq, sequencesOf(past))
	}
	for _, beyond := range []string{"to=99999", "after=0&to=99999", "before=99999", "at=" + fmt.Sprint(w.log.head())} {
		var body wire.LogEvents
		r := w.send(http.MethodGet, "/api/events?limit=500&"+beyond, adminToken, "").is(200)
		if err := json.Unmarshal(r.body, &body); err != nil || len(body.Events) != len(all) {
			t.Errorf("%s: %d events, %v", beyond, len(body.Events), err)
		}
	}
	for _, none := range []string{"from=99999", "after=99999", "before=0", "before=1", "from=9&to=8", "text=nowhere"} {
		r := w.send(http.MethodGet, "/api/events?"+none, adminToken, "").is(200)
		if !strings.HasPrefix(string(r.body), `{"events":[],`) {
			t.Errorf("%s: %s", none, r.body)
		}
	}
	for _, wrong := range []string{
		"type=nonsense", "limit=0", "limit=x", "before=x", "after=-1", "before=3&after=3", "from=soon", "to=soon",
	} {
		w.send(http.MethodGet, "/api/events?"+wrong, adminToken, "").refused(400, "VALIDATION_ERROR", "")
	}
	w.send(http.MethodGet, "/api/events?projectId=none", adminToken, "").is(404)
}

// A reader sees the events of its projects, and finds nothing in what it may not read of them.
func TestEventsAreForThoseWhoMayRead(t *testing.T) {
	const secret = "the key is under the mat"
	w := open(t, nil)
	project, other := w.project(), w.project()
	_, lead := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	session, worker := w.session(adminToken, project, w.task(project), ``)
	w.task(other)
	w.do(adminToken, "session:message", fmt.Sprintf(`{"sessionId":%q,"text":%q}`, session, secret)).is(200)
	w.do(adminToken, "session:update", fmt.Sprintf(`{"sessionId":%q,"env":{"KEY":%q}}`, session, secret)).is(200)
	w.send(http.MethodGet, "/api/events", worker, "").refused(403, "NOT_ALLOWED", "Command 'events'")
	w.send(http.MethodGet, "/api/events?projectId="+other, lead, "").refused(403, "NOT_ALLOWED", "")
	if found := w.events(adminToken, "text", "under the MAT").Events; len(found) != 2 {
		t.Errorf("the user finds %d events", len(found))
	}
	for name, by := range map[string]string{"lead": lead, "reader": w.token("rob", "read-only", project)} {
		whole := w.events(by, "limit", "500")
		for _, e := range whole.Events {
			var stored storedEvent
			if err := json.Unmarshal(e.Event, &stored); err != nil || stored.Project != project {
				t.Errorf("%s sees %s: %v", name, e.Event, err)
			}
		}
		found := w.events(by, "text", secret).Events
		reads := name == "reader" // a user's token reads mail, and no variables
		if len(found) > 1 || len(found) == 1 != reads {
			t.Errorf("%s finds %d events with the secret", name, len(found))
		}
	}
}
