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

// The rule and the reason say what is wrong with a line, for an agent to do something else.
func TestReasons(t *testing.T) {
	for _, x := range []struct {
		line string
		rule sandbox.Rule
		says string
	}{
		{"echo 'x", sandbox.RuleSyntax, "Correct the syntax"},
		{"echo \xff", sandbox.RuleSyntax, "UTF-8"},
		{"mkfs.ext4 a", sandbox.RuleFormat, "mkfs.ext4 formats"},
		{"dd if=a", sandbox.RuleRawDisk, "dd with if="},
		{"echo > /dev/sda", sandbox.RuleRawDisk, "the device /dev/sda"},
		{"sudo reboot", sandbox.RulePower, "reboot stops"},
		{"rm -rf ../x", sandbox.RuleOutside, "rm deletes /home/agent/github/x, which is outside"},
		{"rm -rf /tmp", sandbox.RuleTmp, "/tmp itself"},
		{"ln -s /etc x", sandbox.RuleLink, "a link to /etc"},
		{"cat ~/.maestro/x", sandbox.RuleMaestro, "belongs to Maestro"},
		{"unset MAESTRO_TOKEN", sandbox.RuleMaestro, "MAESTRO_TOKEN"},
		{"$X", sandbox.RuleUnknown, "name of a command"},
		{"bash -c \"$X\"", sandbox.RuleUnknown, "text that cannot be evaluated"},
		{"rm -rf \"$X\"", sandbox.RuleUnknown, "a path that cannot be evaluated"},
		{strings.Repeat("(", 200) + "ls" + strings.Repeat(")", 200), sandbox.RuleUnknown, "nests too deeply"},
		{"crontab -r", sandbox.RuleDeferred, "schedule"},
	} {
		v := sandbox.Judge(dirs, x.line)
		if v.Rule != x.rule || !strings.Contains(v.Reason, x.says) {
			t.Errorf("%.40q: expected %s and %q, got %+v", x.line, x.rule, x.says, v)
		}
	}
}
