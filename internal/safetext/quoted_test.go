package safetext

import (
	"os/exec"
	"strings"
	"testing"
)

func TestQuoted(t *testing.T) {
	for value, want := range map[string]string{
		"": "''", "plain-1_2.3/x:4": "plain-1_2.3/x:4", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'",
		"a; touch PWNED #": "'a; touch PWNED #'", "ü": "'ü'", "~": "'~'", `a\b`: `'a\b'`,
		"`x`": `$'\140x\140'`, "a\nb'\\": `$'a\nb\'\\'`,
		"\x1b]0;x\a1": `$'\033]0;x\0071'`, "\xff\u202e": `$'\377\342\200\256'`,
	} {
		got := Quoted(value)
		if got != want {
			t.Errorf("%q: got %s, expected %s", value, got, want)
		}
		for _, word := range []string{got, QuotedAsIs(value)} {
			if said, err := exec.Command("bash", "-c", "printf '%s.' "+word).Output(); err != nil ||
				string(said) != value+"." {
				t.Errorf("a shell reads %s as %q, %v", word, said, err)
			}
		}
	}
	const line = "`rm -r '/a; touch PWNED #' $'x\\nnext: \\140y\\140'`"
	if got := Line("rm", "-r", "/a; touch PWNED #", "x\nnext: `y`"); got != line {
		t.Errorf("got %s", got)
	}
	if got := QuotedAsIs("`x\n"); got != "'`x\n'" || strings.Contains(Quoted("`x\n"), "\n") {
		t.Errorf("got %q", got)
	}
}
