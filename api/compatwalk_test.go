package api_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/service"
	"maestro/workers/prompt"
)

// claim is a sentence of docs/http-api-compat.md, with what shows that it holds.
type claim struct {
	text  string
	holds func(o *oldWorld)
}

// claims are sentences of docs/http-api-compat.md that the other tests of older clients do not walk through, each with
// what shows that it holds. Every one is checked without credentials (--auth off), and with tokens.
var claims = []claim{
	{"`OPTIONS` → 204", func(o *oldWorld) {
		for _, path := range []string{"/", "/health", "/api/projects", "/api/nosuch"} {
			o.send(http.MethodOptions, path, "", "").is(204)
			r := o.send(http.MethodOptions, path, "", "", "Origin", "https://page.example",
				"Access-Control-Request-Method", "PATCH").is(204)
			if r.header.Get("Access-Control-Allow-Origin") != "https://page.example" ||
				!strings.Contains(r.header.Get("Access-Control-Allow-Methods"), "PATCH") {
				o.Errorf("%s: %v", path, r.header)
			}
			// Stricter than the page: only an origin that was allowed.
			o.send(http.MethodOptions, path, "", "", "Origin", "https://evil.example").is(403)
		}
	}},
	{"Every time is a number: milliseconds since 1970. Ids are strings that match", func(o *oldWorld) {
		id, count := regexp.MustCompile(`^(proj|task|sess|evt|tmpl)_[A-Za-z0-9_-]+$`), 0
		o.template()
		for path, kind := range map[string]string{
			"/api/projects": "proj", "/api/tasks": "task", "/api/sessions": "sess", "/api/templates": "",
		} {
			for _, item := range o.call("GET", path, "").is(200).array() {
				each(item, func(key string, value any) {
					switch key {
					case "createdAt", "updatedAt", "startedAt", "completedAt", "lastActivity", "timestamp":
						count++
						if _, isNumber := value.(float64); value != nil && !isNumber {
							o.Errorf("%s: %s is %v", path, key, value)
						}
					case "id":
						if got := fmt.Sprint(value); kind != "" && !id.MatchString(got) {
							o.Errorf("%s: an id is %s", path, got)
						}
					}
				})
			}
		}
		if count < 10 {
			o.Errorf("%d times", count)
		}
	}},
	{"Deletions answer 200 `{\"success\":true,\"id\":\"…\"}`", func(o *oldWorld) {
		id := o.template()
		like(o.T, "deleted", `{"success":true,"id":"`+id+`"}`,
			any(o.call("DELETE", "/api/templates/"+id, "").is(200).object()))
		o.call("DELETE", "/api/templates/"+id, "").is(404)
	}},
	{"Listings are plain arrays in creation order, without paging", func(o *oldWorld) {
		for i := range 300 {
			o.call("POST", "/api/tasks", fmt.Sprintf(`{"projectId":%q,"title":"T%d"}`, o.project, i)).is(201)
		}
		var titles []string
		for _, item := range o.call("GET", "/api/tasks?projectId="+o.project, "").is(200).array() {
			titles = append(titles, item.(map[string]any)["title"].(string))
		}
		if len(titles) != 301 || titles[1] != "T0" || titles[300] != "T299" {
			o.Errorf("%d tasks: %.3q", len(titles), titles)
		}
	}},
	{"Unknown body keys are ignored without an error", func(o *oldWorld) {
		const more = `,"not a known key":{"a":[1]},"__proto__":1}`
		for _, call := range [][3]string{
			{"POST", "/api/projects", `{"name":"N"`},
			{"PUT", "/api/projects/" + o.project, `{"name":"N"`},
			{"POST", "/api/tasks", `{"projectId":"` + o.project + `","title":"T"`},
			{"PATCH", "/api/tasks/" + o.task, `{"title":"T"`},
			{"POST", "/api/sessions", `{"projectId":"` + o.project + `","taskIds":[]`},
			{"PATCH", "/api/sessions/" + o.session, `{"agentId":"a"`},
			{"POST", "/api/sessions/" + o.session + "/events", `{"type":"t"`},
			{"POST", "/api/sessions/" + o.session + "/timeline", `{"message":"m"`},
			{"POST", "/api/sessions/spawn", `{"projectId":"` + o.project + `","taskIds":["` + o.task + `"]`},
			{"POST", "/api/templates", `{"name":"n","role":"worker","content":` + jsonText(builtIn)},
		} {
			r := o.call(call[0], call[1], call[2]+more)
			if r.status/100 != 2 || strings.Contains(string(r.body), "not a known key") {
				o.Errorf("%s %s: %d %s", call[0], call[1], r.status, r.body)
			}
		}
	}},
	{"Request bodies may be up to 100 kB", func(o *oldWorld) {
		long := strings.Repeat("x", 100_000-100)
		body := `{"projectId":"` + o.project + `","title":"T","description":"` + long + `"}`
		o.call("POST", "/api/tasks", body).is(201)
		o.call("POST", "/api/tasks", `{"title":"`+strings.Repeat("x", 2<<20)+`"}`).refused(413, "TOO_LARGE", "")
	}},
	{"Malformed JSON gives 500 (*lax*: 400 would be right)", func(o *oldWorld) {
		for _, body := range []string{`{"name":`, `[`, `nothing`, `{"name":"a"}}`, `"text"`, `[]`, `1`} {
			o.call("POST", "/api/projects", body).refused(400, "VALIDATION_ERROR", "")
		}
	}},
	{"An unknown path gives 404 with an HTML page, not JSON (*lax*)", func(o *oldWorld) {
		for _, path := range []string{"/nosuch", "/api/nosuch", "/api/tasks/x/y/z", "/api/skills/a/b"} {
			o.call("GET", path, "").refused(404, "NOT_FOUND", "")
		}
	}},
	{"There is no PATCH", func(o *oldWorld) {
		o.call("PATCH", "/api/projects/"+o.project, `{"name":"N"}`).refused(405, "METHOD_NOT_ALLOWED", "")
	}},
	{"There is no PUT", func(o *oldWorld) {
		o.call("PUT", "/api/tasks/"+o.task, `{"title":"T"}`).refused(405, "METHOD_NOT_ALLOWED", "")
	}},
	{"None of the three is validated (*lax*)", func(o *oldWorld) { // stricter than the page
		for _, body := range []string{`{"status":"odd"}`, `{"priority":"odd"}`} {
			o.call("PATCH", "/api/tasks/"+o.task, body).refused(400, "VALIDATION_ERROR", "")
		}
		o.says(o.task, "odd").refused(400, "VALIDATION_ERROR", "")
	}},
	{"`?parentId=` (the word `null` = root tasks), combined with AND", func(o *oldWorld) {
		child := o.call("POST", "/api/tasks",
			`{"projectId":"`+o.project+`","title":"C","parentId":"`+o.task+`"}`).is(201).text("id")
		for query, want := range map[string]string{
			"projectId=" + o.project + "&parentId=null": o.task, "parentId=" + o.task + "&status=todo": child,
			"parentId=" + o.task + "&status=completed": "", "projectId=none&parentId=null": "",
		} {
			list := o.call("GET", "/api/tasks?"+query, "").is(200).array()
			if want == "" && len(list) != 0 ||
				want != "" && (len(list) != 1 || list[0].(map[string]any)["id"] != want) {
				o.Errorf("%s: %v", query, list)
			}
		}
	}},
	{"children and sessions keep the deleted id", func(o *oldWorld) {
		o.call("DELETE", "/api/tasks/"+o.task, "").is(200)
		like(o.T, "its session", `{"taskIds":["`+o.task+`"]}`,
			any(o.call("GET", "/api/sessions/"+o.session, "").is(200).object()))
	}},
	{"every other field is silently dropped and the answer is 200", func(o *oldWorld) {
		r := o.asSession("PATCH", "/api/tasks/"+o.task, `{"title":" ","status":"completed","priority":"odd",`+
			`"sessionIds":["x"],"updateSource":"session","sessionId":"`+o.session+`",`+
			`"sessionStatus":"working"}`).is(200)
		like(o.T, "the task", `{"title":"T","status":"todo","priority":"medium","sessionStatus":"working",
			"sessionIds":["`+o.session+`"]}`, any(r.object()))
	}},
	{"`?active=true` (all except completed)", func(o *oldWorld) {
		for _, status := range []string{"completed", "failed", "stopped"} {
			id := o.call("POST", "/api/sessions", `{"projectId":"`+o.project+`","taskIds":[]}`).is(201).text("id")
			o.call("PATCH", "/api/sessions/"+id, `{"status":"`+status+`"}`).is(200)
		}
		found := map[string]int{}
		for _, item := range o.call("GET", "/api/sessions?active=true", "").is(200).array() {
			found[item.(map[string]any)["status"].(string)]++
		}
		if found["completed"] != 0 || found["failed"] != 1 || found["stopped"] != 1 || found["running"] != 1 {
			o.Errorf("%v", found)
		}
	}},
	{"Creating with an id already in use replaces that session", func(o *oldWorld) {
		o.call("POST", "/api/sessions", `{"id":"`+o.session+`","projectId":"`+o.project+`","taskIds":[]}`).
			refused(409, "CONFLICT", "")
	}},
	{"returning to another status leaves it unchanged", func(o *oldWorld) {
		done := o.call("PATCH", "/api/sessions/"+o.session, `{"status":"completed","completedAt":1}`).is(200)
		if at, ok := done.at("completedAt").(float64); !ok || at < 9e11 {
			o.Errorf("completedAt is %v", done.at("completedAt"))
		}
		for _, status := range []string{"running", "idle", "working"} {
			r := o.call("PATCH", "/api/sessions/"+o.session, `{"status":"`+status+`"}`).is(200)
			if r.text("status") != status || r.at("completedAt") != done.at("completedAt") {
				o.Errorf("%s: %s, completed at %v", status, r.text("status"), r.at("completedAt"))
			}
		}
	}},
	{"Every change updates `lastActivity`", func(o *oldWorld) {
		path := "/api/sessions/" + o.session
		last := o.call("GET", path, "").is(200).at("lastActivity").(float64)
		for _, call := range [][3]string{
			{"PATCH", "", `{}`},
			{"POST", "/events", `{"type":"t"}`},
			{"POST", "/timeline", `{"message":"m"}`},
			{"DELETE", "/tasks/" + o.task, ""},
			{"POST", "/tasks/" + o.task, ""},
		} {
			time.Sleep(time.Millisecond)
			r := o.call(call[0], path+call[1], call[2]).is(200)
			if at, ok := r.at("lastActivity").(float64); !ok || at <= last {
				o.Errorf("%s %s: %v after %v", call[0], call[1], r.at("lastActivity"), last)
			} else {
				last = at
			}
		}
	}},
	{"the type and the `taskId` are not checked", func(o *oldWorld) {
		for _, kind := range []string{"progress", "milestone", "anything at all"} {
			o.asSession("POST", "/api/sessions/"+o.session+"/timeline",
				`{"type":"`+kind+`","message":"a\nb","taskId":"none"}`).is(200)
		}
	}},
	{"tree then fails with 500 manifest_generation_failed", func(o *oldWorld) { // a worker may have this strategy now
		o.call("POST", "/api/sessions/spawn",
			`{"projectId":"`+o.project+`","taskIds":["`+o.task+`"],"strategy":"tree"}`).is(201)
	}},
	{"deleting a default template gives 500 (*lax*: 4xx)", func(o *oldWorld) {
		var id string
		names := map[string]bool{}
		for _, item := range o.call("GET", "/api/templates", "").is(200).array() {
			template := item.(map[string]any)
			names[template["name"].(string)] = template["isDefault"].(bool)
			id = template["id"].(string)
		}
		if !names["Default Worker Template"] || !names["Default Orchestrator Template"] {
			o.Errorf("the default templates are %v", names)
		}
		if r := o.call("DELETE", "/api/templates/"+id, ""); r.status/100 != 4 {
			o.Errorf("%d %s", r.status, r.body)
		}
	}},
	{"`session register`: `GET` the session; if it exists: `PATCH", func(o *oldWorld) {
		o.call("GET", "/api/sessions/sess_new", "").is(404)
		o.call("POST", "/api/sessions", `{"id":"sess_new","projectId":"`+o.project+`","taskIds":["`+o.task+`"],`+
			`"name":"n","status":"running","strategy":"simple","metadata":{"role":"worker"}}`).is(201)
		o.call("PATCH", "/api/sessions/sess_new", `{"status":"running"}`).is(200)
	}},
	{"`{\"type\":\"file_modified\",\"data\":{\"file\",\"timestamp\"}}`", func(o *oldWorld) {
		r := o.asSession("POST", "/api/sessions/"+o.session+"/events",
			`{"type":"file_modified","data":{"file":"a.go","timestamp":"2026-02-02T10:00:00.000Z"}}`).is(200)
		like(o.T, "the session", `{"events":[{"type":"file_modified","data":{"file":"a.go"}}]}`, any(r.object()))
	}},
	{"`worker init`: `PATCH` the session to running, then each task", func(o *oldWorld) {
		second := o.call("POST", "/api/tasks", `{"projectId":"`+o.project+`","title":"Second"}`).is(201).text("id")
		spawned := o.call("POST", "/api/sessions/spawn",
			`{"projectId":"`+o.project+`","taskIds":["`+o.task+`","`+second+`"]}`).is(201)
		o.session = spawned.text("sessionId")
		like(o.T, "registered", `{"status":"running"}`,
			any(o.asSession("PATCH", "/api/sessions/"+o.session, `{"status":"running"}`).is(200).object()))
		for _, task := range []string{o.task, second} {
			like(o.T, "at work", `{"id":"`+task+`","sessionStatus":"working"}`,
				any(o.says(task, "working").is(200).object()))
		}
	}},
}

