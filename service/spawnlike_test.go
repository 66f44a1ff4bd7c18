package service

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/workers/manifest"
)

// A session that is spawned like another gets its role, strategy, commands and options, in the event and in the
// manifest, except those that the spawn gives itself.
func TestSpawnLikeAnother(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	task, _ := w.team()
	project := w.projectOf(task)
	first := w.spawned(w.admin(), `{"taskIds":["`+task+`"],"strategy":"tree","model":"opus","agent":"codex",`+
		`"skills":["go"],"context":{"note":"between us"},"permissionMode":"readOnly","thinkingMode":"disabled",`+
		`"maxTurns":7,"workingDirectory":"/src","timeout":60000,"allowedCommands":["task:get","task:list"],`+
		`"project":"`+project+`"}`)
	again := w.spawned(w.admin(), `{"like":"`+first.SessionID+`","taskIds":["`+task+`"]}`)
	same := func(data events.SessionSpawned) events.SessionSpawned {
		data.SessionID, data.ManifestDigest = "", ""
		return data
	}
	if want := same(first); !reflect.DeepEqual(same(again), want) {
		t.Errorf("a session like it is\n%+v, want\n%+v", same(again), want)
	}
	content, _, err := w.SessionManifest(w.Context(), w.admin(), again.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	if x := m.Session; x.PermissionMode != manifest.ReadOnly || x.WorkingDirectory != "/src" || x.MaxTurns != 7 ||
		x.Model != "opus" || x.Timeout != 60000 {
		t.Errorf("its manifest has %+v", x)
	}
	other := w.spawned(w.admin(), `{"like":"`+first.SessionID+`","taskIds":["`+task+`"],"model":"haiku",`+
		`"permissionMode":"interactive","strategy":"simple"}`)
	if other.Model != "haiku" || other.Options.PermissionMode != "interactive" || other.Options.MaxTurns != 7 ||
		other.Strategy != events.StrategySimple {
		t.Errorf("with other options it is %+v, %+v", other, other.Options)
	}

	// An orchestrator that did not spawn the other session does not learn what was written to it, and gives no more
	// than it may give.
	small := w.caller(w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"],`+
		`"role":"orchestrator","allowedCommands":["session:spawn"]}`).Token)
	wide := w.spawned(w.admin(), `{"project":"`+project+`","taskIds":["`+task+`"],`+
		`"context":{"note":"between us"},"permissionMode":"readOnly","allowedCommands":["session:list","task:get"]}`)
	its := w.spawned(small, `{"like":"`+wide.SessionID+`","taskIds":["`+task+`"]}`)
	if may := its.Permissions.Commands; its.Context != nil || its.Options.PermissionMode != "readOnly" ||
		!slices.Contains(may, "task:get") || slices.Contains(may, "session:list") {
		t.Errorf("another orchestrator's is like it with the context %s, %+v and %q", its.Context, its.Options, may)
	}

	for body, want := range map[string]string{
		`"like":"` + first.SessionID + `","role":"orchestrator"`: "/role",
		`"like":"a b"`:  "/like",
		`"like":"none"`: "",
		`"like":"` + first.SessionID + `","manifestDigest":"` + first.ManifestDigest + `"`: "/like",
	} {
		_, err := w.try(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"],`+body+`}`, body)
		var refusal *commands.Refusal
		if !errors.As(err, &refusal) || refusal.Pointer != want {
			t.Errorf("%s: %v", body, err)
		}
	}
	elsewhere, others := w.team()
	var unknown *commands.Refusal
	_, err = w.try(others.orchestrator, "session:spawn",
		`{"like":"`+first.SessionID+`","taskIds":["`+elsewhere+`"]}`, "elsewhere")
	if !errors.As(err, &unknown) || unknown.Code != commands.CodeNotFound || unknown.Missing.Kind != "Session" {
		t.Errorf("like a session of another project: %v", err)
	}
}

// A retry of a spawn like another gets its answer, whatever became of the other session.
func TestSpawnLikeAnotherAgain(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	task, _ := w.team()
	project := w.projectOf(task)
	first := w.spawned(w.admin(), `{"project":"`+project+`","strategy":"queue","permissionMode":"readOnly"}`)
	body := `{"like":"` + first.SessionID + `","project":"` + project + `"}`
	done, err := w.try(w.admin(), "session:spawn", body, "once")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"session:kill", "session:delete"} {
		w.do(w.admin(), change, `{"sessionId":"`+first.SessionID+`"}`)
		again, err := w.try(w.admin(), "session:spawn", body, "once")
		if err != nil || !again.Retried || again.Sequence != done.Sequence || again.Token == "" {
			t.Errorf("after %s: %+v %v", change, again, err)
		}
	}
	// One that was deleted can still be copied: its successor may do no more than it.
	after, err := w.try(w.admin(), "session:spawn", body, "another")
	if err != nil {
		t.Fatal(err)
	}
	spawned, ok := after.Data.(*events.SessionSpawned)
	if !ok || spawned.Options == nil || spawned.Options.PermissionMode != "readOnly" {
		t.Errorf("a session like a deleted one: %+v", after.Data)
	}
	if _, err := w.try(w.admin(), "session:spawn", `{"like":"","project":"`+project+`"}`, "empty"); err == nil {
		t.Error("an empty like gives the default rights")
	}
}

