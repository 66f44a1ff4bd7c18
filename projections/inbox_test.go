package projections

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"maestro/events"
)

// inboxLines describes an inbox: kind, ids, the sequence since which an item waits, the text, and what to do.
func inboxLines(items []InboxItem) []string {
	lines := []string{}
	for _, x := range items {
		line := fmt.Sprintf("%s %s/%s", x.Kind, x.SessionID, x.TaskID)
		if x.Queue != "" {
			line += " in " + x.Queue
		}
		if x.InputID != "" {
			line += fmt.Sprintf(" %s %q", x.InputID, x.Options)
		}
		if x.SaidDone {
			line += " said done"
		}
		lines = append(lines, fmt.Sprintf("%s at %d: %s: %s → %s", line, (int64(x.Since)-at(0))/1000, x.What, x.Message,
			strings.Join(x.Next, ", or ")))
	}
	return lines
}

func TestInbox(t *testing.T) {
	then := continued(project(), task("t1"), needs("t2", "t1"), pulls("w", "w"), pulls("w2", "w2"))
	working := continued(then(report(worker, "w", events.ReportProgress, "begun", "t1"))...)
	queued := continued(then(by(admin, &events.QueueItemPushed{Queue: "w", TaskID: "t1"}),
		by(admin, &events.QueueItemPushed{Queue: "w", TaskID: "t2"}))...)
	late := by(worker, &events.SessionReported{
		SessionID: "w",
		Kind:      events.ReportError,
		Message:   "sorry",
		TaskIDs:   []string{"t1"},
		Late:      true,
	})
	with := by(admin, &events.SessionSpawned{
		SessionID: "x",
		Name:      "X",
		Role:      events.RoleWorker,
		TaskIDs:   []string{"t1"},
		Started:   []string{"t1"},
	})
	fails := func(session string) given {
		return by(admin, &events.SessionKilled{SessionID: session, Reason: "exit 1", Status: events.SessionEndFailed})
	}
	complete := moved("t1", events.TaskCompleted)
	child := func(id, parent string) given {
		return by(admin, &events.TaskCreated{TaskID: id, Title: "Title of " + id, ParentID: parent})
	}
	named := continued(then(by(admin, &events.QueueCreated{Queue: "a", MaxAttempts: 3}))...)
	push := func(task string) given { return by(admin, &events.QueueItemPushed{Queue: "a", TaskID: task}) }
	for _, c := range []struct {
		name  string
		story []given
		want  []string
	}{
		{"nothing", working(), nil},

		{
			"a question", then(asks("w", "i1", "Which?", "a", "b")),
			[]string{`question w/ i1 ["a" "b"] at 6: Name of w: Which? → maestro input answer i1 "…"`},
		},
		{
			"a question of a session that says it is done",
			then(asks("w", "i1", "Which?"), by(worker, &events.SessionCompleted{SessionID: "w"})),
			[]string{
				`question w/ i1 [] said done at 6: Name of w: Which?` +
					` → maestro input answer i1 "…", or maestro session kill w`,
			},
		},
		{"a question about a task", then(by(worker, &events.SessionReported{
			SessionID: "w",
			Kind:      events.ReportNeedsInput,
			Message:   "Which?",
			TaskIDs:   []string{"t1"},
			InputID:   "i1",
		})), []string{
			`question w/t1 i1 [] at 6: Name of w: Which? → maestro input answer i1 "…"`,
		}},
		{"an answered one", then(asks("w", "i1", "Which?"), answered("w", "i1", "a")), nil},
		{"a void one", then(asks("w", "i1", "Which?"), killed("w")), nil},

		{"said to be blocked", working(report(worker, "w", events.ReportBlocked, "no key", "t1"), report(worker, "w",
			events.ReportProgress, "on t2", "t2")), []string{
			`blocked w/t1 at 7: Title of t1: no key → maestro session message w "…" --about t1`,
		}},
		{"in the words of who said it, not in the last", then(
			report(second, "w2", events.ReportProgress, "begun", "t1"), report(worker, "w", events.ReportBlocked,
				"no key", "t1"), killed("w2"),
			by(second, &events.SessionReported{
				SessionID: "w2",
				Kind:      events.ReportError,
				TaskIDs:   []string{"t1"},
				Message:   "sorry",
				Late:      true,
			}), by(admin, &events.SessionDeleted{SessionID: "w2"}),
		), []string{`blocked w/t1 at 7: Title of t1: no key → maestro session message w "…" --about t1`}},
		{"said to be blocked without words", then(report(worker, "w", events.ReportProgress, "begun", "t1"),
			report(worker, "w", events.ReportBlocked, "", "t1")), []string{
			`blocked w/t1 at 7: Title of t1:  → maestro session message w "…" --about t1`,
		}},
		{
			"by one that has ended", then(report(worker, "w", events.ReportBlocked, "no key", "t1"), killed("w")),
			[]string{
				"blocked w/t1 at 6: Title of t1: no key → maestro session spawn --task-ids t1",
			},
		},
		{"blocked by its status", working(by(admin, &events.TaskStatusChanged{
			TaskID: "t1", To: events.TaskBlocked,
			Reason: "budget",
		}), report(worker, "w", events.ReportProgress, "still on", "t1")), []string{
			`blocked w/t1 at 7: Title of t1: it was blocked by user admin: budget → maestro task reopen t1 "…"`,
		}},
		{
			"blocked by its status, and nobody said anything", then(moved("t1", events.TaskBlocked)),
			[]string{`blocked /t1 at 6: Title of t1: it was blocked → maestro task reopen t1 "…"`},
		},
		{"blocked by an update", then(by(admin, &events.TaskUpdated{
			TaskID: "t1", Model: new("x"),
			Status: &events.StatusChange{To: events.TaskBlocked},
		})), []string{
			`blocked /t1 at 6: Title of t1: it was blocked → maestro task reopen t1 "…"`,
		}},

		{
			"said to have failed", working(report(worker, "w", events.ReportError, "broke", "t1")),
			[]string{"failed w/t1 at 7: Title of t1: broke → " +
				"maestro why t1, or maestro session message w \"…\" --about t1"},
		},
		{
			"failed in a queue", queued(started("w", "w", "t1", 1), failed("w", "w", "t1", "no key")),
			[]string{"failed w/t1 at 9: Title of t1: Failed in queue w: no key → " +
				"maestro why t1, or maestro queue requeue t1 --queue w"},
		},
		{
			"a session failed and left a task", then(with, fails("x")),
			[]string{"failed x/t1 at 7: X: exit 1 → maestro why x, or maestro session spawn --task-ids t1"},
		},
		{"a session failed, another has the task", then(with, by(admin, &events.SessionTaskLinked{
			SessionID: "w",
			TaskID:    "t1",
		}), fails("x")), nil},
		{"a session failed, its task is completed", then(with, complete, fails("x")), nil},
		{"a session failed without tasks", then(fails("w")), nil},
		{
			"a session was stopped", then(with, killed("x")),
			[]string{"unattended x/t1 at 7: Title of t1: no session works on it: session x is stopped → maestro " +
				"session spawn --task-ids t1"},
		},
		{
			"a session was out of time", then(with, by("/system", &events.SessionTimedOut{SessionID: "x"})),
			[]string{"failed x/t1 at 7: X: timed out → maestro why x, or maestro session spawn --task-ids t1"},
		},

		{"said to be done", working(report(worker, "w", events.ReportComplete, "all of it", "t1")), []string{
			`unconfirmed w/t1 at 7: Title of t1: all of it → maestro task complete t1, or maestro task ` +
				`reopen t1 "<what is missing>"`,
		}},
		{
			"said to be done, with an open task below it", working(child("t7", "t1"),
				report(worker, "w", events.ReportComplete, "all of it", "t1")),
			[]string{`unconfirmed w/t1 at 8: Title of t1: all of it → maestro task get t7, or maestro task ` +
				`reopen t1 "<what is missing>"`},
		},
		{
			"said to be done, with open tasks below it", working(child("t7", "t1"), child("t8", "t1"),
				report(worker, "w", events.ReportComplete, "all of it", "t1")),
			[]string{`unconfirmed w/t1 at 9: Title of t1: all of it → maestro task children t1, or maestro task ` +
				`reopen t1 "<what is missing>"`},
		},
		{
			"blocked by one that has ended, and it waits for another task", then(needs("t9", "t1"),
				by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t9"}),
				report(worker, "w", events.ReportBlocked, "no key", "t9"), killed("w")),
			[]string{"blocked w/t9 at 8: Title of t9: no key → maestro task get t1, or maestro session spawn " +
				"--task-ids t9 --force"},
		},
		{
			"blocked by one that has ended, and it waits for a cancelled task", then(needs("t9", "t1"),
				by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t9"}),
				report(worker, "w", events.ReportBlocked, "no key", "t9"), moved("t1", events.TaskCancelled),
				killed("w")),
			[]string{
				"blocked w/t9 at 8: Title of t9: no key → maestro task update t9 --remove-depends-on t1",
				"stuck /t2 at 9: Title of t2: waits for t1 (cancelled) → maestro task update t2 --remove-depends-on t1",
			},
		},
		{"confirmed", working(report(worker, "w", events.ReportComplete, "all of it", "t1"), complete), nil},
		{"cancelled", working(report(worker, "w", events.ReportBlocked, "no key", "t1"),
			moved("t1", events.TaskCancelled)), []string{
			"stuck /t2 at 8: Title of t2: waits for t1 (cancelled) → maestro task update t2 --remove-depends-on t1",
		}},
		{"done in a queue", queued(started("w", "w", "t1", 1), finished("w", "w", "t1")), []string{
			`unconfirmed w/t1 at 9: Title of t1: Completed in queue w → maestro task complete t1, or maestro task ` +
				`reopen t1 "<what is missing>"`,
		}},

		{
			"quarantined", queued(started("w", "w", "t1", 3), lost("w"), quarantined("w", "w", "t1", 3),
				recovered("w")),
			[]string{
				"quarantined w/t1 in w at 10: Title of t1: it was started 3 times, and never finished: its " +
					"session is lost → maestro queue requeue t1 --queue w",
			},
		},
		{"quarantined, and its task completed", queued(started("w", "w", "t1", 3), quarantined("w", "w", "t1", 3),
			complete), nil},
		{"quarantined, and queued again", queued(started("w", "w", "t1", 3), quarantined("w", "w", "t1", 3),
			requeued("w", "t1")), nil},

		{
			"stuck behind what was cancelled", queued(moved("t1", events.TaskCancelled)),
			[]string{
				"stuck /t2 in w at 8: Title of t2: waits for t1 (cancelled) → maestro task " +
					"update t2 --remove-depends-on t1",
			},
		},
		{
			"stuck behind what was deleted", queued(deleted("t1")),
			[]string{
				"stuck /t2 in w at 8: Title of t2: waits for t1 (deleted) → maestro task " +
					"update t2 --remove-depends-on t1",
			},
		},
		{"it waits, and is not stuck", queued(moved("t1", events.TaskInProgress)), nil},
		{
			"stuck, and cancelled itself", queued(moved("t1", events.TaskCancelled), moved("t2", events.TaskCancelled)),
			nil,
		},
		{"no longer stuck", queued(moved("t1", events.TaskCancelled), by(admin, &events.TaskUpdated{
			TaskID:       "t2",
			Dependencies: &[]string{},
		})), nil},

		{
			"stranded", queued(killed("w")),
			[]string{"stranded w/ in w at 8: Name of w: items wait in its queue, and it is stopped → maestro session " +
				"spawn --strategy queue --queue w --project p"},
		},
		{"stranded by a loss", queued(lost("w")), []string{
			"unstarted w/ at 4: Name of w: it was spawned, and nobody has started an agent in it → " +
				"maestro session exec w -- " +
				"<command>, or maestro session kill w",
			"stranded w/ in w at 8: Name of w: items wait in its queue, and it is lost → maestro session " +
				"spawn --strategy queue --queue w --project p",
		}},
		{
			"pushed to one that is gone", then(killed("w"), by(admin, &events.QueueItemPushed{
				Queue:  "w",
				TaskID: "t1",
			})),
			[]string{
				"stranded w/ in w at 7: Name of w: items wait in its queue, and it is stopped → maestro session " +
					"spawn --strategy queue --queue w --project p",
			},
		},
		{"another serves it", queued(killed("w"), pulls("x", "w")), nil},
		{"the other is done", queued(killed("w"), pulls("x", "w"), by("/projects/p/sessions/x",
			&events.SessionCompleted{SessionID: "x"})), []string{
			"stranded w/ in w at 8: Name of w: items wait in its queue, and it is stopped → maestro session " +
				"spawn --strategy queue --queue w --project p",
		}},
		{"what is left there needs nobody", queued(killed("w"), complete, moved("t2", events.TaskCancelled)), nil},
		{"nothing is left", then(killed("w")), nil},
		{"nobody works in a named queue", named(push("t1"), push("t2")), []string{
			"stranded / in a at 7: a: 1 item can be started, and no session works in the queue → " +
				"maestro session spawn --strategy queue --queue a --project p",
		}},
		{"several items can start there", named(push("t1"), task("t3"), push("t3")), []string{
			"stranded / in a at 7: a: 2 items can be started, and no session works in the queue → " +
				"maestro session spawn --strategy queue --queue a --project p",
		}},
		{"no item can start there, and nobody works in it", named(push("t2")), []string{
			"stuck /t1 in a at 7: Title of t1: every item of queue a waits, and nobody has this task, which has to " +
				"come first → maestro queue push t1 --queue a, or maestro session spawn --task-ids t1",
		}},
		{"no item can start there, and a session waits", named(push("t2"), pulls("x", "a")), []string{
			"stuck /t1 in a at 7: Title of t1: every item of queue a waits, and nobody has this task, which has to " +
				"come first → maestro queue push t1 --queue a, or maestro session spawn --task-ids t1",
		}},
		{"a session waits, and what comes first waits for what is below it", named(push("t2"), pulls("x", "a"),
			taskBelow("t1", "t8"), taskBelow("t8", "t9")), []string{
			"stuck /t9 in a at 10: Title of t9: every item of queue a waits, and nobody has this task, which has to " +
				"come first → maestro queue push t9 --queue a, or maestro session spawn --task-ids t9",
		}},
		{"a session waits, and what is below what comes first is for who has that", named(push("t2"), pulls("x", "a"),
			taskBelow("t1", "t9"), spawn("y", "t1")), nil},
		{"a session waits, and another does what is below what comes first", named(push("t2"), pulls("x", "a"),
			taskBelow("t1", "t9"), spawn("y", "t9")), nil},
		{"a session waits, and another does what comes first", named(push("t2"), pulls("x", "a"),
			spawn("y", "t1")), nil},
		{"a session waits, and what comes first is queued elsewhere", named(push("t2"), pulls("x", "a"),
			pulls("y", "y", "t1")), nil},
		{"what can start there needs nobody", named(push("t1"), complete), nil},
		{"somebody works in a named queue", named(push("t1"), pulls("x", "a")), nil},
		{"who worked in a named queue is lost", named(push("t1"), pulls("x", "a"), lost("x"), killed("x")), []string{
			"stranded / in a at 7: a: 1 item can be started, and no session works in the queue → " +
				"maestro session spawn --strategy queue --queue a --project p",
		}},

		{
			"lost", then(report(worker, "w", events.ReportProgress, "begun"), lost("w")),
			[]string{"lost w/ at 7: Name of w: nothing has been heard from it; it goes on when it is heard " +
				"again → maestro session kill w"},
		},
		{"heard again", then(lost("w"), recovered("w")), nil},
		{"lost, and killed", then(lost("w"), killed("w")), nil},

		{"late", then(killed("w"), late), []string{"late w/t1 at 7: Name of w: sorry → maestro why w"}},
		{"late, and its task is completed", then(killed("w"), late, complete), nil},
		{
			"late, and its session is deleted", then(killed("w"), late,
				by(admin, &events.SessionDeleted{SessionID: "w"})),
			nil,
		},

		{"longest wait first, whatever it is", working(
			report(worker, "w", events.ReportError, "broke", "t1"), lost("w2"), asks("w", "i1", "Which?"), killed("w2"),
			report(worker, "w", events.ReportError, "broke again", "t1"),
			report(worker, "w", events.ReportBlocked, "no key", "t2"),
		), []string{
			`question w/ i1 [] at 9: Name of w: Which? → maestro input answer i1 "…"`,
			"failed w/t1 at 11: Title of t1: broke again → maestro why t1, or maestro " +
				"session message w \"…\" --about t1",
			`blocked w/t2 at 12: Title of t2: no key → maestro session message w "…" --about t2`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			equalLists(t, "inbox", inboxLines(s.Inbox("p", nil)), c.want...)
			if got := s.ProjectStatus(s.Project("p")).Inbox; got != len(c.want) {
				t.Errorf("the project counts %d", got)
			}
		})
	}
}

