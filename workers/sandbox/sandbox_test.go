package sandbox_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"maestro/workers/sandbox"
)

// dirs are the reference of the corpus.
var dirs = sandbox.Dirs{
	Workspace: "/home/agent/orchestrator/workspace/s1",
	Target:    "/home/agent/github/my-project",
	Home:      "/home/agent",
}

// filled puts the directories into a line.
func filled(line string) string {
	return strings.NewReplacer("{workspace}", dirs.Workspace, "{target}", dirs.Target).Replace(line)
}

// example is a line of the corpus.
type example struct {
	ID, Cmd, Expect, Why, Class string
}

func corpus(t testing.TB) (examples []example) {
	t.Helper()
	file, err := os.Open("testdata/sandbox-commands.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var x example
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		examples = append(examples, x)
	}
	return examples
}

func TestCorpus(t *testing.T) {
	examples := corpus(t)
	if len(examples) != 469 {
		t.Fatalf("%d lines", len(examples))
	}
	right := 0
	for _, x := range examples {
		verdict := sandbox.Judge(dirs, filled(x.Cmd))
		if verdict.Allowed != (x.Expect == "allow") {
			t.Errorf("%s %s: %q: expected %s (%s), got %+v", x.ID, x.Class, x.Cmd, x.Expect, x.Why, verdict)
			continue
		}
		right++
	}
	t.Logf("%d of %d lines are right", right, len(examples))
}
