package commands

import (
	"fmt"
	"maps"
	"runtime"
	"testing"

	"maestro/events"
	"maestro/projections"
)

// stepsForEach bounds the work of a fold for each item that it moves, stepsToLook for each task that it checks but does
// not change, stepsToLeave for each that the inbox need not examine any more, and stepsForWord for each report of a
// session on a task.
const (
	stepsForEach = 30
	stepsToLook  = 6
	stepsToLeave = 10
	stepsForWord = 2
)

// folded applies an event and returns the number of its steps.
func (g *ground) folded(data events.Data) int {
	g.t.Helper()
	steps := g.s.CountReads()
	g.apply(data)
	return int(*steps)
}

func completed(task string) events.Data {
	return &events.TaskStatusChanged{TaskID: task, From: events.TaskTodo, To: events.TaskCompleted}
}

func (g *ground) readyIn(queue string) int {
	return g.s.QueueView(g.s.Queue("p", queue)).Ready
}

// outOfQueues puts tasks in the queue "0", and in many other queues in which they were skipped.
func (g *ground) outOfQueues(tasks []string) {
	g.queue("0", false, tasks...)
	for _, name := range many("other", int(LimitTaskQueues.Value)/10) {
		g.queue(name, false, tasks...)
		for _, id := range tasks {
			g.apply(&events.QueueItemSkipped{Queue: name, TaskID: id, SessionID: "w"})
		}
	}
}

