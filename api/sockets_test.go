package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"maestro/service"
)

// socketClient is an older client's WebSocket.
type socketClient struct {
	*testing.T
	conn *websocket.Conn
}

// socketEvent is what it is sent.
type socketEvent struct {
	Type, Event string
	Data        map[string]any
	Timestamp   float64
}

// dial connects to a path as a client with a token, "" for none; header pairs follow.
func (w *world) dial(path, token string, header ...string) (*socketClient, *http.Response, error) {
	w.Helper()
	given := http.Header{}
	if token != "" {
		given.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		given.Add(header[i], header[i+1])
	}
	options := &websocket.DialOptions{HTTPClient: w.client, HTTPHeader: given}
	options.Host = given.Get("Host")
	for _, offered := range given["Sec-Websocket-Protocol"] {
		options.Subprotocols = strings.Split(offered, ", ")
	}
	delete(given, "Sec-Websocket-Protocol")
	conn, response, err := websocket.Dial(w.Context(), w.url+path, options)
	if err != nil {
		return nil, response, err
	}
	conn.SetReadLimit(-1)
	w.Cleanup(func() { _ = conn.CloseNow() })
	return &socketClient{w.T, conn}, response, nil
}

// socket is dial for a client that must be let in.
func (w *world) socket(path, token string, header ...string) *socketClient {
	w.Helper()
	c, _, err := w.dial(path, token, header...)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// message returns the next message.
func (c *socketClient) message() (text []byte, err error) {
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	_, text, err = c.conn.Read(ctx)
	return text, err
}

// next returns the next event, which must have the form of all.
func (c *socketClient) next() socketEvent {
	c.Helper()
	text, err := c.message()
	if err != nil {
		c.Fatal(err)
	}
	var keys map[string]json.RawMessage
	var event socketEvent
	if err := errors.Join(json.Unmarshal(text, &keys), json.Unmarshal(text, &event)); err != nil {
		c.Fatalf("%s: %v", text, err)
	}
	if len(keys) != 4 || event.Type != event.Event || event.Timestamp < 9e11 {
		c.Errorf("the form of %s", text)
	}
	return event
}

// until returns the events before the project with a name is created, which a caller does to mark the end.
func (c *socketClient) until(marker string) (found []socketEvent) {
	c.Helper()
	for {
		event := c.next()
		if event.Type == "project:created" && event.Data["name"] == marker {
			return found
		}
		found = append(found, event)
	}
}

// ended returns the code with which the server ends the connection, after whatever it still sends.
func (c *socketClient) ended() websocket.StatusCode {
	c.Helper()
	for {
		if _, err := c.message(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func kindsOf(found []socketEvent) (kinds []string) {
	for _, event := range found {
		kinds = append(kinds, event.Type)
	}
	return kinds
}

// Each write is told as docs/http-api-compat.md, "WebSocket", says, whatever interface it came by.
func TestSocketEvents(t *testing.T) {
	o := old{open(t, authOff)}
	c := o.socket("/", "")
	mark := 0
	sent := func(when string, want ...string) []socketEvent {
		t.Helper()
		mark++
		name := fmt.Sprint("marker ", mark)
		o.call("POST", "/api/projects", `{"name":"`+name+`"}`).is(201)
		found := c.until(name)
		if got := kindsOf(found); !slices.Equal(got, want) {
			t.Errorf("%s: %q is sent, not %q", when, got, want)
			for len(found) < len(want) {
				found = append(found, socketEvent{})
			}
		}
		return found
	}
	same := func(when string, event socketEvent, r reply) {
		t.Helper()
		want := r.object()
		for _, value := range []map[string]any{want, event.Data} {
			delete(value, "names") // a single task is shown with the names of others
			delete(value, "lastHeard")
		}
		a, _ := json.Marshal(event.Data)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s: the event has\n%s\nthe answer has\n%s", when, a, b)
		}
	}
	link := func(when string, event socketEvent, session, task string) {
		t.Helper()
		if len(event.Data) != 2 || event.Data["sessionId"] != session || event.Data["taskId"] != task {
			t.Errorf("%s: %v", when, event.Data)
		}
	}
	gone := func(when string, event socketEvent, id string) {
		t.Helper()
		if len(event.Data) != 1 || event.Data["id"] != id {
			t.Errorf("%s: %v", when, event.Data)
		}
	}

	made := o.call("POST", "/api/projects", `{"name":"P","workingDir":"/srv/p"}`).is(201)
	project := made.text("id")
	same("a project", sent("a project", "project:created")[0], made)
	changed := o.call("PUT", "/api/projects/"+project, `{"description":"d"}`).is(200)
	same("a changed project", sent("a changed project", "project:updated")[0], changed)

	made = o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T"}`).is(201)
	task := made.text("id")
	same("a task", sent("a task", "task:created")[0], made)
	other := o.do("", "task:create", `{"project":"`+project+`","title":"Native"}`).is(200).
		text("event", "data", "taskId")
	same("a task of the command line", sent("a native task", "task:created")[0], o.call("GET", "/api/tasks/"+other, ""))
	for _, body := range []string{`{"title":"T2"}`, `{"status":"in_progress"}`} {
		changed = o.call("PATCH", "/api/tasks/"+task, body).is(200)
		same(body, sent(body, "task:updated")[0], changed)
	}
	o.call("PATCH", "/api/tasks/"+task, `{}`).is(200)
	sent("a PATCH that changes nothing")
	o.do("", "task:block", `{"taskId":"`+other+`","reason":"r"}`).is(200)
	sent("a block by the command line", "task:updated")

	made = o.call("POST", "/api/sessions",
		`{"projectId":"`+project+`","taskIds":["`+task+`","`+other+`"],"status":"running","env":{"A":"b"}}`).is(201)
	session := made.text("id")
	path := "/api/sessions/" + session
	found := sent("a session", "session:created", "task:session_added", "task:session_added")
	same("a session", found[0], made)
	link("its first task", found[1], session, task)
	link("its second task", found[2], session, other)

	changed = o.call("PATCH", path, `{"env":{"C":"d"}}`).is(200)
	same("PATCH", sent("PATCH", "session:updated")[0], changed)
	changed = o.call("PATCH", path, `{}`).is(200)
	same("PATCH {}", sent("PATCH {}", "session:updated")[0], changed)
	changed = o.call("POST", path+"/events", `{"type":"e","data":1}`).is(200)
	same("events", sent("events", "session:updated")[0], changed)
	changed = o.call("POST", path+"/timeline", `{"message":"<m>"}`).is(200)
	same("timeline", sent("timeline", "session:updated")[0], changed)
	o.call("POST", "/api/tasks/"+task+"/timeline", `{"message":"m","sessionId":"`+session+`"}`).is(200)
	same("timeline of a task", sent("timeline of a task", "session:updated")[0], o.call("GET", path, ""))

	says := `{"sessionStatus":"working","updateSource":"session","sessionId":"` + session + `"}`
	changed = o.call("PATCH", "/api/tasks/"+task, says).is(200)
	same("what a session says", sent("what a session says", "task:updated")[0], changed)
	token := service.SessionToken(serverKey, session, 1)
	o.do(token, "report:progress", `{"message":"m","taskIds":["`+task+`","`+other+`"]}`).is(200)
	found = sent("a report of the command line", "task:updated", "task:updated", "session:updated")
	if found[1].Data["id"] != other || found[1].Data["sessionStatus"] != "working" {
		t.Errorf("the report says %v", found[1].Data)
	}

	third := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"Third"}`).is(201).text("id")
	sent("a third task", "task:created")
	o.call("POST", path+"/tasks/"+third, "").is(200)
	found = sent("a link", "session:task_added", "task:session_added")
	link("the session", found[0], session, third)
	link("the task", found[1], session, third)
	o.call("DELETE", path+"/tasks/"+third, "").is(200)
	found = sent("an unlink", "session:task_removed", "task:session_removed")
	link("the session", found[0], session, third)
	link("the task", found[1], session, third)
	o.call("PATCH", path, `{"taskIds":["`+third+`"]}`).is(200)
	found = sent("PATCH of the tasks", "session:updated", "task:session_added")
	link("the new task", found[1], session, third)
	o.call("PATCH", "/api/tasks/"+third, `{"sessionIds":[]}`).is(200)
	sent("PATCH of the sessions", "session:task_removed", "task:session_removed")

	queued := o.call("POST", "/api/sessions/spawn",
		`{"projectId":"`+project+`","taskIds":["`+third+`"],"strategy":"queue"}`).is(201).text("sessionId")
	sent("a session with a queue", "task:session_added", "session:updated", "session:spawn")
	o.call("POST", "/api/sessions/"+queued+"/queue/start", "").is(200)
	found = sent("queue start, which also starts the task", "task:updated", "session:updated")
	if found[0].Data["status"] != "in_progress" || found[1].Data["status"] != "running" {
		t.Errorf("queue start: %v", found)
	}
	for _, step := range []string{"complete", "push"} {
		o.call("POST", "/api/sessions/"+queued+"/queue/"+step, `{"taskId":"`+task+`"}`).is(200)
		sent("queue " + step)
	}
	o.call("POST", "/api/sessions/"+queued+"/queue/skip", "").is(200)
	sent("queue skip")

	changed = o.call("PATCH", path, `{"status":"completed"}`).is(200)
	same("completed", sent("completed", "session:updated")[0], changed)
	o.do("", "session:kill", `{"sessionId":"`+queued+`"}`).is(200)
	sent("a kill by the command line", "session:updated")

	o.call("DELETE", path, "").is(200)
	gone("a session", sent("a session's end", "session:deleted")[0], session)
	o.call("DELETE", "/api/tasks/"+third, "").is(200)
	gone("a task", sent("a task's end", "task:deleted")[0], third)
	empty := o.call("POST", "/api/projects", `{"name":"Empty"}`).is(201).text("id")
	sent("an empty project", "project:created")
	o.call("DELETE", "/api/projects/"+empty, "").is(200)
	gone("a project", sent("a project's end", "project:deleted")[0], empty)
}

// session:spawn has everything with which a client starts the agent, and no secret.
func TestSocketSpawn(t *testing.T) {
	placed := make(chan string, 10)
	o := old{open(t, func(c *setup) {
		c.AuthOff = true
		c.Manifests = toldOf{placed}
	})}
	project := o.call("POST", "/api/projects", `{"name":"P","workingDir":"/srv/p"}`).is(201).text("id")
	first := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"One"}`).is(201).text("id")
	second := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"Two"}`).is(201).text("id")
	c := o.socket("/any/path", "")
	spawned := o.call("POST", "/api/sessions/spawn",
		`{"projectId":"`+project+`","taskIds":["`+first+`","`+second+`"],"skills":["s"],"context":{"a":1}}`).is(201)
	id := spawned.text("sessionId")
	var found []socketEvent
	for len(found) == 0 || found[len(found)-1].Type != "session:spawn" {
		found = append(found, c.next())
	}
	want := []string{
		"task:updated", "task:updated", // it starts them
		"task:session_added", "task:session_added", "session:updated", "session:spawn",
	}
	if got := kindsOf(found); !slices.Equal(got, want) {
		t.Fatalf("%q is sent, not %q", got, want)
	}
	spawn := found[5].Data
	session := spawned.object()["session"].(map[string]any)
	delete(session, "names")
	for what, got := range map[string]any{"session": spawn["session"], "session:updated": found[4].Data} {
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(session)
		if string(a) != string(b) {
			t.Errorf("%s is\n%s\nthe answer has\n%s", what, a, b)
		}
	}
	like(t, "session:spawn", `{"command":"maestro worker init","cwd":"/srv/p","projectId":"`+project+`",
		"taskIds":["`+first+`","`+second+`"],"spawnSource":"ui","parentSessionId":null,"_isSpawnCreated":true,
		"envVars":{"MAESTRO_SESSION_ID":"`+id+`","MAESTRO_SERVER_URL":"`+o.url+`","MAESTRO_STRATEGY":"simple",
			"MAESTRO_MANIFEST_PATH":"/sessions/`+id+`/manifest.json"},
		"manifest":{"manifestVersion":"1.0","role":"worker","strategy":"simple","skills":["s"],
			"tasks":[{"id":"`+first+`","title":"One","acceptanceCriteria":["Task completion as described"],
				"projectId":"`+project+`"},{"id":"`+second+`"}],
			"session":{"model":"sonnet","permissionMode":"acceptEdits","thinkingMode":"auto",
				"workingDirectory":"/srv/p"}}}`, any(spawn))
	if len(spawn) != 10 {
		t.Errorf("session:spawn has %d members", len(spawn))
	}
	text, _ := json.Marshal(found)
	if strings.Contains(string(text), spawned.text("token")) {
		t.Error("the session's secret is sent to every client")
	}
	if got := <-placed; got != id {
		t.Errorf("the manifest of %s is in place", got)
	}

	o.call("POST", "/api/sessions/spawn", `{"projectId":"`+project+`","taskIds":["`+first+`"],"role":"orchestrator",`+
		`"spawnSource":"session","sessionId":"`+id+`"}`).is(201)
	child := c.next()
	for child.Type != "session:spawn" {
		if child.Type == "session:updated" && child.Data["id"] == id {
			t.Errorf("the parent is told: %v", child.Data)
		}
		child = c.next()
	}
	like(t, "a child", `{"command":"maestro orchestrator init","spawnSource":"session","parentSessionId":"`+id+`"}`,
		any(child.Data))
}

// toldOf keeps no manifests, and tells which are put in place.
type toldOf struct{ placed chan string }

func (m toldOf) PlaceManifest(session string, _ []byte) error { m.placed <- session; return nil }

func (toldOf) RemoveManifest(string) error { return nil }

func (toldOf) ManifestPath(session string) string { return "/sessions/" + session + "/manifest.json" }

// A manifest is in place before any client is told to start its session, although the spawn was not answered yet.
func TestSocketTellsOfPlacedManifests(t *testing.T) {
	hold, placed := make(chan struct{}), make(chan string, 10)
	o := old{open(t, func(c *setup) {
		c.AuthOff = true
		c.Manifests = heldBack{toldOf{placed}, hold}
	})}
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	task := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id")
	c := o.socket("/", "")
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		o.call("POST", "/api/sessions/spawn", `{"projectId":"`+project+`","taskIds":["`+task+`"]}`).is(201)
	}()
	for c.next().Type != "session:updated" {
	}
	close(hold)
	spawn := c.next()
	select {
	case id := <-placed:
		if spawn.Type != "session:spawn" || spawn.Data["session"].(map[string]any)["id"] != id {
			t.Errorf("%s is sent, and %s in place", spawn.Type, id)
		}
	default:
		t.Error("a client is told to start a session whose manifest is not in place")
	}
	<-answered
}

// heldBack puts manifests in place once it may.
type heldBack struct {
	toldOf
	hold chan struct{}
}

func (m heldBack) PlaceManifest(session string, content []byte) error {
	<-m.hold
	return m.toldOf.PlaceManifest(session, content)
}

// A client's pings are answered, whatever else it sends is ignored, and the server says how many clients there are.
func TestSocketPings(t *testing.T) {
	o := old{open(t, authOff)}
	like(t, "no client", `{"connectedClients":0,"clients":[]}`, any(o.call("GET", "/ws-status", "").is(200).object()))
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	session := o.call("POST", "/api/sessions", `{"projectId":"`+project+`","taskIds":[]}`).is(201).text("id")
	c := o.socket("/api/sessions/"+session+"/queue?x=1", "") // its path does not make it that session's
	like(t, "a client", `{"connectedClients":1,"clients":[{"readyState":1,"readyStateText":"OPEN"}]}`,
		any(o.call("GET", "/ws-status", "").is(200).object()))
	for _, text := range []string{`{"type":"subscribe"}`, `[1]`, `no JSON`, `{"type":7}`, ``, `{"type":"ping"}`} {
		if err := c.conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := c.message()
	var pong map[string]any
	if err != nil || json.Unmarshal(text, &pong) != nil {
		t.Fatalf("the answer to a ping: %s %v", text, err)
	}
	like(t, "the answer to a ping", `{"type":"pong","timestamp":"NUMBER"}`, any(pong))
	if len(pong) != 2 {
		t.Errorf("the answer to a ping: %s", text)
	}
	long := []byte(`{"type":"ping","x":"` + strings.Repeat("x", 5000) + `"}`)
	if err := c.conn.Write(t.Context(), websocket.MessageText, long); err != nil {
		t.Fatal(err)
	}
	if code := c.ended(); code != websocket.StatusMessageTooBig {
		t.Errorf("a long message ends it with %d", code)
	}
}

// Only a client with a credential gets in, and a page only from an origin that was allowed.
func TestSocketAdmission(t *testing.T) {
	w := open(t, nil)
	off := open(t, authOff)
	refused := func(when string, w *world, status int, code string, path, token string, header ...string) {
		t.Helper()
		_, response, err := w.dial(path, token, header...)
		if err == nil || response == nil || response.StatusCode != status {
			t.Errorf("%s: %v, %v", when, response, err)
			return
		}
		var problem struct{ Code string }
		if err := json.NewDecoder(response.Body).Decode(&problem); err != nil || problem.Code != code {
			t.Errorf("%s: the code is %q: %v", when, problem.Code, err)
		}
	}
	const protocols = "Sec-WebSocket-Protocol"
	refused("without a token", w, 401, "UNAUTHENTICATED", "/", "")
	refused("with a wrong one", w, 401, "UNAUTHENTICATED", "/", "wrong")
	refused("with one in the address", w, 401, "UNAUTHENTICATED", "/?token="+adminToken+"&access_token="+adminToken, "")
	refused("with a wrong protocol", w, 401, "UNAUTHENTICATED", "/", "", protocols, "maestro, maestro.token.wrong")
	for _, w := range []*world{w, off} {
		refused("another site", w, 403, "ORIGIN_NOT_ALLOWED", "/", adminToken, "Origin", "https://evil.example")
		refused("an origin without a name", w, 403, "ORIGIN_NOT_ALLOWED", "/", adminToken, "Origin", "null")
		refused("another port", w, 403, "ORIGIN_NOT_ALLOWED", "/", adminToken, "Origin", "http://127.0.0.1:1")
		refused("another name", w, 403, "HOST_NOT_ALLOWED", "/", adminToken, "Host", "evil.example")
		w.socket("/", adminToken, "Origin", "https://page.example")
		w.socket("/", adminToken, "Origin", w.url)
	}
	refused("a page of another site", off, 403, "SITE_NOT_ALLOWED", "/", "", "Sec-Fetch-Site", "cross-site")
	off.socket("/", "")

	c, response, err := w.dial("/", "", protocols, "maestro, maestro.token."+adminToken)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Values(protocols); !slices.Equal(got, []string{"maestro"}) {
		t.Errorf("the server chose %q", got)
	}
	w.project()
	if event := c.next(); event.Type != "project:created" {
		t.Errorf("with a token as protocol: %s", event.Type)
	}
	// Those that have no such permission are told so before the connection is made.
	project := w.project()
	_, worker := w.session(adminToken, project, w.task(project), ``)
	refused("a worker", w, 403, "NOT_ALLOWED", "/", worker)
	if denied := w.denied(""); len(denied) == 0 {
		t.Error("the refusal is not recorded")
	}
	// A request that is none of a WebSocket is not answered by one.
	w.send(http.MethodGet, "/nosuch", adminToken, "", "Connection", "upgrade", "Upgrade", "h2c").is(404)
	w.send(http.MethodGet, "/", adminToken, "", "Connection", "upgrade", "Upgrade", "websocket").is(400)
}

// A client is told only what its caller may watch, and see.
func TestSocketShowsWhatTheCallerMaySee(t *testing.T) {
	w := open(t, nil)
	alpha, beta := w.project(), w.project()
	_, leader := w.session(adminToken, alpha, w.task(alpha), `,"role":"orchestrator"`)
	reader := w.socket("/", w.token("eyes", "read-only", alpha))
	orchestrator := w.socket("/", leader)
	blind := w.socket("/", func() string {
		_, token := w.session(adminToken, alpha, w.task(alpha),
			`,"role":"orchestrator","allowedCommands":["watch","project:list"]`)
		return token
	}())
	for range 5 { // the session of blind
		reader.next()
		orchestrator.next()
	}
	w.send(http.MethodPost, "/api/sessions", adminToken,
		`{"projectId":"`+beta+`","taskIds":[],"name":"Hidden","env":{"KEY":"hidden"}}`).is(201)
	w.task(beta)
	w.send(http.MethodPost, "/api/sessions", adminToken,
		`{"projectId":"`+alpha+`","taskIds":[],"name":"Shown","env":{"KEY":"secret"}}`).is(201)
	for name, c := range map[string]*socketClient{"a read-only token": reader, "an orchestrator": orchestrator} {
		event := c.next()
		text, _ := json.Marshal(event)
		if event.Type != "session:created" || event.Data["name"] != "Shown" ||
			strings.Contains(string(text), "secret") {
			t.Errorf("%s is sent %s", name, text)
		}
	}
	w.do(adminToken, "session:spawn", `{"project":"`+alpha+`","taskIds":["`+w.task(alpha)+`"],"name":"Other"}`).is(200)
	w.do(leader, "session:spawn", `{"project":"`+alpha+`","taskIds":["`+w.task(alpha)+`"],"name":"Own"}`).is(200)
	manifests := map[string]any{}
	for len(manifests) < 2 {
		if event := orchestrator.next(); event.Type == "session:spawn" {
			manifests[event.Data["session"].(map[string]any)["name"].(string)] = event.Data["manifest"]
		}
	}
	if manifests["Other"] != nil || manifests["Own"] == nil {
		t.Errorf("an orchestrator is sent these manifests: %v", manifests)
	}
	w.do(adminToken, "project:update", `{"projectId":"`+alpha+`","name":"Renamed"}`).is(200)
	if event := blind.next(); event.Type != "project:updated" {
		t.Errorf("one that lists neither tasks nor sessions is sent %s %v", event.Type, event.Data)
	}
}

// A connection ends when its caller may not watch any more, and when the server stops.
func TestSocketEnds(t *testing.T) {
	stopping, stop := context.WithCancel(context.Background())
	defer stop()
	w := open(t, func(c *setup) { c.Stopping = stopping })
	project := w.project()
	token := w.token("eyes", "auditor")
	lead, leader := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	revoked, killed, last := w.socket("/", token), w.socket("/", leader), w.socket("/", adminToken)
	w.do(adminToken, "token:revoke", `{"name":"eyes"}`).is(200)
	if code := revoked.ended(); code != websocket.StatusPolicyViolation {
		t.Errorf("a revoked token ends it with %d", code)
	}
	w.do(adminToken, "session:kill", `{"sessionId":"`+lead+`"}`).is(200)
	if code := killed.ended(); code != websocket.StatusPolicyViolation {
		t.Errorf("the end of a session ends it with %d", code)
	}
	b := w.logIn(adminToken)
	page := w.socket("/", "", "Cookie", b.cookie.Name+"="+b.cookie.Value, "Origin", w.url)
	b.sends(http.MethodPost, "/logout", "").is(303)
	if code := page.ended(); code != websocket.StatusPolicyViolation {
		t.Errorf("a logout ends it with %d", code)
	}
	stop()
	if code := last.ended(); code != websocket.StatusGoingAway {
		t.Errorf("a stop ends it with %d", code)
	}
}

// insideSockets makes a server whose time is synctest's and whose WebSockets are pipes.
func insideSockets(t *testing.T, config *service.Limits, changes ...func(*setup)) *world {
	t.Helper()
	w := openInside(t, func(c *setup) {
		c.Limits = *config
		for _, change := range changes {
			change(c)
		}
	})
	dial := serve(t, w.api, config)
	inside := w.client.Transport
	pipes := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return dial(), nil
	}}
	t.Cleanup(pipes.CloseIdleConnections)
	w.client.Transport = either{inside, pipes}
	return w
}

// either is a transport whose WebSockets need connections of their own.
type either struct{ calls, sockets http.RoundTripper }

func (e either) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return e.sockets.RoundTrip(r)
	}
	return e.calls.RoundTrip(r)
}

// Open connections count as waiting calls, until they end.
func TestSocketsAreLimited(t *testing.T) {
	for _, limit := range []string{"reader-waits", "server-waits"} {
		synctest.Test(t, func(t *testing.T) {
			w := insideSockets(t, limitsOf(t, limit+"=1"))
			token := w.token("eyes", "auditor")
			c := w.socket("/", token)
			if _, response, err := w.dial("/", token); err == nil || response == nil || response.StatusCode != 429 {
				t.Errorf("a second connection: %v %v", response, err)
			}
			if err := c.conn.Close(websocket.StatusNormalClosure, ""); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			w.socket("/", token)
		})
	}
}

// A client that does not read delays nobody, and is disconnected.
func TestSlowSocketIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := insideSockets(t, limitsOf(t))
		w.socket("/", adminToken)
		began := time.Now()
		for range 100 {
			w.project()
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("writes waited %s", waited)
		}
		like(t, "while it may still read", `{"connectedClients":1}`,
			any(w.send(http.MethodGet, "/ws-status", "", "").is(200).object()))
		time.Sleep(time.Minute)
		like(t, "after a minute", `{"connectedClients":0}`,
			any(w.send(http.MethodGet, "/ws-status", "", "").is(200).object()))
	})
}

// A client that reads too slowly for what happens is told to begin again.
func TestSocketTellsWhoFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := insideSockets(t, limitsOf(t))
		project := w.project()
		c := w.socket("/", adminToken)
		for i := range 4200 { // more than the commits that are kept
			w.do(adminToken, "project:update", fmt.Sprintf(`{"projectId":%q,"name":"N%d"}`, project, i)).is(200)
		}
		if code := c.ended(); code != websocket.StatusTryAgainLater {
			t.Errorf("it ends with %d", code)
		}
	})
}

// What a client is sent late is as it was at the time.
func TestSocketTellsOfThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := insideSockets(t, limitsOf(t))
		project := w.project()
		session, _ := w.session(adminToken, project, w.task(project), ``)
		c := w.socket("/", adminToken)
		for i := range 3 {
			w.send(http.MethodPost, "/api/sessions/"+session+"/timeline", service.SessionToken(serverKey, session, 1),
				fmt.Sprintf(`{"message":"m%d"}`, i)).is(200)
			w.do(adminToken, "project:update", fmt.Sprintf(`{"projectId":%q,"name":"N%d"}`, project, i)).is(200)
		}
		synctest.Wait()
		for i := range 3 {
			entries := c.next().Data["timeline"].([]any)
			if last := entries[len(entries)-1].(map[string]any); last["message"] != fmt.Sprint("m", i) {
				t.Errorf("after m%d it is sent %v", i, last["message"])
			}
			if name := c.next().Data["name"]; name != fmt.Sprint("N", i) {
				t.Errorf("after N%d it is sent %v", i, name)
			}
		}
	})
}

// A client that does not answer delays the end by half a second, both when the server stops and when the client loses
// its permission.
func TestStopWaitsForNoSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopping, stop := context.WithCancel(t.Context())
		defer stop()
		config := limitsOf(t)
		w := insideSockets(t, config, func(c *setup) { c.Stopping = stopping })
		silent := func(c *socketClient) {
			t.Helper()
			time.Sleep(time.Second)
			began := time.Now()
			if code := c.ended(); code != -1 || time.Since(began) > 0 {
				t.Errorf("a second after the end, it ends with %d after %s", code, time.Since(began))
			}
		}
		revoked := w.socket("/", w.token("eyes", "auditor"))
		w.do(adminToken, "token:revoke", `{"name":"eyes"}`).is(200)
		silent(revoked)
		idle, busy := w.socket("/", adminToken), w.socket("/", adminToken)
		w.project() // neither reads it
		synctest.Wait()
		stop()
		silent(idle)
		silent(busy)
	})
}

// A client that floods the server with messages is read slowly.
func TestSocketFloodIsReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := insideSockets(t, limitsOf(t))
		c := w.socket("/", adminToken)
		began := time.Now()
		for range 250 { // 50 at once, then ten a second
			if err := c.conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.message(); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited < 15*time.Second || waited > 25*time.Second {
			t.Errorf("250 messages took %s", waited)
		}
		_ = c.conn.CloseNow()
		time.Sleep(time.Second)
	})
}
