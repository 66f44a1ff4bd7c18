package projections

import (
	"slices"
	"testing"

	"maestro/events"
)

// The types of timeline entries that the system writes are reserved, except those that reports write too.
func TestSystemTypesAreReserved(t *testing.T) {
	reported := []string{"progress", "task_completed", "task_blocked", "error", "needs_input"}
	story := goldenStory()
	s := stateOf(t, story...)
	var entries []*Entry
	for id := range s.sessions.rows {
		entries = append(entries, sessionEntries(s, id)...)
	}
	for id := range s.tasks.rows {
		entries = append(entries, taskEntries(s, id)...)
	}
	for _, entry := range entries {
		data := story[entry.Sequence-1].data
		_, noted := data.(*events.SessionNoted)
		_, tracked := data.(*events.SessionFileTracked)
		if reserved := IsReserved(entry.Type); !noted && !tracked && reserved == slices.Contains(reported, entry.Type) {
			t.Errorf("%T writes %q, which is reserved: %t", data, entry.Type, reserved)
		}
	}
	for kind, want := range map[string]bool{
		"": false, "milestone": false, "tasks": false, "task_": true, "session_anything": true, "input_answered": true,
	} {
		if is := IsReserved(kind); is != want {
			t.Errorf("%q is reserved: %t", kind, is)
		}
	}
}
