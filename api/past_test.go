package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api/openapi"
	"maestro/service/wire"
)

// pastReads are the reads that are compared at a moment: ids are those of the objects that exist then.
func pastReads(project, task, session, question string) []string {
	reads := []string{
		"/api/projects", "/api/tasks", "/api/sessions", "/api/queues", "/api/inputs", "/api/inbox", "/api/inbox/count",
		"/api/templates", "/api/templates/role/worker", "/api/templates/tpl_none", "/api/events",
		"/api/events/histogram?slices=5",
	}
	if project != "" {
		reads = append(reads, "/api/projects/"+project, "/api/projects/"+project+"/status",
			"/api/projects/"+project+"/tree", "/api/tasks?projectId="+project+"&ready=true",
			"/api/queues/q?projectId="+project, "/api/queues/q/top?projectId="+project)
	}
	if task != "" {
		reads = append(reads, "/api/tasks/"+task, "/api/tasks/"+task+"/timeline", "/api/tasks/"+task+"/children",
			"/api/tasks/"+task+"/tree", "/api/tasks?limit=2&cursor=")
	}
	if session != "" {
		reads = append(reads, "/api/sessions/"+session, "/api/sessions/"+session+"/timeline",
			"/api/sessions?status=working", "/api/sessions/"+session+"/queue", "/api/sessions/"+session+"/queue/top",
			"/api/sessions/"+session+"/queue/items")
	}
	if question != "" {
		reads = append(reads, "/api/inputs/"+question)
	}
	return reads
}

// Every read that takes a moment is among those that are compared.
func TestPastReadsAreAll(t *testing.T) {
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(openapi.Document, &document); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, read := range pastReads("{id}", "{id}", "{id}", "{id}") {
		path, _, _ := strings.Cut(read, "?")
		path = strings.NewReplacer("/role/worker", "/role/{role}", "/tpl_none", "/{id}", "/queues/q", "/queues/{name}").
			Replace(path)
		known[path] = true
	}
	taken := 0
	for path, methods := range document.Paths {
		var get struct {
			Parameters []struct {
				Name string `json:"name"`
			} `json:"parameters"`
		}
		if methods["get"] == nil {
			continue
		}
		if err := json.Unmarshal(methods["get"], &get); err != nil {
			t.Fatal(err)
		}
		for _, parameter := range get.Parameters {
			if parameter.Name != "at" {
				continue
			}
			if taken++; !known[path] {
				t.Errorf("GET %s takes a moment, and is not compared", path)
			}
		}
	}
	if taken < 20 {
		t.Errorf("%d reads take a moment", taken)
	}
}

// moment is what the reads answered at a moment.
type moment struct {
	sequence uint64
	at       time.Time
	answers  map[string]string
}

// answer is the whole of an answer that a reader sees. Of a refusal, the advice differs: it is for now.
func answer(r reply) string {
	body, _, _ := strings.Cut(string(r.body), `,"why":`)
	if r.status == http.StatusOK {
		body = string(r.body)
	}
	return fmt.Sprint(r.status, " ", r.header.Get(wire.HeaderSequence), " ", body)
}

// A read of a moment answers byte for byte what it answered then, by the number of the event and by the time.
func TestPastReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		random := rand.New(rand.NewPCG(1, 2))
		var moments []moment
		var project, task, session, token, question string
		noteNow := func(sequence uint64) {
			m := moment{sequence: sequence, at: time.Now(), answers: map[string]string{}}
			for _, read := range pastReads(project, task, session, question) {
				m.answers[read] = answer(w.send(http.MethodGet, read, adminToken, ""))
			}
			moments = append(moments, m)
			time.Sleep(time.Duration(1+random.IntN(5000)) * time.Millisecond)
		}
		note := func() { // the moment of an event, and one after it, which only a time names
			noteNow(w.log.head())
			noteNow(0)
		}
		project = w.project()
		note()
		task = w.task(project)
		note()
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
		w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+w.task(project)+`"}`).is(200)
		note()
		session, token = w.session(adminToken, project, task, `,"strategy":"queue","queue":"q"`)
		note()
		w.do(token, "queue:start", `{}`).is(200)
		note()
		question = w.do(token, "report:needs-input", `{"message":"Which?","taskIds":["`+task+`"]}`).is(200).
			text("event", "data", "inputId")
		note()
		w.do(adminToken, "input:answer", `{"inputId":"`+question+`","answer":"This one"}`).is(200)
		note()
		for i := range 12 {
			w.do(token, "report:progress", fmt.Sprintf(`{"message":"step %d","taskIds":["%s"]}`, i, task)).is(200)
			note()
			w.do(adminToken, "task:update", fmt.Sprintf(`{"taskId":%q,"title":"Title %d"}`, w.task(project), i)).is(200)
			note()
		}
		w.do(token, "report:complete", `{"message":"done","taskIds":["`+task+`"]}`).is(200)
		note()
		w.do(adminToken, "session:kill", `{"sessionId":"`+session+`"}`).is(200)
		note()
		w.do(adminToken, "task:delete", `{"taskId":"`+task+`"}`).is(200)
		note()

		random.Shuffle(len(moments), func(i, j int) { moments[i], moments[j] = moments[j], moments[i] })
		for _, m := range moments {
			for read, want := range m.answers {
				between := "?"
				if strings.Contains(read, "?") {
					between = "&"
				}
				ats := []string{m.at.UTC().Format(time.RFC3339Nano)}
				if m.sequence > 0 {
					ats = append(ats, strconv.FormatUint(m.sequence, 10))
				}
				for _, at := range ats {
					if got := answer(w.send(http.MethodGet, read+between+"at="+at, adminToken, "")); got != want {
						t.Fatalf("GET %s at %s answers\n%s\nit answered\n%s", read, at, got, want)
					}
				}
			}
		}
	})
}