func TestInboxConcerns(t *testing.T) {
	s := stateOf(
		t, project(), task("t1"), needs("t2", "t1"), task("t3"), pulls("w", "w", "t3", "t2"), pulls("w2", "w2", "t1"),
		by(admin, &events.QueueCreated{Queue: "a", MaxAttempts: 3}),
		asks("w", "i1", "Which?"), asks("w2", "i2", "Which?"), started("w", "w", "t3", 3), report(second, "w2",
			events.ReportBlocked, "no key", "t1"),
		moved("t1", events.TaskBlocked), lost("w"), quarantined("w", "w", "t3", 3), deleted("t1"),
	)
	for session, want := range map[string][]string{
		"w":  {"question i1", "lost", "stranded", "quarantined", "stuck"},
		"w2": {"question i2"},
		"x":  nil,
	} {
		var got []string
		for _, item := range s.Inbox("p", func(id, _ string) bool { return id == session }) {
			if item.ProjectID != "p" {
				t.Errorf("%+v has no project", item)
			}
			got = append(got, strings.TrimSpace(string(item.Kind)+" "+item.InputID))
		}
		equalLists(t, "what concerns "+session, got, want...)
	}
	if items := s.Inbox("none", nil); items == nil || len(items) != 0 {
		t.Error("an empty inbox must be an empty list")
	}
}

