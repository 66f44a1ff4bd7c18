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
