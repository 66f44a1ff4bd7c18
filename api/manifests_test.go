package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// places stores the manifests that were written to their files.
type places struct {
	mu      sync.Mutex
	content map[string]string
	fails   bool
	removed []string
	// before is called before one is written; it may block.
	before func(content string)
}

func (p *places) RemoveManifest(session string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.content, session)
	p.removed = append(p.removed, session)
	return nil
}

func (p *places) PlaceManifest(session string, content []byte) error {
	if p.before != nil {
		p.before(string(content))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails {
		return errors.New("no space left")
	}
	p.content[session] = string(content)
	return nil
}

func (*places) ManifestPath(session string) string {
	return "/home/sessions/" + session + "/manifest.json"
}

func (p *places) at(session string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.content[session]
}

func (p *places) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.content)
}

func (b *memoryBlobs) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.blobs)
}

// manifests is a world that places manifests.
type manifests struct {
	*world
	places *places
}

func openManifests(t *testing.T, change func(*setup)) manifests {
	t.Helper()
	p := &places{content: map[string]string{}}
	return manifests{open(t, func(c *setup) {
		c.Manifests = p
		if change != nil {
			change(c)
		}
	}), p}
}

// openManifestsInside is openManifests inside a bubble of synctest.
func openManifestsInside(t *testing.T) manifests {
	t.Helper()
	p := &places{content: map[string]string{}}
	return manifests{openInside(t, func(c *setup) { c.Manifests = p }), p}
}

// known returns a session from the state.
func (w manifests) known(id string) (x projections.Session) {
	w.Helper()
	w.handler.View(func(s *projections.State) {
		if found := s.Session(id); found != nil {
			x = *found
		}
	})
	if x.SessionFields == nil {
		w.Fatalf("there is no session %s", id)
	}
	return x
}

// manifestOf returns the manifest of a session, after checking that all copies are equal.
func (w manifests) manifestOf(id string) *manifest.Manifest {
	w.Helper()
	x := w.known(id)
	content, err := w.blobs.Blob(w.Context(), x.ManifestDigest)
	if err != nil {
		w.Fatalf("%s has no manifest: %q", id, x.ManifestDigest)
	}
	sum := sha256.Sum256(content)
	if digest := "sha256-" + hex.EncodeToString(sum[:]); digest != x.ManifestDigest {
		w.Errorf("%s: the digest is %s, recorded is %s", id, digest, x.ManifestDigest)
	}
	if got := w.places.at(id); got != string(content) {
		w.Errorf("%s: the file has %q", id, got)
	}
	r := w.send(http.MethodGet, "/api/sessions/"+id+"/manifest", adminToken, "").is(200)
	if !bytes.Equal(r.body, content) || r.header.Get(wire.HeaderDigest) != x.ManifestDigest ||
		r.header.Get(wire.HeaderSequence) == "" {
		w.Errorf("%s: shown is %s with %v", id, r.body, r.header)
	}
	m, err := manifest.Parse(content)
	if err != nil {
		w.Fatalf("%s: %v in %s", id, err, content)
	}
	if !bytes.Equal(m.Canonical(), content) {
		w.Errorf("%s: not canonical: %s", id, content)
	}
	axes := m.Axes()
	if m.Role != x.Role || axes.Strategy != x.Strategy || !slices.Equal(m.TaskIDs(), append([]string{}, x.TaskIDs...)) {
		w.Errorf("%s: the manifest says %s, %s, %v; the state %s, %s, %v", id, m.Role, axes.Strategy, m.TaskIDs(),
			x.Role, x.Strategy, x.TaskIDs)
	}
	if !slices.Equal(axes.Commands, x.Permissions.Commands) {
		w.Errorf("%s: the manifest gives %v, frozen are %v", id, axes.Commands, x.Permissions.Commands)
	}
	return m
}

// spawned returns the session of an answer to a spawn, by either route.
func spawned(r reply) string {
	r.Helper()
	if r.status == http.StatusCreated {
		return r.text("sessionId")
	}
	return r.is(200).text("event", "data", "sessionId")
}

