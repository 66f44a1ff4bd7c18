package api_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

// TestDryRunMatchesCommand: for every write and every kind of caller, a dry run gives the same event type or
// refusal as the command itself right afterwards, changes nothing, and records nothing.
func TestDryRunMatchesCommand(t *testing.T) {
	t.Parallel()
	for _, row := range writes {
		t.Run(row.id, func(t *testing.T) {
			t.Parallel()
			w := openInside(t, nil)
			for _, column := range columns {
				s := w.stage(column)
				w.before(row, s)
				body := s.names.Replace(row.body)
				before := ""
				if may(row.who, column) {
					before = w.views()
				}
				w.dry(s.token, row.id, body, before)
			}
		})
	}
	w := open(t, nil)
	for _, id := range absent {
		w.dry(adminToken, id, `{}`, "")
	}
}

// dry makes a dry run of a command, checks that it changed nothing (in the views too, if given), and compares it with
// the command itself.
func (w *world) dry(token, id, body, before string, header ...string) {
	w.Helper()
	header = append([]string{wire.HeaderKey, fmt.Sprint("dry", w.log.head())}, header...)
	head, denied := w.log.head(), len(w.denials.List(nil))
	tried := w.do(token, id+"?dryRun=true", body, header...)
	if w.log.head() != head || before != "" && w.views() != before {
		w.Errorf("a dry run of %s %s left something in the log: %s", id, body, tried.body)
	}
	if got := len(w.denials.List(nil)); got != denied {
		w.Errorf("a dry run of %s %s recorded %d refusals", id, body, got-denied)
	}
	if strings.Contains(string(tried.body), `"token":`) {
		w.Errorf("the answer to a dry run of %s has a secret: %s", id, tried.body)
	}
	real := w.do(token, id, body, header...)
	if tried.status != real.status {
		w.Errorf("%s %s: a dry run gets %d %.300s, and the command %d %.300s", id, body, tried.status, tried.body,
			real.status, real.body)
		return
	}
	if real.status != http.StatusOK {
		if string(tried.body) != string(real.body) {
			w.Errorf("%s %s: a dry run is refused with %s, and the command with %s", id, body, tried.body, real.body)
		}
		return
	}
	would, did := tried.object(), real.object()
	if would["dryRun"] != true || did["dryRun"] != nil {
		w.Errorf("%s: dryRun is %v, then %v", id, would["dryRun"], did["dryRun"])
	}
	if (would["event"] == nil) != (did["event"] == nil) {
		w.Errorf("%s %s: a dry run gets %s, and the command %s", id, body, tried.body, real.body)
		return
	}
	if did["event"] == nil {
		return
	}
	event, happened := would["event"].(map[string]any), did["event"].(map[string]any)
	delete(event, "time")
	delete(happened, "time")
	if !reflect.DeepEqual(event, happened) {
		w.Errorf("%s: a dry run gets %v, and the command %v", id, event, happened)
	}
}

