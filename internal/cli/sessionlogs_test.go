package cli

import (
	"testing"

	"maestro/workers/agent"
)

// What an agent says keeps the indentation of its lines, and loses the blank lines around it.
func TestSaidKeepsIndentation(t *testing.T) {
	for said, want := range map[string]string{
		"  - a list":                     "  - a list",
		"\n \n\tfirst\n    second  \n\n": "\tfirst\n    second",
		"words":                          "words",
		" \n\t":                          "",
	} {
		if got := observationText(agent.Said{Text: said}); got != want {
			t.Errorf("%q is shown as %q, want %q", said, got, want)
		}
	}
}
