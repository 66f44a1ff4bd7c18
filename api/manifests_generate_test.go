package api_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"maestro/workers/manifest"
)

// TestGeneratedManifestEqualsSpawned: a generated manifest equals that of a spawn, whatever the length of the
// texts.
func TestGeneratedManifestEqualsSpawned(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	create := func(fields string) string {
		t.Helper()
		body := `{"project":"` + project + `","title":"T",` + fields + `}`
		return w.do(adminToken, "task:create", body).is(200).text("event", "data", "taskId")
	}
	long := strings.Repeat("word ", 14_000)
	ground := create(`"description":"the ground"`)
	w.do(adminToken, "task:complete", `{"taskId":"`+ground+`"}`).is(200)
	task := create(`"description":"` + long + `","initialPrompt":"` + long + `","dependencies":["` + ground + `"]`)
	create(`"dependencies":["` + task + `"]`)
	create(`"parentId":"` + task + `"`)

	r := w.send(http.MethodPost, "/api/manifests/generate", adminToken, `{"taskIds":["`+task+`"]}`).is(200)
	generated, err := manifest.Parse(r.body)
	if err != nil {
		t.Fatal(err)
	}
	session, _ := w.session(adminToken, project, task, "")
	spawned, err := manifest.Parse(
		w.send(http.MethodGet, "/api/sessions/"+session+"/manifest", adminToken, "").is(200).body,
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := generated.Tasks[0].Description; got != long {
		t.Errorf("a description of %d bytes has %d in the manifest", len(long), len(got))
	}
	if !reflect.DeepEqual(generated.Tasks, spawned.Tasks) {
		t.Errorf("the tasks differ: %d and %d bytes of description", len(generated.Tasks[0].Description),
			len(spawned.Tasks[0].Description))
	}
	if !reflect.DeepEqual(generated.Context.RelatedTasks, spawned.Context.RelatedTasks) {
		t.Errorf("the related tasks differ:\n%+v\n%+v", generated.Context.RelatedTasks, spawned.Context.RelatedTasks)
	}
	var custom struct{ InitialPrompt string }
	if err := json.Unmarshal(generated.Context.Custom, &custom); err != nil || custom.InitialPrompt != long {
		t.Errorf("a prompt of %d bytes has %d in the manifest: %v", len(long), len(custom.InitialPrompt), err)
	}
}

// TestWhoMayGenerateAManifest: the table decides, for the project and for each task.
func TestWhoMayGenerateAManifest(t *testing.T) {
	w := open(t, nil)
	project, other := w.project(), w.project()
	task, foreign := w.task(project), w.task(other)
	generate := func(token, task string) reply {
		t.Helper()
		return w.send(http.MethodPost, "/api/manifests/generate", token, `{"taskIds":["`+task+`"]}`)
	}
	_, worker := w.session(adminToken, project, task, "")
	generate(worker, task).refused(403, "NOT_ALLOWED", "manifest:generate")
	_, boss := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	generate(boss, task).is(200)
	generate(boss, foreign).refused(403, "NOT_ALLOWED", "")
	generate(adminToken, "task_none").refused(404, "NOT_FOUND", "task_none")
	generate(w.token("reader", "read-only", project), task).is(200)
	path := "/api/manifests/generate"
	w.send(http.MethodPost, path, adminToken, `{"project":"proj_none","strategy":"queue"}`).
		refused(404, "NOT_FOUND", "")
	w.send(http.MethodPost, path, adminToken, `{"taskId":"`+task+`"}`).refused(400, "VALIDATION_ERROR", "taskId")
	r := w.send(http.MethodPost, path, adminToken, `{"taskIds":["`+task+`"],"role":"reviewer"}`)
	r.refused(422, "INVALID_MANIFEST", "/role")
	if before := w.log.head(); w.send(http.MethodPost, path, adminToken, `{"strategy":"queue"}`).
		is(200).
		status != 200 ||
		w.log.head() != before {
		t.Error("generating a manifest appends an event")
	}
}
