package projections

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"maestro/events"
)

// TestUnattendedWork: the inbox shows started tasks that no session works on, and says what to do about them.
func TestUnattendedWork(t *testing.T) {
	const (
		spawnNext = "maestro session spawn --task-ids t1"
		nobody    = "unattended /t1 at 3: Title of t1: it is in progress, and no session has it → " + spawnNext +
			", or maestro task update t1 --status todo"
		stopped = "unattended w/t1 at 5: Title of t1: no session works on it: session w is stopped → " + spawnNext
	)
	const inVain = "stuck /t2 at 4: Title of t2: waits for t1 (cancelled) → maestro task update t2 " +
		"--remove-depends-on t1"
	waits := by(admin, &events.TaskCreated{TaskID: "t2", Title: "Title of t2", Dependencies: []string{"t1"}})
	const blockedItem = `blocked w/t1 at 5: Title of t1: no key → maestro session message w "…" --about t1`
	blocked := report(worker, "w", events.ReportBlocked, "no key", "t1")
	stuck := report(worker, "w", events.ReportBlocked, "no key")
	inQueue := func(with ...given) []given {
		return append([]given{
			by(admin, &events.QueueCreated{Queue: "q"}),
			by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "t1"}),
			pulls("w2", "q"),
			by(admin, &events.QueueItemSkipped{Queue: "q", TaskID: "t1", SessionID: "w2"}),
		}, with...)
	}
	messages := 0
	tell := func(session, about string) given {
		messages++
		return by(admin, &events.SessionMessaged{
			SessionID: session,
			MessageID: fmt.Sprint("m", messages),
			Text:      "here it is",
			About:     about,
		})
	}
	asked := by(worker, &events.SessionReported{
		SessionID: "w",
		Kind:      events.ReportNeedsInput,
		Message:   "Which?",
		InputID:   "i",
		TaskIDs:   []string{"t1"},
	})
	begun := moved("t1", events.TaskInProgress)
	below := by(admin, &events.TaskCreated{
		TaskID:   "t2",
		Title:    "Title of t2",
		ParentID: "t1",
	})
	done := by(worker, &events.SessionCompleted{SessionID: "w"})
	reopened := by(admin, &events.TaskStatusChanged{TaskID: "t1", To: events.TaskInProgress, Reason: "add tests"})
	then := continued(project(), task("t1"))
	had := continued(then(spawn("w", "t1"), report(worker, "w", events.ReportProgress, "m", "t1"))...)
	for _, c := range []struct {
		name  string
		story []given
		want  []string
	}{
		{"nobody began", then(), nil},
		{"in progress, nobody has it", then(begun), []string{nobody}},
		{"its children are the work", then(begun, below), nil},
		{"a session works on it", then(begun, spawn("w", "t1")), nil},
		{"a session works on the task above", then(below, spawn("w", "t1"),
			moved("t2", events.TaskInProgress)), nil},
		{"a session that has it not speaks of it", then(begun, spawn("w"),
			report(worker, "w", events.ReportProgress, "m", "t1")), nil},
		{"its session was stopped", had(killed("w")), []string{stopped}},
		{"another session has it", had(killed("w"), spawn("w2", "t1")), nil},
		{"it ended as failed, and one that had the task before goes on", had(spawn("w2", "t1"),
			report("/projects/p/sessions/w2", "w2", events.ReportError, "no disk", "t1"), killed("w2")), []string{
			"failed w2/t1 at 6: Title of t1: no disk → maestro why t1, or maestro session spawn --task-ids t1",
		}},
		{"it ended as failed, and one gets the task after it", had(spawn("w2", "t1"),
			report("/projects/p/sessions/w2", "w2", events.ReportError, "no disk", "t1"), killed("w2"),
			spawn("w3", "t1")), nil},
		{"it ended as failed, and a session that nobody started had the task before", had(spawn("w2", "t1"),
			report(worker, "w", events.ReportError, "no disk", "t1"), killed("w")), []string{
			"failed w/t1 at 6: Title of t1: no disk → maestro why t1, or " + spawnNext,
		}},
		{"an orchestrator that did nothing had it last", had(killed("w"), by(admin, &events.SessionSpawned{
			SessionID: "w2",
			Role:      events.RoleOrchestrator,
			Strategy:  events.StrategyDefault,
			TaskIDs:   []string{"t1"},
		}), killed("w2")), []string{
			"unattended w2/t1 at 7: Title of t1: no session works on it: session w2 is stopped → " +
				"maestro session spawn --role orchestrator --task-ids t1",
		}},
		{"it waits in a queue", had(pulls("w2", "w2", "t1"), killed("w")), nil},
		{"its queue gave it up", had(by(admin, &events.QueueCreated{Queue: "a", MaxAttempts: 1}),
			pulls("w2", "a"), by(admin, &events.QueueItemPushed{Queue: "a", TaskID: "t1"}), killed("w"),
			started("w2", "a", "t1", 1), quarantined("w2", "a", "t1", 1), killed("w2")), []string{
			"quarantined w2/t1 in a at 10: Title of t1: it was started once, and not finished: its " +
				"session is lost → maestro queue requeue t1 --queue a",
		}},
		{"put back by a user", had(killed("w"), moved("t1", events.TaskTodo)), nil},
		{"skipped before anybody began", then(inQueue()...), []string{
			"unattended w2/t1 at 6: Title of t1: its item in queue q was skipped → " +
				"maestro queue requeue t1 --queue q, or " + spawnNext,
		}},
		{"skipped, and queued again", then(inQueue(requeued("q", "t1"))...), nil},
		{"skipped, and given to a session", then(inQueue(spawn("w3", "t1"))...), nil},
		{"skipped, and cancelled", then(inQueue(moved("t1", events.TaskCancelled))...), nil},
		{"skipped, and put back by a user", then(inQueue(moved("t1", events.TaskInProgress),
			moved("t1", events.TaskTodo))...), nil},
		{"skipped, and the queue is deleted", then(inQueue(by(admin, &events.QueueDeleted{Queue: "q"}))...), nil},
		{"skipped with a reason by a session that has it, and the queue is deleted", had(
			by(admin, &events.QueueCreated{Queue: "q"}), by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "t1"}),
			killed("w"), pulls("w2", "q"), started("w2", "q", "t1", 1),
			by("/projects/p/sessions/w2", &events.QueueItemSkipped{
				Queue:     "q",
				TaskID:    "t1",
				SessionID: "w2",
				Held:      true,
				Reason:    "no saw",
			}), by(admin, &events.QueueDeleted{Queue: "q"}), killed("w2")), []string{
			"unattended w2/t1 at 12: Title of t1: no session works on it: session w2 is stopped; its queue item was " +
				"given up before it was removed: no saw → " + spawnNext,
		}},
		{"skipped in one queue, and it waits in another", then(inQueue(pulls("w3", "w3", "t1"))...), nil},
		{"cancelled", had(killed("w"), moved("t1", events.TaskCancelled)), nil},
		{"its session was deleted", had(by(admin, &events.SessionDeleted{SessionID: "w"})), []string{
			"unattended w/t1 at 5: Title of t1: no session works on it: session w was deleted → " + spawnNext,
		}},
		{"reopened after its session ended", had(
			report(worker, "w", events.ReportComplete, "all", "t1"), done, moved("t1", events.TaskInProgress),
		), []string{
			"unattended w/t1 at 7: Title of t1: no session works on it: it was reopened after session w was " +
				"completed → " + spawnNext,
		}},
		{"reopened with a reason after its end", had(done, moved("t1", events.TaskCompleted), reopened), []string{
			"unattended w/t1 at 7: Title of t1: no session works on it: it was reopened after session w was " +
				"completed; the reason it was reopened: add tests → " + spawnNext,
		}},
		{"reopened before its session ended", had(reopened, done), []string{
			"unattended w/t1 at 6: Title of t1: no session works on it: session w is completed, and nobody says " +
				"that it is done; the reason it was reopened: add tests → " + spawnNext +
				", or maestro task complete t1",
		}},
		{"its worker says that it is blocked", had(blocked), []string{blockedItem}},
		{"the worker is answered", had(blocked, tell("w", "t1")), nil},
		{"the worker is told something else", had(blocked, tell("w", ""), tell("w", "t9")), []string{blockedItem}},
		{"the worker was told something before", had(tell("w", "t1"), blocked), []string{
			strings.Replace(blockedItem, "at 5", "at 6", 1),
		}},
		{"the worker is blocked again after the answer", had(blocked, tell("w", "t1"), blocked), []string{
			strings.Replace(blockedItem, "at 5", "at 7", 1),
		}},
		{"the answered worker ends", had(blocked, tell("w", "t1"), killed("w")), []string{
			"blocked w/t1 at 5: Title of t1: no key → maestro session spawn --task-ids t1",
		}},
		{"the worker says that it is blocked as a whole", had(stuck), []string{
			`blocked w/t1 at 5: w: no key → maestro session message w "…"`,
		}},
		{"it is answered as a whole", had(stuck, tell("w", "")), nil},
		{"a question about it", then(spawn("w", "t1"), asked), []string{
			`question w/t1 i [] at 4: w: Which? → maestro input answer i "…"`,
		}},
		{"a question about it, and it is cancelled", then(spawn("w", "t1"), asked,
			moved("t1", events.TaskCancelled)), nil},
		{"a question about it, and it is deleted", then(spawn("w", "t1"), asked,
			by(admin, &events.TaskDeleted{TaskID: "t1"})), nil},
		{"it waits for a cancelled task", then(waits, moved("t1", events.TaskCancelled)), []string{inVain}},
		{"its last session put it back, and it waits for a cancelled task", then(waits, spawn("w", "t2"), killed("w"),
			moved("t2", events.TaskTodo), moved("t1", events.TaskCancelled)), []string{
			"stuck /t2 at 7: Title of t2: waits for t1 (cancelled) → maestro task update t2 --remove-depends-on t1",
		}},
		{"it waits for an open task", then(waits), nil},
		{"it waited for a task that is completed and deleted", then(waits, moved("t1", events.TaskCompleted),
			by(admin, &events.TaskDeleted{TaskID: "t1"})), nil},
		{"everything below it is done", then(below, moved("t2", events.TaskCompleted)), []string{
			"unattended /t1 at 4: Title of t1: all tasks below it are completed → maestro task complete t1",
		}},
		{"begun, and everything below it is done", then(begun, below, moved("t2", events.TaskCompleted)), []string{
			"unattended /t1 at 5: Title of t1: all tasks below it are completed → maestro task complete t1",
		}},
		{"reopened after everything below it is done", then(below, moved("t2", events.TaskCompleted),
			moved("t1", events.TaskCompleted), reopened), []string{
			"unattended /t1 at 6: Title of t1: it was reopened after all tasks below it were completed: add tests → " +
				spawnNext + ", or maestro task complete t1",
		}},
		{"reopened, and then everything below it was done", then(below, moved("t1", events.TaskCompleted), reopened,
			moved("t2", events.TaskCompleted)), []string{
			"unattended /t1 at 6: Title of t1: all tasks below it are completed → maestro task complete t1",
		}},
		{"everything below it is cancelled", then(below, moved("t2", events.TaskCancelled)), nil},
		{"it is completed as well", then(below, moved("t2", events.TaskCompleted),
			moved("t1", events.TaskCompleted)), nil},
		{"everything below it is done, and its session was stopped before it said so", then(below, spawn("w", "t1"),
			killed("w"), moved("t2", events.TaskCompleted)), []string{
			"unattended w/t1 at 6: Title of t1: all tasks below it are completed, and session w, which had it, is " +
				"stopped → maestro task complete t1, or " + spawnNext,
		}},
		{"its session completes it", then(below, spawn("w", "t1"), moved("t2", events.TaskCompleted)), nil},
		{"its session ended without a report on it", had(done), []string{
			"unattended w/t1 at 5: Title of t1: no session works on it: session w is completed, and nobody says " +
				"that it is done → maestro task complete t1, or " + spawnNext,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			equalLists(t, "inbox", inboxLines(s.Inbox("p", nil)), c.want...)
		})
	}
}

