package doctor

import (
	"strings"
	"testing"

	"maestro/service/wire"
)

// A run that waits for an answer is named with the command that answers it. What an agent asks is no fault.
func TestAskingRunsBecomeFindings(t *testing.T) {
	launch := wire.InboxItem{
		Kind:      "question",
		SessionID: "sess_a",
		InputID:   "input_a",
		Run:       2,
		Message:   "No program claude.\nWhat to do: install it.",
		Options:   []string{"retry", "give up"},
	}
	agents := launch
	agents.Run = 0
	said := func(items ...wire.InboxItem) *examination {
		return examined(t, answers{"/api/inbox": asJSON(t, items)})
	}
	finds(t, "a question of an agent", said(agents), lookAtRuns, nil)
	finds(t, "no answer", examined(t, nil), lookAtRuns, serverSilent)
	x := said(agents, launch)
	finds(t, "a run asks", x, lookAtRuns, runAsks)
	found := lookAtRuns(t.Context(), x)[0]
	if found.What != "Run 2 of session sess_a waits for your answer: No program claude." ||
		!strings.Contains(found.Next, "`maestro input answer input_a retry`, or answer 'give up'") {
		t.Errorf("found %+v", found)
	}
	many := make([]wire.InboxItem, asksMost+2)
	for i := range many {
		many[i] = launch
	}
	all := lookAtRuns(t.Context(), said(many...))
	checkFindings(t, all)
	if len(all) != asksMost+1 || !strings.HasPrefix(all[asksMost].What, "2 further runs") {
		t.Errorf("found %d: %+v", len(all), all[len(all)-1])
	}
}
