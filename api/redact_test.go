package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"maestro/events"
	"maestro/service"
	"maestro/service/wire"
)

// longSecret is a text that is stored beside the log.
var longSecret = strings.Repeat("x", events.MaxText) + " the password is hunter2"

var secretDigest = "sha256-" + events.BodyHash([]byte(longSecret)).String()

// tellSecret makes a task that has the text, and returns it.
func (w *world) tellSecret(project, key string) reply {
	w.Helper()
	return w.do(adminToken, "task:create", `{"project":"`+project+`","title":"t","description":"`+longSecret+`"}`,
		wire.HeaderKey, key)
}

func (w *world) redact() reply {
	w.Helper()
	return w.do(adminToken, "audit:redact", `{"text":"`+secretDigest+`","reason":"It held a password"}`)
}

func (w *world) holdsSecret() bool {
	w.blobs.mu.Lock()
	defer w.blobs.mu.Unlock()
	return w.blobs.blobs[secretDigest] != nil
}

// A redacted text is gone for every reader, which is told why. It does not come back, and the audit accepts its
// absence.
func TestRedactedTexts(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	w.tellSecret(project, "first").is(200)
	other := strings.Repeat("o", events.MaxText+1)
	w.do(adminToken, "task:create", `{"project":"`+project+`","title":"t","description":"`+other+`"}`).is(200)
	w.send(http.MethodGet, "/api/blobs/"+secretDigest, adminToken, "").is(200)

	unknown := "sha256-" + strings.Repeat("0", 64)
	w.do(adminToken, "audit:redact", `{"text":"`+unknown+`","reason":"x"}`).refused(404, "NOT_FOUND", unknown)
	_, lead := w.session(adminToken, project, w.task(project), `,"role":"orchestrator"`)
	for _, by := range []string{lead, w.token("eye", "auditor"), w.token("reader", "read-only", project)} {
		w.do(by, "audit:redact", `{"text":"`+secretDigest+`","reason":"x"}`).refused(403, "NOT_ALLOWED", "")
	}
	w.send(http.MethodPost, "/api/commands/audit:redact?dryRun=true", adminToken,
		`{"text":"`+secretDigest+`","reason":"x"}`).is(200)
	if !w.holdsSecret() {
		t.Fatal("it was deleted by a trial, or by who may not")
	}

	answer := w.redact().is(200)
	if w.holdsSecret() {
		t.Error("the text is still there")
	}
	if warned := string(answer.body); !strings.Contains(warned, "1024 bytes") || !strings.Contains(warned, "backups") {
		t.Errorf("it does not say what stays: %s", warned)
	}
	read := w.send(http.MethodGet, "/api/blobs/"+secretDigest, adminToken, "").refused(404, "TEXT_REDACTED",
		"redacted by user admin")
	if read.text("why") != "It held a password" {
		t.Errorf("it says %s", read.body)
	}
	w.send(http.MethodGet, "/api/tasks?projectId="+project, adminToken, "").is(200)
	if lost := w.send(http.MethodGet, "/api/audit/texts", adminToken, "").is(200); strings.Contains(string(lost.body),
		secretDigest) {
		t.Errorf("the audit misses it: %s", lost.body)
	}
	task := w.send(http.MethodGet, "/api/tasks?projectId="+project, adminToken, "").is(200)
	for _, shown := range []string{
		`"redacted":{"description":{"by":"/users/admin"`, `"reason":"It held a password","sequence":`,
	} {
		if !strings.Contains(string(task.body), shown) {
			t.Errorf("the list of tasks does not show %s: %s", shown, task.body)
		}
	}
	if n := strings.Count(string(task.body), `"redacted"`); n != 1 {
		t.Errorf("%d tasks are shown as redacted", n)
	}
	if verdict := w.send(http.MethodGet, "/api/audit/verify", adminToken, "").is(200); strings.Contains(
		string(verdict.body), "is lost") {
		t.Errorf("the audit misses it: %s", verdict.body)
	}

	w.tellSecret(project, "another").refused(422, "BUSINESS_RULE_ERROR", "was redacted")
	w.tellSecret(project, "first").is(200) // a retry gets its answer
	if w.holdsSecret() {
		t.Error("the text came back")
	}
	before := w.log.head()
	w.redact().is(200) // already so
	if w.log.head() != before {
		t.Error("it was recorded twice")
	}
	// Only what was redacted may be missing.
	w.blobs.mu.Lock()
	delete(w.blobs.blobs, "sha256-"+events.BodyHash([]byte(other)).String())
	w.blobs.mu.Unlock()
	lost := w.send(http.MethodGet, "/api/audit/texts", adminToken, "").is(200)
	if !strings.Contains(string(lost.body), events.BodyHash([]byte(other)).String()) ||
		strings.Contains(string(lost.body), secretDigest) {
		t.Errorf("of two missing texts, one redacted, the audit names %s", lost.body)
	}
}

// A text whose redaction was recorded by a server that was then killed is deleted by the next one.
func TestInterruptedRedactions(t *testing.T) {
	var served *service.Service
	w := open(t, func(c *setup) { c.serving = func(s *service.Service) { served = s } })
	project := w.project()
	w.tellSecret(project, "first").is(200)
	w.redact().is(200)
	w.blobs.mu.Lock()
	w.blobs.blobs[secretDigest] = []byte(longSecret) // as if it was killed before
	w.blobs.mu.Unlock()
	w.send(http.MethodGet, "/api/blobs/"+secretDigest, adminToken, "").refused(404, "TEXT_REDACTED", "")
	served.RemoveRedacted(context.Background())
	if w.holdsSecret() {
		t.Error("the text is still there after the start")
	}
}

// With a redacted text, the files go that are copies of it: of sessions that have it now, deleted ones too, but not of
// those that have another manifest since.
func TestRedactedManifestsAreRemoved(t *testing.T) {
	var served *service.Service
	w := openManifests(t, func(c *setup) { c.serving = func(s *service.Service) { served = s } })
	project := w.project()
	digest := w.upload(adminToken, goodFor(project, w.task(project), ``)).is(200).text("digest")
	spawn := func() string {
		return spawned(w.do(adminToken, "session:spawn", `{"manifestDigest":"`+digest+`"}`))
	}
	now, deleted, since := spawn(), spawn(), spawn()
	m := w.manifestOf(since)
	m.Session.MaxTurns = 7
	other := w.upload(adminToken, string(m.Canonical())).is(200).text("digest")
	w.do(adminToken, "session:update", `{"sessionId":"`+since+`","manifestDigest":"`+other+`"}`).is(200)
	w.do(adminToken, "session:delete", `{"sessionId":"`+deleted+`"}`).is(200)

	w.do(adminToken, "audit:redact", `{"text":"`+digest+`","reason":"It held a password"}`).is(200)
	for range 2 { // the redaction itself, and the next start
		if w.places.at(now) != "" || w.places.at(deleted) != "" {
			t.Error("a copy is still there")
		}
		if w.places.at(since) != string(m.Canonical()) || slices.Contains(w.places.removed, since) {
			t.Error("the file of a session with another manifest is gone")
		}
		if err := w.places.PlaceManifest(now, []byte("as if it was killed before")); err != nil {
			t.Fatal(err)
		}
		served.RemoveRedacted(t.Context())
	}
}