// TestExitedCommand: the inbox says at once that the command of a session failed, and once the session is lost that it
// ended, until the session is heard again.
func TestExitedCommand(t *testing.T) {
	exited := func(code string) given {
		return by(admin, &events.SessionNoted{
			SessionID: "w",
			Type:      TypeExited,
			Message:   "The command a ended with exit code " + code,
			Data:      json.RawMessage(`{"command":"a","exitCode":` + code + `}`),
		})
	}
	progress := report(worker, "w", events.ReportProgress, "m")
	complete := by(worker, &events.SessionCompleted{SessionID: "w"})
	const (
		failed = "exited w/t1 at 4: w: its command ended with exit code 3 → maestro session kill w && " +
			"maestro session spawn --task-ids t1, or maestro session exec w -- <command>"
		ended = "exited w/t1 at 4: w: its command ended with exit code 0 → " +
			"maestro session complete w, or maestro session kill w && maestro session spawn --task-ids t1, or " +
			"maestro session exec w -- <command>"
		gone = "nothing has been heard from it; it goes on when it is heard again → maestro session kill w"
	)
	spawned := continued(project(), task("t1"), spawn("w", "t1"))
	after := func(story ...given) []given { return spawned(append([]given{exited("3")}, story...)...) }
	for _, c := range []struct {
		name  string
		story []given
		want  []string
	}{
		{"it failed", after(), []string{failed}},
		{"it succeeded, and its lease goes on", spawned(exited("0")), nil},
		{"it succeeded, and is lost", spawned(exited("0"), lost("w")), []string{ended}},
		{"it failed, and is lost", after(lost("w")), []string{failed}},
		{"heard again", after(lost("w"), recovered("w")), nil},
		{
			"heard again, and lost", after(lost("w"), recovered("w"), progress, lost("w")),
			[]string{"lost w/t1 at 8: w: " + gone},
		},
		{"it went on", after(progress), nil},
		{"it went on, and is lost", after(progress, lost("w")), []string{"lost w/t1 at 6: w: " + gone}},
		{"killed", after(lost("w"), killed("w")), []string{
			"unattended w/t1 at 6: Title of t1: no session works on it: session w is stopped → " +
				"maestro session spawn --task-ids t1",
		}},
		{"it had said that it is done", spawned(complete, exited("3")), []string{
			"unattended w/t1 at 4: Title of t1: no session works on it: session w is completed, and nobody says that " +
				"it is done → maestro task complete t1, or maestro session spawn --task-ids t1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			equalLists(t, "inbox", inboxLines(stateOf(t, c.story...).Inbox("p", nil)), c.want...)
		})
	}
}

