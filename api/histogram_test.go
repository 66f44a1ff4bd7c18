package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// histogram counts a part of the log.
func (w *world) histogram(token string, query ...string) (body wire.EventHistogram) {
	w.Helper()
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	r := w.send(http.MethodGet, "/api/events/histogram?"+values.Encode(), token, "").is(200)
	if err := json.Unmarshal(r.body, &body); err != nil {
		w.Fatal(err)
	}
	return body
}

// Each slice counts what a look at every event that its reader sees counts.
func TestHistogramCountsWhatTheListShows(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task := w.task(project)
	_, token := w.session(adminToken, project, task, "")
	_, lead := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	for i := range 20 {
		kind := []string{"progress", "blocked", "error", "progress"}[i%4]
		w.do(token, "report:"+kind, fmt.Sprintf(`{"message":"Step %d","taskIds":[%q]}`, i, task)).is(200)
		w.task(other)
	}
	w.ask(token, "Which one?", "")
	w.do(adminToken, "task:update", fmt.Sprintf(`{"taskId":%q,"status":"completed"}`, task)).is(200)
	all := w.events(adminToken, "limit", "500").Events
	middle, err := events.Decode(all[len(all)/2].Event)
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string]bool{}
	for _, c := range []struct {
		token string
		query []string
	}{
		{adminToken, nil},
		{adminToken, []string{"projectId", project}},
		{adminToken, []string{"projectId", other}},
		{lead, []string{"projectId", project}},
		{lead, nil},
		{adminToken, []string{"from", "7", "to", "31"}},
		{adminToken, []string{"from", middle.Time.Format(time.RFC3339Nano)}},
		{adminToken, []string{"to", middle.Time.Format(time.RFC3339Nano)}},
		{adminToken, []string{"at", "29"}},
	} {
		listed := w.events(c.token, append([]string{"limit", "500"}, c.query...)...).Events
		for _, slices := range []string{"1", "3", "10", "1000"} {
			total := uint64(0)
			for _, x := range w.histogram(c.token, append([]string{"slices", slices}, c.query...)...).Slices {
				want, counts := wire.EventSlice{First: x.First, Last: x.Last}, map[string]uint32{}
				for _, e := range listed {
					if e.Seq < x.First || e.Seq > x.Last {
						continue
					}
					want.Count++
					event, err := events.Decode(e.Event)
					if err != nil {
						t.Fatal(err)
					}
					if name := projections.MarkOf(event.Data).String(); name != "" {
						counts[name]++
						marks[name] = true
					}
				}
				got := map[string]uint32{}
				for _, mark := range x.Marks {
					got[mark.Mark] = mark.Count
				}
				if x.Count != want.Count || !maps.Equal(got, counts) {
					t.Errorf("%q in %s: %+v, want %+v %v", c.query, slices, x, want, counts)
				}
				for sequence, at := range map[uint64]events.Millis{x.First: x.At, x.Last: x.Until} {
					event, err := events.Decode(all[sequence-1].Event)
					if err != nil || events.Millis(event.Time.UnixMilli()) != at {
						t.Errorf("event %d is shown at %d: %v %v", sequence, at, event, err)
					}
				}
				total += x.Count
			}
			if total != uint64(len(listed)) {
				t.Errorf("%q in %s: %d events, the list has %d", c.query, slices, total, len(listed))
			}
		}
	}
	for _, name := range []string{"asks", "blocked", "failed", "completed"} {
		if !marks[name] {
			t.Errorf("no event has the mark %q", name)
		}
	}
}

func TestHistogramIsRefused(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	_, worker := w.session(adminToken, project, w.task(project), "")
	_, lead := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	const path = "/api/events/histogram"
	w.send(http.MethodGet, path, worker, "").refused(403, "NOT_ALLOWED", "Command 'events'")
	w.send(http.MethodGet, path+"?projectId="+other, lead, "").refused(403, "NOT_ALLOWED", "")
	w.send(http.MethodGet, path+"?projectId=none", adminToken, "").is(404)
	for _, wrong := range []string{
		"slices=0", "slices=-1", "slices=1001", "slices=x", "from=yesterday", "to=-1", "from=1.5",
	} {
		w.send(http.MethodGet, path+"?"+wrong, adminToken, "").refused(400, "VALIDATION_ERROR", "")
	}
	for _, none := range []string{"from=9&to=8", "to=0", "from=1000000", "to=2000-01-01T00:00:00Z"} {
		r := w.send(http.MethodGet, path+"?"+none, adminToken, "").is(200)
		if string(r.body) != `{"slices":[]}`+"\n" && string(r.body) != `{"slices":[]}` {
			t.Errorf("%s: %s", none, r.body)
		}
	}
}