// Reads of a moment go on while others write: they take the lock of the present state only once at a time.
func TestPastReadsWhileOthersWrite(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	_, lead := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	reader := w.token("reader", "read-only", project)
	_, token := w.session(lead, project, w.task(project), ``)
	w.do(token, "report:needs-input", `{"message":"Which?"}`).is(200)
	head := w.log.head()
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 300 {
			w.do(adminToken, "task:create", fmt.Sprintf(`{"project":%q,"title":"T%d"}`, project, i))
		}
	}()
	for {
		for _, by := range []string{lead, reader, token} {
			for _, path := range []string{"/api/inbox", "/api/tasks/none", "/api/sessions/none", "/api/inputs"} {
				w.send(http.MethodGet, fmt.Sprint(path, "?at=", head), by, "")
			}
		}
		select {
		case <-written:
			return
		default:
		}
	}
}

// A read while others write is of one moment, the one that it names, or it says that it is not.
func TestReadsAreOfOneMoment(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	hub := w.task(project)
	session, token := w.session(adminToken, project, hub, ``)
	for range 20 {
		w.do(adminToken, "task:create", fmt.Sprintf(`{"project":%q,"title":"T","parentId":%q}`, project, hub)).is(200)
	}
	w.do(adminToken, "queue:create", fmt.Sprintf(`{"project":%q,"queue":"q"}`, project)).is(200)
	const writes = 150
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range writes {
			id := w.do(adminToken, "task:create", fmt.Sprintf(`{"project":%q,"title":"T%d"}`, project, i)).
				text("event", "data", "taskId")
			w.do(adminToken, "queue:push", fmt.Sprintf(`{"project":%q,"queue":"q","taskId":%q}`, project, id))
			w.do(token, "report:progress", fmt.Sprintf(`{"message":"m%d","taskIds":[%q]}`, i, hub))
			w.do(adminToken, "task:complete", fmt.Sprintf(`{"taskId":%q}`, id))
		}
	}()
	type read struct{ path, sequence, body string }
	var reads []read
	mixed := 0
	for done := false; !done; {
		for _, path := range []string{
			"/api/projects/" + project + "/status", "/api/projects/" + project + "/tree",
			"/api/tasks?projectId=" + project,
			"/api/tasks/" + hub + "/tree", "/api/queues/q?projectId=" + project, "/api/tasks/" + hub,
			"/api/tasks/" + hub + "/timeline", "/api/sessions/" + session + "/timeline?limit=5",
		} {
			r := w.send(http.MethodGet, path, adminToken, "")
			if r.is(200); r.header.Get(wire.HeaderUntil) != "" || len(r.trailer) > 0 {
				mixed++
				continue
			}
			reads = append(reads, read{path, r.header.Get(wire.HeaderSequence), string(r.body)})
		}
		select {
		case <-written:
			done = true
		default:
		}
	}
	for _, x := range reads {
		between := "?"
		if strings.Contains(x.path, "?") {
			between = "&"
		}
		again := w.send(http.MethodGet, x.path+between+"at="+x.sequence, adminToken, "")
		if string(again.body) != x.body {
			t.Fatalf("GET %s said of itself that it was read at %s, but is\n%s\nit was then\n%s",
				x.path, x.sequence, x.body, again.body)
		}
	}
	if len(reads) < mixed {
		t.Errorf("of %d reads, %d are of one moment", len(reads)+mixed, len(reads))
	}
}

