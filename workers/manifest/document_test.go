package manifest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestExamplesOfDocument003: the manifests that the document shows as whole and right are taken, and keep what they
// say.
func TestExamplesOfDocument003(t *testing.T) {
	file, err := os.ReadFile("testdata/document003.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for line := range bytes.Lines(file) {
		var example struct {
			Name     string
			Manifest json.RawMessage
		}
		if err := json.Unmarshal(line, &example); err != nil {
			t.Fatal(err)
		}
		examples++
		t.Run(example.Name, func(t *testing.T) {
			m, err := Parse(example.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			sameAgain(t, m)
			var before, after any
			if err := json.Unmarshal(example.Manifest, &before); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(m.Canonical(), &after); err != nil {
				t.Fatal(err)
			}
			keeps(t, "", before, after)
		})
	}
	if examples != 8 {
		t.Errorf("%d examples", examples)
	}
}

// keeps finds what a document says and its canonical form does not; an empty list may be left out.
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
			t.Errorf("%s has %d entries, not %d", at, len(after), len(before))
			return
		}
		for i := range before {
			keeps(t, at+"/-", before[i], after[i])
		}
	default:
		if before != after && at != "/tasks/-/createdAt" {
			t.Errorf("%s is %v, not %v", at, after, before)
		}
	}
}
