package api_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/engine"
	"maestro/projections"
	"maestro/service/wire"
	"maestro/workers/manifest"
	"maestro/workers/prompt"
)

// examples are those of docs/spec/003-manifest-schema.md, "Example Manifests".
func examples(t *testing.T) map[string]*manifest.Manifest {
	t.Helper()
	files, err := filepath.Glob("testdata/manifests/*.json")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	found := map[string]*manifest.Manifest{}
	for _, file := range files {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := manifest.Parse(document)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[strings.TrimSuffix(filepath.Base(file), ".json")] = m
	}
	return found
}

func (w manifests) rendered(name, id string, m *manifest.Manifest) {
	w.Helper()
	x := w.known(id)
	s := prompt.Session{
		ID:        id,
		Name:      x.Name,
		ProjectID: x.ProjectID,
		Queue:     x.Queue,
		SpawnedBy: x.SpawnedBy,
	}
	var r prompt.Renderer
	for _, render := range []func(*manifest.Manifest, prompt.Session) ([]byte, error){r.System, r.Task} {
		text, err := render(m, s)
		if err != nil {
			w.Errorf("%s: %v", name, err)
			continue
		}
		elements(w.T, text)
	}
}

// elements reads a prompt as XML and returns its elements.
func elements(t *testing.T, text []byte) (found []xml.StartElement) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(text)))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok {
			found = append(found, start.Copy())
		}
	}
}

func TestManifestExamples(t *testing.T) {
	w := openManifests(t, nil)
	for name, m := range examples(t) {
		r := w.upload(adminToken, string(m.Canonical())).is(200)
		if r.text("digest") != manifest.Digest(m.Canonical()) || r.text("role") != string(m.Role) ||
			r.header.Get(wire.HeaderSequence) == "" {
			t.Errorf("%s: %s", name, r.body)
		}
		// The server creates the ids, so the tasks of the example are created, and the ids in the example replaced.
		project := w.do(adminToken, "project:create",
			`{"name":"P","workingDir":"`+m.Session.WorkingDirectory+`"}`).is(200).text("event", "data", "projectId")
		renamed := map[string]string{}
		outside := func(id string) string {
			if renamed[id] == "" {
				renamed[id] = w.create(project, `"title":"Outside `+id+`"`)
			}
			return renamed[id]
		}
		for i := range m.Tasks {
			task := &m.Tasks[i]
			fields := map[string]any{
				"project":            project,
				"title":              task.Title,
				"description":        task.Description,
				"acceptanceCriteria": task.AcceptanceCriteria,
			}
			if task.ParentID != nil {
				parent := outside(*task.ParentID)
				task.ParentID, fields["parentId"] = &parent, parent
			}
			for j, dependency := range task.Dependencies {
				task.Dependencies[j] = outside(dependency)
			}
			fields["dependencies"] = task.Dependencies
			if task.Priority != "" {
				fields["priority"] = task.Priority
			}
			if task.Metadata != nil {
				fields["metadata"] = task.Metadata
			}
			body, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			task.ID, task.ProjectID = w.do(adminToken, "task:create", string(body)).is(200).
				text("event", "data", "taskId"),
				project
		}
		digest := w.upload(adminToken, string(m.Canonical())).is(200).text("digest")
		with := `{"project":"` + project + `","force":true,"manifestDigest":"` + digest + `"}`
		id := spawned(w.do(adminToken, "session:spawn", with))
		if got := w.manifestOf(id); string(got.Canonical()) != string(m.Canonical()) {
			t.Errorf("%s: the spawned session's manifest is %s", name, got.Canonical())
		}
		w.rendered(name, id, m)

		// The same from the server's own data.
		s := m.Session
		fields := map[string]any{
			"project":        project,
			"taskIds":        m.TaskIDs(),
			"force":          true,
			"role":           m.Role,
			"strategy":       m.Axes().Strategy,
			"skills":         m.Skills,
			"model":          s.Model,
			"permissionMode": s.PermissionMode,
			"thinkingMode":   s.ThinkingMode,
			"maxTurns":       s.MaxTurns,
			"timeout":        s.Timeout,
		}
		for _, number := range []string{"maxTurns", "timeout"} {
			if fmt.Sprint(fields[number]) == "0" { // 0 is no limit in a manifest; commands omit the number
				delete(fields, number)
			}
		}
		body, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if s.AllowedCommands != nil {
			body = append(body[:len(body)-1], `,"allowedCommands":`...)
			list, err := json.Marshal(s.AllowedCommands)
			if err != nil {
				t.Fatal(err)
			}
			body = append(append(body, list...), '}')
		}
		id = spawned(w.do(adminToken, "session:spawn", string(body)))
		generated := w.manifestOf(id)
		w.rendered(name, id, generated)
		for i, task := range generated.Tasks {
			told := m.Tasks[i]
			if task.Priority == "" || told.Priority == "" {
				told.Priority = task.Priority
			}
			told.CreatedAt = task.CreatedAt
			a, err := json.Marshal(task)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(told)
			if err != nil {
				t.Fatal(err)
			}
			if generic(t, a) != generic(t, b) {
				t.Errorf("%s: task %d is %s, in the example %s", name, i, a, b)
			}
		}
		s.ThinkingMode = generated.Session.ThinkingMode
		if a, b := generated.Session, s; a.Model != b.Model || a.PermissionMode != b.PermissionMode ||
			a.MaxTurns != b.MaxTurns || a.Timeout != b.Timeout ||
			a.WorkingDirectory != b.WorkingDirectory || !slices.Equal(generated.Skills, m.Skills) {
			t.Errorf("%s: %+v, in the example %+v", name, a, b)
		}
	}
}

