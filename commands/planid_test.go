package commands

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"maestro/events"
)

// A plan id must not be the id of a task: not of any project's, not of a deleted one, and not of a future one.
func TestPlanIDIsNotATaskID(t *testing.T) {
	g := newGround(t)
	g.task("x", "")
	g.task("y", "")
	g.task("gone", "")
	g.apply(&events.TaskDeleted{TaskID: "gone"})
	one := "one"
	g.apply(&events.TaskUpdated{TaskID: "y", PlanID: &one})
	made := newID("task", Call{ID: uuid.New()}, taskTaken(g.s))
	if !IsTaskID(made) || IsTaskID("task_login") || IsTaskID("sess_0123456789") || IsTaskID("task_0123456789i") {
		t.Errorf("IsTaskID is wrong about %s or others", made)
	}
	for _, c := range []struct {
		id, rules string
		refused   bool
	}{
		{"x", RulesVersion, true},
		{"x", secondRules, false},
		{"gone", RulesVersion, true},
		{made, RulesVersion, true},
		{made, secondRules, false},
		{"task_login", RulesVersion, false},
		{"", RulesVersion, false},
		{"one", RulesVersion, true},
	} {
		for name, command := range map[string]Command{
			"create": &CreateTask{ProjectRef: ProjectRef{"p"}, Title: "t", PlanID: c.id},
			"update": &UpdateTask{TaskID: "other", PlanID: &c.id},
		} {
			if g.s.Task("other") == nil {
				g.task("other", "")
			}
			_, err := Decide(g.s, command, called(Admin(AuthnToken), c.rules))
			var refusal *Refusal
			refused := errors.As(err, &refusal) && refusal.Pointer == "/planId"
			if refused != c.refused || !refused && err != nil {
				t.Errorf("%s with the plan id %q by rules %s: %v", name, c.id, c.rules, err)
			}
		}
	}
	same := Call{By: Admin(AuthnToken), Project: "p", Rules: RulesVersion}
	if _, err := Decide(g.s, &UpdateTask{TaskID: "y", PlanID: &one}, same); err != nil {
		t.Errorf("a task cannot keep its plan id: %v", err)
	}
}
