package commands

import (
	"strings"
	"testing"

	"maestro/events"
)

// walks are commands that search lists which their callers made long. least is the number of steps for the entries or
// bytes that they have to look at.
var walks = []struct {
	name string
	make func(g *ground) (by Actor, command Command, least int)
}{
	{"labels that are added and removed", func(g *ground) (Actor, Command, int) {
		label := func(prefix string) []string { return many(prefix+strings.Repeat("l", 180), 1000) }
		has, add, remove := label("a"), label("b"), label("c")
		g.task("x", "")
		g.apply(&events.TaskUpdated{TaskID: "x", Labels: &has})
		return Admin(AuthnToken), &UpdateTask{TaskID: "x", AddLabels: add, RemoveLabels: remove},
			3000/setPerStep + 2000*180/textPerStep
	}},
	{"one label of many", func(g *ground) (Actor, Command, int) {
		has := many(strings.Repeat("l", 180), 1000)
		g.task("x", "")
		g.apply(&events.TaskUpdated{TaskID: "x", Labels: &has})
		return Admin(AuthnToken), &UpdateTask{TaskID: "x", AddLabels: []string{"one"}},
			1000/setPerStep + 1000*180/textPerStep
	}},
	{"dependencies that are removed", func(g *ground) (Actor, Command, int) {
		has := g.tasks("d", int(LimitDependencies.Value))
		g.task("x", "", has...)
		return Admin(AuthnToken), &UpdateTask{TaskID: "x", RemoveDependencies: has}, 2 * len(has) / setPerStep
	}},
	{"metadata beside metadata", func(g *ground) (Actor, Command, int) {
		g.task("x", "")
		has := []byte(`{"a":"` + strings.Repeat("m", 60_000) + `"}`)
		g.apply(&events.TaskUpdated{TaskID: "x", Metadata: has})
		return Admin(AuthnToken), &UpdateTask{TaskID: "x", Metadata: []byte(`{}`)}, len(has) / jsonPerStep
	}},
	{"a task that many sessions have beside many others", func(g *ground) (Actor, Command, int) {
		g.reopenable(300, 300)
		return Admin(AuthnToken), &ReopenTask{TaskID: "x"}, mostNotified * 300 / namesPerStep
	}},
	{"a task that many sessions had, which have many others", func(g *ground) (Actor, Command, int) {
		g.reopenable(300, 301)
		others := many("t", 300)
		for _, id := range many("s", 300) {
			g.apply(&events.SessionUpdated{SessionID: id, TaskIDs: &others})
		}
		return Admin(AuthnToken), &ReopenTask{TaskID: "x"}, 300 * 300 / namesPerStep
	}},
	{"one task more of a session with many", func(g *ground) (Actor, Command, int) {
		g.task("x", "")
		g.session("s", events.RoleWorker, g.tasks("t", 900)...)
		return Admin(AuthnToken), &LinkTask{SessionID: "s", TaskID: "x"}, 900 / namesPerStep
	}},
	{"a task that a session with many does not have", func(g *ground) (Actor, Command, int) {
		g.task("x", "")
		g.session("s", events.RoleWorker, g.tasks("t", 1000)...)
		return Admin(AuthnToken), &UnlinkTask{SessionID: "s", TaskID: "x"}, 1000 / namesPerStep
	}},
	{"tasks that as many sessions have as may", func(g *ground) (Actor, Command, int) {
		tasks := g.tasks("t", 20)
		for _, id := range many("s", int(LimitTaskSessions.Value)) {
			g.session(id, events.RoleWorker, tasks...)
		}
		return Admin(AuthnToken), &UpdateSession{SessionID: "s0", TaskIDs: &tasks},
			len(tasks) * int(LimitTaskSessions.Value) / namesPerStep
	}},
	{"a message to a session that was shown none", func(g *ground) (Actor, Command, int) {
		g.session("s", events.RoleWorker)
		for _, id := range many("m", int(LimitMail.Value)-1) {
			g.apply(&events.SessionMessaged{SessionID: "s", MessageID: id, Text: "m"})
		}
		return Admin(AuthnToken), &MessageSession{SessionID: "s", Text: "m"}, int(LimitMail.Value-1) / setPerStep
	}},
}

// reopenable creates the completed task "x", and sessions "s0" and so on that have this many tasks, "x" among them.
func (g *ground) reopenable(sessions, tasks int) {
	g.task("x", "")
	others := append(g.tasks("t", tasks-1), "x")
	for _, id := range many("s", sessions) {
		g.session(id, events.RoleWorker, others...)
	}
	g.apply(completed("x"))
}

// What a decision searches is counted at its real cost; dry runs and refused commands pay for it too.
func TestWalksThroughListsAreWork(t *testing.T) {
	for _, c := range walks {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			by, command, least := c.make(g)
			steps := g.s.CountReads()
			data, err := Decide(g.s, command, called(by, RulesVersion))
			if n := int(*steps); n < least || n > 3*least+2000 {
				t.Errorf("%d steps are counted, but the decision looks at what costs %d (%v)", n, least, err)
			}
			if changed, ok := data.(*events.TaskStatusChanged); ok && changed.Notice != nil {
				if n := len(changed.Notice.SessionIDs); n != mostNotified {
					t.Errorf("%d sessions are notified", n)
				}
			}
		})
	}
}

// The notified sessions of a task are the first in order of their ids, and no others are looked at.
func TestNoticeNamesFirstSessions(t *testing.T) {
	g := newGround(t)
	g.reopenable(300, 2)
	g.apply(&events.SessionKilled{SessionID: "s0", Status: events.SessionStopped})
	g.apply(&events.SessionTaskUnlinked{SessionID: "s1", TaskID: "x"})
	call := Call{By: Admin(AuthnToken), Rules: RulesVersion}
	told := toldOf(g.s, call, g.s.Task("x"), false, newSessionsAbove(false))
	if len(told) != mostNotified || told[0] != "s10" || told[mostNotified-1] != "s19" {
		t.Errorf("%d are notified, from %s to %s", len(told), told[0], told[len(told)-1])
	}
}
