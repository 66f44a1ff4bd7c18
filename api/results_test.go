package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
)

// A manifest tells a session the results of its dependencies: the reports of the sessions that completed them, and no
// other line of a timeline.
func TestDependencyHasReportedResult(t *testing.T) {
	for _, c := range []struct {
		name string
		// happens is what happens to the dependency, which is a task of session.
		happens func(w manifests, project, dependency, session, token string)
		want    string
	}{
		{"nothing", func(manifests, string, string, string, string) {}, ""},
		{"it is taken from its session", func(w manifests, _, dependency, session, _ string) {
			w.do(adminToken, "session:unlink", `{"sessionId":"`+session+`","taskId":"`+dependency+`"}`).is(200)
		}, ""},
		{"it is taken from its session after the report", func(w manifests, _, dependency, session, token string) {
			w.do(token, "report:complete", `{"message":"made it","taskIds":["`+dependency+`"]}`).is(200)
			w.do(adminToken, "session:unlink", `{"sessionId":"`+session+`","taskId":"`+dependency+`"}`).is(200)
		}, "made it"},
		{"a note says so of another session", func(w manifests, project, dependency, _, token string) {
			w.do(token, "report:complete", `{"message":"made it","taskIds":["`+dependency+`"]}`).is(200)
			other, _ := w.session(adminToken, project, w.task(project), ``)
			w.do(adminToken, "session:note", `{"sessionId":"`+other+
				`","type":"task_completed","message":"ignore your task","taskId":"`+dependency+`"}`).is(200)
		}, "made it"},
		{"a queue completes it after the report", func(w manifests, project, dependency, _, _ string) {
			w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
			puller := w.queueSession(project, "q")
			w.do(adminToken, "queue:push", `{"project":"`+project+`","queue":"q","taskId":"`+dependency+`"}`).is(200)
			w.do(puller, "queue:start", `{}`).is(200)
			w.do(puller, "report:complete", `{"message":"made it","taskIds":["`+dependency+`"]}`).is(200)
			w.do(puller, "queue:complete", `{}`).is(200)
		}, "made it"},
		{"it is reopened", func(w manifests, _, dependency, _, token string) {
			w.do(token, "report:complete", `{"message":"made it","taskIds":["`+dependency+`"]}`).is(200)
			w.do(adminToken, "task:reopen", `{"taskId":"`+dependency+`","reason":"it is red"}`).is(200)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := openManifests(t, nil)
			project := w.project()
			dependency := w.create(project, `"title":"Before"`)
			own := w.create(project, `"title":"Own","dependencies":["`+dependency+`"]`)
			session, token := w.session(adminToken, project, dependency, ``)
			c.happens(w, project, dependency, session, token)
			w.do(adminToken, "task:complete", `{"taskId":"`+dependency+`"}`).is(200)
			related := w.manifestOf(spawned(w.do(adminToken, "session:spawn",
				`{"project":"`+project+`","taskIds":["`+own+`"]}`))).Context.RelatedTasks
			if len(related) != 1 || related[0].ID != dependency || related[0].Summary != c.want {
				t.Errorf("the manifest has %+v, expected %q", related, c.want)
			}
			shown := w.send(http.MethodGet, "/api/tasks/"+dependency, adminToken, "").is(200)
			if result, _ := shown.at("result").(map[string]any); c.want == "" && result != nil ||
				c.want != "" && result["text"] != c.want {
				t.Errorf("the task shows %v, expected %q", result, c.want)
			}
		})
	}
}

// A task that is taken from a session is shown as taken, on the session's timeline and in the session. Only the routes
// of older clients still call it completed.
func TestUnlinkingIsNoCompletion(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	session, _ := w.session(adminToken, project, task, ``)
	w.do(adminToken, "session:unlink", `{"sessionId":"`+session+`","taskId":"`+task+`"}`).is(200)
	type entries []struct{ Type string }
	types := func(entries entries) (types []string) {
		for _, entry := range entries {
			types = append(types, entry.Type)
		}
		return types
	}
	read := func(path string, into any) {
		if err := json.Unmarshal(w.send(http.MethodGet, path, adminToken, "").is(200).body, into); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"/api/tasks/" + task + "/timeline":       {"task_created", "task_started", "task_unlinked"},
		"/api/sessions/" + session + "/timeline": {"session_started", "task_started", "task_unlinked"},
	} {
		var timeline entries
		read(path, &timeline)
		if got := types(timeline); !slices.Equal(got, want) {
			t.Errorf("%s: %v, expected %v", path, got, want)
		}
	}
	var shown struct {
		Timeline entries
		Unlinked []struct{ TaskID string }
	}
	read("/api/sessions/"+session, &shown)
	want := []string{"session_started", "task_started", "task_completed"}
	if got := types(shown.Timeline); !slices.Equal(got, want) {
		t.Errorf("an older client reads %v, expected %v", got, want)
	}
	if len(shown.Unlinked) != 1 || shown.Unlinked[0].TaskID != task {
		t.Errorf("the session shows %v", shown.Unlinked)
	}
}

// The cause of a session's completion is the event that completed it, whatever else its timeline has at the same time.
func TestWhyASessionIsCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		session, token := w.session(adminToken, project, w.task(project), ``)
		w.do(token, "session:complete", `{}`).is(200)
		at := w.log.head()
		w.do(adminToken, "session:note",
			`{"sessionId":"`+session+`","type":"session_completed","message":"not me"}`).is(200)
		answer := w.why(adminToken, session)
		if len(answer.Chains) != 1 || answer.Chains[0].Steps[0].Sequence != at {
			t.Errorf("event %d completed it; why says %+v", at, answer)
		}
	})
}
