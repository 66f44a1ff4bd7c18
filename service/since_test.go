package service

import (
	"fmt"
	"runtime"
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
