package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"maestro/events"
)

// The export of a project has its own events byte for byte. Of every other event, and of what nobody can read, it has
// only the hashes that link the chain, whatever they are about.
func TestExportOfAProjectTellsNothingElse(t *testing.T) {
	w := open(t, nil)
	mine, other := w.history()
	w.do(adminToken, "token:create", `{"name":"ann","kind":"read-only","projectIds":["`+mine+`"]}`).is(200)
	w.do(adminToken, "template:create", `{"name":"own","text":"Secret words"}`)
	file := w.export("?projectId=" + mine)
	if !bytes.Equal(file, w.export("?project="+mine)) {
		t.Error("project and projectId differ")
	}
	withheld := 0
	lines := bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n"))
	for i, text := range lines[:len(lines)-1] {
		var line map[string]json.RawMessage
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		event, err := events.Decode(w.log.messages[i].Body)
		if err != nil {
			t.Fatal(err)
		}
		if event.Project == mine {
			if !bytes.Equal(line["event"], w.log.messages[i].Body) {
				t.Errorf("event %d is not as in the log: %s", i+1, text)
			}
			continue
		}
		withheld++
		if keys := slices.Sorted(maps.Keys(line)); !slices.Equal(keys, []string{
			"bodyhash", "hash", "prevhash", "sequence",
		}) {
			t.Errorf("event %d shows %v", i+1, keys)
		}
	}
	if withheld < 3 || strings.Contains(string(file), other) {
		t.Errorf("%d events are withheld, or the other project is named:\n%s", withheld, file)
	}
	if verdict := judge(t, file, nil); len(verdict.Faults) > 0 || verdict.Withheld != uint64(withheld) {
		t.Errorf("%+v", verdict)
	}

	w.log.mu.Lock()
	last := w.log.messages[len(w.log.messages)-1]
	w.log.messages = append(w.log.messages, events.Message{
		Sequence: last.Sequence + 1, Subject: events.Subject(other, "task", "t"), Body: []byte("WORDS"),
	})
	w.log.mu.Unlock()
	if part := w.export("?to=100&projectId=" + mine); bytes.Contains(part, []byte("WORDS")) ||
		bytes.Contains(part, []byte("raw")) {
		t.Errorf("what cannot be read is shown: %s", part)
	}
}

// Only who may read the whole log exports a project: its events are whole, and nothing in them can be hidden.
func TestWhoExportsAProject(t *testing.T) {
	w := open(t, nil)
	mine, _ := w.history()
	reader := w.do(adminToken, "token:create", `{"name":"ann","kind":"read-only","projectIds":["`+mine+`"]}`).
		is(200).text("token")
	auditor := w.do(adminToken, "token:create", `{"name":"eve","kind":"auditor"}`).is(200).text("token")
	_, lead := w.session(adminToken, mine, w.task(mine), `,"role":"orchestrator"`)
	path := "/api/audit/export?projectId=" + mine
	w.send(http.MethodGet, path, auditor, "").is(200)
	w.send(http.MethodGet, path, reader, "").refused(403, "NOT_ALLOWED", "ann")
	w.send(http.MethodGet, path, lead, "").refused(403, "NOT_ALLOWED", "audit:export")
	w.send(http.MethodGet, "/api/audit/export?projectId=proj_none", auditor, "").refused(404, "NOT_FOUND", "proj_none")
}
