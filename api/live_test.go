package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"maestro/api/client"
	"maestro/events"
	"maestro/service/wire"
)

// stream is a reader of the live views that keeps what it was sent, as a page does.
type stream struct {
	*testing.T
	messages chan client.LiveMessage
	ended    chan error
	stop     func()
	views    map[string]string
	at       string
}

// live reads the live views until the test ends, or stop is called.
func (w *world) live(token string, filter wire.LiveFilter) *stream {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	s := &stream{
		T:        w.T,
		messages: make(chan client.LiveMessage, 100),
		ended:    make(chan error, 1),
		views:    map[string]string{},
	}
	c := client.New(w.url, token)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.ended <- c.Live(ctx, filter, func(m client.LiveMessage) error {
			select {
			case s.messages <- m:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	s.stop = func() {
		cancel()
		<-stopped
		c.Close()
	}
	w.Cleanup(s.stop)
	return s
}

// next returns the next message, and keeps its views.
func (s *stream) next() client.LiveMessage {
	s.Helper()
	select {
	case m := <-s.messages:
		s.keep(m)
		return m
	case err := <-s.ended: // after its last message
		select {
		case m := <-s.messages:
			s.ended <- err
			s.keep(m)
			return m
		default:
			s.Fatalf("the stream ended: %v", err)
		}
	case <-time.After(20 * time.Second):
		s.Fatal("no message came")
	}
	panic("unreachable")
}

func (s *stream) keep(m client.LiveMessage) {
	s.Helper()
	if m.Position != "" {
		s.at = m.Position
	}
	var body struct {
		Items   []wire.LiveView `json:"items"`
		Changes []wire.LiveView `json:"changes"`
	}
	if len(m.Data) > 0 {
		if err := json.Unmarshal(m.Data, &body); err != nil {
			s.Fatal(err)
		}
	}
	for _, view := range slices.Concat(body.Items, body.Changes) {
		key := view.Kind + " " + view.ID
		switch {
		case strings.HasSuffix(view.Kind, "_timeline"):
		case string(view.Value) == "null":
			delete(s.views, key)
		default:
			s.views[key] = string(view.Value)
		}
	}
}

// until reads on until a message holds a text.
func (s *stream) until(text string) client.LiveMessage {
	s.Helper()
	for {
		if m := s.next(); strings.Contains(m.Kind+" "+string(m.Data), text) {
			return m
		}
	}
}

// The views of a reader are what the lists show, from the snapshot on and after each frame.
func TestLiveViewsAreTheLists(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	parent := w.task(project)
	task := w.do(adminToken, "task:create", `{"project":"`+project+`","title":"Sub","parentId":"`+parent+`"}`).is(200).
		text("event", "data", "taskId")
	session, token := w.session(adminToken, project, task, ``)
	s := w.live(adminToken, wire.LiveFilter{ProjectID: project, Kinds: "task,session"})
	s.until(wire.LiveKindReady)
	same := func(when string) {
		t.Helper()
		want := map[string]string{}
		for path, kind := range map[string]string{
			"/api/tasks?projectId=" + project: "task", "/api/sessions?brief=true&projectId=" + project: "session",
		} {
			var items []json.RawMessage
			if err := json.Unmarshal(w.send(http.MethodGet, path, adminToken, "").is(200).body, &items); err != nil {
				t.Fatal(err)
			}
			for _, item := range items {
				var named struct{ ID string }
				if err := json.Unmarshal(item, &named); err != nil {
					t.Fatal(err)
				}
				want[kind+" "+named.ID] = string(item)
			}
		}
		for key, listed := range want {
			if has, listed := inViews(t, s.views[key]), inViews(t, listed); has != listed {
				t.Errorf("%s: %s is\n%s\nthe list has\n%s", when, key, has, listed)
			}
		}
		if len(s.views) != len(want) {
			t.Errorf("%s: %d views, the lists have %d", when, len(s.views), len(want))
		}
	}
	same("after the snapshot")
	w.do(token, "report:complete", `{"message":"done","taskIds":["`+task+`"]}`).is(200)
	s.until("done")
	same("after a report")
	w.do(adminToken, "session:kill", `{"sessionId":"`+session+`"}`).is(200)
	s.until("session.killed")
	same("after a kill")
	w.do(adminToken, "task:delete", `{"taskId":"`+task+`"}`).is(200)
	s.until("task.deleted")
	same("after a deletion")
}

// inViews leaves out when a session was last heard and how long a question waits, which no event says, and what a list
// adds for older clients.
func inViews(t *testing.T, view string) string {
	t.Helper()
	if view == "" {
		return ""
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(view), &fields); err != nil {
		t.Fatal(err)
	}
	for _, added := range []string{
		"lastHeard", "waited", "env", "hostname", "platform", "timeline", "events", "metadata",
	} {
		delete(fields, added)
	}
	again, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(again)
}

// A reader that is cut off continues after the last message that it had, and is told nothing twice.
func TestLiveResumes(t *testing.T) {
	w := open(t, nil)
	empty := w.live(adminToken, wire.LiveFilter{After: wire.LiveAfterNow})
	if m := empty.next(); m.Kind != wire.LiveKindAt || m.Position != "0" {
		t.Errorf("with an empty log, it goes on with %s at %q", m.Kind, m.Position)
	}
	project := w.project()
	if m := empty.next(); m.Kind != wire.LiveKindFrame || !strings.Contains(string(m.Data), project) {
		t.Errorf("after an empty log, it is shown %s %s", m.Kind, m.Data)
	}
	s := w.live(adminToken, wire.LiveFilter{})
	s.until(wire.LiveKindReady)
	w.task(project)
	first := s.until("task.created")
	s.stop()
	missed := w.task(project)
	again := w.live(adminToken, wire.LiveFilter{After: first.Position})
	if m := again.next(); m.Kind != wire.LiveKindAt || m.Position != first.Position {
		t.Errorf("it goes on with %s at %s", m.Kind, m.Position)
	}
	if m := again.next(); m.Kind != wire.LiveKindFrame || !strings.Contains(string(m.Data), missed) {
		t.Errorf("the next message is %s %s", m.Kind, m.Data)
	}
	sequence, _, _ := strings.Cut(first.Position, ".")
	other := w.live(adminToken, wire.LiveFilter{After: sequence + ".01234567"}) // of another log
	if m := other.next(); m.Kind != wire.LiveKindSnapshot {
		t.Errorf("with a position of another log it goes on with %s", m.Kind)
	}
	now := w.live(adminToken, wire.LiveFilter{After: wire.LiveAfterNow})
	now.next()
	last := w.task(project)
	if m := now.next(); !strings.Contains(string(m.Data), last) {
		t.Errorf("from now on it is shown %s %s", m.Kind, m.Data)
	}
	all := w.live(adminToken, wire.LiveFilter{After: "0"})
	if m := all.next(); m.Kind != wire.LiveKindAt || m.Position != "0" {
		t.Errorf("from the beginning on it goes on with %s at %q", m.Kind, m.Position)
	}
	if m := all.next(); m.Kind != wire.LiveKindFrame || !strings.HasPrefix(string(m.Data), `{"seq":1,`) {
		t.Errorf("from the beginning on it is shown %s %s", m.Kind, m.Data)
	}
	w.send(http.MethodGet, "/api/live?session=sess_none", adminToken, "").is(404)
	w.send(http.MethodGet, "/api/live?task=task_none", adminToken, "").is(404)
	for _, query := range []string{"after=x", "after=1.xyz", "kinds=houses", "follow=maybe"} {
		w.send(http.MethodGet, "/api/live?"+query+"&follow=", adminToken, "").is(400)
	}
}

// The stream has the form of server-sent events, with heartbeats while nothing happens.
func TestLiveIsAnEventStream(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/live?project="+project, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("its type is %s", kind)
	}
	lines := bufio.NewScanner(resp.Body)
	var got []string
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "{")
		if at, _, ok := strings.Cut(line, "."); ok && strings.HasPrefix(line, "id: ") {
			line = at
		}
		if got = append(got, line); strings.HasPrefix(line, ":") {
			break
		}
	}
	want := []string{"event: snapshot", "data: ", "", "id: 1", "event: ready", "data: ", "", ": nothing new"}
	if !slices.Equal(got, want) {
		t.Errorf("it sends\n%q, want\n%q", got, want)
	}
}

