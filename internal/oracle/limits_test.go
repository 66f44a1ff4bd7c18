package oracle

import (
	"fmt"
	"strings"
	"testing"
)

// ids returns a JSON list of n ids with a prefix.
func ids(prefix string, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%q", fmt.Sprint(prefix, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (s *story) tasks(prefix string, n int) {
	for i := range n {
		s.add(admin, "task.created", fmt.Sprintf(`{"taskId":"%s%d","title":"X"}`, prefix, i))
	}
}

func (s *story) chain(prefix string, n int, options ...option) {
	for i := range n {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf(`,"parentId":"%s%d"`, prefix, i-1)
		}
		s.add(admin, "task.created", fmt.Sprintf(`{"taskId":"%s%d","title":"X"%s}`, prefix, i, parent), options...)
	}
}

// await creates tasks that wait for task "a", or for nothing if the queues trust reports, and pushes them to each of
// some queues. It also creates a queue "more", and a task "alone" in another queue.
func (s *story) await(queues, tasks int, trust bool) {
	dependencies := `["a"]`
	if trust {
		dependencies = "[]"
	}
	for i := range tasks {
		s.add(admin, "task.created", fmt.Sprintf(`{"taskId":"w%d","title":"X","dependencies":%s}`, i, dependencies))
	}
	create := func(name string, trust bool) {
		s.add(admin, "queue.created", fmt.Sprintf(`{"queue":"%s","maxAttempts":3,"trustReports":%t}`, name, trust))
	}
	for q := range queues {
		create(fmt.Sprint("q", q), trust)
		for i := range tasks {
			s.add(admin, "queue.item_pushed", fmt.Sprintf(`{"queue":"q%d","taskId":"w%d"}`, q, i))
		}
	}
	s.add(admin, "task.created", `{"taskId":"alone","title":"X"}`)
	create("more", trust)
	create("elsewhere", false)
	s.add(admin, "queue.item_pushed", `{"queue":"elsewhere","taskId":"alone"}`)
}

// words lets sessions report n words on 200 tasks. It also creates a task "waits" that depends on these tasks, and a
// task "queued" that is in a queue.
func (s *story) words(n int) {
	s.tasks("said", 200)
	for i := 0; n > 0; i, n = i+1, n-200 {
		id := fmt.Sprint("speaker", i)
		s.spawn(id, `"role":"orchestrator","strategy":"dag",`+s.byDefault("O"))
		s.report(source(id), "progress", `,"taskIds":`+ids("said", min(n, 200)))
	}
	s.add(admin, "task.created", `{"taskId":"waits","title":"X","dependencies":`+ids("said", 200)+`}`)
	s.add(admin, "task.created", `{"taskId":"queued","title":"X"}`)
	s.add(admin, "queue.created", `{"queue":"trusting","maxAttempts":3,"trustReports":true}`)
	s.add(admin, "queue.item_pushed", `{"queue":"trusting","taskId":"queued"}`)
}