// each calls see with every member of a value.
func each(value any, see func(key string, value any)) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			see(key, member)
			each(member, see)
		}
	case []any:
		for _, item := range value {
			each(item, see)
		}
	}
}

// oldWorld is a server with a project, a task and a running session that has it, as an older client uses it.
type oldWorld struct {
	*world
	off                    bool
	project, task, session string
}

func (o *oldWorld) call(method, path, body string, header ...string) reply {
	o.Helper()
	if o.off {
		return o.send(method, path, "", body, header...)
	}
	return o.send(method, path, adminToken, body, header...)
}

// asSession is call for what the session's own process sends.
func (o *oldWorld) asSession(method, path, body string) reply {
	o.Helper()
	if o.off {
		return o.send(method, path, "", body)
	}
	return o.send(method, path, service.SessionToken(serverKey, o.session, 1), body)
}

// says sets a task's sessionStatus as the session.
func (o *oldWorld) says(task, status string) reply {
	o.Helper()
	return o.asSession("PATCH", "/api/tasks/"+task,
		`{"sessionStatus":"`+status+`","updateSource":"session","sessionId":"`+o.session+`"}`)
}

func (o *oldWorld) template() string {
	o.Helper()
	return o.call("POST", "/api/templates", `{"name":"n","role":"worker","content":`+jsonText(builtIn)+`}`).
		is(201).text("id")
}

// builtIn is a content that a template may have.
var builtIn, _ = prompt.BuiltIn().Template("execute-simple")

func TestOldClaims(t *testing.T) {
	page, err := os.ReadFile("../docs/http-api-compat.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range slices.Concat(claims, endClaims) {
		if !strings.Contains(string(page), claim.text) {
			t.Errorf("docs/http-api-compat.md does not say %q", claim.text)
		}
		for _, off := range []bool{true, false} {
			t.Run(fmt.Sprintf("%.40s, auth off %v", claim.text, off), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := &oldWorld{world: openInside(t, func(c *setup) {
						withTemplates(c)
						c.AuthOff = off
					}), off: off}
					o.project = o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
					task := `{"projectId":"` + o.project + `","title":"T"}`
					o.task = o.call("POST", "/api/tasks", task).is(201).text("id")
					o.session = o.call("POST", "/api/sessions",
						`{"projectId":"`+o.project+`","taskIds":["`+o.task+`"],"status":"running"}`).is(201).text("id")
					claim.holds(o)
				})
			})
		}
	}
}
