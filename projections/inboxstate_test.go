package projections

import (
	"strings"
	"testing"

	"maestro/events"
)

// TestInboxSaysWhatIsTrue: an item says what a session that had the task does now, and its wait begins when it became
// what it is.
func TestInboxSaysWhatIsTrue(t *testing.T) {
	queue := by(admin, &events.QueueCreated{Queue: "q"})
	push := func(task string) given { return by(admin, &events.QueueItemPushed{Queue: "q", TaskID: task}) }
	then := continued(project(), task("t1"), queue, push("t1"), pulls("a", "q"), started("a", "q", "t1", 1),
		skipped("a", "q", "t1", true))
	gone := by(admin, &events.QueueDeleted{Queue: "q"})
	const (
		nobody    = "unattended a/t1 at 8: Title of t1: no session works on it: session a had it, and "
		spawnNext = " → maestro session spawn --task-ids t1"
		noKey     = "stuck /t2 at 5: Title of t2: waits for t1 (cancelled) → maestro task update t2 " +
			"--remove-depends-on t1"
	)
	for _, c := range []struct {
		name  string
		story []given
		want  []string
	}{
		{"it has nothing", then(gone), []string{nobody + "has no task now" + spawnNext}},
		{"it holds another item", then(gone, queue, task("t2"), push("t2"), started("a", "q", "t2", 1)), []string{
			nobody + "holds task t2 now" + spawnNext,
		}},
		{"it is lost", then(gone, lost("a")), []string{
			nobody + "is lost" + spawnNext,
			"lost a/ at 9: Name of a: nothing has been heard from it; it goes on when it is heard again → " +
				"maestro session kill a",
		}},
		{"what it waits for was cancelled and changed", []given{
			project(), task("t1"), needs("t2", "t1"), by(admin, &events.TaskUpdated{TaskID: "t2"}),
			moved("t1", events.TaskCancelled), by(admin, &events.TaskUpdated{TaskID: "t1"}),
		}, []string{noKey}},
		{"what its item waits for was cancelled", []given{
			project(), task("t1"), needs("t2", "t1"), queue, pulls("a", "q"), push("t2"),
			moved("t1", events.TaskCancelled), by(admin, &events.TaskUpdated{TaskID: "t1"}),
		}, []string{
			"stuck /t2 in q at 7: Title of t2: waits for t1 (cancelled) → maestro task update t2 " +
				"--remove-depends-on t1",
		}},
		{"what its item waits for was deleted", []given{
			project(), task("t1"), needs("t2", "t1"), queue, pulls("a", "q"), push("t2"), deleted("t1"),
		}, []string{
			"stuck /t2 in q at 7: Title of t2: waits for t1 (deleted) → maestro task update t2 " +
				"--remove-depends-on t1",
		}},
		{"what its item waits for was put back", []given{
			project(), task("t1"), needs("t2", "t1"), queue, pulls("a", "q"), push("t2"),
			moved("t1", events.TaskInProgress), moved("t1", events.TaskTodo),
		}, []string{
			"stuck /t1 in q at 8: Title of t1: every item of queue q waits, and nobody has this task, which has to " +
				"come first → maestro queue push t1 --queue q, or maestro session spawn --task-ids t1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			equalLists(t, "inbox", inboxLines(stateOf(t, c.story...).Inbox("p", nil)), c.want...)
		})
	}
}

// TestParentOfCompletedTasksIsShownOnce: a queue waits for a task whose parts have ended. If some of them are
// completed, it only has to be confirmed; otherwise somebody has to do it.
func TestParentOfCompletedTasksIsShownOnce(t *testing.T) {
	for part, want := range map[events.TaskStatus]string{
		events.TaskCompleted: "unattended /t1 at 7: Title of t1: all tasks below it are completed → " +
			"maestro task complete t1",
		events.TaskCancelled: "stuck /t1 in q at 6: Title of t1: every item of queue q waits, and nobody has this " +
			"task, which has to come first → maestro queue push t1 --queue q, or maestro session spawn --task-ids t1",
	} {
		s := stateOf(t, project(), task("t1"), taskBelow("t1", "t3"), needs("t2", "t1"),
			by(admin, &events.QueueCreated{Queue: "q"}), by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "t2"}),
			moved("t3", part), pulls("w", "q"))
		items := s.Inbox("p", nil)
		equalLists(t, "after a part is "+string(part), inboxLines(items), want)
		if len(items) == 1 && items[0].HoldsUp != 1 {
			t.Errorf("after a part is %s: it holds up %d tasks, want 1", part, items[0].HoldsUp)
		}
	}
}