// worst are the most expensive events for the fold that the limits allow. Each has its maximum cost, the number of
// items that are ready in the queue "0" after it and before it, and the number of dependencies or reports that the fold
// has to look at.
var worst = []struct {
	name                 string
	make                 func(g *ground) (event events.Data, most int)
	ready, before, least int
}{
	{"a task that as many items wait for as may, and each for others", func(g *ground) (events.Data, int) {
		others := g.tasks("d", int(LimitDependencies.Value)-1)
		for _, id := range others {
			g.apply(completed(id))
		}
		items := int(LimitAwaited.Value)
		g.await("x", items)
		for _, id := range many("wait", int(LimitDependents.Value)) {
			all := append(others[:len(others):len(others)], "x")
			g.apply(&events.TaskUpdated{TaskID: id, Dependencies: &all})
		}
		return completed("x"), items * stepsForEach
	}, 1000, 0, 1000},
	{"a task that many wait for who wait for another too", func(g *ground) (events.Data, int) {
		items := int(LimitAwaited.Value)
		g.await("x", items)
		g.task("y", "")
		both := []string{"x", "y"}
		for _, id := range many("wait", int(LimitDependents.Value)) {
			g.apply(&events.TaskUpdated{TaskID: id, Dependencies: &both})
		}
		return completed("x"), items * stepsToLook
	}, 0, 0, 1000},
	{"a task that nobody in a queue waits for", func(g *ground) (events.Data, int) {
		g.task("x", "")
		for _, id := range many("t", int(LimitDependents.Value)) {
			g.task(id, "", "x")
		}
		g.queue("0", false)
		return completed("x"), 50
	}, 0, 0, 0},
	{"a report on some tasks that the same items wait for", func(g *ground) (events.Data, int) {
		hubs, dependents := g.tasks("hub", 10), int(LimitDependents.Value)
		for _, id := range many("t", dependents) {
			g.task(id, "", hubs...)
		}
		g.queue("0", true, many("t", dependents)...)
		g.session("w", events.RoleOrchestrator, "hub0")
		report := &events.SessionReported{
			SessionID: "w",
			Kind:      events.ReportComplete,
			Message:   "done",
			TaskIDs:   hubs,
		}
		return report, len(hubs)*(dependents+30) + dependents*stepsForEach
	}, 1000, 0, 10 * 1000},
	{"a report on many tasks that the same items wait for", func(g *ground) (events.Data, int) {
		const dependents = 900
		hubs := g.tasks("hub", int(LimitDependencies.Value))
		for _, id := range many("t", dependents) {
			g.task(id, "", hubs...)
		}
		g.queue("0", true, many("t", dependents)...)
		g.session("w", events.RoleOrchestrator, "hub0")
		report := &events.SessionReported{
			SessionID: "w",
			Kind:      events.ReportComplete,
			Message:   "done",
			TaskIDs:   hubs,
		}
		return report, len(hubs)*(dependents+30) + dependents*stepsForEach
	}, 900, 0, 200 * 900},
	{"a report on a few of the many tasks that items wait for", func(g *ground) (events.Data, int) {
		const groups = 4
		dependents, dependencies := int(LimitDependents.Value), int(LimitDependencies.Value)
		g.queue("0", true)
		g.session("w", events.RoleOrchestrator)
		var last []string
		for i := range groups {
			hubs := g.tasks(fmt.Sprint("hub", i, "."), dependencies)
			last = append(last, hubs[dependencies-1])
			g.apply(&events.SessionReported{SessionID: "w", Kind: events.ReportComplete, TaskIDs: hubs})
			for _, id := range many(fmt.Sprint("t", i, "."), dependents) {
				g.task(id, "", hubs...)
				g.apply(&events.QueueItemPushed{Queue: "0", TaskID: id})
			}
		}
		return &events.SessionReported{SessionID: "w", Kind: events.ReportProgress, TaskIDs: last},
			groups * dependents * stepsForEach
	}, 0, 4000, 4 * 1000},
	{"the end of a session on whose word more tasks wait than are in queues", func(g *ground) (events.Data, int) {
		const hubs, dependents, items = 100, 500, 20
		all := g.tasks("hub", hubs)
		for _, id := range many("t", dependents) {
			g.task(id, "", all...)
		}
		g.queue("0", true, many("t", items)...)
		g.session("b", events.RoleOrchestrator)
		g.session("a", events.RoleOrchestrator)
		said := func(session string, kind events.ReportKind) {
			g.apply(&events.SessionReported{SessionID: session, Kind: kind, TaskIDs: all})
		}
		said("a", events.ReportComplete)
		said("b", events.ReportProgress)
		return &events.SessionKilled{SessionID: "b", Status: events.SessionStopped},
			hubs*stepsToLook*2 + items*(hubs+stepsForEach)
	}, 20, 0, 100 * 20},
	{"the end of a session on whose word most tasks wait", func(g *ground) (events.Data, int) {
		const hubs, dependents = 100, 500
		for _, hub := range many("hub", hubs) {
			g.task(hub, "")
		}
		for _, id := range many("t", dependents) {
			g.task(id, "", many("hub", hubs)...)
		}
		g.queue("0", true, many("t", dependents)...)
		g.session("a", events.RoleOrchestrator, "hub0")
		g.session("b", events.RoleOrchestrator, "hub0")
		said := func(session string, kind events.ReportKind) {
			g.apply(&events.SessionReported{
				SessionID: session,
				Kind:      kind,
				Message:   "m",
				TaskIDs:   many("hub", hubs),
			})
		}
		said("a", events.ReportComplete)
		said("b", events.ReportProgress) // the newer report, as long as its session lives
		return &events.SessionKilled{SessionID: "b", Status: events.SessionStopped},
			hubs*(dependents+stepsToLook) + dependents*stepsForEach
	}, 500, 0, 50_000},
	{"a report on many tasks that as many sessions spoke of as may", func(g *ground) (events.Data, int) {
		tasks := int(LimitReportWords.Value / LimitTaskSessions.Value)
		hubs := g.tasks("hub", tasks)
		g.queue("0", true)
		for _, id := range append(many("s", int(LimitTaskSessions.Value)-1), "w") {
			g.session(id, events.RoleOrchestrator)
			g.apply(&events.SessionReported{SessionID: id, Kind: events.ReportProgress, TaskIDs: hubs})
		}
		return &events.SessionReported{SessionID: "s0", Kind: events.ReportComplete, TaskIDs: hubs},
			tasks * (int(LimitTaskSessions.Value)/16 + 250)
	}, 0, 0, 0},
	{"a report on tasks of which as many words were said as may, by sessions that have ended", func(
		g *ground,
	) (events.Data, int) {
		g.queue("0", true)
		words := int(LimitReportWords.Value)
		hubs := g.words(words, true)
		g.task("x", "", hubs...)
		g.apply(&events.QueueItemPushed{Queue: "0", TaskID: "x"})
		g.session("w", events.RoleOrchestrator)
		return &events.SessionReported{SessionID: "w", Kind: events.ReportComplete, TaskIDs: hubs},
			words*stepsForWord + len(hubs)*250
	}, 1, 0, 50_000 / 16},
	{"a push of an item for which ended sessions said as many words as may be", func(g *ground) (events.Data, int) {
		g.queue("0", true)
		words := int(LimitReportWords.Value)
		g.task("x", "", g.words(words, true)...)
		return &events.QueueItemPushed{Queue: "0", TaskID: "x"}, words * stepsForWord
	}, 0, 0, 50_000},
	{"a deletion of as many tasks in queues as may be", func(g *ground) (events.Data, int) {
		tasks := many("t", int(LimitDeleted.Value))
		g.task("x", "")
		for _, id := range tasks {
			g.task(id, "x")
		}
		g.queue("0", false, tasks...)
		g.queue("1", false, tasks...)
		return &events.TaskDeleted{TaskID: "x", Recursive: true, Descendants: tasks},
			int(LimitDeletedItems.Value) * stepsForEach
	}, 0, 5000, 0},
	{"a deletion of tasks that were in many queues", func(g *ground) (events.Data, int) {
		tasks := many("t", 100)
		g.task("x", "")
		for _, id := range tasks {
			g.task(id, "x")
		}
		g.outOfQueues(tasks)
		return &events.TaskDeleted{TaskID: "x", Recursive: true, Descendants: tasks},
			len(tasks) * (stepsForEach + stepsToLook + stepsToLeave)
	}, 0, 100, 0},
	{"a task that tasks wait for that were in many queues", func(g *ground) (events.Data, int) {
		g.task("x", "")
		tasks := many("t", 100)
		for _, id := range tasks {
			g.task(id, "", "x")
		}
		g.outOfQueues(tasks)
		return completed("x"), len(tasks) * stepsForEach
	}, 100, 0, 0},
}

