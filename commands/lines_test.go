package commands

import (
	"strings"
	"testing"

	"maestro/events"
)

// A command line without a row is there: whoever names it as an id is told which ids it needs.
func TestLinesWithoutARowNameWhatTheyNeed(t *testing.T) {
	table := CurrentRules()
	for id, want := range map[string]string{
		"plan:apply": "it has no permission of its own: it needs task:list, task:create and task:update; name these",
		"task:move":  "it has no permission of its own: it needs task:update; name that",
		"version":    "it has no permission of its own, and needs none",
		"no:such":    "there is no such command",
	} {
		who := RoleSetOf(events.RoleOrchestrator, events.StrategyDefault)
		if why := table.MayList(who, id); why != want {
			t.Errorf("%s: %s", id, why)
		}
		refusal := UnknownCommand(id)
		if missing := strings.HasPrefix(refusal.Message, "There is no command"); missing != (id == "no:such") {
			t.Errorf("%s: %s", id, refusal.Message)
		} else if !missing && refusal.Why != want {
			t.Errorf("%s: %s", id, refusal.Why)
		}
		needs, _ := Needs(id)
		for _, need := range needs {
			if row, ok := table.Row(need); !ok || row.Planned {
				t.Errorf("%s needs %s, which is not in the table", id, need)
			}
		}
		if _, ok := table.Row(id); ok {
			t.Errorf("%s has a row", id)
		}
	}
}
