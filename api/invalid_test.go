package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"maestro/service/wire"
)

func asError[E error](err error, target *E) bool { return errors.As(err, target) }

// The error about an unknown field names the most similar valid field, or all valid fields.
func TestUnknownFieldsNameTheValidOnes(t *testing.T) {
	w := open(t, nil)
	for field, next := range map[string]string{
		"titel":                  "did you mean title?",
		"zzz":                    "the fields are: project, title, ",
		strings.Repeat("a", 500): "the fields are: project, title, ",
	} {
		r := w.do(adminToken, "task:create", `{"`+field+`":"x"}`).refused(400, "VALIDATION_ERROR", "there is no field")
		if !strings.HasPrefix(r.text("next"), next) {
			t.Errorf("%s: %s", field, r.body)
		}
	}
}

func TestBadInputChangesNothing(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task, second, foreign := w.task(project), w.task(project), w.task(other)
	w.do(adminToken, "task:update", `{"taskId":"`+second+`","dependencies":["`+task+`"]}`).is(200)
	session, _ := w.session(adminToken, project, task, ``)
	create := "/api/commands/task:create"
	cases := []struct {
		name, method, path, body string
		status                   int
		message                  string
		header                   []string
	}{
		{"an id with a slash", "POST", "/api/commands/task:complete", `{"taskId":"a/b"}`, 400, "is not an id", nil},
		{
			"an id with a wildcard", "POST", "/api/commands/task:complete", `{"taskId":"task.>"}`, 400, "is not an id",
			nil,
		},
		{"an id with a star", "POST", "/api/commands/session:kill", `{"sessionId":"*"}`, 400, "is not an id", nil},
		{
			"an id with a control character", "POST", "/api/commands/task:complete", `{"taskId":"a\u001b[2Jb"}`, 400,
			"is not an id", nil,
		},
		{"an id with NUL", "POST", "/api/commands/task:complete", `{"taskId":"a\u0000b"}`, 400, "is not an id", nil},
		{
			"an endless id", "POST", "/api/commands/task:complete", `{"taskId":"` + strings.Repeat("a", 1000) + `"}`,
			400,
			"at most 128", nil,
		},
		{
			"a new session's bad id", "POST", "/api/sessions", `{"id":"../x","projectId":"` + project +
				`","taskIds":[]}`,
			400, "is not an id", nil,
		},
		{"a path's bad id", "PATCH", "/api/tasks/a%2Fb", `{"title":"x"}`, 400, "is not an id", nil},
		{"a title of 10 MB", "POST", create, `{"project":"` + project + `","title":"` + strings.Repeat("x", 10<<20) +
			`"}`, 413, "1 MiB", nil},
		{"a title of 10 MB, older route", "POST", "/api/tasks", `{"projectId":"` + project + `","title":"` +
			strings.Repeat("x", 10<<20) + `"}`, 413, "1 MiB", nil},
		{"a title of 201 characters", "POST", create, `{"project":"` + project + `","title":"` +
			strings.Repeat("ä", 201) + `"}`, 400, "200", nil},
		{"no title", "POST", create, `{"project":"` + project + `"}`, 400, "Task title is required", nil},
		{
			"a blank title", "POST", create, `{"project":"` + project + `","title":"  "}`, 400,
			"Task title is required",
			nil,
		},
		{
			"a title with a line break", "POST", create, `{"project":"` + project + `","title":"a\nb"}`, 400, "control",
			nil,
		},
		{
			"invalid UTF-8", "POST", create, `{"project":"` + project + `","title":"` + "\xff\xfe" + `"}`, 400, "UTF-8",
			nil,
		},
		{
			"invalid UTF-8, older route", "POST", "/api/tasks", `{"projectId":"` + project + `","title":"` + "\xff" +
				`"}`,
			400, "UTF-8", nil,
		},
		{
			"an unknown field", "POST", create, `{"project":"` + project + `","title":"x","colour":"red"}`, 400,
			"colour",
			nil,
		},
		{"a wrong type", "POST", create, `{"project":"` + project + `","title":5}`, 400, "title must be a string", nil},
		{
			"a wrong type, older route", "POST", "/api/tasks", `{"projectId":"` + project + `","title":["x"]}`, 400,
			"title must be a string", nil,
		},
		{"a list for a body", "POST", create, `[]`, 400, "object", nil},
		{"two objects", "POST", create, `{"project":"` + project + `","title":"x"}{}`, 400, "more than one", nil},
		{"broken JSON", "POST", create, `{"title":`, 400, "cut", nil},
		{"broken JSON, older route", "POST", "/api/projects", `{"name":`, 400, "", nil},
		{"no JSON at all", "POST", "/api/projects", `hello`, 400, "not JSON", nil},
		{"an empty body", "POST", create, ``, 400, "is empty", []string{"Content-Type", "application/json"}},
		{"a dependency cycle", "POST", "/api/commands/task:update", `{"taskId":"` + task + `","dependencies":["` +
			second + `"]}`, 400, "cycle", nil},
		{"a dependency on itself", "POST", "/api/commands/task:update", `{"taskId":"` + task + `","dependencies":["` +
			task + `"]}`, 400, "itself", nil},
		{"a dependency that is not there", "POST", create, `{"project":"` + project +
			`","title":"x","dependencies":["task_none"]}`, 404, "task_none", nil},
		{"a parent in another project", "POST", create, `{"project":"` + project + `","title":"x","parentId":"` +
			foreign + `"}`, 400, "Parent task", nil},
		{"a parent in another project, older route", "POST", "/api/tasks", `{"projectId":"` + project +
			`","title":"x","parentId":"` + foreign + `"}`, 400, "Parent task", nil},
		{"a parent that is not there", "POST", "/api/tasks", `{"projectId":"` + project +
			`","title":"x","parentId":"nope"}`, 404, "Parent task with id 'nope' not found", nil},
		{"a status that is none", "PATCH", "/api/tasks/" + task, `{"status":"done"}`, 400, "done", nil},
		{"a priority that is none", "PATCH", "/api/tasks/" + task, `{"priority":"urgent"}`, 400, "urgent", nil},
		{
			"a sessionStatus that is none", "PATCH", "/api/tasks/" + task, `{"sessionStatus":"dancing"}`, 400,
			"dancing",
			nil,
		},
		{
			"a session's status that is none", "PATCH", "/api/sessions/" + session, `{"status":"dancing"}`, 400,
			"dancing",
			nil,
		},
		{"a new session's status that is none", "POST", "/api/sessions", `{"projectId":"` + project +
			`","taskIds":[],"status":"dancing"}`, 400, "dancing", nil},
		{
			"an id in use", "POST", "/api/sessions", `{"id":"` + session + `","projectId":"` + project +
				`","taskIds":[]}`,
			409, "already exists", nil,
		},
		{
			"a wrong Content-Type", "POST", create, `{"project":"` + project + `","title":"x"}`, 415,
			"application/json",
			[]string{"Content-Type", "text/plain"},
		},
		{
			"a form", "POST", create, `title=x`, 415, "application/json",
			[]string{"Content-Type", "application/x-www-form-urlencoded"},
		},
		{
			"no Content-Type", "POST", create, `{"project":"` + project + `","title":"x"}`, 415, "there is none",
			[]string{"Content-Type", ""},
		},
		{
			"a wrong Content-Type, older route", "POST", "/api/tasks", `{"projectId":"` + project + `","title":"x"}`,
			415,
			"application/json",
			[]string{"Content-Type", "text/plain"},
		},
		{"a wrong method", "PUT", "/api/tasks/" + task, `{"title":"x"}`, 405, "PUT", nil},
		{"a wrong method on a command", "PUT", create, ``, 405, "PUT", nil},
		{"a PATCH of a project", "PATCH", "/api/projects/" + project, `{"name":"x"}`, 405, "PATCH", nil},
		{"an unknown path", "GET", "/api/nothing/here", ``, 404, "/api/nothing/here", nil},
		{"an unknown path outside", "GET", "/nothing", ``, 404, "/nothing", nil},
		{"a path that climbs", "GET", "/api/tasks/../../x", ``, 404, "nothing", nil},
		{"a path with two slashes", "POST", "/api//tasks", `{}`, 404, "nothing", nil},
		{"an unknown command", "POST", "/api/commands/task:explode", `{}`, 404, "no command", nil},
		{"a command with a slash", "POST", "/api/commands/task/create", `{}`, 404, "no command", nil},
		{"a read as a command", "POST", "/api/commands/task:list", `{}`, 404, "is a read", nil},
		{
			"a project in use", "DELETE", "/api/projects/" + project, ``, 422,
			"Cannot delete project with existing tasks",
			nil,
		},
		{
			"a bad Host", "POST", create, `{"project":"` + project + `","title":"x"}`, 403, "evil.example",
			[]string{"Host", "evil.example"},
		},
		{
			"a bad Origin", "POST", create, `{"project":"` + project + `","title":"x"}`, 403, "evil.example",
			[]string{"Origin", "http://evil.example"},
		},
		{
			"an endless key", "POST", "/api/projects", `{"name":"x"}`, 400, wire.HeaderKey,
			[]string{wire.HeaderKey, strings.Repeat("x", 300)},
		},
	}
	before := w.views()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			at := *w
			at.T = t
			r := at.send(c.method, c.path, adminToken, c.body, c.header...)
			if r.status != c.status || !strings.Contains(string(r.body), c.message) {
				t.Fatalf("expected %d with %q, got %d %.300s", c.status, c.message, r.status, r.body)
			}
			r.refused(c.status, r.text("code"), "")
			if c.status == http.StatusMethodNotAllowed && r.header.Get("Allow") == "" {
				t.Error("a 405 without Allow")
			}
			if strings.ContainsAny(string(r.body), "\x1b\x00") || strings.Contains(r.text("message"), "\x1b") {
				t.Errorf("a message with control characters: %q", r.body)
			}
			if w.views() != before {
				t.Error("the request changed something")
			}
		})
	}
}

func TestTruncatedBody(t *testing.T) {
	w := open(t, nil)
	address := strings.TrimPrefix(w.url, "http://")
	for _, path := range []string{"/api/commands/project:create", "/api/projects"} {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(connection,
			"POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
				"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"name\":\"cut\"}",
			path, address, adminToken)
		if err != nil {
			t.Fatal(err)
		}
		if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: a truncated body got %d", path, resp.StatusCode)
		}
		_ = resp.Body.Close()
		_ = connection.Close()
	}
	if w.log.head() != 0 {
		t.Error("a truncated body was stored")
	}
}