// The cost of one event is bounded by how much the limits allow to wait for it: each task is looked at once, and an
// item whose readiness does not change stays where it is.
func TestWorstCaseFolds(t *testing.T) {
	for _, c := range worst {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			event, most := c.make(g)
			if n := g.readyIn("0"); n != c.before {
				t.Fatalf("before the event %d items are ready, want %d", n, c.before)
			}
			steps := g.folded(event)
			if steps > most {
				t.Errorf("%d steps, at most %d are allowed", steps, most)
			}
			if steps < c.least {
				t.Errorf("%d steps are counted, but the fold looks at %d dependencies or reports", steps, c.least)
			}
			if n := g.readyIn("0"); n != c.ready {
				t.Errorf("%d items are ready, want %d", n, c.ready)
			}
			again, err := projections.Decode(encodedState(t, g.s))
			if err != nil {
				t.Fatal(err)
			}
			for q := range g.s.Queues("p") {
				if got, want := again.QueueView(q), g.s.QueueView(q); got != want {
					t.Errorf("from a snapshot: %+v, live: %+v", got, want)
				}
			}
		})
	}
}

// Copying inside a value counts as work, however few look-ups the event needs.
func TestCopiesInsideValuesAreWork(t *testing.T) {
	const n = 600
	for _, c := range []struct {
		name string
		make func(g *ground) events.Data
	}{
		{"the sessions of a task", func(g *ground) events.Data {
			for _, id := range many("s", n) {
				g.session(id, events.RoleOrchestrator, "x")
			}
			g.session("w", events.RoleOrchestrator)
			return &events.SessionTaskLinked{SessionID: "w", TaskID: "x"}
		}},
		{"the tasks of a session", func(g *ground) events.Data {
			g.session("w", events.RoleOrchestrator, g.tasks("t", n)...)
			return &events.SessionTaskLinked{SessionID: "w", TaskID: "x"}
		}},
		{"the sessions of a task that one leaves", func(g *ground) events.Data {
			for _, id := range many("s", n) {
				g.session(id, events.RoleOrchestrator, "x")
			}
			return &events.SessionTaskUnlinked{SessionID: "s0", TaskID: "x"}
		}},
		{"the dependents of a task", func(g *ground) events.Data {
			for _, id := range many("t", n) {
				g.task(id, "", "x")
			}
			return &events.TaskUpdated{TaskID: "t0", Dependencies: &[]string{}}
		}},
		{"the queues of a task", func(g *ground) events.Data {
			for _, id := range many("q", n) {
				g.queue(id, false, "x")
			}
			g.queue("w", false)
			return &events.QueueItemPushed{Queue: "w", TaskID: "x"}
		}},
		{"the holders of an item", func(g *ground) events.Data {
			g.queue("q", false, "x")
			for i, id := range append(many("s", n), "w") {
				g.session(id, events.RoleOrchestrator)
				if i == n {
					break
				}
				g.apply(&events.QueueItemStarted{
					Queue:     "q",
					TaskID:    "x",
					SessionID: id,
					Attempt:   1,
				})
				g.apply(&events.QueueItemReturned{
					Queue:     "q",
					TaskID:    "x",
					SessionID: id,
					Reason:    "lost",
				})
			}
			return &events.QueueItemStarted{
				Queue:     "q",
				TaskID:    "x",
				SessionID: "w",
				Attempt:   1,
			}
		}},
		{"the words on a task that is reopened", func(g *ground) events.Data {
			for _, id := range many("s", n) {
				g.session(id, events.RoleOrchestrator)
				g.apply(&events.SessionReported{SessionID: id, Kind: events.ReportComplete, TaskIDs: []string{"x"}})
			}
			return &events.TaskStatusChanged{TaskID: "x", From: events.TaskTodo, To: events.TaskInProgress}
		}},
	} {
		g := newGround(t)
		g.task("x", "")
		if steps := g.folded(c.make(g)); steps < n || steps > 10*n {
			t.Errorf("%s: %d steps for %d entries", c.name, steps, n)
		}
	}
}