// object returns a JSON object with n names.
func object(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"n%d":1`, i)
	}
	return "{" + strings.Join(names, ",") + "}"
}

// overLimit are events above a limit, and the events that they need before them.
var overLimit = []struct {
	name        string
	before      func(s *story)
	short, data string
}{
	{
		"a task with too many dependencies", func(s *story) { s.tasks("d", 201) }, "task.created",
		`{"taskId":"x","title":"X","dependencies":` + ids("d", 201) + `}`,
	},
	{
		"an update to too many dependencies", func(s *story) { s.tasks("d", 201) }, "task.updated",
		`{"taskId":"a","dependencies":` + ids("d", 201) + `}`,
	},
	{
		"a task too deep", func(s *story) { s.chain("c", 100) }, "task.created",
		`{"taskId":"x","title":"X","parentId":"c99"}`,
	},
	{"one dependent of a task too many", func(s *story) {
		for i := range 1000 {
			s.add(admin, "task.created", fmt.Sprintf(`{"taskId":"w%d","title":"X","dependencies":["a"]}`, i))
		}
	}, "task.created", `{"taskId":"x","title":"X","dependencies":["a"]}`},
	{
		"one item too many that waits for a task", func(s *story) { s.await(10, 500, false) }, "queue.item_pushed",
		`{"queue":"more","taskId":"w0"}`,
	},
	{
		"a queued task gets a dependency that too many items wait for", func(s *story) { s.await(10, 500, false) },
		"task.updated", `{"taskId":"alone","dependencies":["a"]}`,
	},
	{
		"one item too many in queues that trust reports",
		func(s *story) { s.await(10, 1000, true) },
		"queue.item_pushed",
		`{"queue":"more","taskId":"alone"}`,
	},
	{"a deletion with too many items", func(s *story) {
		s.add(admin, "task.created", `{"taskId":"top","title":"X"}`)
		s.add(admin, "task.created", `{"taskId":"below","title":"X","parentId":"top"}`)
		s.await(10, 500, false)
		for i := range 500 {
			s.add(admin, "task.updated", fmt.Sprintf(`{"taskId":"w%d","dependencies":["top","below"]}`, i))
		}
		s.add(admin, "queue.item_pushed", `{"queue":"more","taskId":"below"}`)
	}, "task.deleted", `{"taskId":"top","recursive":true,"descendants":["below"]}`},
	{
		"a pushed task whose dependencies have too many reports", func(s *story) { s.words(50_001) },
		"queue.item_pushed", `{"queue":"trusting","taskId":"waits"}`,
	},
	{
		"a queued task gets dependencies with too many reports", func(s *story) { s.words(50_001) },
		"task.updated", `{"taskId":"queued","dependencies":` + ids("said", 200) + `}`,
	},
	{"too many criteria", nothing, "task.created", `{"taskId":"x","title":"X","acceptanceCriteria":` + ids("c", 1001) +
		`}`},
	{"long metadata", nothing, "task.created", `{"taskId":"x","title":"X","metadata":{"a":"` + strings.Repeat("x",
		64<<10) + `"}}`},
	{"wide metadata", nothing, "task.created", `{"taskId":"x","title":"X","metadata":{"a":[` + object(1001) + `]}}`},
	{"deep metadata", nothing, "task.created", `{"taskId":"x","title":"X","metadata":` + strings.Repeat(`{"a":`, 64) +
		"[]" + strings.Repeat("}", 64) + `}`},
	{"a large environment", nothing, "session.updated", `{"sessionId":"work","env":` + strings.ReplaceAll(object(201),
		":1", `:"1"`) + `}`},
}

func limitPlants() []plant {
	var list []plant
	for _, o := range overLimit {
		list = append(
			list, plant{o.name, broken(ruleLimit), o.before, func(s *story) { s.add(admin, o.short, o.data) }},
		)
	}
	return list
}

// A report on tasks with more words than the limit allows is a fault; one at the limit is not.
func TestReportTextsAreBounded(t *testing.T) {
	s := base(t)
	s.words(49_800)
	s.report(orch, "progress", `,"taskIds":`+ids("said", 200)) // of 49,800
	s.report(orch, "progress", `,"taskIds":`+ids("said", 200)) // of 50,000, its own too
	s.add(admin, "queue.item_pushed", `{"queue":"trusting","taskId":"waits"}`)
	s.add(admin, "task.updated", `{"taskId":"queued","dependencies":`+ids("said", 200)+`}`)
	s.spawn("late", `"role":"orchestrator","strategy":"dag",`+byDefault("O"))
	s.report(source("late"), "progress", `,"taskIds":["said0"]`)
	noFault(t, s)
	s.report(orch, "progress", `,"taskIds":`+ids("said", 200))
	if found := s.verdict().Faults; len(found) != 1 || found[0].Rule != ruleLimit {
		t.Errorf("found %v", found)
	}
}

// Rules from before the limits have none: events above a limit are no faults.
func TestOlderRulesHaveNoLimits(t *testing.T) {
	for _, o := range overLimit {
		s := base(t).allBy("2")
		o.before(s)
		s.add(admin, o.short, o.data)
		noFault(t, s)
	}
	s := base(t).allBy("2")
	s.chain("c", 150)
	noFault(t, s)
	s = base(t).allBy("2")
	s.words(49_800)
	for range 3 {
		s.report(orch, "progress", `,"taskIds":`+ids("said", 200))
	}
	noFault(t, s)
}

// An event at a limit is no fault.
func TestLimitsThemselvesAreNoFault(t *testing.T) {
	s := base(t)
	s.tasks("d", 200)
	s.chain("c", 100)
	s.add(admin, "task.created", `{"taskId":"x","title":"X","dependencies":`+ids("d", 200)+`,"metadata":{"a":[`+
		object(1000)+`]}}`)
	s.add(admin, "task.created", `{"taskId":"y","title":"X","metadata":`+strings.Repeat(`{"a":`,
		63)+"[]"+strings.Repeat("}", 63)+`}`)
	noFault(t, s)
}