// The options come from the manifest that counts now, whoever wrote it.
func TestSpawnLikeAnotherByItsManifest(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	task, _ := w.team()
	project := w.projectOf(task)
	session := w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"],"model":"opus"}`)
	_, id := session.Data.Aggregate()
	content, _, err := w.SessionManifest(w.Context(), w.admin(), id)
	if err != nil {
		t.Fatal(err)
	}
	store := func(from, to string) string {
		t.Helper()
		changed := strings.Replace(string(content), from, to, 1)
		if changed == string(content) {
			t.Fatalf("the manifest has no %s: %s", from, content)
		}
		stored, err := w.StoreManifest(w.Context(), w.admin(), []byte(changed))
		if err != nil {
			t.Fatal(err)
		}
		return stored.Digest
	}
	like := func(id string) events.SessionSpawned {
		t.Helper()
		return w.spawned(w.admin(), `{"like":"`+id+`","taskIds":["`+task+`"]}`)
	}
	if x := like(id); x.Options != nil || x.Model != "opus" {
		t.Errorf("a session like one with defaults has %+v and %q", x.Options, x.Model)
	}
	w.do(w.admin(), "session:update", `{"sessionId":"`+id+`","manifestDigest":"`+
		store(`"model": "opus"`, `"maxTurns": 9, "model": "haiku"`)+`"}`)
	if x := like(id); x.Options == nil || x.Options.MaxTurns != 9 || x.Model != "haiku" {
		t.Errorf("after another manifest, a session like it has %+v and %q", x.Options, x.Model)
	}
	own := w.do(w.admin(), "session:register", `{"sessionId":"sess_own","create":true,"manifestDigest":"`+
		store(`"acceptEdits"`, `"interactive"`)+`"}`)
	_, registered := own.Data.Aggregate()
	if x := like(registered); x.Options == nil || x.Options.PermissionMode != "interactive" || x.Model != "opus" {
		t.Errorf("like a registered one it has %+v and %q", x.Options, x.Model)
	}
	var step string
	w.Handler.View(func(s *projections.State) { step = s.Successor(s.Session(registered)) })
	if !strings.Contains(step, "--like "+registered) {
		t.Errorf("its successor is spawned by %s", step)
	}
}

// A worker's successor belongs to the team of the orchestrator that leads it.
func TestSpawnLikeAnotherJoinsItsTeam(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	task, team := w.team()
	like := `{"like":"` + team.id + `","taskIds":["` + task + `"]}`
	if by := w.spawned(w.admin(), like).SpawnedBy; by != team.orchestrator.By.Name {
		t.Errorf("it is spawned by %q, want %q", by, team.orchestrator.By.Name)
	}
	w.do(w.admin(), "session:kill", `{"sessionId":"`+team.orchestrator.By.Name+`"}`)
	if by := w.spawned(w.admin(), like).SpawnedBy; by != team.another.By.Name {
		t.Errorf("it is spawned by %q, want the successor %q", by, team.another.By.Name)
	}
	told := w.do(team.worker, "session:message", `{"text":"Which branch?"}`).Data.(*events.SessionMessaged)
	if told.SessionID != team.another.By.Name {
		t.Errorf("its parent is %q, want the successor %q", told.SessionID, team.another.By.Name)
	}
}

// What a manifest says of how the agent is run is in the event too.
func TestOptionsOfAGivenManifest(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	task, _ := w.team()
	stored, err := w.StoreManifest(w.Context(), w.admin(), []byte(
		`{"manifestVersion":"1.0","role":"worker","strategy":"queue","tasks":[],`+
			`"session":{"model":"opus","permissionMode":"interactive","maxTurns":3}}`))
	if err != nil {
		t.Fatal(err)
	}
	given := w.spawned(w.admin(), `{"project":"`+w.projectOf(task)+`","manifestDigest":"`+stored.Digest+`"}`)
	if o := given.Options; o == nil || o.PermissionMode != "interactive" || o.MaxTurns != 3 {
		t.Errorf("the options are %+v", o)
	}
	queue := w.spawned(w.admin(), `{"like":"`+given.SessionID+`"}`)
	if queue.Strategy != events.StrategyQueue || queue.Queue != queue.SessionID {
		t.Errorf("without tasks, one like it pulls from %q", queue.Queue)
	}
	with := w.spawned(w.admin(), `{"like":"`+given.SessionID+`","taskIds":["`+task+`"]}`)
	if with.Strategy != events.StrategySimple || slices.Contains(with.Permissions.Commands, "queue:start") {
		t.Errorf("with a task, one like it has strategy %s", with.Strategy)
	}
}

// spawned returns the event of a spawn.
func (w *world) spawned(c *Caller, body string) (spawned events.SessionSpawned) {
	w.Helper()
	event, err := events.Decode(w.do(c, "session:spawn", body).Event)
	if err != nil {
		w.Fatal(err)
	}
	raw, err := json.Marshal(event.Data)
	if err == nil {
		err = json.Unmarshal(raw, &spawned)
	}
	if err != nil {
		w.Fatal(err)
	}
	return spawned
}
