package sandbox_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"maestro/workers/sandbox"
)

// sibling is a line of the kind of a rule: one that is blocked by it, or one next to it that is not.
type sibling struct {
	About, Expect, Cmd string
}

// siblings are lines of our own, of the kinds of the corpus.
func siblings(t testing.TB) (found []sibling) {
	t.Helper()
	content, err := os.ReadFile("testdata/siblings.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var x sibling
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		found = append(found, x)
	}
	return found
}

func TestSiblings(t *testing.T) {
	rows := siblings(t)
	if len(rows) < 1000 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, x := range rows {
		switch v := sandbox.Judge(dirs, filled(x.Cmd)); {
		case v.Allowed != (x.Expect == "allow"):
			t.Errorf("%s: %q: expected %s, got %+v", x.About, x.Cmd, x.Expect, v)
		case !v.Allowed && (v.Reason == "" || v.Rule == ""):
			t.Errorf("%s: %q: no reason: %+v", x.About, x.Cmd, v)
		}
	}
}
