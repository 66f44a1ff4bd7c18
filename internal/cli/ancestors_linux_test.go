package cli

import (
	"strings"
	"testing"
)

// TestExecIsSeenHoweverItIsWritten: the line of `maestro session exec` is read as Main reads it.
func TestExecIsSeenHoweverItIsWritten(t *testing.T) {
	for line, want := range map[string]string{
		"maestro session exec sess_a -- sh -c x":                     "sess_a",
		"maestro --json session exec sess_a -- sh":                   "sess_a",
		"maestro -o table session exec sess_a -- sh":                 "sess_a",
		"maestro --output json session exec sess_a -- sh":            "sess_a",
		"maestro -o session session exec sess_a -- sh":               "sess_a",
		"maestro session -o table exec sess_a -- sh":                 "sess_a",
		"maestro session exec -o table sess_a -- sh":                 "sess_a",
		"maestro session exec sess_a -o json -- sh":                  "sess_a",
		"mst session exec sess_a -- sh":                              "sess_a",
		"timeout 30m maestro session exec sess_a -- sh":              "",
		"maestro session exec sess_a -- maestro session exec sess_b": "sess_a",
		"maestro session exec sess_a":                                "",
		"maestro session info sess_a -- exec":                        "",
		"maestro queue start -- session exec sess_a -- sh":           "",
		"maestro task create exec --session session -- sess_a":       "",
		"": "",
	} {
		if got := executes(strings.Split(line, " ")); got != want {
			t.Errorf("%q runs a command as %q, want %q", line, got, want)
		}
	}
}