// A report copies few of the other reports on its tasks.
func TestReportCopiesLittle(t *testing.T) {
	const tasks, most = 100, 12 << 10
	g := newGround(t)
	hubs := g.tasks("hub", tasks)
	for _, id := range many("s", int(LimitTaskSessions.Value)) {
		g.session(id, events.RoleOrchestrator)
		g.apply(&events.SessionReported{SessionID: id, Kind: events.ReportProgress, TaskIDs: hubs})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.apply(&events.SessionReported{SessionID: "s5", Kind: events.ReportProgress, TaskIDs: hubs})
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / tasks; n > most {
		t.Errorf("%d bytes for each task, at most %d are allowed", n, most)
	}
}

func encodedState(t *testing.T, s *projections.State) []byte {
	t.Helper()
	encoded, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// The limits on waiting items apply to every way into a queue, and to every new dependency of a queued task.
func TestEveryWayToWaitIsBounded(t *testing.T) {
	const tasks = 500
	last := fmt.Sprint("t", tasks-1)
	for _, full := range []bool{false, true} {
		g := newGround(t)
		g.task("x", "")
		for _, id := range many("t", tasks) {
			g.task(id, "", "x")
		}
		for i := range int(LimitAwaited.Value) / tasks {
			g.queue(fmt.Sprint(i), false, many("t", tasks)...)
		}
		g.apply(&events.QueueItemSkipped{Queue: "0", TaskID: last})
		g.task("other", "")
		g.queue("o", false, "other")
		if g.queue("more", false); full {
			g.apply(&events.QueueItemPushed{Queue: "more", TaskID: last})
		}
		for name, command := range map[string]Command{
			"push":    &PushItem{QueueRef: QueueRef{ProjectRef: ProjectRef{"p"}, Queue: "o"}, TaskID: last},
			"requeue": &RequeueItem{TaskID: last, Queue: "0"},
			"spawn": &SpawnSession{
				ProjectRef: ProjectRef{"p"},
				TaskIDs:    []string{last},
				Strategy:   events.StrategyQueue,
				Queue:      "o",
			},
			"spawn with its own queue": &SpawnSession{
				ProjectRef: ProjectRef{"p"}, TaskIDs: []string{last}, Strategy: events.StrategyQueue,
			},
			"dependencies": &UpdateTask{TaskID: "other", Dependencies: &[]string{"x"}},
		} {
			call := called(Admin(AuthnToken), RulesVersion)
			_, err := Decide(g.s, command, call)
			if !full && err != nil {
				t.Errorf("%s, below the limit: %v", name, err)
			}
			if full {
				isAbove(t, name, err, LimitAwaited)
			}
			call.Rules = secondRules
			if _, err := Decide(g.s, command, call); err != nil {
				t.Errorf("%s by rules 2: %v", name, err)
			}
		}
	}
}

// The same limit applies to every event that looks at sessions' reports on tasks.
func TestReportsOnATaskAreBounded(t *testing.T) {
	for _, full := range []bool{false, true} {
		g := newGround(t)
		said := g.words(int(LimitReportWords.Value), false)
		if full {
			g.session("talker", events.RoleOrchestrator)
			g.apply(&events.SessionReported{SessionID: "talker", Kind: events.ReportProgress, TaskIDs: said[:1]})
		}
		g.session("w", events.RoleOrchestrator)
		g.task("x", "", said...)
		g.task("other", "")
		g.task("loose", "")
		g.queue("o", false, "other")
		g.queue("0", true)
		g.queue("1", true, "x")
		g.queue("2", false)
		g.apply(&events.QueueItemSkipped{Queue: "1", TaskID: "x"})
		commands := map[string]Command{
			"report":  &Report{Kind: events.ReportBlocked, Message: "m", TaskIDs: said},
			"push":    &PushItem{QueueRef: QueueRef{ProjectRef: ProjectRef{"p"}, Queue: "0"}, TaskID: "x"},
			"requeue": &RequeueItem{TaskID: "x", Queue: "1"},
			"spawn": &SpawnSession{
				ProjectRef: ProjectRef{"p"},
				TaskIDs:    []string{"x"},
				Strategy:   "queue",
				Queue:      "0",
			},
			"dependencies": &UpdateTask{TaskID: "other", Dependencies: &said},
		}
		unbounded := map[string]Command{
			"push where reports are not trusted": &PushItem{
				QueueRef: QueueRef{ProjectRef: ProjectRef{"p"}, Queue: "2"}, TaskID: "x",
			},
			"dependencies of a task in no queue": &UpdateTask{TaskID: "loose", Dependencies: &said},
		}
		for name, command := range allOf(commands, unbounded) {
			call := called(Admin(AuthnToken), RulesVersion)
			if name == "report" {
				call.By = aWorker
			}
			_, err := Decide(g.s, command, call)
			if full && commands[name] != nil {
				isAbove(t, name, err, LimitReportWords)
			} else if err != nil {
				t.Errorf("%s (above the limit: %t): %v", name, full, err)
			}
			call.Rules = secondRules
			if _, err := Decide(g.s, command, call); err != nil {
				t.Errorf("%s by rules 2: %v", name, err)
			}
		}
	}
}

func allOf(groups ...map[string]Command) map[string]Command {
	all := map[string]Command{}
	for _, group := range groups {
		maps.Copy(all, group)
	}
	return all
}
