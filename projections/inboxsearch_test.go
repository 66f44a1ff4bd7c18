package projections

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"maestro/events"
)

// The counted size of a search is at least the memory that it takes, and not many times that.
func TestSizeOfAnInboxSearch(t *testing.T) {
	s := unattended(t, 20_000)
	var before, after runtime.MemStats
	measure := func(at *runtime.MemStats) {
		runtime.GC()
		runtime.GC() // the first one leaves what was freed while it ran
		runtime.ReadMemStats(at)
	}
	for name, run := range map[string]func() (size int64, hold any){
		"inbox": func() (int64, any) {
			x := s.SearchInbox("p")
			s.SearchOn(x, nil, untilDone)
			x.WantAll(InboxPart{})
			s.SearchOn(x, nil, untilDone)
			return x.Size(), x
		},
		"status": func() (int64, any) {
			x := s.SearchStatus(s.Project("p"))
			s.StatusOn(x, untilDone)
			return x.Size(), x
		},
	} {
		measure(&before)
		size, hold := run()
		measure(&after)
		took := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		if size < took || size > 4*took {
			t.Errorf("%s: %d bytes are counted, but the search takes %d", name, size, took)
		}
		runtime.KeepAlive(hold)
		runtime.KeepAlive(s)
	}
}

// unattended is a project with tasks in progress that no session has.
func unattended(t *testing.T, tasks int) *State {
	t.Helper()
	made := make([]*Task, tasks)
	for i := range made {
		fields := TaskFields{ID: fmt.Sprintf("task_%010d", i), ProjectID: "p", CreatedSequence: uint64(i + 1)}
		made[i] = &Task{Status: events.TaskInProgress, TaskFields: &fields}
	}
	encoded, err := json.Marshal(map[string]any{
		"Projects": []*Project{{ID: "p", CreatedBy: "/users/admin", Tasks: tasks}}, "Tasks": made,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode(append(encoded, '\n'))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
