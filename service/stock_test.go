package service

import (
	"fmt"
	"testing"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

// The cost of checking a command against the quotas does not depend on how many sessions and questions ever existed.
func TestQuotaCheckIgnoresHistory(t *testing.T) {
	s := newStage(t)
	if err := s.Limits.Set("project-sessions=10"); err != nil {
		t.Fatal(err)
	}
	const ended = 100
	for i := range ended {
		done := s.do(s.admin(), "session:spawn", `{"project":"`+s.alpha+`","taskIds":["`+s.task+`"]}`)
		s.do(s.caller(done.Token), "report:needs-input", `{"message":"?"}`)
		s.do(s.admin(), "session:kill", `{"sessionId":"`+s.caller(done.Token).By.Name+`"}`)
		s.do(s.admin(), "session:register", fmt.Sprintf(`{"project":%q,"sessionId":"s%d"}`, s.alpha, i))
		s.do(s.admin(), "session:kill", fmt.Sprintf(`{"sessionId":"s%d"}`, i))
	}
	for _, request := range []engine.Request{
		{By: s.worker.By, Command: &commands.Report{Kind: events.ReportNeedsInput, Message: "?"}},
		{By: s.worker.By, Command: &commands.Report{Kind: events.ReportProgress, Message: "m"}},
		{By: s.lead.By, Command: &commands.SpawnSession{TaskIDs: []string{s.task}}},
		{By: s.admin().By, Command: &commands.RegisterSession{
			ProjectRef: commands.ProjectRef{Project: s.alpha},
			SessionID:  "new",
		}},
		{By: s.lead.By, Command: &commands.CreateProject{Name: "P"}},
		{By: s.lead.By, Command: &commands.CreateTask{Title: "T"}},
	} {
		var over *overLimit
		var steps *uint64
		s.Handler.View(func(state *projections.State) {
			steps = state.CountReads()
			if stock := s.Limits.stock(request); stock != nil {
				over = stock(state)
			}
		})
		if over != nil || *steps > 10 {
			t.Errorf("%T: %d steps, over %v; want at most 10, and no error", request.Command, *steps, over)
		}
	}
}
