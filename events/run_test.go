package events

import "testing"

// The question of a failed check is one sentence after the other: views show it on one line.
func TestPreflightQuestion(t *testing.T) {
	for want, d := range map[string]PreflightFailed{
		"The working directory /shop does not exist.\nWhat to do: create it.": {
			Message: "The working directory /shop does not exist",
			Path:    "/shop",
			Fix:     "create it",
		},
		"claude does not start.\nThe path is /opt/claude.\nWhat to do: run it yourself: `/opt/claude --version`.": {
			Message: "claude does not start.",
			Path:    "/opt/claude",
			Fix:     "run it yourself: `/opt/claude --version`",
		},
		"Is it full?": {Message: "Is it full? \n"},
	} {
		if got := d.Question(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