// One session cannot make the inbox long or slow.
func TestInboxIsBounded(t *testing.T) {
	const about, told = InboxListed + 50, InboxLateListed + 7
	words := strings.Repeat("ä", events.MaxText/2)
	var tasks []string
	story := []given{project(), pulls("w", "w"), pulls("w2", "w2")}
	for i := range about {
		tasks = append(tasks, fmt.Sprintf("t%03d", i))
		story = append(story, task(tasks[i]))
	}
	then := continued(story...)
	of := func(kind events.ReportKind) given { return report(worker, "w", kind, words, tasks...) }
	var late, stuck, poison []given
	for i := range told {
		late = append(late, by(worker, &events.SessionReported{
			SessionID: "w",
			Kind:      events.ReportProgress,
			Message:   fmt.Sprint(i, words),
			Late:      true,
		}))
	}
	for _, id := range tasks[1:] {
		stuck = append(stuck, by(admin, &events.TaskUpdated{TaskID: id, Dependencies: &[]string{tasks[0]}}),
			by(admin, &events.QueueItemPushed{Queue: "w", TaskID: id}))
		poison = append(poison, by(admin, &events.QueueItemPushed{Queue: "w", TaskID: id}), started("w", "w", id, 3),
			quarantined("w", "w", id, 3))
	}
	late = append([]given{killed("w")}, late...)
	for _, c := range []struct {
		name  string
		story []given
		kind  InboxKind
		// all is the number of items, listed how many of them are shown; the others are counted before or after them.
		all, listed int
	}{
		{"blocked", then(of(events.ReportBlocked)), InboxBlocked, about, InboxListed},
		{"failed", then(of(events.ReportError)), InboxFailed, about, InboxListed},
		{"unconfirmed", then(of(events.ReportComplete)), InboxUnconfirmed, about, InboxListed},
		{"late", then(late...), InboxLate, told, InboxLateListed},
		{"stuck", then(append(stuck, deleted(tasks[0]))...), InboxStuck, about - 1, InboxListed},
		{"quarantined", then(poison...), InboxQuarantined, about - 1, InboxListed},
		{"a question", then(asks("w", "i1", words)), InboxQuestion, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			items := s.Inbox("p", nil)
			listed, more := 0, 0
			for _, item := range items {
				if item.Kind != c.kind || len(item.Message) > InboxText+len("…") || !utf8.ValidString(item.Message) {
					t.Errorf("%s has a message of %d bytes", item.Kind, len(item.Message))
				}
				if item.Cut != strings.HasSuffix(item.Message, "…") {
					t.Errorf("cut: %t, %.20q", item.Cut, item.Message)
				}
				if item.More == 0 {
					listed++
				}
				more += item.More
			}
			if listed != c.listed || more != c.all-c.listed || len(items) > listed+1 {
				t.Errorf("%d items: %d are listed and %d counted, of %d", len(items), listed, more, c.all)
			}
			if got := s.ProjectStatus(s.Project("p")).Inbox; got != c.all {
				t.Errorf("the project counts %d of %d", got, c.all)
			}
			if all := inboxOf(s, "w"); len(all) != c.all || len(all[0].Message) > InboxText+len("…") {
				t.Errorf("the session's items are %d, of %d", len(all), c.all)
			}
		})
	}
	items := stateOf(t, then(late...)...).Inbox("p", nil)
	const all = "maestro inbox --session w --kind late"
	if first := items[0]; first.More != told-InboxLateListed || !slices.Equal(first.Next, []string{all}) {
		t.Errorf("the first item is %+v", first)
	}
	for i, item := range items[1:] {
		want := fmt.Sprint(told-InboxLateListed+i, "ä")
		if !strings.HasPrefix(item.Message, want) || item.EntryID == "" {
			t.Errorf("report %d is %.10q, expected %q", i, item.Message, want)
		}
	}
}

