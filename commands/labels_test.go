package commands

import (
	"strings"
	"testing"

	"maestro/events"
)

// Labels are counted before any of them is read.
func TestLabelsAreCountedFirst(t *testing.T) {
	g := newGround(t)
	g.task("x", "")
	has := many("has", maxList)
	g.apply(&events.TaskUpdated{TaskID: "x", Labels: &has})
	add := append(many("add", maxList-1), "with,comma")
	_, err := Decide(g.s, &UpdateTask{TaskID: "x", AddLabels: add}, called(Admin(AuthnToken), RulesVersion))
	if err == nil || !strings.Contains(err.Error(), "these are 2000") {
		t.Errorf("too many labels: %v", err)
	}
}
