package oracle

import (
	"encoding/json"
	"testing"
)

// After each event, the judge's counts of items equal a count of all of them.
func TestCountsMatchItems(t *testing.T) {
	s := base(t)
	workStory(s)
	orchestratorStory(s)
	queueStory(s)
	namedQueueStory(s)
	s.await(2, 3, false)
	s.add(admin, "task.updated", `{"taskId":"w0","dependencies":["a","alone"]}`)
	s.add(admin, "task.updated", `{"taskId":"w1","dependencies":["alone","alone"]}`)
	s.add(admin, "task.deleted", `{"taskId":"w2","recursive":true,"descendants":[]}`)
	endsStory(s)
	j, most := New(), 0
	for i, line := range s.lines {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Line(text); err != nil {
			t.Fatal(err)
		}
		open, inQueue := map[string]int{}, map[*queue]int{}
		for _, q := range j.queues {
			for _, item := range q.items {
				if item.open() {
					open[item.task]++
					inQueue[q]++
				}
			}
			if q.open != inQueue[q] {
				t.Fatalf("line %d: a queue has %d open items, and counts %d", i, inQueue[q], q.open)
			}
		}
		for id, task := range j.tasks {
			awaited := 0
			for other := range task.dependents {
				awaited += open[other]
			}
			if task.open != open[id] || task.awaited != awaited {
				t.Fatalf("line %d: task %s has %d open items and %d that wait for it, and counts %d and %d",
					i, id, open[id], awaited, task.open, task.awaited)
			}
			most = max(most, awaited)
		}
	}
	if most < 6 {
		t.Errorf("at most %d items wait for a task: too few for this test", most)
	}
}