// inboxOf returns everything by one session that needs a person.
func inboxOf(s *State, session string) []InboxItem {
	x := s.SearchInbox(s.SessionProject(session))
	concerns := func(id, _ string) bool { return id == session }
	s.SearchOn(x, concerns, untilDone)
	x.WantAll(InboxPart{})
	s.SearchOn(x, concerns, untilDone)
	return x.Items()
}

// A question without a task is shown with the task at which its session works, and with what the task holds up.
func TestInboxShowsWhereASessionIsWhenItAsks(t *testing.T) {
	then := continued(
		project(), task("t1"), needs("t2", "t1"), pulls("w", "w", "t1"), spawn("one", "t1"), spawn("two", "t1", "t2"),
	)
	question := func(story ...given) InboxItem {
		t.Helper()
		for _, item := range stateOf(t, then(story...)...).Inbox("p", nil) {
			if item.Kind == InboxQuestion {
				return item
			}
		}
		t.Fatal("there is no question")
		return InboxItem{}
	}
	begun := started("w", "w", "t1", 1)
	for _, c := range []struct {
		name  string
		story []given
		want  string
	}{
		{"the item that it holds", []given{begun, asks("w", "i", "which?")}, "t1"},
		{"an item that it started later", []given{asks("w", "i", "which?"), begun}, ""},
		{"an item that it finished since", []given{begun, asks("w", "i", "which?"), finished("w", "w", "t1")}, ""},
		{"its only task", []given{asks("one", "i", "which?")}, "t1"},
		{"one of several", []given{asks("two", "i", "which?")}, ""},
	} {
		if got := question(c.story...); got.TaskID != c.want || (got.HoldsUp == 1) != (c.want != "") {
			t.Errorf("%s: the inbox shows task %q, which holds up %d, not task %q",
				c.name, got.TaskID, got.HoldsUp, c.want)
		}
	}
}