// A session sees its own project, without what was written to others; a worker sees nothing.
func TestLiveShowsWhatItsReaderMaySee(t *testing.T) {
	const secret = "the key is under the mat"
	w := open(t, nil)
	project, other := w.project(), w.project()
	_, lead := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	session, worker := w.session(adminToken, project, w.task(project), ``)
	foreign := w.task(other)
	w.send(http.MethodGet, "/api/live", worker, "").refused(403, "NOT_ALLOWED", "Command 'watch'")
	w.send(http.MethodGet, "/api/live?project="+other, lead, "").refused(403, "NOT_ALLOWED", "")
	outside, _ := w.session(adminToken, other, foreign, ``)
	for _, filter := range []string{"session=" + outside, "task=" + foreign} {
		w.send(http.MethodGet, "/api/live?"+filter, lead, "").refused(403, "NOT_ALLOWED", "")
	}
	w.send(http.MethodGet, "/api/live?session=nobody", lead, "").is(404)
	w.send(http.MethodGet, "/api/live", "", "").is(401)

	s := w.live(lead, wire.LiveFilter{})
	s.until(wire.LiveKindReady)
	w.task(other)
	w.do(adminToken, "session:message", `{"sessionId":"`+session+`","text":"`+secret+`"}`).is(200)
	told := s.until("session.messaged")
	if strings.Contains(string(told.Data), secret) {
		t.Errorf("another session is shown %s", told.Data)
	}
	var frame wire.LiveFrame
	if err := json.Unmarshal(told.Data, &frame); err != nil {
		t.Fatal(err)
	}
	if _, err := events.Decode(frame.Event); err != nil {
		t.Error(err)
	}
	for key := range s.views {
		if strings.Contains(key, other) || strings.Contains(key, foreign) {
			t.Errorf("a session of another project is shown %s", key)
		}
	}

	// Questions are those of its own sessions, as in their list.
	ask := func(by, question string) {
		w.do(by, "report:needs-input", `{"message":"`+question+`"}`).is(200)
	}
	_, own := w.session(lead, project, w.task(project), ``)
	ask(worker, "Whose?")
	s.until("Whose?")
	ask(own, "Mine?")
	s.until("Mine?")
	whole := w.live(lead, wire.LiveFilter{Kinds: "input", Follow: "false"})
	whole.until(wire.LiveKindReady)
	for _, live := range []*stream{s, whole} {
		inputs := 0
		for key, view := range live.views {
			if !strings.HasPrefix(key, "input ") {
				continue
			}
			if inputs++; strings.Contains(view, session) {
				t.Errorf("it is shown a question that the list hides: %s", view)
			}
		}
		if inputs != 1 {
			t.Errorf("it is shown %d questions: %v", inputs, slices.Sorted(maps.Keys(live.views)))
		}
	}
	// Who may watch, and list nothing, is shown no views.
	_, blind := w.session(adminToken, project, w.task(project), `,"allowedCommands":["watch"]`)
	seen := w.live(blind, wire.LiveFilter{Follow: "false"})
	seen.until(wire.LiveKindReady)
	if len(seen.views) != 0 {
		t.Errorf("a session that may list nothing is shown %v", slices.Sorted(maps.Keys(seen.views)))
	}
	w.do(adminToken, "session:kill", `{"sessionId":"`+ownID(w, lead)+`"}`).is(200)
	select {
	case err := <-s.ended:
		if err == nil {
			t.Error("the stream of a killed session ended without an error")
		}
	case <-time.After(20 * time.Second):
		t.Error("the stream goes on after its session was killed")
	}
}

// ownID returns the id of the session of a token.
func ownID(w *world, token string) string {
	w.Helper()
	return w.send(http.MethodGet, "/api/whoami", token, "").is(200).text("session")
}
