package commands

import (
	"errors"
	"testing"

	"maestro/events"
)

// No session can answer one that already has as many waiting answers as a session may have messages. A user can, and by
// the older rules a session can too.
func TestUnreadAnswersAreLimited(t *testing.T) {
	g := newGround(t)
	g.task("x", "")
	g.session("lead", events.RoleOrchestrator)
	g.apply(&events.SessionSpawned{
		SessionID: "s",
		Name:      "s",
		Role:      events.RoleWorker,
		Strategy:  events.StrategySimple,
		TaskIDs:   []string{"x"},
		SpawnedBy: "lead",
	})
	asked := func(id string) {
		g.apply(&events.SessionReported{
			SessionID: "s",
			Kind:      events.ReportNeedsInput,
			Message:   "which one?",
			InputID:   id,
		})
	}
	answer := func(by Actor, rules string) error {
		_, err := Decide(g.s, &AnswerInput{InputID: "last", Answer: "yes"}, called(by, rules))
		return err
	}
	lead := Actor{
		Kind:    ActorSession,
		Name:    "lead",
		Project: "p",
		Authn:   AuthnToken,
	}
	asked("last")
	for i, id := range many("i", int(LimitMail.Value)) {
		if err := answer(lead, RulesVersion); err != nil {
			t.Fatalf("with %d waiting answers: %v", i, err)
		}
		asked(id)
		g.apply(&events.InputAnswered{InputID: id, SessionID: "s", Answer: "yes"})
	}
	var refusal *Refusal
	if err := answer(lead, RulesVersion); !errors.As(err, &refusal) || refusal.Code != CodeLimit {
		t.Errorf("a session: %v", err)
	}
	if err := answer(Admin(AuthnToken), RulesVersion); err != nil {
		t.Errorf("a user: %v", err)
	}
	if err := answer(lead, secondRules); err != nil {
		t.Errorf("by the older rules: %v", err)
	}
}
