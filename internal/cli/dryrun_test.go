package cli

import (
	"strings"
	"testing"

	"maestro/events"
)

// A dry run describes each type of event in the imperative, as something still to be done.
func TestDryRunDescriptions(t *testing.T) {
	verbs := map[string]bool{}
	for word := range strings.FieldsSeq(`answer change complete create delete end fail give hear link lose move note
		push quarantine queue receive register remove report reset revoke send skip spawn start unlink update`) {
		verbs[word] = true
	}
	met := map[string]bool{}
	for _, of := range events.Catalogue() {
		data := of.New()
		verb, _, _ := strings.Cut(toDo(data), " ")
		if met[verb] = true; !verbs[verb] {
			t.Errorf("a dry run that would write %s says %q", of.Type, toDo(data))
		}
	}
	for verb := range verbs {
		if !met[verb] {
			t.Errorf("no event is described with %q", verb)
		}
	}
	if got := toDo(&events.TaskDeleted{TaskID: "task_1"}); got != "delete task task_1" {
		t.Errorf("got %q", got)
	}
}
