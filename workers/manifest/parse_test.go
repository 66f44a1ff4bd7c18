package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// corpusCase is a line of testdata/manifests.jsonl.
type corpusCase struct {
	ID       string
	Manifest json.RawMessage
	Raw      []byte `json:"raw_base64"`
	Expect   string
	Pointers []string
	Match    string
	Why      string
	Expand   []struct {
		Pointer string
		Unit    string
		Count   int
	}
	document []byte
}

func corpus(tb testing.TB) []corpusCase {
	tb.Helper()
	file, err := os.ReadFile("testdata/manifests.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	var cases []corpusCase
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		c.document = c.Raw
		if c.Manifest != nil {
			c.document = c.Manifest
		}
		for _, expand := range c.Expand {
			var whole any
			if err := json.Unmarshal(c.document, &whole); err != nil {
				tb.Fatal(err)
			}
			if expand.Pointer != "/tasks/0/description" {
				tb.Fatalf("%s: expands %s", c.ID, expand.Pointer)
			}
			whole.(map[string]any)["tasks"].([]any)[0].(map[string]any)["description"] = strings.Repeat(expand.Unit,
				expand.Count)
			if c.document, err = json.Marshal(whole); err != nil {
				tb.Fatal(err)
			}
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	if len(cases) != 168 {
		tb.Fatalf("the corpus has %d cases, want 168", len(cases))
	}
	return cases
}

// pointers returns the pointers of the faults in an error.
func pointers(tb testing.TB, err error) []string {
	tb.Helper()
	if err == nil {
		return nil
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		tb.Fatalf("%T: %v", err, err)
	}
	if len(invalid.Faults) == 0 || len(invalid.Faults) > maxFaults {
		tb.Fatalf("%d faults", len(invalid.Faults))
	}
	var found []string
	for _, fault := range invalid.Faults {
		if fault.Message == "" {
			tb.Errorf("the fault at %s has no message", fault.Pointer)
		}
		found = append(found, fault.Pointer)
	}
	return found
}

func TestCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.ID, func(t *testing.T) {
			m, err := Parse(c.document)
			found := pointers(t, err)
			switch {
			case (err == nil) != (c.Expect == "valid"):
				t.Fatalf("%s: got %v", c.Why, err)
			case err == nil:
				sameAgain(t, m)
				return
			case m != nil:
				t.Error("a refused document gives a manifest")
			}
			missed := 0
			for _, pointer := range c.Pointers {
				if !slices.Contains(found, pointer) {
					missed++
				}
			}
			if missed > 0 && (c.Match != "any" || missed == len(c.Pointers)) {
				t.Errorf("%s: faults at %q, want %q", c.Why, found, c.Pointers)
			}
			// Each of these documents has only the faults that it names, so any other is an error in the message.
			for _, pointer := range found {
				if !slices.Contains(c.Pointers, pointer) {
					t.Logf("%s: also %q: %v", c.Why, pointer, err)
				}
			}
		})
	}
}
