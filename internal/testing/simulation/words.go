package simulation

import (
	"maestro/commands"
	documents "maestro/internal/oracle"
)

// fewWords is the limit report-words in these runs: no run can have as many reports as the real limit allows.
const fewWords = 8

func init() {
	commands.LimitReportWords.Value = fewWords
	documents.LimitWords(fewWords)
}

// chatter has three sessions report on three tasks, so that an event that has to look at all of these reports is
// refused: a report, an item pushed to a queue that trusts reports whose task depends on them, and a queued task that
// newly depends on them.
func (w *world) chatter() *Failure {
	var f *Failure
	do := func(by caller, id string, x fields) *model {
		if f == nil {
			f = w.ask(by, id, x)
		}
		return w.oracle.model()
	}
	m := do(admin, "project:create", fields{Name: ptr("Chatter")})
	project := last(m.projectIDs)
	task := func(title string, dependencies *[]string) string {
		x := fields{Project: project, Title: &title, Dependencies: dependencies}
		return last(do(admin, "task:create", x).taskIDs)
	}
	talked := []string{task("First", nil), task("Second", nil), task("Third", nil)}
	queued, waits := task("Queued", nil), task("Waits", &talked)
	for _, queue := range []string{"trusting", "other"} {
		do(admin, "queue:create", fields{Project: project, Queue: queue, TrustReports: queue == "trusting"})
	}
	do(admin, "queue:push", fields{Project: project, Queue: "other", TaskID: queued})
	var speaker caller
	report := func(tasks []string) {
		do(speaker, "report:progress", fields{Message: "So so", TaskIDs: &tasks})
	}
	for range 3 {
		m = do(admin, "session:spawn", fields{Project: project, Role: "orchestrator", TaskIDs: &talked})
		speaker = caller{kind: "session", name: last(m.sessionIDs), project: project}
		report(talked) // with no, three or six reports to look at
	}
	report(talked)
	report(talked[1:])
	for _, queue := range []string{"trusting", "other"} {
		do(admin, "queue:push", fields{Project: project, Queue: queue, TaskID: waits})
	}
	do(admin, "task:update", fields{TaskID: queued, Dependencies: &talked})
	some := talked[1:]
	do(admin, "task:update", fields{TaskID: queued, Dependencies: &some})
	return f
}
