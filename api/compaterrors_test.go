package api_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// olderError is an error as docs/http-api-compat.md has it: by is "domain" if it carries statusCode, "route" if not.
type olderError struct {
	method, path, body string
	status             int
	by, code, message  string
}

// TestErrorsOfOlderClients compares each error body with docs/http-api-compat.md, and that page with the table.
func TestErrorsOfOlderClients(t *testing.T) {
	o := old{open(t, func(c *setup) {
		authOff(c)
		withTemplates(c)
	})}
	project := o.call("POST", "/api/projects", `{"name":"P"}`).is(201).text("id")
	task := o.call("POST", "/api/tasks", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id")
	session := o.call("POST", "/api/sessions", `{"projectId":"`+project+`","taskIds":[]}`).is(201).text("id")
	_, queue, queued := o.puller(2)
	never := o.call("POST", "/api/sessions", `{"projectId":"`+project+`","taskIds":[],"strategy":"queue"}`).
		is(201).text("id")
	_, drained, _ := o.puller(1)
	o.call("POST", "/api/sessions/"+drained+"/queue/skip", "").is(200)
	_, busy, held := o.puller(2)
	o.call("POST", "/api/sessions/"+busy+"/queue/start", "").is(200)
	template := o.call("POST", "/api/templates", `{"name":"n","role":"worker","content":`+jsonText(builtIn)+`}`).
		is(201).text("id")
	below := "/api/sessions/" + session
	some := `{"projectId":"p","taskIds":["task_x"]`
	const invalid, missing, rule = "VALIDATION_ERROR", "NOT_FOUND", "BUSINESS_RULE_ERROR"
	const spawn = "/api/sessions/spawn"

	table := []olderError{
		{"POST", "/api/projects", `{}`, 400, "domain", invalid, "Project name is required"},
		{"POST", "/api/projects", `{"name":" "}`, 400, "domain", invalid, "Project name is required"},
		{"PUT", "/api/projects/" + project, `{"name":" "}`, 400, "domain", invalid, "Project name cannot be empty"},
		{"GET", "/api/projects/proj_x", ``, 404, "domain", missing, "Project with id 'proj_x' not found"},
		{"PUT", "/api/projects/proj_x", `{"name":"n"}`, 404, "domain", missing, "Project with id 'proj_x' not found"},
		{"DELETE", "/api/projects/proj_x", ``, 404, "domain", missing, "Project with id 'proj_x' not found"},
		{"DELETE", "/api/projects/" + project, ``, 422, "domain", rule, "Cannot delete project with existing tasks"},

		{"POST", "/api/tasks", `{}`, 400, "domain", invalid, "Project ID is required"},
		{"POST", "/api/tasks", `{"projectId":"x"}`, 400, "domain", invalid, "Task title is required"},
		{
			"POST", "/api/tasks", `{"projectId":"proj_x","title":"T"}`, 404, "domain", missing,
			"Project with id 'proj_x' not found",
		},
		{
			"POST", "/api/tasks", `{"projectId":"` + project + `","title":"T","parentId":"task_y"}`,
			404, "domain", missing,
			"Parent task with id 'task_y' not found",
		},
		{"PATCH", "/api/tasks/" + task, `{"title":" "}`, 400, "domain", invalid, "Task title cannot be empty"},
		{"GET", "/api/tasks/task_x", ``, 404, "domain", missing, "Task with id 'task_x' not found"},
		{"PATCH", "/api/tasks/task_x", `{}`, 404, "domain", missing, "Task with id 'task_x' not found"},
		{"DELETE", "/api/tasks/task_x", ``, 404, "domain", missing, "Task with id 'task_x' not found"},
		{"GET", "/api/tasks/task_x/children", ``, 404, "domain", missing, "Task with id 'task_x' not found"},
		{"POST", "/api/tasks/" + task + "/timeline", `{}`, 400, "route", invalid, "message is required"},
		{"POST", "/api/tasks/" + task + "/timeline", `{"message":"m"}`, 400, "route", invalid, "sessionId is required"},
		{
			"POST", "/api/tasks/task_x/timeline", `{"message":"m","sessionId":"s"}`, 404, "domain", missing,
			"Task with id 'task_x' not found",
		},
		{
			"POST", "/api/tasks/" + task + "/timeline", `{"message":"m","sessionId":"sess_x"}`, 404, "domain", missing,
			"Session with id 'sess_x' not found",
		},

		{"POST", "/api/sessions", `{}`, 400, "route", invalid, "taskIds is required"},
		{"POST", "/api/sessions", `{"taskIds":[]}`, 400, "route", invalid, "Project ID is required"},
		{
			"POST", "/api/sessions", `{"taskIds":[],"projectId":"proj_x"}`, 404, "domain", missing,
			"Project with id 'proj_x' not found",
		},
		{
			"POST", "/api/sessions", `{"taskIds":["task_x"],"projectId":"` + project + `"}`, 404, "domain", missing,
			"Task with id 'task_x' not found",
		},
		{"GET", "/api/sessions/sess_x", ``, 404, "domain", missing, "Session with id 'sess_x' not found"},
		{"PATCH", "/api/sessions/sess_x", `{}`, 404, "domain", missing, "Session with id 'sess_x' not found"},
		{"DELETE", "/api/sessions/sess_x", ``, 404, "domain", missing, "Session with id 'sess_x' not found"},
		{"POST", below + "/events", `{}`, 400, "route", invalid, "type is required"},
		{
			"POST", "/api/sessions/sess_x/events", `{"type":"x"}`, 404, "domain", missing,
			"Session with id 'sess_x' not found",
		},
		{"POST", below + "/timeline", `{"message":""}`, 400, "route", invalid, "message is required"},
		{
			"POST", "/api/sessions/sess_x/timeline", `{"message":"m"}`, 404, "domain", missing,
			"Session with id 'sess_x' not found",
		},
		{
			"POST", "/api/sessions/sess_x/tasks/" + task, ``, 404, "domain", missing,
			"Session with id 'sess_x' not found",
		},
		{"POST", below + "/tasks/task_x", ``, 404, "domain", missing, "Task with id 'task_x' not found"},
		{
			"DELETE", "/api/sessions/sess_x/tasks/" + task, ``, 404, "domain", missing,
			"Session with id 'sess_x' not found",
		},

		{"POST", spawn, `{}`, 400, "route", "missing_project_id", "projectId is required"},
		{"POST", spawn, `{"projectId":"p"}`, 400, "route", "invalid_task_ids", "taskIds must be a non-empty array"},
		{
			"POST", spawn, some + `,"spawnSource":"me"}`, 400, "route", "invalid_spawn_source",
			`spawnSource must be "ui" or "session"`,
		},
		{
			"POST", spawn, some + `,"spawnSource":"session"}`, 400, "route", "missing_session_id",
			`sessionId is required when spawnSource is "session"`,
		},
		{
			"POST", spawn, some + `,"spawnSource":"session","sessionId":"sess_x"}`, 404, "route",
			"parent_session_not_found", "Parent session sess_x not found",
		},
		{
			"POST", spawn, some + `,"role":"boss"}`, 400, "route", "invalid_role",
			`role must be "worker" or "orchestrator"`,
		},
		{"POST", spawn, some + `}`, 404, "route", "task_not_found", "Task task_x not found"},
		{
			"POST", spawn, `{"projectId":"proj_x","taskIds":["` + task + `"]}`, 404, "route", "project_not_found",
			"Project proj_x not found",
		},
		{
			"POST", spawn, `{"projectId":"` + project + `","taskIds":["` + task + `"],"strategy":"none"}`, 400, "route",
			"invalid_strategy", `strategy must be "simple", "queue", or "tree"`,
		},

		{"GET", "/api/sessions/sess_x/queue", ``, 404, "domain", missing, "Session with id 'sess_x' not found"},
		{"GET", below + "/queue", ``, 400, "domain", invalid, "Session " + session + " does not use queue strategy"},
		{
			"GET", "/api/sessions/" + never + "/queue", ``, 404, "domain", missing,
			"Queue with id '" + never + "' not found",
		},
		{
			"POST", "/api/sessions/" + busy + "/queue/start", ``, 400, "domain", invalid,
			"Already processing task " + held[0] + ". Complete or fail it first.",
		},
		{
			"POST", "/api/sessions/" + queue + "/queue/complete", ``, 400, "domain", invalid,
			`No item currently being processed. Run "start" first.`,
		},
		{
			"POST", "/api/sessions/" + queue + "/queue/fail", `{}`, 400, "domain", invalid,
			`No item currently being processed. Run "start" first.`,
		},
		{
			"POST", "/api/sessions/" + drained + "/queue/skip", ``, 400, "domain", invalid,
			"No items left in queue to skip",
		},
		{"POST", "/api/sessions/" + queue + "/queue/push", `{}`, 400, "route", invalid, "taskId is required"},
		{
			"POST", "/api/sessions/" + queue + "/queue/push", `{"taskId":"` + queued[0] + `"}`, 400, "domain", invalid,
			"Task " + queued[0] + " already in queue",
		},
		{
			"POST", "/api/sessions/" + queue + "/queue/push", `{"taskId":"task_x"}`, 404, "domain", missing,
			"Task with id 'task_x' not found",
		},

		{"GET", "/api/templates/tmpl_x", ``, 404, "domain", missing, "Template with id 'tmpl_x' not found"},
		{
			"GET", "/api/templates/role/boss", ``, 400, "route", invalid,
			`Invalid role. Must be "worker" or "orchestrator"`,
		},
		{
			"GET", "/api/templates/default/boss", ``, 400, "route", invalid,
			`Invalid role. Must be "worker" or "orchestrator"`,
		},
		{"POST", "/api/templates", `{}`, 400, "any", invalid, "name, role, and content are required"},
		{
			"PUT", "/api/templates/tmpl_x", `{"name":"n"}`, 404, "domain", missing,
			"Template with id 'tmpl_x' not found",
		},
		{
			"PUT", "/api/templates/" + template, `{}`, 400, "any", invalid,
			"At least one of name or content is required",
		},
	}
	page, err := os.ReadFile("../docs/http-api-compat.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := general(strings.ReplaceAll(string(page), `\<`, `<`))
	before := o.log.head()
	for _, e := range table {
		r := o.call(e.method, e.path, e.body)
		where := fmt.Sprintf("%s %s %s", e.method, e.path, e.body)
		status := r.at("statusCode")
		if r.status != e.status || r.at("error") != true || r.text("code") != e.code || r.text("message") != e.message {
			t.Errorf("%s: expected %d %s %q, got %d %s", where, e.status, e.code, e.message, r.status, r.body)
		}
		if e.by == "domain" && status != float64(e.status) || e.by == "route" && status != nil {
			t.Errorf("%s: statusCode is %v for an error of the %s", where, status, e.by)
		}
		if message := general(e.message); !strings.Contains(documented, message) &&
			!strings.HasSuffix(message, "with id '<id>' not found") {
			t.Errorf("docs/http-api-compat.md does not have %q", message)
		}
	}
	if o.log.head() != before {
		t.Error("a refused call appended an event")
	}
}

var anID = regexp.MustCompile(`'…'|(?:proj|task|sess|tmpl)_[a-z0-9_]+`)

// general replaces the names in a message by <id>.
func general(text string) string { return anID.ReplaceAllString(text, "<id>") }
