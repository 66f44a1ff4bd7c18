package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// A session that an orchestrator spawns has the options that bound the orchestrator's own agent, in the event and in
// the manifest, and no orchestrator gets it more: not by its options, by a manifest, or by one that is issued again.
func TestChildHasAtMostWhatItsParentHas(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	task, _ := w.team()
	project := w.projectOf(task)
	w.do(w.admin(), "project:update", `{"projectId":"`+project+`","workingDir":"/code"}`)
	its := `{"project":"` + project + `","taskIds":["` + task + `"],`
	lead := w.caller(w.do(w.admin(), "session:spawn", its+`"role":"orchestrator","permissionMode":"interactive",`+
		`"network":"443,8080","workingDirectory":"/code/a"}`).Token)
	child := w.spawned(lead, its+`"permissionMode":"readOnly"}`)
	want := events.AgentOptions{PermissionMode: "readOnly", Network: "443,8080", WorkingDirectory: "/code/a"}
	if *child.Options != want {
		t.Errorf("the child has %+v", child.Options)
	}
	content, _, err := w.SessionManifest(w.Context(), w.admin(), child.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	if m.Options() != want {
		t.Errorf("its manifest has %+v", m.Options())
	}
	wide := w.spawned(w.admin(), its+`"network":"open"}`)
	stored, err := w.StoreManifest(w.Context(), lead,
		bytes.Replace(content, []byte(`"network": "443,8080"`), []byte(`"network": "open"`), 1))
	if err != nil {
		t.Fatal(err)
	}
	for body, pointer := range map[string]string{
		its + `"permissionMode":"acceptEdits"}`:      "/permissionMode",
		its + `"network":"443,22"}`:                  "/network",
		its + `"network":"open"}`:                    "/network",
		its + `"workingDirectory":"/code"}`:          "/workingDirectory",
		its + `"workingDirectory":"/code/a/../b"}`:   "/workingDirectory",
		its + `"workingDirectory":"/code/ab"}`:       "/workingDirectory",
		its + `"like":"` + wide.SessionID + `"}`:     "/network",
		`{"manifestDigest":"` + stored.Digest + `"}`: "/network",
	} {
		_, err := w.try(lead, "session:spawn", body, body)
		var refusal *commands.Refusal
		if !errors.As(err, &refusal) || refusal.Code != commands.CodeNotAllowed || refusal.Pointer != pointer {
			t.Errorf("%s: %v", body, err)
		}
	}
	again, _ := json.Marshal(map[string]string{"sessionId": child.SessionID, "manifestDigest": stored.Digest})
	var refusal *commands.Refusal
	if _, err := w.try(lead, "session:update", string(again), "again"); !errors.As(err, &refusal) ||
		refusal.Pointer != "/network" {
		t.Errorf("the child's manifest was issued again with more: %v", err)
	}
	w.do(w.admin(), "session:update", string(again))
	w.see(func(v View) {
		if x := v.Session(child.SessionID); x.Options.Network != "open" {
			t.Errorf("the user issued a manifest again, and the session has %+v", x.Options)
		}
	})
	for _, body := range []string{
		its + `"network":"8080","workingDirectory":"/code/a/b/"}`, its + `"network":"none"}`,
		its + `"like":"` + child.SessionID + `","network":"443"}`,
	} {
		if _, err := w.try(lead, "session:spawn", body, body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Whoever starts the agent of a session learns the directories out of which no link may lead it: those of the sessions
// above it.
func TestRunnerLearnsTheDirectoryAbove(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	task, _ := w.team()
	project := w.projectOf(task)
	w.do(w.admin(), "project:update", `{"projectId":"`+project+`","workingDir":"/code"}`)
	spawn := func(by *Caller, dir, runner string) (token, id string) {
		t.Helper()
		done := w.do(by, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"],"role":"orchestrator",`+
			`"runner":"`+runner+`","workingDirectory":"`+dir+`"}`)
		_, id = done.Data.Aggregate()
		return done.Token, id
	}
	top, topID := spawn(w.admin(), "/code/a", "none")
	middle, _ := spawn(w.caller(top), "/code/a/b", "none")
	_, low := spawn(w.caller(middle), "/code/a/b/c", "local")
	_, own := spawn(w.admin(), "/code/a", "local")
	// What a user spawned for a session, or before the rules bound it, is bound by nothing.
	done := w.do(w.admin(), "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"],"runner":"local",`+
		`"workingDirectory":"/elsewhere","spawnedBy":"`+topID+`"}`)
	_, users := done.Data.Aggregate()
	want := map[string][]string{low: {"/code/a/b", "/code/a"}, own: nil, users: nil}
	for id, dirs := range want {
		var given wire.Credential
		err := w.Look(t.Context(), w.admin(), func(v View) (err error) {
			given, err = v.GetCredential(&wire.SessionID{ID: id})
			return err
		})
		if err != nil || !slices.Equal(given.Within, dirs) {
			t.Errorf("session %s stays within %q, %v, want %q", id, given.Within, err, dirs)
		}
	}
}
