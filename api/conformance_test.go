package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"maestro/api/openapi"
	"maestro/internal/testing/race"
)

// published is the OpenAPI document, with which every answer that a test of this package gets is compared.
var published = sync.OnceValue(func() *document {
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Document))
	if err != nil {
		panic(err)
	}
	d := &document{
		whole:    whole.(map[string]any),
		compiler: jsonschema.NewCompiler(),
		found:    map[string]located{},
		schemas:  map[string]*jsonschema.Schema{},
		seen:     map[[sha256.Size]byte]bool{},
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, whole); err != nil {
		panic(err)
	}
	return d
})

const documentURL = "openapi.json"

// document validates requests and answers by a published document.
type document struct {
	whole    map[string]any
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	found   map[string]located            // by the names of their paths
	schemas map[string]*jsonschema.Schema // by their pointers
	seen    map[[sha256.Size]byte]bool    // what was validated already
}

// located is an object of the document, and where it is.
type located struct {
	object  map[string]any
	pointer string
}

// at returns the object at a path of names, following references; nil if there is none.
func (d *document) at(names ...string) (map[string]any, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := strings.Join(names, "\x00")
	x, ok := d.found[key]
	if !ok {
		x.object, x.pointer = d.find(names)
		d.found[key] = x
	}
	return x.object, x.pointer
}

func (d *document) find(names []string) (map[string]any, string) {
	object, pointer := d.whole, ""
	for _, name := range names {
		next, ok := object[name].(map[string]any)
		if !ok {
			return nil, ""
		}
		object, pointer = next, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if ref, ok := object["$ref"].(string); ok {
			pointer = strings.TrimPrefix(ref, "#")
			object, _ = d.find(strings.Split(pointer, "/")[1:])
		}
	}
	return object, pointer
}

// operation returns the path of the document for a call; "" if there is none.
func (d *document) operation(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	paths := d.whole["paths"].(map[string]any)
	method = strings.ToLower(method)
	if item, ok := paths[path].(map[string]any); ok && item[method] != nil {
		return path
	}
	found, literal := "", -1
	for template, item := range paths {
		n, ok := fits(template, path)
		if ok && n > literal && item.(map[string]any)[method] != nil {
			found, literal = template, n
		}
	}
	return found
}

// fits reports whether a path is of a template, and how many of its parts are no parameters.
func fits(template, path string) (literal int, ok bool) {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return 0, strings.HasPrefix(template, "/api/why/") && strings.HasPrefix(path, "/api/why/")
	}
	for i, part := range want {
		switch {
		case part == have[i]:
			literal++
		case !strings.HasPrefix(part, "{") || have[i] == "":
			return 0, false
		}
	}
	return literal, true
}

// validate compares a value with the schema at a pointer.
func (d *document) validate(pointer string, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := sha256.Sum256(append([]byte(pointer+"\x00"), body...))
	if d.seen[key] {
		return nil
	}
	d.seen[key] = true
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	schema := d.schemas[pointer]
	if schema == nil {
		if schema, err = d.compiler.Compile(documentURL + "#" + pointer); err != nil {
			return err
		}
		d.schemas[pointer] = schema
	}
	return schema.Validate(value)
}

// checkAnswer compares an answer, and the request if it was accepted, with the document. It does not under the race
// detector, which makes it ten times slower and has nothing to find in it: the tests run without it too.
func (d *document) checkAnswer(t testing.TB, method, path, body string, r reply) {
	t.Helper()
	if race.Enabled {
		return
	}
	template := d.operation(method, path)
	if template == "" || method == http.MethodHead {
		return
	}
	operation := []string{"paths", template, strings.ToLower(method)}
	status := append(operation, "responses", strconv.Itoa(r.status))
	if known, _ := d.at(status...); known == nil {
		t.Errorf("%s %s answers with the status %d, which is not documented: %s", method, template, r.status, r.body)
		return
	}
	media, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	content, pointer := d.at(append(status, "content", media)...)
	switch {
	case content == nil && len(r.body) > 0:
		t.Errorf("%s %s answers %d with %q, which is not documented", method, template, r.status, media)
	case isOlder(d, operation) && bytes.Contains(r.body, []byte(`"projectId":""`)): // which the caller may not read
	case media == "application/json" && len(r.body) > 0:
		if err := d.validate(pointer+"/schema", r.body); err != nil {
			t.Errorf("%s %s: the answer is not as documented: %v\n%.2000s", method, template, err, r.body)
		}
	}
	if media == "text/event-stream" {
		for _, message := range messagesOf(r.body) {
			if err := d.validate(pointer+"/schema", message); err != nil {
				t.Errorf("%s %s: a message is not as documented: %v\n%.2000s", method, template, err, message)
			}
		}
	}
	content, pointer = d.at(append(operation, "requestBody", "content", "application/json")...)
	if content != nil && r.status < 300 && body != "" {
		if err := d.validate(pointer+"/schema", withoutNulls(body)); err != nil {
			t.Errorf("%s %s accepts what is not documented: %v\n%.2000s", method, template, err, body)
		}
	}
}

// messagesOf returns server-sent events as the document describes them: as objects with their event and their data.
func messagesOf(stream []byte) (messages [][]byte) {
	for text := range strings.SplitSeq(string(stream), "\n\n") {
		var event, data string
		for line := range strings.SplitSeq(text, "\n") {
			if value, ok := strings.CutPrefix(line, "event: "); ok {
				event = value
			}
			if value, ok := strings.CutPrefix(line, "data: "); ok {
				data = value
			}
		}
		if event != "" {
			messages = append(messages, fmt.Appendf(nil, `{"event":%q,"data":%s}`, event, data))
		}
	}
	return messages
}

func isOlder(d *document, operation []string) bool {
	found, _ := d.at(operation...)
	return found["deprecated"] == true
}

// withoutNulls returns a body without its members that are null: the server takes them for absent, and the document
// does not offer them.
func withoutNulls(body string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &members) != nil {
		return []byte(body)
	}
	maps.DeleteFunc(members, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	kept, err := json.Marshal(members)
	if err != nil {
		return []byte(body)
	}
	return kept
}

// The document would not be worth much if answers that differ from it passed.
func TestDifferencesFromTheDocumentAreFound(t *testing.T) {
	w := open(t, nil)
	project := w.project()
	task := w.task(project)
	good := w.send(http.MethodGet, "/api/tasks/"+task, adminToken, "").is(200)
	for name, body := range map[string]string{
		"a member of another type": strings.Replace(string(good.body), `"title":"`, `"title":7,"x":"`, 1),
		"an unknown status":        strings.Replace(string(good.body), `"todo"`, `"almost"`, 1),
		"a missing member":         strings.Replace(string(good.body), `"priority"`, `"urgency"`, 1),
	} {
		_, pointer := published().at("paths", "/api/tasks/{id}", "get", "responses", "200", "content",
			"application/json")
		if err := published().validate(pointer+"/schema", []byte(body)); err == nil {
			t.Errorf("%s is not found: %s", name, body)
		}
	}
	_, pointer := published().at("paths", "/api/commands/task:create", "post", "requestBody", "content",
		"application/json")
	for _, body := range []string{`{}`, `{"title":"T","colour":"red"}`, `{"title":"T","priority":"soon"}`} {
		if err := published().validate(pointer+"/schema", []byte(body)); err == nil {
			t.Errorf("%s passes", body)
		}
	}
}
