package cli

import "testing"

// The description of an object does not repeat its id. A name that contains the id is shown unchanged.
func TestDescriptionOmitsItsID(t *testing.T) {
	for words, want := range map[string]string{
		`spawned worker sess_1 "Worker for task_1" for task_1`: `spawned worker sess_1 "Worker for task_1" for it`,
		`completed task task_1`:                                `completed`,
		`noted done for session task_1: ok`:                    `noted done: ok`,
		`reported blocked on task_1: "a \"task_1\" on task_1"`: `reported blocked: "a \"task_1\" on task_1"`,
	} {
		if got := withoutOwnID(words, "task_1"); got != want {
			t.Errorf("%s\nis shown as %s\nexpected    %s", words, got, want)
		}
	}
}