// TestStatusSaysWhoIsAtWork: the status lists no completed session as lost, and says which of those that said
// something are not at work.
func TestStatusSaysWhoIsAtWork(t *testing.T) {
	s := stateOf(t, project(), task("t1"), task("t2"), spawn("w", "t1"), spawn("v", "t2"),
		report(worker, "w", events.ReportNeedsInput, "Which?", "t1"),
		report("/projects/p/sessions/v", "v", events.ReportProgress, "on", "t2"),
		lost("w"), lost("v"), by(admin, &events.SessionCompleted{SessionID: "w"}))
	status := s.ProjectStatus(s.Project("p"))
	equalLists(t, "lost sessions", status.Lost, "v")
	var said []string
	for _, x := range status.Said {
		said = append(said, x.SaidBy+" "+string(x.SessionStatus)+" "+x.SaidByIs)
	}
	equalLists(t, "statements", said, "w needs_input completed", "v working lost")
	if view := s.Session("w").View(); view.LostAt != nil {
		t.Error("a completed session is shown as lost")
	}
}

// TestInboxShowsLastWords: the open task of a session that reported as a whole that it is done shows what it said then,
// also after a snapshot was decoded.
func TestInboxShowsLastWords(t *testing.T) {
	says := func(words string) given {
		return by(worker, &events.SessionReported{
			SessionID:        "w",
			Kind:             events.ReportComplete,
			Message:          words,
			SessionCompleted: true,
		})
	}
	complete := says("Found 3 bugs")
	then := continued(project(), task("t1"), spawn("w", "t1"))
	const (
		nobody    = "unattended w/t1 at %: Title of t1: "
		is        = "no session works on it: session w is "
		spawnNext = "maestro session spawn --task-ids t1"
		done      = is + "completed, and nobody says that it is done"
		words     = "; its last words: "
	)
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name    string
		story   []given
		at      string
		message string
		next    string
	}{
		{"completed", then(complete), "4", done + words + "Found 3 bugs", "maestro task complete t1, or " + spawnNext},
		{"stopped afterwards", then(complete, killed("w")), "5", is + "stopped" + words + "Found 3 bugs", spawnNext},
		{
			"it reports otherwise", then(complete, report(worker, "w", events.ReportProgress, "more")), "4", done,
			"maestro task complete t1, or " + spawnNext,
		},
		{
			"it says much", then(says(long)), "4",
			(done + words + long)[:InboxText] + "…", "maestro task complete t1, or " + spawnNext,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			want := strings.Replace(nobody, "%", c.at, 1) + c.message + " → " + c.next
			equalLists(t, "inbox", inboxLines(s.Inbox("p", nil)), want)
			again, err := Decode([]byte(encode(t, s)))
			if err != nil {
				t.Fatal(err)
			}
			equalLists(t, "inbox of the decoded state", inboxLines(again.Inbox("p", nil)), want)
			if word := s.LastWord(s.Session("w")); word != nil {
				t.Errorf("it cannot continue: %q", word.Message)
			}
		})
	}
}

// TestInboxShowsDoubts: the claim of a session whose last report was an error shows that error, also after a snapshot
// was decoded.
func TestInboxShowsDoubts(t *testing.T) {
	says := func(kind events.ReportKind, words string, tasks ...string) given {
		return report(worker, "w", kind, words, tasks...)
	}
	broke := says(events.ReportError, "disk full", "t1")
	done := finished("w", "q", "t1")
	on := says(events.ReportProgress, "on")
	then := continued(project(), task("t1"), by(admin, &events.QueueCreated{Queue: "q"}),
		by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "t1"}), pulls("w", "q"), started("w", "q", "t1", 1))
	const (
		completed = "Completed in queue q"
		doubt     = ": it reported an error before that: disk full"
	)
	for _, c := range []struct {
		name  string
		story []given
		want  string
	}{
		{"an error", then(broke, done), completed + doubt},
		{"an error of the session as a whole", then(says(events.ReportError, "disk full"), done), completed + doubt},
		{"an error before it went on", then(says(events.ReportError, "disk full"),
			says(events.ReportProgress, "on", "t1"), done), completed},
		{
			"an error, and it says that it is done", then(broke, says(events.ReportComplete, "all", "t1"), done),
			"all" + doubt,
		},
		{"an error, and it went on", then(broke, says(events.ReportProgress, "on", "t1"), done), completed},
		{"an error, and it reports on no task", then(broke, on, done), completed + doubt},
		{"a block", then(says(events.ReportBlocked, "no key", "t1"), done), completed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			again, err := Decode([]byte(encode(t, s)))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*State{s, again} {
				items := s.Inbox("p", nil)
				if len(items) != 1 || items[0].Kind != InboxUnconfirmed || items[0].Message != c.want {
					t.Errorf("%+v, want one claim with %q", items, c.want)
				}
			}
		})
	}
}
