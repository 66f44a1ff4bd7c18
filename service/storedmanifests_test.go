package service

import (
	"fmt"
	"testing"

	"maestro/service/wire"
)

// Knowing a digest gives no access: an orchestrator may spawn a session with a manifest that it stored itself, or that
// it may read, but not with one of another project, even if that has no task that shows its project.
func TestDigestGivesNoAccess(t *testing.T) {
	w := worldWith(t, &memoryLog{}, sizedBlobs{&countedBlobs{kept: map[string][]byte{}}})
	lead := func(name string) *Caller {
		project := w.make(w.admin(), "project:create", fmt.Sprintf(`{"name":%q}`, name))
		task := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, project))
		body := fmt.Sprintf(`{"project":%q,"role":"orchestrator","taskIds":[%q]}`, project, task)
		return w.caller(w.do(w.admin(), "session:spawn", body).Token)
	}
	theirs, ours := lead("Theirs"), lead("Ours")
	document := []byte(`{"manifestVersion":"1.0","role":"worker","strategy":"queue","tasks":[],` +
		`"session":{"model":"opus","permissionMode":"interactive"},"context":{"custom":{"told":"between us"}}}`)
	store := func(c *Caller) wire.StoredManifest {
		stored, err := w.StoreManifest(w.Context(), c, document)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	digest := store(theirs).Digest
	body := fmt.Sprintf(`{"strategy":"queue","manifestDigest":%q}`, digest)
	child := w.make(theirs, "session:spawn", body)
	again := fmt.Sprintf(`{"sessionId":%q,"manifestDigest":%q}`, child, digest)
	if _, err := w.try(theirs, "session:update", again, "again"); err != nil {
		t.Errorf("a caller that may read it: %v", err)
	}
	if _, err := w.try(ours, "session:spawn", body, "foreign"); err == nil {
		t.Error("an orchestrator of another project spawned a session with it")
	}
	store(ours)
	if _, err := w.try(ours, "session:spawn", body, "own"); err != nil {
		t.Errorf("a caller that stored it itself: %v", err)
	}
}

// The memory of stored manifests is bounded, and keeps the newest.
func TestStoredManifestsAreBounded(t *testing.T) {
	var m storedManifests
	c := &Caller{}
	for n := range storedKept + 10 {
		m.add(c, fmt.Sprint(n))
	}
	if len(m.known) != storedKept || len(m.oldest) != storedKept || m.by(c, "0") || !m.by(c, fmt.Sprint(storedKept+9)) {
		t.Errorf("%d and %d are kept", len(m.known), len(m.oldest))
	}
}
