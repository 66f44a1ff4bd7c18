package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"maestro/engine"
	"maestro/internal/testing/race"
	"maestro/service/wire"
)

// openOn makes a server on a log, which another may still have open, like a killed server that has not exited yet.
func openOn(t *testing.T, log *memoryLog) *world {
	t.Helper()
	handler, err := engine.Open(t.Context(), engine.Config{Log: log, Now: time.Now, After: time.After})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handler.Close)
	w := open(t, func(c *setup) { c.Handler, c.Log, c.Blobs = handler, log, nil })
	w.log, w.handler = log, handler
	return w
}

// cutStory changes a world at random.
type cutStory struct {
	*world
	project  string
	tasks    []string
	sessions []cutSession
	n        int
}

type cutSession struct{ id, token, task string }

// step executes a command; a refusal changes nothing.
func (s *cutStory) step(r *rand.Rand) {
	s.Helper()
	s.n++
	task, by := s.tasks[r.IntN(len(s.tasks))], adminToken
	steps := [][2]string{
		{"task:create", fmt.Sprintf(`{"project":%q,"title":"T %d","parentId":%q}`, s.project, s.n, task)},
		{"task:create", fmt.Sprintf(`{"project":%q,"title":"T %d"}`, s.project, s.n)},
		{"task:update", fmt.Sprintf(`{"taskId":%q,"title":"T %d"}`, task, s.n)},
		{"task:complete", fmt.Sprintf(`{"taskId":%q,"force":true}`, task)},
		{"queue:push", fmt.Sprintf(`{"project":%q,"queue":"q","taskId":%q}`, s.project, task)},
		{"session:spawn", fmt.Sprintf(`{"project":%q,"taskIds":[%q]}`, s.project, task)},
		{"session:spawn", fmt.Sprintf(`{"project":%q,"strategy":"queue","queue":"q"}`, s.project)},
	}
	if len(s.sessions) > 0 && r.IntN(5) > 1 {
		i := r.IntN(len(s.sessions))
		x := s.sessions[i]
		by = x.token
		steps = [][2]string{
			{"report:progress", fmt.Sprintf(`{"message":"m %d","taskIds":[%q]}`, s.n, x.task)},
			{"report:complete", fmt.Sprintf(`{"message":"m %d","taskIds":[%q]}`, s.n, x.task)},
			{"report:needs-input", fmt.Sprintf(`{"message":"Which %d?","taskIds":[%q]}`, s.n, x.task)},
			{"report:needs-input", fmt.Sprintf(`{"message":"What %d?"}`, s.n)},
			{"queue:start", `{}`},
			{"queue:complete", `{}`},
		}
		if r.IntN(6) == 0 {
			s.sessions = slices.Delete(s.sessions, i, i+1)
			steps = [][2]string{
				{"session:complete", fmt.Sprintf(`{"sessionId":%q}`, x.id)},
				{"session:kill", fmt.Sprintf(`{"sessionId":%q}`, x.id)},
				{"session:delete", fmt.Sprintf(`{"sessionId":%q}`, x.id)},
			}
			by = adminToken
		}
	} else if last := len(s.tasks) - 1; last > 8 && r.IntN(6) == 0 {
		steps = [][2]string{{"task:delete", fmt.Sprintf(`{"taskId":%q}`, s.tasks[last])}}
		s.tasks = s.tasks[:last]
	}
	step := steps[r.IntN(len(steps))]
	done := s.do(by, step[0], step[1])
	switch {
	case done.status != http.StatusOK:
	case step[0] == "task:create":
		s.tasks = append(s.tasks, done.text("event", "data", "taskId"))
	case step[0] == "session:spawn":
		s.sessions = append(s.sessions, cutSession{
			done.text("event", "data", "sessionId"),
			done.text("token"),
			task,
		})
	}
}

