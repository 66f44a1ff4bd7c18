package service

import (
	"fmt"
	"strings"
	"testing"

	"maestro/events"
)

// TestWorkIsBounded: the work that is shown with an item is bounded, whatever the task has, and says what it leaves
// out. A text that is not in the state is shown by the start.
func TestWorkIsBounded(t *testing.T) {
	s := worldWith(t, &memoryLog{}, &countedBlobs{kept: map[string][]byte{}})
	project := s.make(s.admin(), "project:create", `{"name":"P"}`)
	var on []string
	for i := range workResults + 5 {
		on = append(on, fmt.Sprintf("%q", s.make(s.admin(), "task:create",
			fmt.Sprintf(`{"project":%q,"title":"On %d"}`, project, i))))
	}
	lead := s.caller(s.do(s.admin(), "session:spawn",
		`{"project":"`+project+`","role":"orchestrator","taskIds":[`+on[0]+`]}`).Token)
	s.do(lead, "report:complete", `{"taskIds":[`+on[0]+`],"message":"`+strings.Repeat("r", 3*workResult)+`"}`)
	for _, id := range on {
		s.do(s.admin(), "task:complete", `{"taskId":`+id+`}`)
	}
	criterion := strings.Repeat("c", 1900)
	criteria := `"` + strings.Join([]string{
		criterion, criterion, criterion, criterion, criterion, criterion, criterion, criterion, criterion, criterion,
	}, `","`) + `"`
	task := s.make(s.admin(), "task:create", fmt.Sprintf(
		`{"project":%q,"title":"T","description":%q,"initialPrompt":%q,"acceptanceCriteria":[%s],"dependencies":[%s]}`,
		project, strings.Repeat("d", 2*events.MaxText), strings.Repeat("p", 10), criteria, strings.Join(on, ",")))
	s.do(s.admin(), "queue:create", fmt.Sprintf(`{"project":%q,"queue":"q"}`, project))
	s.do(s.admin(), "queue:push", fmt.Sprintf(`{"project":%q,"queue":"q","taskId":%q}`, project, task))
	puller := s.caller(s.do(s.admin(), "session:spawn",
		fmt.Sprintf(`{"project":%q,"strategy":"queue","queue":"q","taskIds":[]}`, project)).Token)
	start := s.do(puller, "queue:start", `{}`).Start
	if start == nil || start.Work == nil {
		t.Fatalf("the work is not shown: %+v", start)
	}
	w := start.Work
	if w.TaskID != task || len(w.Description) != workText || len(w.InitialPrompt) != 10 {
		t.Errorf("%s: a description of %d bytes and a prompt of %d", w.TaskID, len(w.Description), len(w.InitialPrompt))
	}
	if len(w.Criteria) != workCriteria/len(criterion) || len(w.Results) != workResults || w.ResultsMore != 5 {
		t.Errorf("%d criteria, %d results and %d more", len(w.Criteria), len(w.Results), w.ResultsMore)
	}
	if first := w.Results[0]; len(first.Result) != workResult || !first.Cut {
		t.Errorf("a result of %d bytes, cut: %t", len(first.Result), first.Cut)
	}
	if got := strings.Join(w.Cut, " "); got != "description acceptanceCriteria" {
		t.Errorf("the cut fields are %q", got)
	}
}
