package service

import (
	"fmt"
	"testing"
)

// A session's manifest is readable by those that may read its mail, in every way: by the session's id, by its digest,
// and by spawning another session with it.
func TestManifestReaders(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	task, team := w.team()
	const document = `{"manifestVersion":"1.0","role":"worker","strategy":"queue","tasks":[],` +
		`"session":{"model":"opus","permissionMode":"interactive"},"context":{"custom":{"told":"between us"}}}`
	stored, err := w.StoreManifest(w.Context(), team.orchestrator, []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	given := w.do(team.orchestrator, "session:spawn",
		fmt.Sprintf(`{"strategy":"queue","manifestDigest":%q}`, stored.Digest))
	_, id := given.Data.Aggregate()
	for name, c := range map[string]struct {
		by          *Caller
		reads, uses bool
	}{
		"the user":             {w.admin(), true, true},
		"the session itself":   {w.caller(given.Token), true, false},
		"who spawned it":       {team.orchestrator, true, true},
		"another worker":       {team.other, false, false},
		"another orchestrator": {team.another, false, false},
	} {
		if _, _, err := w.SessionManifest(w.Context(), c.by, id); (err == nil) != c.reads {
			t.Errorf("%s, by the session: %v", name, err)
		}
		if _, err := w.GetBlob(w.Context(), c.by, stored.Digest); (err == nil) != c.reads {
			t.Errorf("%s, by the digest: %v", name, err)
		}
		body := fmt.Sprintf(`{"strategy":"queue","manifestDigest":%q,"project":%q}`, stored.Digest, w.projectOf(task))
		if _, err := w.try(c.by, "session:spawn", body, name); (err == nil) != c.uses {
			t.Errorf("%s, by spawning a session with it: %v", name, err)
		}
	}
}

// projectOf returns the project of a task.
func (w *world) projectOf(task string) string {
	w.Helper()
	var project string
	err := w.Look(w.Context(), w.admin(), func(v View) error {
		t, err := v.PermitTask("task:get", task)
		if err == nil {
			project = t.ProjectID
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return project
}
