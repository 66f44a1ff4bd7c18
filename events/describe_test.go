package events_test

import (
	"strings"
	"testing"

	"maestro/events"
)

// Each type of event has a verb of its own for what happened and for what is to be done.
func TestDescriptionsHaveVerbs(t *testing.T) {
	verbs := map[string]bool{}
	for word := range strings.FieldsSeq(`answer block change claim complete count create delete end fail give hear
		link lose mark move note park push quarantine queue receive record register remove report reset resume revoke
		send skip spawn start unlink update`) {
		verbs[word] = true
	}
	met := map[string]bool{}
	for _, of := range events.Catalogue() {
		words := of.New().Describe()
		verb, rest, _ := strings.Cut(words.ToDo(), " ")
		if met[verb] = true; !verbs[verb] {
			t.Errorf("what would write %s is described as %q", of.Type, words.ToDo())
		}
		done, after, _ := strings.Cut(words.String(), " ")
		if after != rest || verbs[done] != (done == "reset") {
			t.Errorf("%s is described as %q, and as %q", of.Type, words, words.ToDo())
		}
	}
	for verb := range verbs {
		if !met[verb] {
			t.Errorf("no event is described with %q", verb)
		}
	}
}

// The forms of a description: beside the id of an object it does not repeat the id, but texts of people stay as they
// are.
func TestForms(t *testing.T) {
	spawned := &events.SessionSpawned{
		SessionID: "sess_1",
		Name:      "Worker for task_1",
		Role:      "worker",
		Strategy:  "simple",
		TaskIDs:   []string{"task_1"},
	}
	for _, c := range []struct {
		data               events.Data
		about, words, todo string
	}{
		{
			spawned, "task_1",
			`spawned worker sess_1 "Worker for task_1" (simple strategy) for it`,
			`spawn worker sess_1 "Worker for task_1" (simple strategy) for task_1`,
		},
		{
			spawned, "sess_1",
			`spawned worker "Worker for task_1" (simple strategy) for task_1`,
			`spawn worker sess_1 "Worker for task_1" (simple strategy) for task_1`,
		},
		{
			&events.TaskDeleted{TaskID: "task_1", Descendants: []string{"task_2"}}, "task_1",
			`deleted and all below it: task_2`, `delete task task_1 and all below it: task_2`,
		},
		{
			&events.SessionReported{Kind: "blocked", TaskIDs: []string{"task_1"}, Message: "on task_1"}, "task_1",
			`reported blocked: on task_1`, `report blocked on task_1: on task_1`,
		},
		{
			&events.SessionReported{Kind: "progress", TaskIDs: []string{"task_1", "task_2"}}, "task_1",
			`reported progress on task_1, task_2`, `report progress on task_1, task_2`,
		},
		{
			&events.QueueItemReturned{
				Queue:     "q",
				TaskID:    "task_1",
				SessionID: "sess_1",
				Reason:    "lost",
			}, "q",
			`gave task_1 back to the front of the queue: sess_1 is lost`,
			`give task_1 back to the front of queue q: sess_1 is lost`,
		},
		{
			&events.InputAnswered{SessionID: "sess_1", InputID: "input_1"}, "sess_1",
			`answered input_1`, `answer input_1 of sess_1`,
		},
	} {
		words := c.data.Describe()
		if got := words.About(c.about); got != c.words {
			t.Errorf("about %s:\n%s\nwant\n%s", c.about, got, c.words)
		}
		if got := words.ToDo(); got != c.todo {
			t.Errorf("to do:\n%s\nwant\n%s", got, c.todo)
		}
	}
	forced := (&events.SessionTaskLinked{SessionID: "sess_1", TaskID: "task_1", Forced: true}).Describe()
	want := "linked task task_1 to session sess_1 (forced: it is over)"
	if got := forced.InSpiteOf("it is over").String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := forced.String(); !strings.HasSuffix(got, " (forced)") {
		t.Errorf("InSpiteOf changed the description itself: %q", got)
	}
}
