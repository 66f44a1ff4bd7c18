package commands

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"maestro/events"
	"maestro/projections"
)

// ground is a state that a test builds from events without checking whether they are permitted, as an older log may
// contain them.
type ground struct {
	t *testing.T
	s *projections.State
}

func newGround(t *testing.T) *ground {
	t.Helper()
	g := &ground{t, projections.New()}
	g.apply(&events.ProjectCreated{ProjectID: "p", Name: "P"})
	return g
}

// called returns a call in project p, decided by the rules of a version.
func called(by Actor, rules string) Call {
	return Call{
		By:      by,
		Project: "p",
		At:      time.Unix(2, 0),
		ID:      uuid.New(),
		Rules:   rules,
	}
}

func (g *ground) apply(data events.Data) {
	g.t.Helper()
	sequence := g.s.Head().Sequence + 1
	sum := sha256.Sum256(fmt.Append(nil, sequence))
	event := &events.Event{
		ID:       uuid.NewSHA1(uuid.Nil, sum[:]),
		Source:   "/users/admin",
		Time:     time.Unix(1, 0).UTC(),
		Project:  "p",
		PrevHash: g.s.Head().Hash,
		Rules:    secondRules,
		Data:     data,
	}
	if _, err := g.s.Apply(sequence, event, events.Hash(sum)); err != nil {
		g.t.Fatal(err)
	}
}

func (g *ground) task(id, parent string, dependencies ...string) {
	g.t.Helper()
	g.apply(&events.TaskCreated{
		TaskID:       id,
		Title:        id,
		Priority:     "low",
		ParentID:     parent,
		Dependencies: dependencies,
	})
}

func (g *ground) session(id string, role events.Role, tasks ...string) {
	g.t.Helper()
	strategy, err := ResolveStrategy(role, "")
	if err != nil {
		g.t.Fatal(err)
	}
	g.apply(&events.SessionSpawned{
		SessionID:   id,
		Name:        id,
		Role:        role,
		Strategy:    strategy,
		TaskIDs:     tasks,
		Permissions: events.Permissions{Commands: current().Defaults(RoleSetOf(role, strategy))},
	})
}

// many returns n ids with a prefix.
func many(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(prefix, i)
	}
	return ids
}

// tasks creates n root tasks.
func (g *ground) tasks(prefix string, n int) []string {
	ids := many(prefix, n)
	for _, id := range ids {
		g.task(id, "")
	}
	return ids
}

// chain creates n tasks, each below the one before, and returns the last.
func (g *ground) chain(prefix string, n int) string {
	last := ""
	for _, id := range many(prefix, n) {
		g.task(id, last)
		last = id
	}
	return last
}

// queue creates a queue with tasks in it.
func (g *ground) queue(name string, trust bool, tasks ...string) {
	g.t.Helper()
	g.apply(&events.QueueCreated{Queue: name, MaxAttempts: 3, TrustReports: trust})
	for _, id := range tasks {
		g.apply(&events.QueueItemPushed{Queue: name, TaskID: id})
	}
}

// await makes n items wait for a task: the tasks "wait0" and so on, as many as may depend on it, in the queues "0" and
// so on.
func (g *ground) await(task string, n int) {
	g.t.Helper()
	g.task(task, "")
	most := int(LimitDependents.Value)
	for _, id := range many("wait", min(most, n+1)) {
		g.task(id, "", task)
	}
	for i := 0; i <= n; i += most {
		g.queue(fmt.Sprint(i/most), false, many("wait", min(most, n-i))...)
	}
}

// oneMore pushes the item after those that await pushed.
func (g *ground) oneMore(n int) Command {
	most := int(LimitDependents.Value)
	return &PushItem{
		QueueRef: QueueRef{ProjectRef: ProjectRef{"p"}, Queue: fmt.Sprint(n / most)},
		TaskID:   fmt.Sprint("wait", n%most),
	}
}

// words makes sessions report n times on the tasks "said0" and so on, at most 500 times on each. If ended is set, all
// these sessions have ended.
func (g *ground) words(n int, ended bool) (tasks []string) {
	const most = 500
	count := max(1, n/most)
	tasks = g.tasks("said", count)
	for i := 0; n > 0; i, n = i+1, n-count {
		speaker := fmt.Sprint("speaker", i)
		g.session(speaker, events.RoleOrchestrator)
		kind := events.ReportComplete
		if ended { // how the work ended stands, and would be found at once
			kind = events.ReportProgress
		}
		g.apply(&events.SessionReported{SessionID: speaker, Kind: kind, TaskIDs: tasks[:min(n, count)]})
		if ended {
			g.apply(&events.SessionKilled{SessionID: speaker, Status: events.SessionStopped})
		}
	}
	return tasks
}

