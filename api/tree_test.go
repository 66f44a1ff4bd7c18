package api_test

import (
	"net/http"
	"slices"
	"testing"

	"maestro/service/wire"
)

// family creates an orchestrator with two children, one of which is an orchestrator with a child of its own.
func (w *world) family(project string) (ids []string, tokens map[string]string) {
	w.Helper()
	tokens = map[string]string{}
	spawn := func(by, role string) string {
		id, token := w.session(by, project, w.task(project), `,"role":"`+role+`"`)
		ids, tokens[id] = append(ids, id), token
		return id
	}
	top := spawn(adminToken, "orchestrator")
	spawn(tokens[top], "worker")
	middle := spawn(tokens[top], "orchestrator")
	spawn(tokens[middle], "worker")
	return ids, tokens
}

func (w *world) livingOf(ids []string) (living []string) {
	w.Helper()
	for _, id := range ids {
		if w.send(http.MethodGet, "/api/sessions/"+id, adminToken, "").is(200).at("endedAt") == nil {
			living = append(living, id)
		}
	}
	return living
}

func has(r reply, member string) bool {
	_, ok := r.object()[member]
	return ok
}

func texts(list any) (words []string) {
	for _, word := range list.([]any) {
		words = append(words, word.(string))
	}
	return words
}

// The answer to ending an orchestrator says how many sessions live below it; with tree, they end too, each by its own
// command and event.
func TestKillTree(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	ids, tokens := w.family(project)
	other, _ := w.family(project)

	r := w.do(adminToken, "session:kill", `{"sessionId":"`+ids[0]+`"}`, wire.HeaderKey, "one").is(200)
	if r.at("livingBelow") != 3.0 || has(r, "also") {
		t.Errorf("without tree: %s", r.body)
	}
	if living := w.livingOf(ids); !slices.Equal(living, ids[1:]) {
		t.Errorf("without tree, %v live", living)
	}
	const kill = "/api/commands/session:kill?tree=true"
	body := `{"sessionId":"` + ids[0] + `","reason":"over"}`
	r = w.send(http.MethodPost, kill+"&dryRun=true", adminToken, body).is(200)
	if !slices.Equal(texts(r.at("also")), ids[1:]) || has(r, "livingBelow") || len(w.livingOf(ids)) != 3 {
		t.Errorf("a dry run: %s", r.body)
	}
	before := w.log.head()
	r = w.send(http.MethodPost, kill, adminToken, body, wire.HeaderKey, "two").is(200)
	if r.at("event") != nil || !slices.Equal(texts(r.at("also")), ids[1:]) || has(r, "livingBelow") {
		t.Errorf("with tree: %s", r.body)
	}
	if w.log.head() != before+3 || len(w.livingOf(ids)) != 0 {
		t.Errorf("with tree: %d events, and %v live", w.log.head()-before, w.livingOf(ids))
	}
	w.send(http.MethodPost, kill, adminToken, body, wire.HeaderKey, "two").is(200)
	if w.log.head() != before+3 {
		t.Error("a retry ended sessions again")
	}
	if living := w.livingOf(other); len(living) != 4 {
		t.Errorf("of another family, %v live", living)
	}
	w.do(tokens[ids[2]], "session:spawn", `{"taskIds":["`+w.task(project)+`"]}`).is(403)
	w.send(http.MethodPost, "/api/commands/task:create?tree=true", adminToken,
		`{"project":"`+project+`","title":"x"}`).is(400)
	w.send(http.MethodPost, kill+"1", adminToken, body).is(400)
}

// An orchestrator can end the whole family of a session that it spawned, and of no other.
func TestKillTreeByAnOrchestrator(t *testing.T) {
	w := open(t, nil)
	ids, tokens := w.family(w.project())
	kill := func(by, id string) reply {
		return w.send(http.MethodPost, "/api/commands/session:kill?tree=true", tokens[by], `{"sessionId":"`+id+`"}`)
	}
	kill(ids[2], ids[1]).is(403)
	kill(ids[2], ids[0]).is(403)
	if r := kill(ids[0], ids[2]).is(200); !slices.Equal(texts(r.at("also")), ids[3:]) {
		t.Errorf("%s", r.body)
	}
	if living := w.livingOf(ids); !slices.Equal(living, ids[:2]) {
		t.Errorf("%v live", living)
	}
}

// Revoking an orchestrator's secret with tree also revokes those of the sessions below it.
func TestRevokeTree(t *testing.T) {
	w := open(t, nil)
	ids, tokens := w.family(w.project())
	good := func() (good []string) {
		for _, id := range ids {
			if w.send(http.MethodGet, "/api/whoami", tokens[id], "").status == http.StatusOK {
				good = append(good, id)
			}
		}
		return good
	}
	r := w.do(adminToken, "token:revoke", `{"sessionId":"`+ids[2]+`"}`).is(200)
	if r.at("livingBelow") != 1.0 || !slices.Equal(good(), []string{ids[0], ids[1], ids[3]}) {
		t.Errorf("without tree: %s, and %v are valid", r.body, good())
	}
	body := `{"sessionId":"` + ids[0] + `"}`
	for range 2 {
		r = w.send(http.MethodPost, "/api/commands/token:revoke?tree=true", adminToken, body, wire.HeaderKey,
			"all").is(200)
	}
	if len(good()) != 0 || w.send(http.MethodGet, "/api/whoami", r.text("token"), "").status != http.StatusOK {
		t.Errorf("with tree: %s, and %v are valid", r.body, good())
	}
}
