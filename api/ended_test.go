package api_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api"
	"maestro/commands"
	"maestro/service/wire"
)

// readRoutes returns the path of every route below /api that takes GET.
func (w *world) readRoutes() []string {
	w.Helper()
	routes, err := api.ReadRoutes()
	if err != nil {
		w.Fatal(err)
	}
	if len(routes) < 35 {
		w.Fatalf("only %d routes", len(routes))
	}
	return routes
}

// The end of a session ends its wait for mail. That answer is no attempt at something forbidden; a new wait is.
func TestEndedWaitIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		me, token := w.session(adminToken, project, w.task(project), ``)
		path := "/api/sessions/" + me + "/mail?wait=25s"
		answered := make(chan reply)
		go func() { answered <- w.send(http.MethodGet, path, token, "") }()
		synctest.Wait()
		w.do(adminToken, "session:kill", `{"sessionId":"`+me+`"}`).is(200)
		(<-answered).refused(403, "NOT_ALLOWED", "has ended")
		if list := w.denied(""); len(list) != 0 {
			t.Errorf("the end of the wait is recorded: %+v", list)
		}
		w.send(http.MethodGet, path, token, "").refused(403, "NOT_ALLOWED", "")
		if list := w.denied("?command=input:wait"); len(list) != 1 {
			t.Errorf("a wait after the end is recorded %d times", len(list))
		}
	})
}

// A session that has ended can read itself, its own task, its own questions and mail: every other read is refused.
func TestEndedSessionReads(t *testing.T) {
	for _, end := range []string{"killed", "timed out"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openInside(t, nil)
				project := w.project()
				own, other := w.task(project), w.task(project)
				me, token := w.session(adminToken, project, own, `,"timeout":60000`)
				sibling, _ := w.session(adminToken, project, own, ``)
				question := w.ask(token, "How?", ``)
				if end == "killed" {
					w.do(adminToken, "session:kill", `{"sessionId":"`+me+`"}`).is(200)
				} else {
					time.Sleep(61 * time.Second)
					w.system(&commands.TimeOutSession{SessionID: me})
				}
				mine := map[string]bool{
					"/api/whoami": true, "/api/commands": true, "/api/sessions/" + me: true, "/api/sessions/" + me +
						"/timeline": true,
					"/api/sessions/" + me + "/mail":     true,
					"/api/sessions/" + me + "/workflow": true,
					"/api/sessions/" + me + "/manifest": true, "/api/tasks/" + own: true, "/api/inputs/" +
						question: true,
					"/api/inputs?sessionId=" + me: true,
				}
				digest := w.manifestOf(sibling)
				for _, route := range append(w.readRoutes(), "/api/inputs?sessionId={id}") {
					for _, id := range []string{me, sibling, own, other, project, question, "none"} {
						path := strings.NewReplacer("{id}", id, "{id...}", id, "{digest}", digest, "{role}", "worker",
							"{name}", sibling).Replace(route)
						r := w.send(http.MethodGet, path, token, "", wire.HeaderOccurredAt, "2000-01-01T00:00:00Z")
						want := http.StatusForbidden
						if mine[path] || strings.HasPrefix(path, "/api/commands/") {
							want = http.StatusOK
						}
						if r.status != want {
							t.Errorf("GET %s: %d, want %d: %s", path, r.status, want, r.body)
						}
					}
				}
				w.do(token, "task:create", `{"title":"x"}`).is(403)
				w.do(token, "report:progress", `{"message":"m"}`).is(403)
				w.do(token, "report:progress", `{"message":"m"}`, wire.HeaderOccurredAt, "2000-01-01T00:00:00Z").is(200)
			})
		})
	}
}

// A call that waits when its session ends is not answered with data that the session may no longer read.
func TestSessionEndStopsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		for _, path := range []string{
			"/api/inputs/QUESTION?wait=20s", "/api/tasks?minSeq=NEXT",
			"/api/sessions?minSeq=NEXT", "/api/inbox?minSeq=NEXT",
		} {
			boss, token := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
			_, child := w.session(token, project, w.task(project), ``)
			question := w.ask(child, "How?", ``)
			next := strconv.FormatUint(w.log.head()+2, 10)
			path = strings.NewReplacer("QUESTION", question, "NEXT", next).Replace(path)
			answered := make(chan reply, 1)
			go func() { answered <- w.send(http.MethodGet, path, token, "") }()
			synctest.Wait()
			w.do(adminToken, "session:kill", `{"sessionId":"`+boss+`"}`).is(200)
			w.do(adminToken, "input:answer", `{"inputId":"`+question+`","answer":"so"}`).is(200)
			if r := <-answered; r.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", path, r.status, r.body)
			}
		}
	})
}

