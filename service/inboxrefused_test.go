package service

import (
	"fmt"
	"strings"
	"testing"

	"maestro/engine"
)

// TestSettledRefusals: a refused command needs nobody once the tasks that it is about are over: those that it names,
// and a worker's own unless it names only these.
func TestSettledRefusals(t *testing.T) {
	w := newWorld(t)
	project := w.make(w.admin(), "project:create", `{"name":"P"}`)
	task := func(title string) string {
		return w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":%q}`, project, title))
	}
	spawn := func(role string, tasks ...string) string {
		return w.make(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"role":%q,"taskIds":["%s"]}`,
			project, role, strings.Join(tasks, `","`)))
	}
	done, open, goal := task("Done"), task("Open"), task("Goal")
	finished, busy, lead := spawn("worker", done), spawn("worker", open), spawn("orchestrator", goal)
	for _, id := range []string{done, goal} {
		w.do(w.admin(), "task:complete", fmt.Sprintf(`{"taskId":%q}`, id))
	}
	for _, c := range []struct {
		name, session string
		cut           bool
		task          string
		want          bool
	}{
		{"a worker's task that is over", finished, false, done, true},
		{"a worker's task that is open", busy, false, open, false},
		{"another's open task, by a worker whose own are over", finished, false, open, false},
		{"another's task that is over, by a worker whose own are over", finished, false, goal, true},
		{"another's task, by a worker whose own is open", busy, false, done, false},
		{"no known task, by a worker whose own are over", finished, false, "none", true},
		{"a record that does not hold all tasks", finished, true, done, false},
		{"an open task, by an orchestrator whose goal is over", lead, false, open, false},
		{"a task that is over, by an orchestrator", lead, false, done, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			denial := engine.Denial{Cut: c.cut, Target: []byte(`{"taskIds":["` + c.task + `"]}`)}
			if got := w.settled(c.session, refusalLooks, &denial); got != c.want {
				t.Errorf("settled: %v, want %v", got, c.want)
			}
		})
	}
	end := &engine.Denial{Command: "session:complete"}
	if w.settled(busy, refusalLooks, end) {
		t.Error("the refused end of a session that goes on is settled")
	}
	w.do(w.admin(), "session:kill", fmt.Sprintf(`{"sessionId":%q}`, busy))
	report := &engine.Denial{Command: "report:progress"}
	if !w.settled(busy, refusalLooks, end) || w.settled(busy, refusalLooks, report) {
		t.Error("of a session that was killed, only its refused end is settled")
	}
	if w.settled(finished, 0, &engine.Denial{}) {
		t.Error("a session that was not looked at is settled")
	}
	w.make(w.admin(), "queue:create", fmt.Sprintf(`{"project":%q,"queue":"q"}`, project))
	puller := w.make(w.admin(), "session:spawn", fmt.Sprintf(`{"project":%q,"strategy":"queue","queue":"q"}`, project))
	if w.settled(puller, refusalLooks, report) {
		t.Error("a session without tasks that is at work: its words are settled")
	}
	w.do(w.admin(), "session:message", fmt.Sprintf(`{"sessionId":%q,"text":"Say it again"}`, puller))
	if !w.settled(puller, refusalLooks, report) {
		t.Error("a session at work that was sent a message: its words are not settled")
	}
	w.do(w.admin(), "session:kill", fmt.Sprintf(`{"sessionId":%q}`, puller))
	about := func(task string) *engine.Denial {
		return &engine.Denial{Target: []byte(`{"taskIds":["` + task + `"]}`)}
	}
	if w.settled(puller, refusalLooks, report) || w.settled(puller, refusalLooks, about(open)) ||
		!w.settled(puller, refusalLooks, about(done)) {
		t.Error("of a session without tasks that ended, only words about tasks that are over are settled")
	}
	var tasks []string
	for range 300 {
		tasks = append(tasks, task("One of many"))
	}
	many := spawn("worker", tasks...)
	if steps := w.stepsToSettle(many, make([]engine.Denial, 1000)); steps > 2*uint64(1000+len(tasks)) {
		t.Errorf("%d steps for a thousand refusals of a session with %d tasks", steps, len(tasks))
	}
}

// settled asks whether nobody misses a session's refused command.
func (w *world) settled(session string, looks int, denial *engine.Denial) (settled bool) {
	w.Helper()
	w.see(func(v View) {
		refusals := settledRefusals{own: map[string]ownTasks{}, looks: looks}
		settled = refusals.has(v, denial, v.Session(session))
	})
	return settled
}

// stepsToSettle counts the steps that many refusals of a session cost.
func (w *world) stepsToSettle(session string, denials []engine.Denial) (steps uint64) {
	w.Helper()
	w.see(func(v View) {
		refusals := settledRefusals{own: map[string]ownTasks{}, looks: refusalLooks}
		before := v.Steps()
		for i := range denials {
			refusals.has(v, &denials[i], v.Session(session))
		}
		steps = v.Steps() - before
	})
	return steps
}

func (w *world) see(see func(v View)) {
	w.Helper()
	err := w.Look(w.Context(), w.admin(), func(v View) error { see(v); return nil })
	if err != nil {
		w.Fatal(err)
	}
}