var aWorker = SessionActor("p", "w", AuthnToken)

// costs are the documented limits on what a decision finds in the state. Each makes a state and a command with n of the
// things that the limit counts.
var costs = []struct {
	name  string
	limit Limit
	make  func(g *ground, n int) (Actor, Command)
}{
	{"dependencies of a new task", LimitDependencies, func(g *ground, n int) (Actor, Command) {
		return Admin(AuthnToken), &CreateTask{
			ProjectRef:   ProjectRef{"p"},
			Title:        "t",
			ParentID:     g.chain("c", 99),
			Dependencies: g.tasks("t", n),
		}
	}},
	{"dependencies of a task that has some", LimitDependencies, func(g *ground, n int) (Actor, Command) {
		g.task("x", g.chain("c", 99))
		ids := g.tasks("t", n)
		return Admin(AuthnToken), &UpdateTask{TaskID: "x", Dependencies: &ids}
	}},
	{"levels above a new task", LimitTaskDepth, func(g *ground, n int) (Actor, Command) {
		return Admin(AuthnToken), &CreateTask{ProjectRef: ProjectRef{"p"}, Title: "t", ParentID: g.chain("c", n-1)}
	}},
	{"a task that many depend on", LimitDependents, func(g *ground, n int) (Actor, Command) {
		g.task("x", "")
		for _, id := range many("t", n-1) {
			g.task(id, "", "x")
		}
		return Admin(AuthnToken), &CreateTask{ProjectRef: ProjectRef{"p"}, Title: "t", Dependencies: []string{"x"}}
	}},
	{"a chain of dependencies", LimitGraph, func(g *ground, n int) (Actor, Command) {
		g.task("x", "")
		g.task("y", "", "x") // the start of a chain: another task depends on it, another on that one, and so on
		for i := range n {
			g.task(fmt.Sprint("b", i), "", []string{"y", fmt.Sprint("b", max(i-1, 0))}[min(i, 1)])
		}
		last := ""
		for i := range n/2 - 1 + n%2*10 { // the walk starts from both ends
			if last == "" {
				g.task("a0", "")
			} else {
				g.task(fmt.Sprint("a", i), "", last)
			}
			last = fmt.Sprint("a", i)
		}
		return Admin(AuthnToken), &UpdateTask{TaskID: "x", Dependencies: &[]string{last}}
	}},
	{"tasks that go with one", LimitDeleted, func(g *ground, n int) (Actor, Command) {
		g.task("x", "")
		for _, id := range many("t", n) {
			g.task(id, "x")
		}
		return Admin(AuthnToken), &DeleteTask{TaskID: "x", Recursive: true}
	}},
	{"sessions of a task", LimitTaskSessions, func(g *ground, n int) (Actor, Command) {
		g.task("x", "")
		for _, id := range many("s", n-1) {
			g.session(id, events.RoleWorker, "x")
		}
		return Admin(AuthnToken), &SpawnSession{ProjectRef: ProjectRef{"p"}, TaskIDs: []string{"x"}}
	}},
	{"sessions that speak of a task", LimitTaskSessions, func(g *ground, n int) (Actor, Command) {
		g.task("x", "")
		g.session("w", events.RoleOrchestrator, "x")
		for _, id := range many("s", n-1) {
			g.session(id, events.RoleOrchestrator, "x")
			g.apply(
				&events.SessionReported{
					SessionID: id,
					Kind:      events.ReportProgress,
					Message:   "m",
					TaskIDs:   []string{"x"},
				},
			)
		}
		return aWorker, &Report{Kind: events.ReportProgress, Message: "m", TaskIDs: []string{"x"}}
	}},
	{"tasks of a session", LimitSessionTasks, func(g *ground, n int) (Actor, Command) {
		g.task("x", "")
		g.session("w", events.RoleWorker, g.tasks("t", n-1)...)
		return Admin(AuthnToken), &LinkTask{SessionID: "w", TaskID: "x"}
	}},
	{"queues of a task", LimitTaskQueues, func(g *ground, n int) (Actor, Command) {
		g.task("x", "")
		for _, id := range many("q", n-1) {
			g.apply(&events.QueueCreated{Queue: id, MaxAttempts: 3})
			g.apply(&events.QueueItemPushed{Queue: id, TaskID: "x"})
		}
		g.apply(&events.QueueCreated{Queue: "last", MaxAttempts: 3})
		return Admin(AuthnToken), &PushItem{QueueRef: QueueRef{ProjectRef: ProjectRef{"p"}, Queue: "last"}, TaskID: "x"}
	}},
	{"items that wait for a task", LimitAwaited, func(g *ground, n int) (Actor, Command) {
		g.await("x", n-1)
		return Admin(AuthnToken), g.oneMore(n - 1)
	}},
	{"items in queues that trust reports", LimitTrusted, func(g *ground, n int) (Actor, Command) {
		g.queue("trusting", true, g.tasks("t", n-1)...)
		g.task("x", "")
		queue := QueueRef{ProjectRef: ProjectRef{"p"}, Queue: "trusting"}
		return Admin(AuthnToken), &PushItem{QueueRef: queue, TaskID: "x"}
	}},
	{"items that a deletion takes", LimitDeletedItems, func(g *ground, n int) (Actor, Command) {
		g.task("x", "")
		for _, id := range many("t", n/2) {
			g.task(id, "x")
			g.task("after "+id, "", id)
		}
		g.queue("q", false, many("t", n/2)...)
		for _, id := range many("t", n-n/2-n%2) {
			g.apply(&events.QueueItemPushed{Queue: "q", TaskID: "after " + id})
		}
		if n%2 > 0 { // one more
			g.queue("r", false, "t0")
		}
		return Admin(AuthnToken), &DeleteTask{TaskID: "x", Recursive: true}
	}},
	{"words on the tasks of a report", LimitReportWords, func(g *ground, n int) (Actor, Command) {
		tasks := g.words(n, false)
		g.session("w", events.RoleOrchestrator)
		return aWorker, &Report{Kind: events.ReportProgress, Message: "m", TaskIDs: tasks}
	}},
	{"words on what an item waits for that is pushed", LimitReportWords, func(g *ground, n int) (Actor, Command) {
		g.task("x", "", g.words(n, false)...)
		g.queue("trusting", true)
		queue := QueueRef{ProjectRef: ProjectRef{"p"}, Queue: "trusting"}
		return Admin(AuthnToken), &PushItem{QueueRef: queue, TaskID: "x"}
	}},
	{"tasks of a new session", LimitIDs, func(g *ground, n int) (Actor, Command) {
		return Admin(AuthnToken), &SpawnSession{ProjectRef: ProjectRef{"p"}, TaskIDs: g.tasks("t", n)}
	}},
	{"tasks of a report, deep below those of the session", LimitIDs, func(g *ground, n int) (Actor, Command) {
		last := g.chain("c", 99)
		var below []string
		for _, id := range many("t", n) {
			g.task(id, last)
			below = append(below, id)
		}
		g.session("w", events.RoleWorker, append(g.tasks("u", 500), "c0")...)
		return aWorker, &Report{Kind: events.ReportProgress, Message: "m", TaskIDs: below}
	}},
	{"projects of a token", LimitIDs, func(g *ground, n int) (Actor, Command) {
		ids := many("p", n)
		for _, id := range ids {
			g.apply(&events.ProjectCreated{ProjectID: id, Name: "P"})
		}
		return Admin(AuthnToken), &CreateToken{Name: "t", Kind: events.TokenReadOnly, ProjectIDs: ids}
	}},
	{"allowed commands", LimitAllowed, func(g *ground, n int) (Actor, Command) {
		list := make([]string, n)
		for i := range list {
			list[i] = "whoami"
		}
		return Admin(AuthnToken), &SpawnSession{ProjectRef: ProjectRef{"p"}, TaskIDs: g.tasks("t", 1), Allowed: &list}
	}},
}

