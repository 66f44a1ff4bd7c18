package service

import (
	"fmt"
	"testing"

	"maestro/projections"
	"maestro/service/wire"
)

// TestALargeProjectHidesNoOther: an inbox looks at each project by itself, says which one is too large, and shows the
// others.
func TestALargeProjectHidesNoOther(t *testing.T) {
	w := newWorld(t)
	projects := map[string]string{}
	for name, tasks := range map[string]int{"small": 10, "also": 10, "large": 6000} {
		id := w.make(w.admin(), "project:create", `{"name":"`+name+`"}`)
		projects[id] = name
		for range tasks {
			task := w.make(w.admin(), "task:create", fmt.Sprintf(`{"project":%q,"title":"T"}`, id))
			if tasks == 10 {
				w.do(w.admin(), "task:block", fmt.Sprintf(`{"taskId":%q,"reason":"r"}`, task))
			}
		}
	}
	w.listMost = 2000
	items, _, err := w.ListInbox(t.Context(), w.admin(), &wire.InboxFilter{})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{}
	for _, item := range items {
		shown[projects[item.ProjectID]+" "+string(item.Kind)]++
	}
	want := map[string]int{
		"small " + string(projections.InboxBlocked): 10,
		"also " + string(projections.InboxBlocked):  10,
		"large " + string(projections.InboxUnread):  1,
	}
	if fmt.Sprint(shown) != fmt.Sprint(want) {
		t.Errorf("it shows %v, want %v", shown, want)
	}
	for id, name := range projects {
		items, _, err := w.ListInbox(t.Context(), w.admin(), &wire.InboxFilter{ProjectID: id})
		if err != nil || (items[0].Kind == projections.InboxUnread) != (name == "large") {
			t.Errorf("%s alone: %v %v", name, items, err)
		}
	}
}