// Reads show the environment of a session only to the user and to the session itself.
func TestEnvironmentVisibility(t *testing.T) {
	const secret = "s3cret-marker"
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	_, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	child, own := w.session(orchestrator, project, task, ``)
	_, sibling := w.session(orchestrator, project, task, ``)
	w.do(adminToken, "session:update", `{"sessionId":"`+child+`","env":{"KEY":"`+secret+`"}}`).is(200)
	registered := w.do(adminToken, "session:register",
		`{"project":"`+project+`","taskIds":["`+task+`"],"env":{"KEY":"`+secret+`"}}`).is(200)
	second, secondToken := registered.text("event", "data", "sessionId"), registered.text("token")
	tokens := map[string]string{
		"admin": adminToken, "auditor": w.token("eye", "auditor"), "reader": w.token("rob", "read-only", project),
		"orchestrator": orchestrator, "sibling": sibling, "itself": own, "the other": secondToken,
	}
	shown := map[string]int{}
	for who, token := range tokens {
		for _, route := range w.readRoutes() {
			for _, id := range []string{child, second, task, project} {
				path := strings.NewReplacer("{id}", id, "{id...}", id, "{digest}", "sha256-"+strings.Repeat("0", 64),
					"{role}", "worker", "{name}", "x").Replace(route)
				r := w.send(http.MethodGet, path, token, "")
				if !strings.Contains(string(r.body), secret) {
					continue
				}
				shown[who]++
				switch {
				case who == "admin", who == "auditor", who == "itself" && id == child, who == "the other" &&
					id == second:
				default:
					t.Errorf("%s reads the environment at %s: %s", who, path, r.body)
				}
			}
		}
	}
	// The context of a spawn is for those who may read the session's manifest.
	given, _ := w.session(adminToken, project, task, `,"context":{"note":"c0ntext-marker"}`)
	for _, who := range []string{"sibling", "orchestrator"} {
		for _, path := range []string{"/api/sessions/" + given, "/api/sessions", "/api/live?after=0&follow=false"} {
			if r := w.send(http.MethodGet, path, tokens[who], ""); strings.Contains(string(r.body), "c0ntext-marker") {
				t.Errorf("%s reads the context at %s: %s", who, path, r.body)
			}
		}
	}
	r := w.send(http.MethodGet, "/api/sessions/"+given, adminToken, "")
	if !strings.Contains(string(r.body), "c0ntext-marker") {
		t.Errorf("the user does not read the context: %s", r.body)
	}
	for _, who := range []string{"admin", "auditor", "itself", "the other"} {
		if shown[who] == 0 {
			t.Errorf("%s cannot read the environment", who)
		}
	}
	// Neither do reads with a query, or of one event.
	paths := []string{
		"/api/audit/export?project=" + project, "/api/audit/denials?project=" + project,
		"/api/since?from=0&projectId=" + project, "/api/inbox?projectId=" + project,
		"/api/sessions?projectId=" + project,
		"/api/sessions?brief=true&projectId=" + project, "/api/projects/" + project + "/status",
	}
	for sequence := range w.log.head() {
		paths = append(paths, fmt.Sprint("/api/why/", sequence+1))
	}
	w.do(adminToken, "session:update", `{"sessionId":"`+child+`","env":{"`+secret+`=":"x"}}`).is(400)
	for who, token := range tokens {
		for _, path := range paths {
			mine := strings.HasPrefix(path, "/api/sessions") && (who == "itself" || who == "the other")
			r := w.send(http.MethodGet, path, token, "")
			if who != "admin" && who != "auditor" && !mine && strings.Contains(string(r.body), secret) {
				t.Errorf("%s reads the environment at %s: %s", who, path, r.body)
			}
		}
		// A dry run shows the variables that its caller supplied, but none that others supplied before.
		for _, command := range []string{"session:update", "session:register", "session:kill", "session:complete"} {
			for _, fields := range []string{``, `,"env":{"OTHER":"x"}`} {
				body := `{"sessionId":"` + child + `"` + fields + `}`
				r := w.send(http.MethodPost, "/api/commands/"+command+"?dryRun=true", token, body)
				if strings.Contains(string(r.body), secret) {
					t.Errorf("%s reads the environment in a dry run of %s: %s", who, command, r.body)
				}
			}
		}
	}
	// Neither does the answer to a write.
	for _, body := range []string{`{"status":"working"}`, `{"env":{"OTHER":"x"}}`, `{"timeline":[{"message":"m"}]}`} {
		if r := w.send(http.MethodPatch, "/api/sessions/"+child, orchestrator, body); strings.Contains(string(r.body),
			secret) {
			t.Errorf("the answer to %s shows the environment: %s", body, r.body)
		}
	}
}

// TestEndedSessionCannotReadByRetry: the older write routes show the current state, so an ended session does not
// get their answers again.
func TestEndedSessionCannotReadByRetry(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	id, token := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	body := `{"projectId":"` + project + `","title":"old"}`
	made := w.send(http.MethodPost, "/api/tasks", token, body, wire.HeaderKey, "k").is(201)
	w.send(http.MethodPost, "/api/tasks", token, body, wire.HeaderKey, "k").is(201)
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
	w.do(adminToken, "task:update", `{"taskId":"`+made.text("id")+`","title":"new"}`).is(200)
	r := w.send(http.MethodPost, "/api/tasks", token, body, wire.HeaderKey, "k").is(403)
	if strings.Contains(string(r.body), "new") {
		t.Errorf("an ended session reads the current state: %s", r.body)
	}
}

// TestKilledSessionLearnsOfKill: a refusal tells a killed session who killed it, when and why.
func TestKilledSessionLearnsOfKill(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	chief, orchestrator := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	for _, c := range []struct{ by, want string }{
		{adminToken, "has ended: the user killed it at 20"},
		{orchestrator, "has ended: session '" + chief + "' killed it at 20"},
	} {
		id, token := w.session(orchestrator, project, task, "")
		w.do(c.by, "session:kill", `{"sessionId":"`+id+`","reason":"wrong plan"}`).is(200)
		for command, body := range map[string]string{
			"report:progress":  `{"message":"m","taskIds":["none"]}`,
			"report:complete":  `{"message":"m"}`,
			"session:complete": `{}`,
		} {
			r := w.do(token, command, body).is(403)
			if text := r.text("message"); !strings.Contains(text, c.want) || !strings.HasSuffix(text, ": wrong plan") {
				t.Errorf("%s: %s, want %s", command, text, c.want)
			}
		}
	}
}