func TestEverySpawnHasItsManifest(t *testing.T) {
	w := openManifests(t, nil)
	project := w.project()
	one, two := w.task(project), w.task(project)
	boss, bossToken := w.session(adminToken, project, one, `,"role":"orchestrator"`)
	_, meagre := w.session(adminToken, project, one,
		`,"role":"orchestrator","allowedCommands":["session:spawn","task:get","manifest:generate"]`)
	w.manifestOf(boss)
	for _, spawn := range []struct{ name, by, fields string }{
		{"a worker", adminToken, ``},
		{"by an orchestrator", bossToken, ``},
		{"for an orchestrator", adminToken, `,"spawnedBy":"` + boss + `"`},
		{"several tasks", adminToken, `,"taskIds":["` + two + `","` + one + `"]`},
		{"a task twice", adminToken, `,"taskIds":["` + two + `","` + one + `","` + two + `"]`},
		{"a queue", adminToken, `,"strategy":"queue"`},
		{"an empty queue", adminToken, `,"strategy":"queue","taskIds":[]`},
		{"a tree", bossToken, `,"strategy":"tree"`},
		{"a list", bossToken, `,"allowedCommands":["task:tree","report:progress","task:report:blocked","whoami"]`},
		{"an empty list", adminToken, `,"allowedCommands":[]`},
		{"an orchestrator", adminToken, `,"role":"orchestrator"`},
		{"an orchestrator that is simple", adminToken, `,"role":"orchestrator","strategy":"simple"`},
		{"batches", bossToken, `,"role":"orchestrator","strategy":"intelligent-batching"`},
		{"a dag", bossToken, `,"role":"orchestrator","strategy":"dag"`},
		{"an orchestrator by one with a list", meagre, `,"role":"orchestrator"`},
		{
			"an orchestrator with a list by one with a list", meagre,
			`,"role":"orchestrator","allowedCommands":["task:get"]`,
		},
		{"a worker by an orchestrator with a list", meagre, ``},
	} {
		fields := spawn.fields
		if !strings.Contains(fields, `"taskIds"`) {
			fields = `,"taskIds":["` + one + `"]` + fields
		}
		r := w.do(spawn.by, "session:spawn", `{"project":"`+project+`"`+fields+`}`)
		if r.status != 200 {
			t.Errorf("%s: %d %s", spawn.name, r.status, r.body)
			continue
		}
		w.manifestOf(spawned(r))
	}
	for _, spawn := range []struct{ name, by, fields string }{
		{"a worker", adminToken, ``},
		{"for a session", adminToken, `,"spawnSource":"session","sessionId":"` + boss + `"`},
		{"by a session", bossToken, `,"spawnSource":"session","sessionId":"` + boss + `"`},
		{"an orchestrator", adminToken, `,"role":"orchestrator"`},
		{"an orchestrator by one with a list", meagre, `,"role":"orchestrator"`},
		{"a queue", adminToken, `,"strategy":"queue"`},
		{"skills and context", adminToken, `,"skills":["a"],"context":{"b":1}`},
		{"a task twice", adminToken, `,"taskIds":["` + one + `","` + one + `"]`},
	} {
		r := w.send(http.MethodPost, "/api/sessions/spawn", spawn.by,
			`{"projectId":"`+project+`","taskIds":["`+one+`"]`+spawn.fields+`}`)
		if strings.Contains(spawn.fields, "taskIds") {
			r = w.send(http.MethodPost, "/api/sessions/spawn", spawn.by, `{"projectId":"`+project+`"`+spawn.fields+`}`)
		}
		if r.status != http.StatusCreated {
			t.Errorf("%s: %d %s", spawn.name, r.status, r.body)
			continue
		}
		id := spawned(r)
		w.manifestOf(id)
		if path := w.places.ManifestPath(id); r.text("manifestPath") != path ||
			r.text("session", "env", "MAESTRO_MANIFEST_PATH") != path {
			t.Errorf("%s: the answer lacks the path: %s", spawn.name, r.body)
		}
		got := w.send(http.MethodGet, "/api/sessions/"+id, adminToken, "").is(200)
		if got.text("env", "MAESTRO_MANIFEST_PATH") != w.places.ManifestPath(id) ||
			!reflect.DeepEqual(got.at("metadata"), r.at("session", "metadata")) {
			t.Errorf("%s: GET differs from the spawn's answer: %s", spawn.name, got.body)
		}
	}
	if got := w.send(http.MethodGet, "/api/audit/verify", adminToken, "").is(200); len(got.at("faults").([]any)) != 0 {
		t.Errorf("the log: %s", got.body)
	}
}

func (w manifests) create(project, fields string) string {
	w.Helper()
	return w.do(adminToken, "task:create", `{"project":"`+project+`",`+fields+`}`).is(200).text("event", "data",
		"taskId")
}