// TestSessionReports: the report of a session without a task is shown as long as it cannot continue, even after a
// snapshot was decoded.
func TestSessionReports(t *testing.T) {
	says := func(kind events.ReportKind, words string, tasks ...string) given {
		return report(worker, "w", kind, words, tasks...)
	}
	blocked := says(events.ReportBlocked, "no key")
	then := continued(project(), task("t1"), spawn("w", "t1"))
	const shown = "blocked w/t1 at 4: w: no key → maestro session message w \"…\""
	for _, c := range []struct {
		name  string
		story []given
		want  []string
	}{
		{"blocked", then(blocked), []string{shown}},
		{"failed", then(says(events.ReportError, "broke")), []string{
			"failed w/t1 at 4: w: broke → maestro why w, or maestro session message w \"…\"",
		}},
		{"a note says so", then(by(worker, &events.SessionNoted{
			SessionID: "w", Type: "task_blocked", Message: "no key",
		})), []string{shown}},
		{"it goes on", then(blocked, says(events.ReportProgress, "on")), nil},
		{"it goes on with its task", then(blocked, says(events.ReportProgress, "on", "t1")), nil},
		{"blocked on its task instead", then(blocked, says(events.ReportBlocked, "no host", "t1")), []string{
			`blocked w/t1 at 5: Title of t1: no host → maestro session message w "…" --about t1`,
		}},
		{"somebody else writes", then(blocked, by(admin, &events.SessionNoted{
			SessionID: "w", Type: "progress", Message: "a hint",
		})), []string{shown}},
		{"stopped", then(blocked, killed("w"), moved("t1", events.TaskCompleted)), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			equalLists(t, "inbox", inboxLines(s.Inbox("p", nil)), c.want...)
			encoded, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Decode(encoded)
			if err != nil {
				t.Fatal(err)
			}
			equalLists(t, "inbox of the decoded state", inboxLines(again.Inbox("p", nil)), c.want...)
		})
	}
	status := stateOf(t, then(blocked)...)
	match(t, status.ProjectStatus(status.Project("p")), want{
		"saidBySessions": `[{"sessionId":"w","name":"w","says":"blocked","message":"no key","at":` + ms(4) + `}]`,
	})
}

