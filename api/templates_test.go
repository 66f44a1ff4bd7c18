package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/workers/prompt"
)

func withTemplates(c *setup) { c.Templates = prompt.Own{} }

func jsonText(text string) string {
	encoded, _ := json.Marshal(text) // a string always has JSON
	return string(encoded)
}

// Section 7 of the older API.
func TestTemplates(t *testing.T) {
	w := open(t, withTemplates)
	own := w.send(http.MethodGet, "/api/templates", adminToken, "").is(200).array()
	if len(own) != len(commands.OwnTemplates()) {
		t.Fatalf("%d templates exist from the start, expected %d", len(own), len(commands.OwnTemplates()))
	}
	names := ""
	for _, one := range own {
		template := one.(map[string]any)
		names += template["name"].(string) + "\n"
		if template["isDefault"] != true || template["content"] == "" {
			t.Errorf("%v is not one of Maestro's own", template)
		}
	}
	for _, name := range []string{"Default Worker Template\n", "Default Orchestrator Template\n"} {
		if !strings.Contains(names, name) {
			t.Errorf("there is no %q among\n%s", name, names)
		}
	}
	simple, _ := prompt.BuiltIn().Template("execute-simple")
	if r := w.send(http.MethodGet, "/api/templates/default/worker", adminToken,
		"").is(200); r.text("content") != simple || r.text("role") != "worker" {
		t.Errorf("the default of a worker is %s", r.body)
	}
	w.send(http.MethodGet, "/api/templates/default/boss", adminToken, "").refused(400, "VALIDATION_ERROR",
		`Invalid role. Must be "worker" or "orchestrator"`)
	w.send(http.MethodGet, "/api/templates/role/boss", adminToken, "").refused(400, "VALIDATION_ERROR",
		`Invalid role. Must be "worker" or "orchestrator"`)
	if n := len(w.send(http.MethodGet, "/api/templates/role/orchestrator", adminToken, "").is(200).array()); n != 3 {
		t.Errorf("%d templates of orchestrators", n)
	}

	w.send(http.MethodPost, "/api/templates", adminToken, `{"name":"x"}`).refused(400, "VALIDATION_ERROR",
		"name, role, and content are required")
	w.send(http.MethodPost, "/api/templates", adminToken,
		`{"name":"x","role":"worker","content":"run `+"`maestro task complete`"+`"}`).refused(400, "VALIDATION_ERROR",
		"")
	queue, _ := prompt.BuiltIn().Template("execute-queue")
	made := w.send(http.MethodPost, "/api/templates", adminToken,
		`{"name":"n","role":"worker","content":`+jsonText(queue)+`}`).is(201)
	id := made.text("id")
	if made.at("isDefault") != false || made.text("content") != queue || made.at("version") != float64(1) ||
		!strings.HasPrefix(id, "tmpl_") {
		t.Errorf("made: %s", made.body)
	}
	w.send(http.MethodPut, "/api/templates/"+id, adminToken, `{}`).refused(400, "VALIDATION_ERROR",
		"At least one of name or content is required")
	if r := w.send(http.MethodPut, "/api/templates/"+id, adminToken, `{"name":"m"}`).is(200); r.text("name") != "m" ||
		r.at("version") != float64(1) {
		t.Errorf("renamed: %s", r.body)
	}
	if r := w.send(http.MethodPost, "/api/templates/"+id+"/reset", adminToken,
		"").is(200); r.text("content") != simple || r.at("version") != float64(2) {
		t.Errorf("reset: %s", r.body)
	}
	w.send(http.MethodDelete, "/api/templates/"+id, adminToken, "").is(200)
	w.send(http.MethodGet, "/api/templates/"+id, adminToken, "").refused(404, "NOT_FOUND",
		"Template with id '"+id+"' not found")
	w.send(http.MethodDelete, "/api/templates/execute-simple", adminToken, "").is(422)

	// A built-in template is changed, and reset.
	if r := w.send(http.MethodPut, "/api/templates/execute-simple", adminToken,
		`{"content":`+jsonText(queue)+`}`).is(200); r.text("content") != queue || r.at("changed") != true ||
		r.at("isDefault") != true {
		t.Errorf("changed: %s", r.body)
	}
	if r := w.send(http.MethodPost, "/api/templates/execute-simple/reset", adminToken,
		"").is(200); r.text("content") != simple || r.at("changed") != nil {
		t.Errorf("reset: %s", r.body)
	}
}

// Who may use templates: an orchestrator reads them all, any session reads the one of its own prompts, and no session
// changes them; a spawn can only name an existing one.
func TestTemplatesOfSessions(t *testing.T) {
	w := open(t, withTemplates)
	project := w.project()
	task := w.task(project)
	session, token := w.session(adminToken, project, task, "")
	_, lead := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	w.send(http.MethodGet, "/api/templates/execute-simple", token, "").is(403)
	w.send(http.MethodGet, "/api/templates/execute-simple", lead, "").is(200)
	own := w.send(http.MethodGet, "/api/sessions/"+session+"/workflow", token, "").is(200)
	if own.text("id") != "execute-simple" || own.text("content") == "" {
		t.Errorf("its workflow: %s", own.body)
	}
	w.send(http.MethodPut, "/api/templates/execute-simple", token, `{"content":"x"}`).is(403)
	w.do(token, "template:update", `{"templateId":"execute-simple","content":"x"}`).is(403)
	w.do(adminToken, "template:update", `{"templateId":"execute-simple","content":"x"}`).is(400)
	w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","taskIds":["`+task+`"],"templateId":"tmpl_none"}`).is(404)
	w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","taskIds":["`+task+`"],"templateId":"execute-tree"}`).is(200)
}
