package projections

import (
	"testing"

	"maestro/events"
)

// A task can be started if nothing has to come before it, and nobody has it already.
func TestStartable(t *testing.T) {
	then := continued(project(), task("t1"), needs("t2", "t1"))
	link := by(admin, &events.SessionTaskLinked{SessionID: "w", TaskID: "t1"})
	begun := continued(then(spawn("w"), link)...)
	under := func(id, parent string) given {
		return by(admin, &events.TaskCreated{TaskID: id, Title: "Title of " + id, ParentID: parent})
	}
	below := continued(then(under("t3", "t1"), under("t4", "t3"), by(admin, &events.SessionSpawned{
		SessionID: "w",
		Role:      events.RoleWorker,
		Strategy:  events.StrategyTree,
		TaskIDs:   []string{"t1"},
	}))...)
	queue := by(admin, &events.QueueCreated{Queue: "a", MaxAttempts: 1})
	push := by(admin, &events.QueueItemPushed{Queue: "a", TaskID: "t1"})
	for _, c := range []struct {
		name  string
		story []given
		task  string
		want  bool
	}{
		{"todo", then(), "t1", true},
		{"in progress", then(moved("t1", events.TaskInProgress)), "t1", false},
		{"waits for another", then(), "t2", false},
		{"waits no longer", then(moved("t1", events.TaskCompleted)), "t2", true},
		{"at a session", begun(), "t1", false},
		{"at a session that has ended", begun(killed("w")), "t1", true},
		{
			"reported as completed", begun(report(worker, "w", events.ReportComplete, "m", "t1"), killed("w")), "t1",
			false,
		},
		{
			"reported as blocked", begun(report(worker, "w", events.ReportBlocked, "m", "t1"), killed("w")), "t1",
			false,
		},
		{"at a tree worker above", below(), "t4", false},
		{"below what a tree worker had", below(killed("w")), "t4", true},
		{"below what a simple worker has", then(under("t3", "t1"), under("t4", "t3"), spawn("w", "t1")), "t4", true},
		{"in a queue", then(queue, push), "t1", false},
		{"taken out of a queue", then(queue, push,
			by(admin, &events.QueueItemRemoved{Queue: "a", TaskID: "t1"})), "t1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.story...)
			if is := s.Startable(s.Task(c.task)); is != c.want {
				t.Errorf("it can be started: %t", is)
			}
		})
	}
}
