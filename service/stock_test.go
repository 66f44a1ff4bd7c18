package service

import (
	"fmt"
	"testing"
)

// TestCountingSessionsIsCharged: where a spawn counts the sessions that there were, that is part of its work.
func TestCountingSessionsIsCharged(t *testing.T) {
	s := newStage(t)
	if err := s.Limits.Set("project-sessions=10"); err != nil {
		t.Fatal(err)
	}
	const ended = 2 * StepsPerCommand
	for i := range ended {
		s.do(s.admin(), "session:register", fmt.Sprintf(`{"project":%q,"sessionId":"s%d"}`, s.alpha, i))
		s.do(s.admin(), "session:kill", fmt.Sprintf(`{"sessionId":"s%d"}`, i))
	}
	s.ledger.quotas[OfSession][useCommands] = Quota{Name: "session-commands", Value: 0.001, Burst: 100}
	account := s.ledger.hold(OfSession, AccountName(s.lead.By))
	defer s.ledger.letGo(account)
	before := s.ledger.left(account, useCommands)
	caller := *s.lead
	caller.Meta = Meta{Key: "k"}
	body := `{"taskIds":["` + s.task + `"]}`
	call := Call{ID: "session:spawn", Body: func() ([]byte, error) { return []byte(body), nil }, Drop: func() {}}
	call.DryRun = true
	if _, err := s.Do(t.Context(), &caller, call); err != nil {
		t.Fatal(err)
	}
	if paid := before - s.ledger.left(account, useCommands); paid < 2 {
		t.Errorf("a spawn that counts %d sessions paid for %.1f commands", ended, paid)
	}
}