// readsForEach bounds the look-ups of a decision for each thing that its limit counts; readsAtLeast is the number that
// every decision may make.
const (
	readsForEach = 12
	readsAtLeast = 500
)

// The work of a decision grows at most in proportion to what its limit counts, up to the limit. Above it the command is
// refused without more work, with the name and number of the limit.
func TestDecisionsCostWhatTheirLimitsSay(t *testing.T) {
	for _, c := range costs {
		t.Run(c.name, func(t *testing.T) {
			most := int(c.limit.Value)
			for _, n := range []int{most / 10, most, most + 1} {
				g := newGround(t)
				by, command := c.make(g, n)
				call := called(by, RulesVersion)
				reads := g.s.CountReads()
				_, err := Decide(g.s, command, call)
				if n > most {
					isAbove(t, c.name, err, c.limit)
				} else if err != nil {
					t.Fatalf("%d of %d: %v", n, most, err)
				}
				if *reads > uint64(readsForEach*n+readsAtLeast) {
					t.Errorf("%d of %d: %d look-ups", n, most, *reads)
				}
				call.Rules = secondRules
				if _, err := Decide(g.s, command, call); err != nil && (n <= most || c.limit != LimitIDs) {
					t.Errorf("%d of %d by rules 2: %v", n, most, err)
				}
			}
		})
	}
}

