package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
)

// useCases are those of docs/spec/000-command-permissions.md, "Use Cases", by allowedCommands at spawn. The core
// commands come with every list.
var useCases = []struct {
	name, fields string
	allowed      []string
}{
	{
		"reporting only", `,"allowedCommands":["whoami","task:get","report:progress","report:complete"]`,
		[]string{"task:get", "report:progress", "report:complete"},
	},
	{
		"queue only",
		`,"strategy":"queue",` +
			`"allowedCommands":["whoami","queue:start","queue:complete","queue:fail","report:progress"]`,
		[]string{"queue:start", "queue:complete", "queue:fail", "report:progress"},
	},
	{
		"read-only", `,"allowedCommands":["whoami","task:get","task:list","session:info"]`,
		[]string{"task:get", "task:list", "session:info"},
	},
}

var core = []string{"whoami", "status", "commands", "session:register", "session:complete", "track-file", "worker:init"}

func TestUseCases(t *testing.T) {
	for _, use := range useCases {
		t.Run(use.name, func(t *testing.T) {
			w := open(t, func(c *setup) { c.Backup = noBackup })
			project := w.project()
			own, second := w.task(project), w.task(project)
			body := `{"project":"` + project + `","taskIds":["` + own + `","` + second + `"]` + use.fields + `}`
			spawned := w.do(adminToken, "session:spawn", body).is(200)
			me, token := spawned.text("event", "data", "sessionId"), spawned.text("token")
			child, asker := w.session(adminToken, project, own, ``)
			question := w.ask(asker, "Which?", ``)
			names := strings.NewReplacer("SELF", "", "PROJECT", project, "OWN", own, "BLOCKED", second, "ME", me,
				"CHILD", child, "EMPTY", project,
				"PULLER", me, "SHARED", me, "QUESTION", question, "MINE", question, "DIGEST", w.manifestOf(me))
			may := func(id string) bool {
				if strings.HasPrefix(id, "task:report:") {
					id = strings.TrimPrefix(id, "task:")
				}
				return slices.Contains(use.allowed, id) || slices.Contains(core, id)
			}
			refused := func(id string, r reply) {
				t.Helper()
				r.refused(http.StatusForbidden, "NOT_ALLOWED", "Command '")
				if rule := r.text("rule"); rule != id && "task:"+rule != id {
					t.Errorf("%s: the rule is %s", id, rule)
				}
				named := func(allowed string) bool {
					return strings.Contains(r.text("next"), "`maestro "+strings.ReplaceAll(allowed, ":", " "))
				}
				if !slices.ContainsFunc(slices.Concat(use.allowed, core), named) {
					t.Errorf("%s: the refusal suggests no allowed command: %s", id, r.body)
				}
			}
			// Commands that may be used only once are tried last.
			once := func(id string) bool { return id == "session:complete" || id == "report:complete" }
			tried := map[string]bool{}
			for _, last := range []bool{false, true} {
				for _, row := range writes {
					if once(row.id) != last || tried[row.id] {
						continue
					}
					tried[row.id] = true
					if first := map[string]string{
						"queue:complete": "queue:start",
						"queue:fail":     "queue:start",
					}[row.id]; first != "" && may(first) {
						w.do(token, first, `{}`).is(200)
					}
					r := w.do(token, row.id, names.Replace(row.body))
					if row.id == "input:received" { // allowed only for the session's own mail
						r.refused(http.StatusForbidden, "NOT_ALLOWED", "is not session")
					} else if !may(row.id) {
						refused(row.id, r)
					} else if r.status != http.StatusOK {
						t.Errorf("%s: %d %s", row.id, r.status, r.body)
					}
				}
			}
			for _, row := range []struct{ id, path string }{
				{"whoami", "/api/whoami"},
				{"commands", "/api/commands"},
				{"status", "/api/projects/PROJECT/status"},
				{"task:list", "/api/tasks"},
				{"task:get", "/api/tasks/OWN"},
				{"task:children", "/api/tasks/OWN/children"},
				{"task:tree", "/api/tasks/OWN/tree"},
				{"session:list", "/api/sessions"},
				{"session:info", "/api/sessions/ME"},
				{"queue:top", "/api/sessions/ME/queue/top"},
				{"queue:list", "/api/sessions/ME/queue"},
				{"queue:status", "/api/queues"},
				{"project:list", "/api/projects"},
				{"project:get", "/api/projects/PROJECT"},
				{"inbox", "/api/inbox"},
				{"input:list", "/api/inputs"},
				{"since", "/api/since"},
				{"why", "/api/why/OWN"},
				{"audit:head", "/api/audit/head"},
				{"audit:export", "/api/audit/export"},
				{"audit:verify", "/api/audit/verify"},
				{"audit:denials", "/api/audit/denials"},
				{"audit:can", "/api/audit/can?actor=admin&command=whoami"},
				{"token:list", "/api/tokens"},
				{"audit:export", "/api/backup"},
			} {
				r := w.send(http.MethodGet, names.Replace(row.path), token, "")
				if !may(row.id) {
					refused(row.id, r)
				} else if r.status != http.StatusOK {
					t.Errorf("%s: %d %s", row.id, r.status, r.body)
				}
			}
			// The list that the session is told is the one that is enforced.
			told := w.send(http.MethodGet, "/api/commands", token, "").is(200).at("allowedCommands").([]any)
			for _, id := range told {
				if !may(id.(string)) {
					t.Errorf("%v is listed as allowed", id)
				}
			}
			if len(told) != len(use.allowed)+len(core) {
				t.Errorf("listed as allowed are %v", told)
			}
		})
	}
}

// TestListCannotExceedRole: a list of commands cannot grant what the table does not grant to the role.
func TestListCannotExceedRole(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	for _, row := range commands.CurrentRules().Rows() {
		for fields, column := range map[string]commands.RoleSet{
			``: commands.RoleWorker, `,"strategy":"queue"`: commands.RoleQueueWorker,
			`,"role":"orchestrator"`: commands.RoleOrchestrator,
		} {
			list, err := json.Marshal([]string{"whoami", row.ID})
			if err != nil {
				t.Fatal(err)
			}
			r := w.do(adminToken, "session:spawn",
				`{"project":"`+project+`","taskIds":["`+task+`"]`+fields+`,"allowedCommands":`+string(list)+`}`)
			if !row.Write || row.Who&column != 0 {
				continue
			}
			if r.refused(400, "VALIDATION_ERROR", row.ID); r.text("pointer") != "/allowedCommands/1" {
				t.Errorf("%s: %s", row.ID, r.body)
			}
		}
	}
}