// viewsAt returns what the reads of the API answer for a sequence, as views.
func (s *cutStory) viewsAt(sequence string) map[string]string {
	s.Helper()
	at, views := "at="+sequence, map[string]string{}
	read := func(path, kind string, items func(reply) any, id func(object map[string]any) string) {
		s.Helper()
		r := s.send(http.MethodGet, path+at, adminToken, "").is(200)
		for _, item := range items(r).([]any) {
			object := item.(map[string]any)
			encoded, err := json.Marshal(object)
			if err != nil {
				s.Fatal(err)
			}
			views[kind+" "+id(object)] = inViews(s.T, string(encoded))
		}
	}
	whole := func(r reply) any { return r.array() }
	byID := func(object map[string]any) string { return object["id"].(string) }
	read("/api/projects?", "project", whole, byID)
	read("/api/tasks?", "task", whole, byID)
	read("/api/sessions?brief=true&", "session", whole, byID)
	read("/api/inputs?", "input", whole, byID)
	read("/api/queues?", "queue", whole, func(object map[string]any) string {
		return s.project + "/" + object["name"].(string)
	})
	read("/api/queues/q?projectId="+s.project+"&", "queue_item", func(r reply) any { return r.at("items") },
		func(object map[string]any) string { return s.project + "/q/" + object["taskId"].(string) })
	return views
}

// questionsAt returns the questions in the inbox at a sequence.
func (s *cutStory) questionsAt(sequence string) (ids []string) {
	s.Helper()
	inbox := s.send(http.MethodGet, "/api/inbox?kind=question&at="+sequence, adminToken, "").is(200)
	for _, item := range inbox.array() {
		ids = append(ids, item.(map[string]any)["inputId"].(string))
	}
	slices.Sort(ids)
	return ids
}

// After each of its cuts, at random and also over restarts of the server and a restore of an older log, a reader that
// only keeps what it is sent has exactly what the API's own reads answer for its position.
func TestLiveIsTheAPIAfterEachCut(t *testing.T) {
	t.Parallel()
	cuts := race.Part(200)
	restored := cuts * 3 / 5
	r := rand.New(rand.NewPCG(7, 8))
	s := &cutStory{world: openOn(t, &memoryLog{})}
	s.project = s.world.project()
	s.tasks = []string{s.task(s.project)}
	s.do(adminToken, "queue:create", `{"project":"`+s.project+`","queue":"q"}`).is(200)
	for range 30 {
		s.step(r)
	}
	views, at, snapshots := map[string]string{}, "", 0
	for cut := range cuts {
		if cut == restored || r.IntN(10) == 0 {
			log := s.log
			if cut == restored { // the newest events were never in the backup, and others take their places
				head, _ := strconv.Atoi(strings.Split(at, ".")[0])
				log = &memoryLog{messages: slices.Clone(s.log.messages[:head-5])}
			}
			s.world = openOn(t, log)
		}
		if cut == restored {
			for range 40 {
				s.step(r)
			}
		}
		for range r.IntN(8) {
			s.step(r)
		}
		reader := s.live(adminToken, wire.LiveFilter{After: at})
		reader.views = views
		began := reader.next()
		if began.Kind == wire.LiveKindSnapshot {
			snapshots++
			clear(views)
			reader.keep(began)
			reader.until(wire.LiveKindReady)
		}
		for range r.IntN(4) {
			s.step(r)
		}
		head := fmt.Sprint(s.log.head())
		for range r.IntN(8) {
			if sequence, _, _ := strings.Cut(reader.at, "."); sequence == head {
				break
			}
			reader.next()
		}
		reader.stop()
		at = reader.at
		sequence, _, _ := strings.Cut(at, ".")
		want := s.viewsAt(sequence)
		for key, view := range want {
			if got := inViews(t, views[key]); got != view {
				t.Fatalf("cut %d at %s: %s is\n%s\nthe API answers\n%s", cut, at, key, got, view)
			}
		}
		var open []string
		for key, view := range views {
			kind, id, _ := strings.Cut(key, " ")
			switch _, listed := want[key]; {
			case kind == "template", kind == "token", kind == "webhook":
			case !listed:
				t.Fatalf("cut %d at %s: it still has %s: %s", cut, at, key, view)
			case kind == "input" && strings.Contains(view, `"status":"open"`):
				open = append(open, id)
			}
		}
		slices.Sort(open)
		if asked := s.questionsAt(sequence); !slices.Equal(open, asked) {
			t.Fatalf("cut %d at %s: its open questions are %q, the inbox has %q", cut, at, open, asked)
		}
	}
	if snapshots != 2 {
		t.Errorf("%d snapshots, want one at the beginning and one after the restore", snapshots)
	}
	for kind, most := range map[string]int{"task ": 5, "session ": 3, "input ": 3, "queue_item ": 3} {
		for key := range views {
			if strings.HasPrefix(key, kind) {
				most--
			}
		}
		if most > 0 {
			t.Errorf("at the end there are too few of %q to compare", kind)
		}
	}
}
