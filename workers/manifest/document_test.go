package manifest

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// examplesOfDocument003 are the manifests that docs/spec/003-manifest-schema.md, "Example Manifests", and the sections
// below show as complete and valid, by the last heading or comment before each.
var examplesOfDocument003 = []string{
	"Worker Manifest (Minimal)",
	"Worker Manifest (Complete)",
	"Orchestrator Manifest (Single Task)",
	"Multi-Task Worker Manifest",
	"Queue Strategy Worker Manifest",
	"minimal manifest",
	"queue strategy with empty tasks",
	"Created by hand",
}

// TestExamplesOfDocument003: the manifests in the document are accepted, and nothing in them is lost. Those that it
// shows as wrong are not JSON, or follow "Invalid".
func TestExamplesOfDocument003(t *testing.T) {
	file, err := os.ReadFile("../../docs/spec/003-manifest-schema.md")
	if err != nil {
		t.Fatal(err)
	}
	title := regexp.MustCompile(`(?m)^(?:#+|// Valid -|// (Invalid) -) +(.*)$`)
	var names []string
	text := string(file)
	for rest := text; ; {
		at := strings.Index(rest, "\n{\n  \"manifestVersion\"")
		if at < 0 {
			break
		}
		titles := title.FindAllStringSubmatch(text[:len(text)-len(rest)+at+1], -1)
		name := titles[len(titles)-1]
		rest = rest[at+1:]
		var example json.RawMessage
		if name[1] != "" {
			continue
		}
		if err := json.NewDecoder(strings.NewReader(rest)).Decode(&example); err != nil {
			t.Errorf("%s: %v", name[2], err)
			continue
		}
		if name[2] == "Or manually create with jq" {
			name[2] = "Created by hand"
		}
		names = append(names, name[2])
		t.Run(name[2], func(t *testing.T) {
			m, err := Parse(example)
			if err != nil {
				t.Fatal(err)
			}
			sameAgain(t, m)
			var before, after any
			if err := json.Unmarshal(example, &before); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(m.Canonical(), &after); err != nil {
				t.Fatal(err)
			}
			keeps(t, "", before, after)
		})
	}
	if !slices.Equal(names, examplesOfDocument003) {
		t.Errorf("the document has the examples %q, want %q", names, examplesOfDocument003)
	}
}

// keeps finds everything in a document that its canonical form lacks; an empty list may be left out.
func keeps(t *testing.T, at string, before, after any) {
	t.Helper()
	switch before := before.(type) {
	case map[string]any:
		after, _ := after.(map[string]any)
		for name, value := range before {
			if list, ok := value.([]any); !ok || len(list) > 0 {
				keeps(t, at+"/"+name, value, after[name])
			}
		}
	case []any:
		after, _ := after.([]any)
		if len(after) != len(before) {
			t.Errorf("%s has %d entries, want %d", at, len(after), len(before))
			return
		}
		for i := range before {
			keeps(t, at+"/-", before[i], after[i])
		}
	default:
		if before != after && at != "/tasks/-/createdAt" {
			t.Errorf("%s is %v, want %v", at, after, before)
		}
	}
}
