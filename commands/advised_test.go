package commands

import (
	"slices"
	"testing"
)

// The command lines of a text are those in backquotes; a step may be one itself.
func TestLinesIn(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            nil,
		"ask whoever runs the server": nil,
		"run `maestro` or `maestro `": nil,
		"maestro why task_1":          {"maestro why task_1"},
		"see `maestro status`":        {"maestro status"},
		"an open `maestro status":     {"maestro status"},
		"first `maestro whoami`, then `maestro queue skip --task task_1`; not `git push`": {
			"maestro whoami", "maestro queue skip --task task_1",
		},
	} {
		if got := LinesIn(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The words that may name a command end before what is not one, and there are at most three.
func TestWordsOf(t *testing.T) {
	for line, want := range map[string][]string{
		"maestro ":                  {},
		"maestro why task_1":        {"why"},
		"maestro task list --ready": {"task", "list"},
		"maestro session message parent \"<text>\"": {"session", "message", "parent"},
		"maestro task report needs-input blocked":   {"task", "report", "needs-input"},
		"maestro queue start --wait":                {"queue", "start"},
		"maestro --help":                            {},
	} {
		if got := WordsOf(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