// TestDryRunOfInvalidCommands: a dry run fails for every reason for which the command would.
func TestDryRunOfInvalidCommands(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	_, token := w.session(adminToken, project, task, ``)
	long := strings.Repeat("x", 2*events.MaxText)
	for _, c := range []struct{ token, id, body string }{
		{adminToken, "task:create", `{"project":"` + project + `","title":" "}`},
		{adminToken, "task:create", `{"project":"none","title":"x"}`},
		{adminToken, "task:create", `{"project":"` + project + `","title":"x","colour":"red"}`},
		{adminToken, "task:create", `{"project":"` + project + `","title":"x","dependencies":["none"]}`},
		{adminToken, "task:create", `{"project":"` + project + `","title":"x","description":"` + long + `"}`},
		{adminToken, "task:create", `{"project":"` + project + `","title":"x","description":"` + long + `\u0000"}`},
		{adminToken, "project:delete", `{"projectId":"` + project + `"}`},
		{adminToken, "task:complete", `{"taskId":"none"}`},
		{adminToken, "task:explode", `{}`},
		{adminToken, "task:list", `{}`},
		{token, "report:progress", `{"message":"` + long + `"}`},
		{token, "report:progress", `{}`},
		{token, "task:complete", `{"taskId":"` + task + `"}`},
		{adminToken, "task:complete", `{"taskId":"` + task + `"}`},
		{adminToken, "task:complete", `{"taskId":"` + task + `"}`}, // a task that is completed already
	} {
		w.dry(c.token, c.id, c.body, w.views())
	}
	for _, header := range [][]string{
		{wire.HeaderKey, strings.Repeat("k", 201)},
		{wire.HeaderKey, "a\tb"},
		{wire.HeaderOccurredAt, "yesterday"},
		{"Content-Type", "text/plain"},
	} {
		w.dry(adminToken, "task:create", `{"project":"`+project+`","title":"x"}`, w.views(), header...)
	}
	// from the commands themselves: the session's manifest, and one blob for two equal texts
	if blobs := len(w.blobs.blobs); blobs != 2 {
		t.Errorf("%d blobs are stored", blobs)
	}
	for query, status := range map[string]int{
		"dryRun=yes":               400,
		"dryRun=1":                 400,
		"dryRun=":                  400,
		"dryRun":                   400,
		"dryrun=true":              400,
		"dryRun=true;x=1":          400,
		"dryRun=false&dryRun=true": 400,
		"dryRun=false":             200,
		"dryRun=true":              200,
	} {
		w.do(adminToken, "project:create?"+query, `{"name":"x"}`).is(status)
	}
	if w.count("maestro.project.created.v1") != 2 {
		t.Errorf("%d projects were made", w.count("maestro.project.created.v1"))
	}
	// With the key of an earlier command, a dry run shows that command's event, but no secret.
	made := w.do(adminToken, "token:create", `{"name":"eye","kind":"auditor"}`, wire.HeaderKey, "t").is(200)
	again := w.do(adminToken, "token:create?dryRun=true", `{"name":"eye","kind":"auditor"}`, wire.HeaderKey,
		"t").is(200)
	if again.text("event", "id") != made.text("event", "id") || again.at("token") != nil {
		t.Errorf("a dry run with the key of an earlier command: %s", again.body)
	}
	// The same key afterwards is the command, not a retry.
	w.do(adminToken, "project:create?dryRun=true", `{"name":"x"}`, wire.HeaderKey, "k").is(200)
	if r := w.do(adminToken, "project:create", `{"name":"x"}`, wire.HeaderKey,
		"k").is(200); r.header.Get(wire.HeaderRetried) != "" {
		t.Error("a dry run used up the key")
	}
}

// TestDryRunDoesNotWait: a dry run does not wait for an item.
func TestDryRunDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openInside(t, nil)
		project := w.project()
		w.do(adminToken, "queue:create", `{"project":"`+project+`","queue":"q"}`).is(200)
		token := w.queueSession(project, "q")
		if r := at(t,
			later(func() reply {
				return w.do(token, "queue:start?dryRun=true&wait=25s",
					`{}`)
			})).is(200); r.at("event") != nil {
			t.Errorf("%s", r.body)
		}
	})
}

// A dry run after others is for task:complete, tries nothing but that, and costs what the commands cost.
func TestDryRunAfterOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes, so no budget grows back
		w := openInside(t, nil)
		project := w.project()
		parent := w.task(project)
		child := w.do(adminToken, "task:create", `{"project":"`+project+`","title":"C","parentId":"`+parent+`"}`).
			is(200).text("event", "data", "taskId")
		lead, token := w.session(adminToken, project, parent, `,"role":"orchestrator"`)
		body := `{"taskId":"` + parent + `"}`
		head := w.log.head()
		paid, events := w.charged(lead, func() { // before its other calls, which may be charged after their answers
			r := w.do(token, "task:complete?dryRun=true&after=task_none,"+child, body).is(200)
			if r.at("event", "type") != "maestro.task.status_changed.v1" {
				t.Errorf("after the task below: %s", r.body)
			}
		})
		if paid != 3 || events != 0 {
			t.Errorf("it cost %d commands, and is %d events", paid, events)
		}
		w.do(token, "task:complete?dryRun=true", body).is(422)
		w.do(token, "task:complete?dryRun=true&after=task_none", body).is(422)
		w.do(token, "task:complete?after="+child, body).is(400)
		w.do(token, "task:reopen?dryRun=true&after="+child, body).is(400)
		many := strings.Repeat(child+",", int(commands.LimitCallCommands.Value)) + child
		w.do(token, "task:complete?dryRun=true&after="+many, body).is(422)
		if got := w.log.head(); got != head {
			t.Errorf("the log grew from %d to %d", head, got)
		}
	})
}