// A log from before the limits may contain any tree and any graph: the cost of decisions on it is still bounded.
func TestDecisionsOnAnOlderLogAreBounded(t *testing.T) {
	const length = 20_000
	g := newGround(t)
	last := g.chain("c", length)
	for i := range length {
		var before []string
		for back := 1; back <= min(i, 3); back++ {
			before = append(before, fmt.Sprint("d", i-back))
		}
		g.task(fmt.Sprint("d", i), "", before...)
	}
	g.session("w", events.RoleWorker, "c0")
	deps := many("d", int(LimitDependencies.Value))
	for name, c := range map[string]struct {
		by      Actor
		command Command
		limit   Limit
	}{
		"a new task at the end": {
			aWorker, &CreateTask{
				ProjectRef:   ProjectRef{"p"},
				Title:        "t",
				ParentID:     last,
				Dependencies: deps,
			},
			LimitTaskDepth,
		},
		"dependencies at the end": {Admin(AuthnToken), &UpdateTask{TaskID: last, Dependencies: &deps}, Limit{}},
		"all of it deleted":       {Admin(AuthnToken), &DeleteTask{TaskID: "c0", Recursive: true}, LimitDeleted},
		"a report at the end": {
			aWorker, &Report{Kind: events.ReportProgress, Message: "m", TaskIDs: []string{last}},
			Limit{},
		},
		"a cycle over all of it": {Admin(AuthnToken), &UpdateTask{TaskID: "d0", Dependencies: &[]string{fmt.Sprint("d",
			length-1)}}, LimitGraph},
		"a short cycle at the end": {Admin(AuthnToken), &UpdateTask{
			TaskID:       fmt.Sprint("d", length-2),
			Dependencies: &[]string{fmt.Sprint("d", length-1)},
		}, Limit{}},
		"a long way without cycle": {Admin(AuthnToken), &UpdateTask{
			TaskID: "c0",
			Dependencies: &[]string{fmt.Sprint("d",
				length-1)},
		}, Limit{}},
	} {
		reads := g.s.CountReads()
		_, err := Decide(g.s, c.command, called(c.by, RulesVersion))
		if c.limit.Name != "" {
			isAbove(t, name, err, c.limit)
		} else if code(err) == CodeLimit {
			t.Errorf("%s: %v", name, err)
		}
		if *reads > 3*uint64(LimitGraph.Value) {
			t.Errorf("%s: %d look-ups", name, *reads)
		}
	}
}

// The same limits bound what one event costs the fold, such as a change of status of a task on which many items in a
// queue wait.
func TestFoldingIsBounded(t *testing.T) {
	g := newGround(t)
	deps := g.tasks("d", int(LimitDependencies.Value)-1)
	for _, id := range deps {
		g.apply(&events.TaskStatusChanged{TaskID: id, From: events.TaskTodo, To: events.TaskCompleted})
	}
	g.task("x", "")
	g.apply(&events.QueueCreated{Queue: "q", MaxAttempts: 3})
	waiting := int(LimitDependents.Value)
	for _, id := range many("t", waiting) {
		g.task(id, "", append(deps[:len(deps):len(deps)], "x")...)
		g.apply(&events.QueueItemPushed{Queue: "q", TaskID: id})
	}
	reads := g.s.CountReads()
	g.apply(&events.TaskStatusChanged{TaskID: "x", From: events.TaskTodo, To: events.TaskInProgress})
	if *reads > 100 {
		t.Errorf("a change that satisfies no dependency: %d look-ups", *reads)
	}
	reads = g.s.CountReads()
	g.apply(&events.TaskStatusChanged{TaskID: "x", From: events.TaskInProgress, To: events.TaskCompleted})
	if *reads > uint64(waiting)*uint64(LimitDependencies.Value+20) {
		t.Errorf("a change that satisfies all dependencies: %d look-ups", *reads)
	}
	// A dependency that is added repeatedly is kept once.
	for range 50 {
		g.apply(&events.TaskUpdated{TaskID: "t0", Dependencies: &[]string{"x"}})
		g.apply(&events.TaskUpdated{TaskID: "t0", Dependencies: &[]string{}})
	}
	if n := g.s.DependentCount("x"); n != waiting-1 {
		t.Errorf("%d tasks wait for it, expected %d", n, waiting-1)
	}
}