func TestManifestReflectsState(t *testing.T) {
	w := openManifests(t, nil)
	project := w.do(adminToken, "project:create", `{"name":"P","workingDir":"/srv/p"}`).is(200).text("event", "data",
		"projectId")
	parent := w.create(project, `"title":"Parent","description":"the whole"`)
	dependency := w.create(project, `"title":"Before"`)
	open := w.create(project, `"title":"Not yet"`)
	own := w.create(project,
		`"title":"Own","description":"do <it> & \"more\"","acceptanceCriteria":["one","two"],"priority":"high",`+
			`"parentId":"`+parent+
			`","dependencies":["`+dependency+`","`+open+`"],"metadata":{"a":{"b":[1,2.50,"x"]},"<":null}`)
	bare := w.create(project, `"title":"Bare"`)
	dependent := w.create(project, `"title":"After","dependencies":["`+own+`"]`)
	w.create(project, `"title":"Apart"`)
	child := w.create(project, `"title":"Below","parentId":"`+bare+`"`)
	w.create(project, `"title":"Deeper","parentId":"`+child+`"`)
	_, before := w.session(adminToken, project, dependency, ``)
	w.do(before, "report:complete", `{"message":"made the schema","taskIds":["`+dependency+`"]}`).is(200)
	w.do(adminToken, "task:complete", `{"taskId":"`+dependency+`"}`).is(200)

	r := w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","taskIds":["`+own+`","`+bare+`"],"permissionMode":"readOnly",
		"thinkingMode":"interleaved","force":true,"maxTurns":7,"timeout":60000,"templateId":"execute-tree",
		"model":"opus","agent":"claude","skills":["s1","s2"],"allowedCommands":["task:get","report:progress"],
		"context":{"note":"n","big":12345678901234567890}}`)
	m := w.manifestOf(spawned(r))
	var created struct{ Own, Bare int64 }
	w.handler.View(func(s *projections.State) {
		created.Own, created.Bare = s.Task(own).CreatedAt,
			s.Task(bare).CreatedAt
	})
	want := `{"manifestVersion":"1.0","role":"worker","strategy":"simple","tasks":[
		{"id":"` + own + `","title":"Own","description":"do <it> & \"more\"","parentId":"` + parent + `",
		 "acceptanceCriteria":["one","two"],"dependencies":["` + dependency + `","` + open + `"],
		 "priority":"high","projectId":"` + project + `","createdAt":"` + stamp(created.Own) + `",
		 "metadata":{"a":{"b":[1,2.50,"x"]},"<":null}},
		{"id":"` + bare + `","title":"Bare","description":"Bare","parentId":null,
		 "acceptanceCriteria":["Task completion as described"],"priority":"medium",
		 "projectId":"` + project + `","createdAt":"` + stamp(created.Bare) + `"}],
		"skills":["s1","s2"],
		"session":{"model":"opus","permissionMode":"readOnly","thinkingMode":"interleaved","maxTurns":7,
		 "timeout":60000,"workingDirectory":"/srv/p",
		 "allowedCommands":["task:get","report:progress"],"agent":"claude"},
		"context":{"relatedTasks":[
		 {"id":"` + dependency + `","title":"Before","status":"completed","relationship":"dependency",
		  "summary":"made the schema"},
		 {"id":"` + open + `","title":"Not yet","status":"todo","relationship":"dependency"},
		 {"id":"` + parent + `","title":"Parent","status":"todo","relationship":"blocks","description":"the whole"},
		 {"id":"` + dependent + `","title":"After","status":"todo","relationship":"blocking"},
		 {"id":"` + child + `","title":"Below","status":"todo","relationship":"related",
		  "description":"It is below your task ` + bare + `."}],
		 "custom":{"taskIds":["` + own + `","` + bare + `"],"note":"n","big":12345678901234567890}},
		"templateId":"execute-tree"}`
	if got := generic(t, m.Canonical()); got != generic(t, []byte(want)) {
		t.Errorf("the manifest is\n%s\nexpected\n%s", got, generic(t, []byte(want)))
	}

	// Fields that are not given get their defaults, by the older route too.
	plain := w.manifestOf(spawned(w.send(http.MethodPost, "/api/sessions/spawn", adminToken,
		`{"projectId":"`+project+`","taskIds":["`+bare+`"]}`)))
	if s := plain.Session; s.Model != "sonnet" || s.PermissionMode != "acceptEdits" || s.ThinkingMode != "auto" ||
		s.WorkingDirectory != "/srv/p" || s.MaxTurns != 0 || s.AllowedCommands != nil {
		t.Errorf("the defaults are %+v", s)
	}
	elsewhere := w.manifestOf(spawned(w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","taskIds":["`+bare+`"],"workingDirectory":"/else"}`)))
	if elsewhere.Session.WorkingDirectory != "/else" {
		t.Errorf("its working directory is %s", elsewhere.Session.WorkingDirectory)
	}
}