// The successor of a session gets what is left of its work, and nothing that would be refused.
func TestSuccessorGetsWhatIsLeft(t *testing.T) {
	s := stateOf(t, project(), task("done"), task("cancelled"), task("open"), task("awaited"),
		needs("waits", "awaited"), needs("together", "open"),
		spawn("s", "done", "cancelled", "open", "waits", "together"), spawn("none", "done"),
		moved("done", events.TaskCompleted), moved("cancelled", events.TaskCancelled))
	for session, want := range map[string]string{
		"s":    "maestro session spawn --task-ids open,together",
		"none": "maestro session spawn --task-ids <taskId>",
	} {
		if got := s.Successor(s.Session(session)); got != want {
			t.Errorf("after %s: %s, want %s", session, got, want)
		}
	}
}

// TestSuccessorIsLikeItsPredecessor: the command for a successor names the role and the strategy of the session before.
func TestSuccessorIsLikeItsPredecessor(t *testing.T) {
	for _, c := range []struct {
		role     events.Role
		strategy events.Strategy
		want     string
	}{
		{events.RoleWorker, events.StrategySimple, "maestro session spawn --task-ids t1"},
		{events.RoleWorker, events.StrategyTree, "maestro session spawn --strategy tree --task-ids t1"},
		{events.RoleOrchestrator, events.StrategyDefault, "maestro session spawn --role orchestrator --task-ids t1"},
		{
			events.RoleOrchestrator, events.StrategyDAG,
			"maestro session spawn --role orchestrator --strategy dag --task-ids t1",
		},
		{
			events.RoleOrchestrator, events.StrategyBatching,
			"maestro session spawn --role orchestrator --strategy intelligent-batching --task-ids t1",
		},
	} {
		s := stateOf(t, project(), task("t1"), by(admin, &events.SessionSpawned{
			SessionID: "w",
			Name:      "w",
			Role:      c.role,
			Strategy:  c.strategy,
			TaskIDs:   []string{"t1"},
			Started:   []string{"t1"},
		}), killed("w"))
		if is := s.Successor(s.Session("w")); is != c.want {
			t.Errorf("the successor of a %s with strategy %s: %q, want %q", c.role, c.strategy, is, c.want)
		}
		if is := s.SpawnFor(s.Task("t1")); is != c.want {
			t.Errorf("a session for the task of a %s with strategy %s: %q, want %q", c.role, c.strategy, is, c.want)
		}
	}
}
