package service

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"maestro/events"
	"maestro/service/wire"
)

// TestSinceCostsWhatAnEventNames: an event that names a thousand tasks is put into words once, not once for each.
func TestSinceCostsWhatAnEventNames(t *testing.T) {
	cost := func(tasks int) (bytes uint64) {
		d := &events.SessionReported{Kind: events.ReportProgress}
		for i := range tasks {
			d.TaskIDs = append(d.TaskIDs, fmt.Sprintf("task_%010d", i))
		}
		f := &changed{
			all:      true,
			describe: events.Data.Describe,
			tasks:    map[string]*wire.SinceThing{},
			sessions: map[string]*wire.SinceThing{},
			queues:   map[string]*wire.SinceThing{},
		}
		e := &events.Event{Time: time.Unix(0, 0), Source: "/projects/p/sessions/s", Data: d}
		f.add(1, e) // creates the rows once, which costs something
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f.add(2, e)
		runtime.ReadMemStats(&after)
		for id, thing := range f.tasks {
			if len(thing.Last) > longestWords+len("…") {
				t.Fatalf("%d bytes are told of task %s", len(thing.Last), id)
			}
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := cost(100), cost(1000); many > 20*few+100_000 {
		t.Errorf("100 tasks cost %d bytes, 1000 cost %d", few, many)
	}
}

// An orchestrator also works in the projects that it created. A session that sees only such a project is not told of
// the orchestrator, which is of another one.
func TestSinceShowsNoSessionOfAnotherProject(t *testing.T) {
	w := newWorld(t)
	home := w.make(w.admin(), "project:create", `{"name":"Home"}`)
	task := w.make(w.admin(), "task:create", `{"project":"`+home+`","title":"T"}`)
	spawned := w.do(w.admin(), "session:spawn",
		`{"project":"`+home+`","taskIds":["`+task+`"],"role":"orchestrator","name":"Secret lead"}`)
	_, leadID := spawned.Data.Aggregate()
	lead := w.caller(spawned.Token)
	made := w.make(lead, "project:create", `{"name":"Made"}`)
	w.make(lead, "task:create", `{"project":"`+made+`","title":"Inner"}`)
	inner := w.do(w.admin(), "session:spawn", `{"project":"`+made+`","taskIds":["`+
		w.make(w.admin(), "task:create", `{"project":"`+made+`","title":"U"}`)+`"],"role":"orchestrator"}`)
	for name, one := range map[string]struct {
		by   *Caller
		told bool
	}{
		"the user":               {w.admin(), true},
		"the orchestrator":       {lead, true},
		"who sees only the made": {w.caller(inner.Token), false},
	} {
		since, err := w.Since(w.Context(), one.by, &wire.SinceQuery{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		told := fmt.Sprintf("%+v", since)
		for _, what := range []string{leadID, "Secret lead"} {
			if strings.Contains(told, what) != one.told {
				t.Errorf("%s is told of %q: %t\n%s", name, what, !one.told, told)
			}
		}
		if !strings.Contains(told, "Inner") {
			t.Errorf("%s is not told of the task:\n%s", name, told)
		}
	}
}