// TestManifestCorpus: the server gives the same verdict on each document of the parser's corpus.
func TestManifestCorpus(t *testing.T) {
	w := openManifests(t, nil)
	corpus, err := os.Open("../workers/manifest/testdata/manifests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = corpus.Close() }()
	lines := bufio.NewScanner(corpus)
	lines.Buffer(nil, 64<<20)
	seen := 0
	for lines.Scan() {
		var c struct {
			ID       string          `json:"id"`
			Manifest json.RawMessage `json:"manifest"`
			Raw      *string         `json:"raw_base64"`
			Expect   string          `json:"expect"`
			Pointers []string        `json:"pointers"`
			Expand   json.RawMessage `json:"expand"`
			Match    string          `json:"match"`
			Why      string          `json:"why"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		body := string(c.Manifest)
		if c.Raw != nil {
			decoded, err := base64.StdEncoding.DecodeString(*c.Raw)
			if err != nil {
				t.Fatal(err)
			}
			body = string(decoded)
		}
		if c.Expand != nil {
			continue // too long for a file of the corpus
		}
		seen++
		r := w.upload(adminToken, body, "Content-Type", "application/json")
		if c.Expect == "valid" {
			if r.status != 200 {
				t.Errorf("%s (%s): %d %s", c.ID, c.Why, r.status, r.body)
			}
			continue
		}
		pointers := w.faults(r)
		found := len(slices.DeleteFunc(slices.Clone(c.Pointers),
			func(p string) bool { return !slices.Contains(pointers, p) }))
		if found == 0 || c.Match != "any" && found < len(c.Pointers) {
			t.Errorf("%s (%s): at %v, expected %v", c.ID, c.Why, pointers, c.Pointers)
		}
	}
	if lines.Err() != nil || seen < 100 {
		t.Errorf("%d of the corpus: %v", seen, lines.Err())
	}
}

// faults returns the places of all faults of an upload that is refused.
func (w *world) faults(r reply) (pointers []string) {
	w.Helper()
	r.refused(http.StatusUnprocessableEntity, "INVALID_MANIFEST", "")
	for _, fault := range r.at("details", "errors").([]any) {
		f, _ := fault.(map[string]any)
		pointer, ok := f["pointer"].(string)
		if message, _ := f["message"].(string); !ok || message == "" {
			w.Errorf("a fault without place or words: %s", r.body)
		}
		pointers = append(pointers, pointer)
	}
	return pointers
}

const goodManifest = `{"manifestVersion":"1.0","role":"worker",` +
	`"tasks":[{"id":"t1","title":"Fix","description":"d","parentId":null,"acceptanceCriteria":["c"],` +
	`"projectId":"p1","createdAt":"2026-02-02T10:00:00Z"}],"session":{"model":"sonnet","permissionMode":"acceptEdits"}}`

func TestBadUploads(t *testing.T) {
	t.Parallel()
	w := openManifests(t, nil)
	blobs := w.blobs.count()
	for body, want := range map[string][]string{
		`{"manifestVersion":"2.0","role":"reviewer","tasks":[{"id":"../x","title":""}],"session":{"model":1,` +
			`"permissionMode":"yolo"},"more":1}`: {
			"/manifestVersion", "/role", "/tasks/0/id", "/tasks/0/title", "/session/model", "/session/permissionMode",
			"/more",
			"/tasks/0/description", "/tasks/0/acceptanceCriteria", "/tasks/0/projectId", "/tasks/0/createdAt",
		},
		`{}`:                           {"/manifestVersion", "/role", "/tasks", "/session"},
		`null`:                         {""},
		`[]`:                           {""},
		goodManifest + `x`:             {""},
		goodManifest + "\x00":          {""},
		goodManifest + goodManifest:    {""},
		"\xef\xbb\xbf" + goodManifest:  {""},
		strings.Repeat(`{"a":`, 1<<20): {""},
		strings.Repeat(`[`, 8<<20):     {""},
		strings.Replace(goodManifest, `"role":"worker"`, `"role":"worker","role":"orchestrator"`,
			1): {"/role"},
		strings.Replace(goodManifest, `"Fix"`, `"Fi\u0000x"`,
			1): {"/tasks/0/title"},
		strings.Replace(goodManifest, `"session":{`,
			`"context":{"custom":`+strings.Repeat(`{"d":`, 600)+`1`+strings.Repeat(`}`, 601)+`,"session":{`, 1): {""},
		strings.Replace(goodManifest, `"session":{`, `"session":{"allowedCommands":["task:get","task:update","x:y"],`,
			1): {"/session/allowedCommands/1", "/session/allowedCommands/2"},
	} {
		got := w.faults(w.upload(adminToken, body))
		for _, pointer := range want {
			if whole := pointer == "" && len(got) == 1; !whole && !slices.Contains(got, pointer) {
				t.Errorf("%.80s: at %v, expected %v", body, got, want)
			}
		}
	}
	w.upload(adminToken, strings.Repeat(" ", 50<<20)).refused(413, "TOO_LARGE", "16 MiB")
	w.upload(adminToken, `"`+strings.Repeat("x", 16<<20)).refused(413, "TOO_LARGE", "16 MiB")
	chunked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/manifests",
		io.LimitReader(spaces{}, 50<<20))
	if err != nil {
		t.Fatal(err)
	}
	chunked.Header.Set("Authorization", "Bearer "+adminToken)
	chunked.Header.Set("Content-Type", "application/json")
	answer, err := w.client.Do(chunked)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != 413 {
		t.Errorf("of unknown length: %d", answer.StatusCode)
	}
	w.upload(adminToken, goodManifest, "Content-Type", "text/plain").refused(415, "UNSUPPORTED_MEDIA_TYPE",
		"application/json")
	w.upload(adminToken, goodManifest, "Content-Type", "").refused(415, "UNSUPPORTED_MEDIA_TYPE", "application/json")
	w.upload("", goodManifest).is(401)
	w.send(http.MethodGet, "/api/manifests", adminToken, "").refused(405, "METHOD_NOT_ALLOWED", "")
	if w.blobs.count() != blobs || w.log.head() != 0 {
		t.Error("something was stored")
	}
	// The longest allowed manifest, in the old form.
	w.upload(adminToken, strings.Replace(goodManifest, `"d"`, `"`+strings.Repeat("x", 15<<20)+`"`, 1)).is(200)
	old := strings.Replace(strings.Replace(goodManifest, `"tasks":[`, `"task":`, 1), `}],"session"`, `},"session"`, 1)
	if got := w.upload(adminToken, old).is(200).text("digest"); got != w.upload(adminToken,
		goodManifest).is(200).text("digest") {
		t.Error("an old manifest is not stored in the current form")
	}
	w.send(http.MethodGet, "/api/manifests/schema", "", "").is(401)
	schema := w.send(http.MethodGet, "/api/manifests/schema", adminToken, "").is(200)
	if schema.text("$id") != manifest.SchemaID || schema.header.Get(wire.HeaderSequence) == "" ||
		schema.header.Get("Content-Type") != "application/schema+json" {
		t.Errorf("the schema: %v", schema.header)
	}
}

type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// With auth off, callers without a credential store and spawn as the user.
func TestManifestsWithAuthOff(t *testing.T) {
	w := openManifests(t, authOff)
	project := w.send(http.MethodPost, "/api/projects", "", `{"name":"P"}`).is(201).text("id")
	task := w.send(http.MethodPost, "/api/tasks", "", `{"projectId":"`+project+`","title":"T"}`).is(201).text("id")
	digest := w.upload("", goodFor(project, task, ``)).is(200).text("digest")
	if id := spawned(w.do("", "session:spawn",
		`{"manifestDigest":"`+digest+`"}`)); w.known(id).ManifestDigest != digest {
		t.Error("the manifest differs")
	}
	id := spawned(w.send(http.MethodPost, "/api/sessions/spawn", "",
		`{"projectId":"`+project+`","taskIds":["`+task+`"]}`))
	r := w.send(http.MethodGet, "/api/sessions/"+id+"/manifest", "", "").is(200)
	if w.places.at(id) != string(r.body) {
		t.Error("the file has another manifest")
	}
}

// goodFor returns the good manifest for a task of a project, with more members of its session.
func goodFor(project, task, session string) string {
	return strings.NewReplacer(`"p1"`, `"`+project+`"`, `"t1"`, `"`+task+`"`, `"session":{`,
		`"session":{`+session).Replace(goodManifest)
}

func TestWhoStoresManifests(t *testing.T) {
	w := openManifests(t, nil)
	project, other := w.project(), w.project()
	task, foreign := w.task(project), w.task(other)
	body := goodFor(project, task, ``)
	token := func(fields string) string {
		_, token := w.session(adminToken, project, task, fields)
		return token
	}
	boss := token(`,"role":"orchestrator"`)
	for name, secret := range map[string]string{
		"worker":  token(``),
		"queue":   token(`,"strategy":"queue"`),
		"tree":    token(`,"strategy":"tree"`),
		"listed":  token(`,"role":"orchestrator","allowedCommands":["task:get"]`),
		"auditor": w.token("eye", "auditor"),
		"reader":  w.token("reader", "read-only", project),
	} {
		blobs := w.blobs.count()
		r := w.upload(secret, body).refused(403, "NOT_ALLOWED", "Command 'manifest:generate'")
		if r.text("rule") != "manifest:generate" || w.blobs.count() != blobs {
			t.Errorf("%s: %s", name, r.body)
		}
		w.upload(secret, "not even JSON", "Content-Type", "text/plain").is(403)
	}
	for name, secret := range map[string]string{
		"admin":        adminToken,
		"second admin": w.token("ops", "admin"),
		"orchestrator": boss,
	} {
		if r := w.upload(secret, body); r.status != 200 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if len(w.denials.List(func(d *engine.Denial) bool { return d.Command == "manifest:generate" })) < 6 {
		t.Error("the refusals are not recorded")
	}
	w.upload(boss, goodFor(other, foreign, ``)).refused(403, "NOT_ALLOWED", other)
	w.upload(boss, goodFor("none", foreign, ``)).refused(403, "NOT_ALLOWED", "none")
	mine := w.do(boss, "project:create", `{"name":"its own"}`).is(200).text("event", "data", "projectId")
	w.upload(boss, goodFor(mine, w.task(mine), ``)).is(200)

	// A session cannot name the digest of another project's manifest, because whoever names a manifest may read it.
	digest := w.upload(adminToken, goodFor(other, foreign, ``)).is(200).text("digest")
	for _, field := range []string{``, `"taskIds":["` + task + `"],`} {
		w.do(boss, "session:spawn", `{`+field+`"manifestDigest":"`+digest+`"}`).refused(403, "NOT_ALLOWED", other)
	}
	child, _ := w.session(boss, project, task, ``)
	w.do(boss, "session:update", `{"sessionId":"`+child+`","manifestDigest":"`+digest+`"}`).refused(403, "NOT_ALLOWED",
		other)
	// The error does not quote something that is not a manifest.
	secret := `{"password":"hunter2"}`
	blob, err := w.blobs.PutBlob(t.Context(), []byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	r := w.do(boss, "session:spawn", `{"manifestDigest":"`+blob+`"}`).refused(400, "VALIDATION_ERROR",
		"is not the digest of a manifest")
	if strings.Contains(string(r.body), "password") || r.text("pointer") != "/manifestDigest" {
		t.Errorf("%s", r.body)
	}
}

func TestCommandMatchesManifest(t *testing.T) {
	w := openManifests(t, nil)
	project, other := w.project(), w.project()
	task, second := w.task(project), w.task(project)
	store := func(body string) string {
		t.Helper()
		return w.upload(adminToken, body).is(200).text("digest")
	}
	body := strings.Replace(goodFor(project, task,
		`"timeout":60000,"maxTurns":5,"thinkingMode":"auto","allowedCommands":["task:get"],"workingDirectory":"/w",`),
		`"role":"worker"`, `"role":"worker","skills":["s"],"templateId":"t"`, 1)
	digest := store(body)
	named := `"manifestDigest":"` + digest + `"`
	for fields, pointer := range map[string]string{
		`"role":"orchestrator"`:                  "/role",
		`"role":"orchestrator","strategy":"dag"`: "/role",
		`"strategy":"tree"`:                      "/strategy",
		`"strategy":"dag"`:                       "/strategy",
		`"taskIds":["` + second + `"]`:           "/taskIds",
		`"taskIds":[]`:                           "/taskIds",
		`"allowedCommands":[]`:                   "/allowedCommands",
		`"allowedCommands":["task:list"]`:        "/allowedCommands",
		`"model":"opus"`:                         "/model",
		`"agent":"codex"`:                        "/agent",
		`"permissionMode":"readOnly"`:            "/permissionMode",
		`"thinkingMode":"disabled"`:              "/thinkingMode",
		`"maxTurns":6`:                           "/maxTurns",
		`"timeout":1`:                            "/timeout",
		`"workingDirectory":"/"`:                 "/workingDirectory",
		`"templateId":"u"`:                       "/templateId",
		`"skills":["other"]`:                     "/skills",
		`"skills":[]`:                            "/skills",
		`"context":{"a":1}`:                      "/context",
		`"project":"` + other + `"`:              "/project",
	} {
		if !strings.Contains(fields, "project") {
			fields += `,"project":"` + project + `"`
		}
		head := w.log.head()
		r := w.do(adminToken, "session:spawn", `{`+named+`,`+fields+`}`).refused(400, "VALIDATION_ERROR",
			"the manifest has another value")
		if r.text("pointer") != pointer || w.log.head() != head {
			t.Errorf("%s: %s", fields, r.body)
		}
		switch pointer {
		case "/role", "/strategy", "/taskIds", "/allowedCommands", "/project":
			r := w.do(adminToken, "session:register", `{`+named+`,`+fields+`}`).refused(400, "VALIDATION_ERROR",
				"the manifest has another value")
			if r.text("pointer") != pointer {
				t.Errorf("register: %s: %s", fields, r.body)
			}
		}
	}
	// Fields that repeat the manifest are accepted.
	same := `,"role":"worker","strategy":"simple","taskIds":["` + task +
		`"],"allowedCommands":["task:get"],"model":"sonnet","agent":"claude","permissionMode":"acceptEdits",
		"thinkingMode":"auto","maxTurns":5,"timeout":60000,"workingDirectory":"/w","templateId":"t","skills":["s"],
		"project":"` + project + `"`
	for _, fields := range []string{``, same} {
		id := spawned(w.do(adminToken, "session:spawn", `{`+named+fields+`}`))
		w.manifestOf(id)
		x := w.known(id)
		if x.ManifestDigest != digest || x.Deadline == 0 || !slices.Equal(x.Skills, []string{"s"}) {
			t.Errorf("the spawned session is %+v", x.SessionFields)
		}
	}
	boss := store(strings.Replace(goodFor(project, task, ``), `"role":"worker"`, `"role":"orchestrator"`, 1))

	// A manifest written by hand gives an orchestrator no more than its spawner has.
	_, meagre := w.session(adminToken, project, task,
		`,"role":"orchestrator","allowedCommands":["session:spawn","task:get"]`)
	w.do(meagre, "session:spawn", `{"manifestDigest":"`+boss+`"}`).refused(403, "NOT_ALLOWED", "may not give")
	less := store(strings.Replace(goodFor(project, task, `"allowedCommands":["task:get"],`), `"role":"worker"`,
		`"role":"orchestrator"`, 1))
	w.manifestOf(spawned(w.do(meagre, "session:spawn", `{"manifestDigest":"`+less+`"}`)))
	w.manifestOf(spawned(w.do(adminToken, "session:spawn",
		`{"project":"`+project+`","role":"orchestrator","strategy":"simple","manifestDigest":"`+boss+`"}`)))

	// Registered by hand.
	r := w.do(adminToken, "session:register", `{"sessionId":"byhand","manifestDigest":"`+digest+`"}`).is(200)
	if r.text("token") == "" || w.known("byhand").ProjectID != project {
		t.Errorf("%s", r.body)
	}
	w.manifestOf("byhand")
	w.do(adminToken, "session:register", `{"sessionId":"byhand","manifestDigest":"`+digest+`"}`).refused(409,
		"CONFLICT", "already exists")

	// Digests that name nothing, or are not digests.
	none := "sha256-" + strings.Repeat("0", 64)
	child, token := w.session(adminToken, project, task, ``)
	for id, fields := range map[string]string{
		"session:spawn":    ``,
		"session:register": ``,
		"session:update":   `"sessionId":"` + child + `",`,
	} {
		body := `{"project":"` + project + `",` + fields + `"manifestDigest":"`
		w.do(adminToken, id, body+none+`"}`).refused(404, "NOT_FOUND", none)
		for _, bad := range []string{"x", "../../etc/passwd", "sha256-" + strings.Repeat("A", 64), "sha256-" +
			strings.Repeat("a", 63)} {
			if r := w.do(adminToken, id, body+bad+`"}`).refused(400, "VALIDATION_ERROR",
				"is not a digest"); r.text("pointer") != "/manifestDigest" {
				t.Errorf("%s: %s", id, r.body)
			}
		}
		// A caller that may not use the command does not learn what exists.
		w.do(w.token("eye-"+strings.ReplaceAll(id, ":", "-"), "auditor"), id, body+none+`"}`).refused(403,
			"NOT_ALLOWED", "")
		if id != "session:register" { // which is a session's own
			w.do(token, id, body+none+`"}`).refused(403, "NOT_ALLOWED", "")
		}
	}
}

func TestReissuedManifest(t *testing.T) {
	w := openManifests(t, nil)
	project, other := w.project(), w.project()
	task := w.task(project)
	boss, bossToken := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	_, rival := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	id, token := w.session(bossToken, project, task, ``)
	first := w.manifestOf(id)
	old := manifest.Digest(first.Canonical())
	store := func(change func(*manifest.Manifest)) string {
		t.Helper()
		m, err := manifest.Parse(first.Canonical())
		if err != nil {
			t.Fatal(err)
		}
		change(m)
		return w.upload(adminToken, string(m.Canonical())).is(200).text("digest")
	}
	issue := func(by, digest string) reply {
		return w.do(by, "session:update", `{"sessionId":"`+id+`","manifestDigest":"`+digest+`"}`)
	}
	same := store(func(m *manifest.Manifest) { m.Session.Model = "opus" })
	all := first.Axes().Commands
	explicit := store(func(m *manifest.Manifest) { m.Session.AllowedCommands = &all })
	for name, change := range map[string]func(*manifest.Manifest){
		"strategy": func(m *manifest.Manifest) { m.Strategy = "tree" },
		"role":     func(m *manifest.Manifest) { m.Role, m.Strategy = "orchestrator", "" },
		"fewer":    func(m *manifest.Manifest) { m.Session.AllowedCommands = &[]string{"task:get"} },
		"more": func(m *manifest.Manifest) {
			more := append(slices.Clone(all), "task:tree")
			m.Session.AllowedCommands = &more
		},
	} {
		digest, before := store(change), w.places.at(id)
		issue(adminToken, digest).refused(409, "CONFLICT", "other rights")
		issue(bossToken, digest).refused(409, "CONFLICT", "other rights")
		issue(rival, digest).refused(403, "NOT_ALLOWED", "did not spawn")
		if w.places.at(id) != before || w.known(id).ManifestDigest != old {
			t.Errorf("%s: the manifest was issued", name)
		}
	}
	// An orchestrator's strategies give the same commands, but are not interchangeable.
	m := w.manifestOf(boss)
	m.Strategy = "dag"
	dag := w.upload(adminToken, string(m.Canonical())).is(200).text("digest")
	w.do(adminToken, "session:update", `{"sessionId":"`+boss+`","manifestDigest":"`+dag+`"}`).refused(409, "CONFLICT",
		"other rights")
	issue(adminToken, store(func(m *manifest.Manifest) { m.Tasks[0].ProjectID = other })).refused(400,
		"VALIDATION_ERROR", "has another value")
	issue(rival, same).refused(403, "NOT_ALLOWED", "did not spawn")
	issue(rival, "sha256-"+strings.Repeat("0", 64)).refused(403, "NOT_ALLOWED", "did not spawn")
	issue(token, same).refused(403, "NOT_ALLOWED", "Command 'session:update'")
	for _, digest := range []string{explicit, same} {
		issue(bossToken, digest).is(200)
		w.manifestOf(id)
	}

	begin := func(by, command, digest, fields string) reply {
		return w.do(by, command, `{"manifestDigest":"`+digest+`"`+fields+`}`)
	}
	_, fellow := w.session(adminToken, project, task, ``)
	begin(token, "worker:init", old, ``).refused(409, "CONFLICT", "is not the one that it was given")
	begin(fellow, "worker:init", same, `,"sessionId":"`+id+`"`).refused(403, "NOT_ALLOWED", "may not act as")
	begin(token, "orchestrator:init", same, ``).refused(403, "NOT_ALLOWED", "Command 'orchestrator:init'")
	begin(adminToken, "worker:init", same, `,"sessionId":"`+id+`"`).refused(403, "NOT_ALLOWED", "Command 'worker:init'")
	begin(bossToken, "worker:init", w.known(boss).ManifestDigest, ``).refused(403, "NOT_ALLOWED",
		"Command 'worker:init'")
	begin(bossToken, "orchestrator:init", same, `,"sessionId":"`+id+`"`).refused(403, "NOT_ALLOWED", "may not act as")
	begin(token, "worker:init", "", ``).refused(400, "VALIDATION_ERROR", "manifestDigest is required")
	head := w.log.head()
	r := begin(token, "worker:init", same, ``).is(200)
	if r.text("event", "type") != "maestro.session.registered.v1" || w.log.head() != head+1 {
		t.Errorf("%s", r.body)
	}
	if again := begin(token, "worker:init", same, ``).is(200); again.at("event") != nil || w.log.head() != head+1 {
		t.Errorf("registered twice: %s", again.body)
	}
	begin(token, "worker:init", old, ``).refused(409, "CONFLICT", "is not the one that it was given")
	begin(bossToken, "orchestrator:init", w.known(boss).ManifestDigest, ``).is(200)
	if status := w.known(id).Status; status != "running" {
		t.Errorf("the session is %s", status)
	}
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
	begin(token, "worker:init", same, ``).refused(403, "NOT_ALLOWED", "has ended")
}

func TestManifestReaders(t *testing.T) {
	w := openManifests(t, nil)
	project, other := w.project(), w.project()
	task, foreign := w.task(project), w.task(other)
	id, token := w.session(adminToken, project, task, ``)
	listed, listedToken := w.session(adminToken, project, task, `,"allowedCommands":[]`)
	_, boss := w.session(adminToken, project, task, `,"role":"orchestrator"`)
	stranger, strangerToken := w.session(adminToken, other, foreign, ``)
	_, strangeBoss := w.session(adminToken, other, foreign, `,"role":"orchestrator"`)
	get := func(by, session string) reply {
		return w.send(http.MethodGet, "/api/sessions/"+session+"/manifest", by, "")
	}
	get(token, id).is(200)
	get(listedToken, listed).is(200)
	get(strangerToken, stranger).is(200)
	get(boss, id).refused(403, "NOT_ALLOWED", "may not read the manifest") // it did not spawn it
	child, _ := w.session(boss, project, task, ``)
	get(boss, child).is(200)
	get(token, listed).refused(403, "NOT_ALLOWED", "Command 'manifest:show'") // a worker reads its own
	_, reads := w.session(adminToken, project, task, `,"allowedCommands":["manifest:show"]`)
	get(reads, listed).refused(403, "NOT_ALLOWED", "may not read the manifest")
	for by, status := range map[string]int{token: 200, listedToken: 403, reads: 403, strangeBoss: 403, boss: 403} {
		w.send(http.MethodGet, "/api/sessions/"+id+"/workflow", by, "").is(status) // as the manifest
	}
	get(w.token("eye", "auditor"), id).is(200)
	get(w.token("reader", "read-only", project), id).is(200)
	get(w.token("reader2", "read-only", other), id).refused(403, "NOT_ALLOWED", "")
	get(listedToken, id).refused(403, "NOT_ALLOWED", "Command 'manifest:show'")
	get(strangerToken, id).refused(403, "NOT_ALLOWED", "")
	get(strangeBoss, id).refused(403, "NOT_ALLOWED", "")
	get(token, stranger).refused(403, "NOT_ALLOWED", "")
	get("", id).is(401)
	get(adminToken, "none").refused(404, "NOT_FOUND", "not found")
	get(listedToken, "none").refused(403, "NOT_ALLOWED", "")
	made := w.do(adminToken, "session:register",
		`{"project":"`+project+`","taskIds":["`+task+`"]}`).is(200).text("event", "data", "sessionId")
	get(adminToken, made).refused(404, "NOT_FOUND", "Manifest of session")
	w.do(adminToken, "session:kill", `{"sessionId":"`+id+`"}`).is(200)
	get(token, id).is(200)
}

// readRoutes are where the reads of the table are asked.
var readRoutes = map[string]string{
	"whoami":        "/api/whoami",
	"commands":      "/api/commands",
	"status":        "/api/projects/PROJECT/status",
	"task:list":     "/api/tasks",
	"task:get":      "/api/tasks/OWN",
	"task:children": "/api/tasks/OWN/children",
	"task:tree":     "/api/tasks/OWN/tree",
	"session:list":  "/api/sessions",
	"session:info":  "/api/sessions/CHILD",
	"queue:top":     "/api/sessions/ME/queue/top",
	"queue:list":    "/api/sessions/ME/queue",
	"queue:status":  "/api/queues",
	"project:list":  "/api/projects",
	"project:get":   "/api/projects/PROJECT",
	"inbox":         "/api/inbox",
	"input:list":    "/api/inputs",
	"since":         "/api/since",
	"why":           "/api/why/OWN",
	"audit:head":    "/api/audit/head",
	"audit:export":  "/api/audit/export",
	"audit:verify":  "/api/audit/verify",
	"audit:denials": "/api/audit/denials",
	"audit:can":     "/api/audit/can?actor=admin&command=whoami",
	"token:list":    "/api/tokens",
}

// TestPromptNamesPermittedCommands: the system prompt of a session names exactly the commands that the server
// permits.
func TestPromptNamesPermittedCommands(t *testing.T) {
	w := openManifests(t, nil)
	project := w.project()
	task := w.task(project)
	child, _ := w.session(adminToken, project, task, ``)
	asked := map[string]int{}
	for _, fields := range []string{
		``, `,"strategy":"queue"`, `,"strategy":"tree"`, `,"role":"orchestrator"`,
		`,"role":"orchestrator","strategy":"intelligent-batching"`, `,"role":"orchestrator","strategy":"dag"`,
		`,"allowedCommands":[]`, `,"allowedCommands":["whoami","task:get","report:progress","report:complete"]`,
		`,"allowedCommands":["task:report:blocked","task:tree","session:list","why"]`,
		`,"strategy":"queue","allowedCommands":["queue:start","queue:complete","report:error"]`,
		`,"role":"orchestrator","allowedCommands":["task:complete","session:spawn","inbox"]`,
	} {
		id, token := w.session(adminToken, project, task, fields)
		text, err := prompt.Renderer{}.System(w.manifestOf(id), prompt.Session{ID: id, ProjectID: project})
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]bool{}
		for _, element := range elements(t, text) {
			for _, attribute := range element.Attr {
				if element.Name.Local == "command" && attribute.Name.Local == "name" {
					told[attribute.Value] = true
				}
			}
		}
		if len(told) < 5 {
			t.Fatalf("%s: the prompt has the commands %v", fields, told)
		}
		names := strings.NewReplacer("PROJECT", project, "OWN", task, "ME", id, "CHILD", child)
		for _, row := range commands.CurrentRules().Rows() {
			var permitted error
			w.handler.View(func(s *projections.State) {
				permitted = commands.Permit(s, commands.CurrentRules(),
					commands.SessionActor(project, id, commands.AuthnToken), row.ID, project)
			})
			// Of some commands no session is told: the command line sends them automatically, or they are for programs.
			has := slices.Contains(prompt.Lines(true, []string{row.ID, row.Alias}), row.ID)
			if told[row.ID] != (permitted == nil && has) {
				t.Errorf("%s: %s is in the prompt: %v, permitted: %v", fields, row.ID, told[row.ID], permitted)
			}
			can := w.send(http.MethodGet, "/api/audit/can?actor="+id+"&command="+row.ID+"&project="+project, adminToken,
				"")
			if can.status == 200 && told[row.ID] && can.at("allowed") != true &&
				strings.HasPrefix(can.text("why"), "Command '") {
				t.Errorf("%s: %s is in the prompt, but: %s", fields, row.ID, can.body)
			}
			var r reply
			switch path := readRoutes[row.ID]; {
			case row.Write:
				body := `{}`
				if strings.Contains(row.ID, "report:") {
					body = `{"message":"m","taskIds":["` + task + `"]}`
				}
				r = w.send(http.MethodPost, "/api/commands/"+row.ID+"?dryRun=true", token, body)
			case path != "":
				r = w.send(http.MethodGet, names.Replace(path), token, "")
			case row.ID == "manifest:generate":
				r = w.upload(token, goodFor(project, task, ``))
			default:
				continue
			}
			absent := r.status == http.StatusNotFound &&
				strings.Contains(r.text("message"), "not available in this version")
			switch {
			case told[row.ID]:
				asked["told"]++
				if absent || r.status == http.StatusForbidden && strings.HasPrefix(r.text("message"), "Command '") {
					t.Errorf("%s: %s is in the prompt, but the server says %d %s", fields, row.ID, r.status, r.body)
				}
			case absent:
			// no agent uses it: the command line sends it automatically
			case permitted == nil:
				if has {
					t.Errorf("%s: %s is permitted, but not in the prompt", fields, row.ID)
				}
			default:
				asked["withheld"]++
				r.refused(http.StatusForbidden, "NOT_ALLOWED", "Command '")
				if rule := r.text("rule"); rule != row.ID && rule != row.Alias {
					t.Errorf("%s: %s is refused by the rule %s", fields, row.ID, rule)
				}
			}
		}
	}
	if asked["told"] < 100 || asked["withheld"] < 100 {
		t.Errorf("checked: %v", asked)
	}
}