// Who reads the past needs the permission now and then, and a moment that exists.
func TestPastIsForThoseWhoMayRead(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	session, token := w.session(adminToken, project, task, ``)
	before := w.log.head()
	_, lead := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	head := w.log.head()
	get := func(path, by string) reply { return w.send(http.MethodGet, path, by, "") }

	// A worker lists no sessions, now or then; a session that did not exist then reads nothing of that time.
	get("/api/sessions?at=1", token).refused(403, "NOT_ALLOWED", "session:list")
	get(fmt.Sprint("/api/tasks/", task, "?at=", head), token).is(200)
	get(fmt.Sprint("/api/sessions?at=", head), lead).is(200)
	get(fmt.Sprint("/api/sessions?at=", before), lead).refused(400, "VALIDATION_ERROR", "did not exist yet after event")
	w.do(adminToken, "session:kill", `{"sessionId":"`+session+`"}`).is(200)
	get(fmt.Sprint("/api/tasks?at=", head), token).refused(403, "NOT_ALLOWED", "")

	// A token reads what was before it was created, of its own projects.
	get("/api/tasks?at=2", w.token("eye", "auditor")).is(200)
	late := w.token("late", "read-only", project)
	if r := get("/api/tasks?at=2", late).is(200); !strings.Contains(string(r.body), task) {
		t.Errorf("a new reader does not see the task of then: %s", r.body)
	}
	foreign := w.task(w.project())
	get(fmt.Sprint("/api/tasks/", foreign, "?at=", w.log.head()), late).refused(403, "NOT_ALLOWED", "")
	if r := get(fmt.Sprint("/api/tasks?at=", w.log.head()), late).is(200); strings.Contains(string(r.body), foreign) {
		t.Errorf("a reader sees another project: %s", r.body)
	}
	w.do(adminToken, "token:revoke", `{"name":"late"}`).is(200)
	get("/api/tasks?at=2", late).is(401)

	// A session that has ended reads only what is its own, also of the time before.
	other := w.task(project)
	later := w.log.head()
	_, busy := w.session(adminToken, project, other, ``)
	get(fmt.Sprint("/api/sessions/", session, "?at=", head), token).is(200)
	get(fmt.Sprint("/api/tasks/", other), token).refused(403, "NOT_ALLOWED", "")
	get(fmt.Sprint("/api/tasks/", other, "?at=", later), token).refused(403, "NOT_ALLOWED", "")
	get(fmt.Sprint("/api/sessions/", ownID(w, lead), "?at=", head), token).refused(403, "NOT_ALLOWED", "")
	get(fmt.Sprint("/api/tasks/", other, "?at=", later), busy).refused(400, "VALIDATION_ERROR", "did not exist yet")

	// A read of a moment does not wait, and is not for a page in a browser.
	get(fmt.Sprint("/api/inbox?wait=5s&at=", head), adminToken).refused(400, "VALIDATION_ERROR", "does not wait")
	question := w.do(busy, "report:needs-input", `{"message":"Which?"}`).is(200).text("event", "data", "inputId")
	get(fmt.Sprint("/api/inputs/", question, "?wait=5s&at=", w.log.head()), adminToken).
		refused(400, "VALIDATION_ERROR", "does not wait")

	// A deleted task is there at its time.
	w.do(adminToken, "task:delete", `{"taskId":"`+task+`"}`).is(200)
	get("/api/tasks/"+task, adminToken).is(404)
	get(fmt.Sprint("/api/tasks/", task, "?at=", head), adminToken).is(200)
	get("/api/projects?at=0", adminToken).is(200)

	for _, wrong := range []struct{ at, says string }{
		{"x", "at must be the number of an event, or a time"},
		{"-1", "at must be the number of an event"},
		{"", "at must be the number of an event"},
		{"999999", "There is no event 999999 yet: the newest is "},
		{"2999-01-01T00:00:00Z", "is in the future"},
		{"18446744073709551615", "There is no event"},
	} {
		get("/api/tasks?at="+wrong.at, adminToken).refused(400, "VALIDATION_ERROR", wrong.says)
	}
	for _, present := range []string{"/api/whoami", "/api/tokens", "/api/audit/denials", "/api/commands"} {
		get(present+"?at=1", adminToken).refused(400, "VALIDATION_ERROR", "only the present")
	}
}
