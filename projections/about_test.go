package projections

import (
	"testing"

	"maestro/events"
)

// A task is concerned by the changes of itself, of its items, of its sessions and of their questions about it: also of
// a question that names no task, whose session works at an item of it.
func TestWhatConcernsATask(t *testing.T) {
	const source = "/projects/p/sessions/w"
	s := New()
	about := func(g given) (tasks map[string]bool) {
		t.Helper()
		tasks = map[string]bool{}
		for _, change := range apply(t, s, g) {
			of := s.ChangeAbout(change)
			for _, id := range []string{"t1", "t2"} {
				tasks[id] = tasks[id] || of.Has("", id)
			}
		}
		return tasks
	}
	for _, step := range []struct {
		name string
		given
		t1, t2 bool
	}{
		{"the project", project(), false, false},
		{"its creation", task("t1"), true, false},
		{"another task", task("t2"), false, true},
		{"a queue", by(admin, &events.QueueCreated{Queue: "q"}), false, false},
		{"its item", by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "t1"}), true, false},
		{"a session without tasks", by(admin, &events.SessionSpawned{
			SessionID: "w",
			Name:      "w",
			Role:      events.RoleWorker,
			Strategy:  events.StrategyQueue,
			Queue:     "q",
		}), false, false},
		{"the start of its item", by(source, &events.QueueItemStarted{
			Queue:     "q",
			TaskID:    "t1",
			SessionID: "w",
			Attempt:   1,
		}), true, false},
		{"a question at the item", by(source, &events.SessionReported{
			SessionID: "w",
			Kind:      events.ReportNeedsInput,
			Message:   "Which?",
			InputID:   "input_1",
		}), true, false},
		{"its answer", by(admin, &events.InputAnswered{
			InputID:   "input_1",
			SessionID: "w",
			Answer:    "Both",
		}), true, false},
		{"its delivery", by(source, &events.InputDelivered{InputID: "input_1", SessionID: "w"}), true, false},
		{"the session of another task", spawn("w2", "t2"), false, true},
	} {
		if got := about(step.given); got["t1"] != step.t1 || got["t2"] != step.t2 {
			t.Errorf("%s concerns t1: %t, t2: %t", step.name, got["t1"], got["t2"])
		}
	}
	if on := s.InputView(s.Input("input_1"), 0).OnTask; on != "t1" {
		t.Errorf("the question was asked on %q", on)
	}
}
