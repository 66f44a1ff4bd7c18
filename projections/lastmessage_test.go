package projections

import (
	"fmt"
	"testing"

	"maestro/events"
)

// writes returns a message to a session about a task.
func writes(from, to, id, about string) given {
	return by(from, &events.SessionMessaged{
		SessionID: to,
		MessageID: id,
		Text:      "here it is",
		About:     about,
	})
}

// A message of whoever leads a session settles its block, and one of a session that it leads does not.
func TestWhoseMessagesSettleABlock(t *testing.T) {
	leads := by(admin, &events.SessionSpawned{SessionID: "o", Name: "O", Role: events.RoleOrchestrator})
	below := by(SessionSource("p", "o"), &events.SessionSpawned{
		SessionID: "w",
		Name:      "W",
		Role:      events.RoleWorker,
		SpawnedBy: "o",
	})
	said := report(SessionSource("p", "o"), "o", events.ReportBlocked, "no key", "t1")
	begun := continued(project(), task("t1"), leads, below, said)
	for from, want := range map[string]events.TaskSessionStatus{
		admin:                   "",
		SessionSource("p", "w"): events.SaysBlocked,
	} {
		s := stateOf(t, begun(writes(from, "o", "m1", "t1"))...)
		if got := s.Stands(s.Task("t1"), s.Task("t1").SaidBy("o")); got != want {
			t.Errorf("after a message of %s, the block stands as %q, want %q", from, got, want)
		}
	}
}

// A session remembers the newest messages only, each task once.
func TestRememberedMessagesAreBounded(t *testing.T) {
	story := []given{project(), spawn("w")}
	for i := range 3 * MaxLastMessages {
		story = append(story, task(fmt.Sprint("t", i)), writes(admin, "w", fmt.Sprint("m", i), fmt.Sprint("t", i)),
			by(SessionSource("p", "w"), &events.InputDelivered{SessionID: "w", InputID: fmt.Sprint("m", i)}))
	}
	story = append(story, writes(admin, "w", "again", "t59"))
	x := stateOf(t, story...).Session("w")
	if len(x.LastMessages) != 20 || x.MessagedSince("t39", 0) || !x.MessagedSince("t40", 0) {
		t.Errorf("%d messages are remembered: %v", len(x.LastMessages), x.LastMessages)
	}
	times := 0
	for _, m := range x.LastMessages {
		if m.About == "t59" {
			times++
		}
	}
	if times != 1 {
		t.Errorf("one task is remembered %d times", times)
	}
}

// Of many sessions at work that are blocked at one task, the inbox shows the newest and a few more.
func TestAFewOfManyBlockedAreShown(t *testing.T) {
	story := []given{project(), task("t1")}
	var said []given
	for i := range 3 * mostAlsoBlocked {
		id := fmt.Sprint("w", i)
		story = append(story, spawn(id, "t1"))
		said = append(said, report(SessionSource("p", id), id, events.ReportBlocked, "no key", "t1"))
	}
	if items := stateOf(t, append(story, said...)...).Inbox("p", nil); len(items) != 6 {
		t.Errorf("%d items: %v", len(items), inboxLines(items))
	}
}

// TestItemHistory: the inbox shows what the item of a task is now, whatever its former holders said and were told.
func TestItemHistory(t *testing.T) {
	told := by(admin, &events.SessionMessaged{
		SessionID: "a",
		MessageID: "m",
		Text:      "leave it",
		About:     "t1",
	})
	then := continued(project(), task("t1"), task("t2"), by(admin, &events.QueueCreated{Queue: "q", MaxAttempts: 1}),
		by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "t1"}), pulls("a", "q"), pulls("b", "q"))
	failedOnce := continued(then(started("a", "q", "t1", 1), failed("a", "q", "t1", "no host"))...)
	again := continued(failedOnce(requeued("q", "t1"), started("b", "q", "t1", 1))...)
	const (
		requeueNext = "maestro queue requeue t1 --queue q"
		spawnNext   = "maestro session spawn --task-ids t1"
		nextSteps   = requeueNext + ", or " + spawnNext
		skippedItem = "t1: its item in queue q was skipped → " + nextSteps
		isFailed    = "failed a/t1 at 9: Title of t1: Failed in queue q: no host → maestro why t1, or " + requeueNext
	)
	for _, c := range []struct {
		name  string
		story []given
		want  []string
	}{
		{"its former holder is told", failedOnce(told), []string{isFailed}},
		{
			"its former holder goes on with another item", failedOnce(told,
				by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "t2"}), started("a", "q", "t2", 1)),
			[]string{isFailed},
		},
		{"its queue is deleted, and its former holder is told", failedOnce(
			by(admin, &events.QueueDeleted{Queue: "q"}), told), []string{
			"failed a/t1 at 9: Title of t1: Failed in queue q: no host → maestro why t1, or " + spawnNext,
		}},
		{"it failed, and its task is moved", failedOnce(moved("t1", events.TaskTodo),
			moved("t1", events.TaskInProgress)), []string{
			"unattended a/t1 at 11: Title of t1: its item in queue q has failed: no host → " + nextSteps,
		}},
		{"it failed, and the task is given to a session", failedOnce(told, spawn("c", "t1")), nil},
		{"skipped by the next holder", again(skipped("b", "q", "t1", true)), []string{
			"unattended b/t1 at 12: Title of " + skippedItem,
		}},
		{"skipped without a start", failedOnce(requeued("q", "t1"), skipped("b", "q", "t1", false)), []string{
			"unattended b/t1 at 11: Title of " + skippedItem,
		}},
		{"the next holder was lost", again(lost("b"), quarantined("b", "q", "t1", 1), killed("b")), []string{
			"quarantined b/t1 in q at 13: Title of t1: it was started once, and not finished: its session is lost → " +
				requeueNext,
		}},
		{"its former holder says that it goes on", then(started("a", "q", "t1", 1), skipped("a", "q", "t1", true),
			report("/projects/p/sessions/a", "a", events.ReportProgress, "I do it", "t1")), nil},
		{"put back, and skipped", then(started("a", "q", "t1", 1), skipped("a", "q", "t1", true),
			moved("t1", events.TaskTodo), requeued("q", "t1"), skipped("b", "q", "t1", false)), []string{
			"unattended b/t1 at 12: Title of " + skippedItem,
		}},
		{"a session was blocked and ended before it was skipped", then(spawn("c", "t1"),
			report("/projects/p/sessions/c", "c", events.ReportBlocked, "no key", "t1"), killed("c"),
			started("b", "q", "t1", 1), skipped("b", "q", "t1", true)), []string{
			"unattended b/t1 at 12: Title of " + skippedItem,
		}},
		{"skipped before a session is blocked", then(skipped("b", "q", "t1", false), spawn("c", "t1"),
			report("/projects/p/sessions/c", "c", events.ReportBlocked, "no key", "t1")), []string{
			`blocked c/t1 at 10: Title of t1: no key → maestro session message c "…" --about t1`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			equalLists(t, "inbox", inboxLines(stateOf(t, c.story...).Inbox("p", nil)), c.want...)
		})
	}
}