func TestManifestListsSomeOfManySubtasks(t *testing.T) {
	w := openManifests(t, nil)
	project := w.project()
	one, two := w.task(project), w.task(project)
	for range 70 {
		w.create(project, `"title":"C","parentId":"`+one+`"`)
		w.create(project, `"title":"D","parentId":"`+two+`","dependencies":["`+one+`"]`)
	}
	for range 40 {
		w.create(project, `"title":"E","parentId":"`+two+`"`)
	}
	m := w.manifestOf(spawned(w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","taskIds":["`+one+`","`+two+`"]}`)))
	told := map[string]int{}
	for _, related := range m.Context.RelatedTasks {
		told[related.Title+" "+related.Relationship]++
	}
	if len(told) != 3 || told["C related"] != 70 || told["D blocking"] != 70 || told["E related"] != 30 {
		t.Errorf("the manifest has %v", told)
	}
}

// stamp shows a time as a manifest does.
func stamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// generic returns JSON in one form, numbers as they were written.
func generic(t *testing.T, document []byte) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, document)
	}
	encoded, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// custom reads the free context of a manifest.
func custom(t *testing.T, m *manifest.Manifest) map[string]any {
	t.Helper()
	fields := map[string]any{}
	if err := json.Unmarshal(m.Context.Custom, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestSuccessorGetsPredecessor(t *testing.T) {
	w := openManifests(t, nil)
	project := w.project()
	task := w.task(project)
	first, token := w.session(adminToken, project, task, `,"name":"First"`)
	w.do(token, "report:progress", `{"message":"half of it","taskIds":["`+task+`"]}`).is(200)
	w.do(token, "report:blocked", `{"message":"no key","taskIds":["`+task+`"]}`).is(200)
	while, _ := w.session(adminToken, project, task, ``)
	if before := custom(t, w.manifestOf(while))["predecessor"]; before != nil {
		t.Errorf("a working session is no predecessor: %v", before)
	}
	w.do(adminToken, "session:kill", `{"sessionId":"`+while+`"}`).is(200)
	w.do(adminToken, "session:kill", `{"sessionId":"`+first+`","reason":"too slow"}`).is(200)
	other := w.task(project)
	third, token := w.session(adminToken, project, other, `,"name":"Third"`)
	for range 30 {
		w.do(token, "session:note", `{"type":"progress","message":"step"}`).is(200)
	}
	beside := w.task(project)
	w.do(adminToken, "session:link", `{"sessionId":"`+third+`","taskId":"`+beside+`"}`).is(200)
	w.do(token, "report:complete", `{"message":"both done","taskIds":["`+other+`","`+beside+`"]}`).is(200)
	w.do(adminToken, "session:unlink", `{"sessionId":"`+third+`","taskId":"`+beside+`"}`).is(200)
	question := w.do(token, "report:needs-input", `{"message":"Which?"}`).is(200).text("event", "data", "inputId")
	w.do(adminToken, "input:answer", `{"inputId":"`+question+`","answer":"the second"}`).is(200)
	w.do(adminToken, "session:note", `{"sessionId":"`+third+`","type":"task_completed","message":"a lie"}`).is(200)
	w.do(adminToken, "session:kill", `{"sessionId":"`+third+`","reason":"too slow"}`).is(200)
	successor, _ := w.session(adminToken, project, other, `,"context":{"predecessor":"a lie","mine":1}`)
	told := custom(t, w.manifestOf(successor))
	before, _ := told["predecessor"].(map[string]any)
	words, _ := before["words"].([]any)
	if len(words) != 20 || told["mine"] != 1.0 {
		t.Fatalf("the manifest has %v", told)
	}
	like(t, "words", `[{"kind":"progress","text":"step"},
		{"kind":"complete","taskIds":["`+other+`","`+beside+`"],"text":"both done"},
		{"kind":"needs-input","text":"Which?"},{"kind":"answer","told":true,"text":"the second"}]`, words[16:])
	delete(before, "words")
	like(t, "predecessor", `{"sessionId":"`+third+`","name":"Third","status":"stopped","endReason":"too slow",
		"says":"completed","result":"both done"}`, before)
}

// A manifest has every text in full, even one that is too long for an event.
func TestManifestHasLongTextsInFull(t *testing.T) {
	w := openManifests(t, nil)
	project := w.project()
	long := strings.Repeat("ä long description ", 5000)
	if len(long) <= events.MaxText {
		t.Fatal("the text is not long enough")
	}
	task := w.create(project, `"title":"T","description":"`+long+`","initialPrompt":"begin: `+long+`"`)
	first, _ := w.session(adminToken, project, task, ``)
	m := w.manifestOf(first)
	if got := m.Tasks[0].Description; got != long {
		t.Errorf("description: %d bytes of %d", len(got), len(long))
	}
	var custom struct{ InitialPrompt string }
	if err := json.Unmarshal(m.Context.Custom, &custom); err != nil || custom.InitialPrompt != "begin: "+long {
		t.Errorf("initial prompt: %d bytes of %d, %v", len(custom.InitialPrompt), len(long), err)
	}
	w.do(adminToken, "task:update", `{"taskId":"`+task+`","description":"short"}`).is(200)
	second, _ := w.session(adminToken, project, task, ``)
	if got := w.manifestOf(second).Tasks[0].Description; got != "short" {
		t.Errorf("%d bytes", len(got))
	}
}

func TestRetriedSpawnKeepsManifest(t *testing.T) {
	w := openManifests(t, nil)
	project := w.project()
	task := w.task(project)
	spawns := []func() reply{
		func() reply {
			return w.do(adminToken, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"]}`,
				wire.HeaderKey, "k").is(200)
		},
		func() reply {
			return w.send(http.MethodPost, "/api/sessions/spawn", adminToken,
				`{"projectId":"`+project+`","taskIds":["`+task+`"]}`, wire.HeaderKey, "k2").is(201)
		},
	}
	for i, spawn := range spawns {
		id := spawned(spawn())
		digest, content := w.known(id).ManifestDigest, w.places.at(id)
		w.do(adminToken, "task:update", `{"taskId":"`+task+`","title":"Another `+string(rune('a'+i))+`"}`).is(200)
		if again := spawned(spawn()); again != id || w.known(id).ManifestDigest != digest ||
			w.places.at(id) != content || content == "" {
			t.Fatalf("retried: %s for %s, %s", again, id, w.places.at(id))
		}
		w.manifestOf(id)

		// A manifest that was reissued since then stays.
		m := w.manifestOf(id)
		m.Session.MaxTurns = 9
		other := w.upload(adminToken, string(m.Canonical())).is(200).text("digest")
		w.do(adminToken, "session:update", `{"sessionId":"`+id+`","manifestDigest":"`+other+`"}`).is(200)
		if spawned(spawn()) != id || w.manifestOf(id).Session.MaxTurns != 9 {
			t.Errorf("a retry put the old manifest back: %s", w.places.at(id))
		}
	}
	id := spawned(spawns[0]())
	w.do(adminToken, "session:spawn", `{"project":"`+project+`","taskIds":["`+task+`"],"name":"n"}`, wire.HeaderKey,
		"k").refused(409, "KEY_REUSED", "")
	// No file is written for a deleted session.
	w.do(adminToken, "session:delete", `{"sessionId":"`+id+`"}`).is(200)
	w.places.content = map[string]string{}
	if spawned(spawns[0]()) != id || w.places.count() != 0 {
		t.Errorf("placed: %v", w.places.content)
	}
}

func TestRefusedSpawnWritesNoManifest(t *testing.T) {
	w := openManifests(t, nil)
	project, other := w.project(), w.project()
	task, foreign := w.task(project), w.task(other)
	_, worker := w.session(adminToken, project, task, ``)
	_, boss := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	w.create(project, `"title":"Waits","dependencies":["`+task+`"]`)
	auditor := w.token("eye", "auditor")
	for _, spawn := range []struct {
		by, fields string
		status     int
		code       string
	}{
		{worker, `"taskIds":["` + task + `"]`, 403, "NOT_ALLOWED"},
		{auditor, `"project":"` + project + `","taskIds":["` + task + `"]`, 403, "NOT_ALLOWED"},
		{boss, `"project":"` + other + `","taskIds":["` + foreign + `"]`, 403, "NOT_ALLOWED"},
		{boss, `"taskIds":["` + foreign + `"]`, 400, "VALIDATION_ERROR"},
		{boss, `"taskIds":["none"]`, 404, "NOT_FOUND"},
		{boss, `"taskIds":[]`, 400, "VALIDATION_ERROR"},
		{boss, `"taskIds":["` + task + `"],"role":"reviewer"`, 400, "VALIDATION_ERROR"},
		{boss, `"taskIds":["` + task + `"],"strategy":"dag"`, 400, "VALIDATION_ERROR"},
		{boss, `"taskIds":["` + task + `"],"allowedCommands":["task:update"]`, 400, "VALIDATION_ERROR"},
		{boss, `"taskIds":["` + task + `"],"spawnedBy":"none"`, 403, "NOT_ALLOWED"},
		{boss, `"taskIds":["` + task + `"],"context":[]`, 400, "VALIDATION_ERROR"},
		{boss, `"taskIds":["` + task + `"],"permissionMode":"yolo"`, 422, "INVALID_MANIFEST"},
		{boss, `"taskIds":["` + task + `"],"maxTurns":-1`, 422, "INVALID_MANIFEST"},
		{boss, `"taskIds":["` + task + `"],"model":"--model"`, 422, "INVALID_MANIFEST"},
		{boss, `"taskIds":["` + task + `"],"skills":["../../x"]`, 422, "INVALID_MANIFEST"},
		{adminToken, `"project":"none","taskIds":["` + task + `"]`, 404, "NOT_FOUND"},
		{adminToken, `"taskIds":["` + task + `"]`, 400, "VALIDATION_ERROR"},
	} {
		head, blobs, placed := w.log.head(), w.blobs.count(), w.places.count()
		for range 2 {
			w.do(spawn.by, "session:spawn", `{`+spawn.fields+`}`).refused(spawn.status, spawn.code, "")
		}
		if w.log.head() != head || w.places.count() != placed || w.blobs.count() > blobs+1 {
			t.Errorf("%s left something: %d blobs more, %d files more", spawn.fields, w.blobs.count()-blobs,
				w.places.count()-placed)
		}
	}
	head, blobs, placed := w.log.head(), w.blobs.count(), w.places.count()
	body := `{"project":"` + project + `","taskIds":["` + task + `"],"name":"fresh","maxTurns":3}`
	dry := w.send(http.MethodPost, "/api/commands/session:spawn?dryRun=true", adminToken, body).is(200)
	if w.log.head() != head || w.places.count() != placed || w.blobs.count() != blobs {
		t.Error("a dry run left something")
	}
	wet := w.do(adminToken, "session:spawn", body).is(200)
	if got := wet.text("event", "data", "manifestDigest"); got != dry.text("event", "data", "manifestDigest") ||
		got == "" {
		t.Errorf("tried: %s, done: %s", dry.body, wet.body)
	}
	// A session starts without its file, and fetches its manifest.
	w.places.fails = true
	id, _ := w.session(adminToken, project, task, ``)
	if w.send(http.MethodGet, "/api/sessions/"+id+"/manifest", adminToken, "").is(200); w.places.at(id) != "" {
		t.Error("the file was written all the same")
	}
}

// upload stores a manifest.
func (w *world) upload(token, body string, header ...string) reply {
	w.Helper()
	return w.send(http.MethodPost, "/api/manifests", token, body, header...)
}

// Whichever write is last, the file has the current manifest.
func TestManifestFileIsCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openManifestsInside(t)
		project := w.project()
		task := w.task(project)
		body := `{"project":"` + project + `","taskIds":["` + task + `"]}`
		id := spawned(w.do(adminToken, "session:spawn", body, wire.HeaderKey, "k"))
		m := w.manifestOf(id)
		var digests []string
		for turns := range 2 {
			m.Session.MaxTurns = turns + 1
			digests = append(digests, w.upload(adminToken, string(m.Canonical())).is(200).text("digest"))
		}
		placing, release := make(chan struct{}), make(chan struct{})
		w.places.before = func(content string) {
			if strings.Contains(content, `"maxTurns": 1`) {
				close(placing)
				<-release
			}
		}
		issue := func(digest string) reply {
			return w.do(adminToken, "session:update", `{"sessionId":"`+id+`","manifestDigest":"`+digest+`"}`)
		}
		var all sync.WaitGroup
		all.Go(func() { issue(digests[0]) })
		<-placing
		all.Go(func() { issue(digests[1]) })
		synctest.Wait() // the second manifest is issued, and its write waits for its turn
		if w.known(id).ManifestDigest != digests[1] {
			t.Error("the second manifest is not issued")
		}
		close(release)
		all.Wait()
		if w.manifestOf(id).Session.MaxTurns != 2 {
			t.Error("the older manifest is in the file")
		}
	})
}
