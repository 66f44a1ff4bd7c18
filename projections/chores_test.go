package projections

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"maestro/events"
)

// inPortions does work in portions of this many steps each, as readers of a server do, and calls between after each
// portion.
func inPortions(t *testing.T, s *State, steps uint64, on func(s *State, until uint64) (done bool), between func()) {
	t.Helper()
	const most = 100_000
	for looks := 0; looks < most; looks++ {
		reader, _ := s.Reader(most, func(uint64) {})
		if on(reader, steps) {
			return
		}
		between()
	}
	t.Fatal("the work does not end")
}

// busyProject has a queue in which no item can be started, quarantined items, and sessions that reported.
func busyProject(t *testing.T) *State {
	t.Helper()
	s := crowdedQueue(t, 250, 3)
	for i := range 20 {
		id := fmt.Sprintf("s%02d", i)
		apply(t, s, spawn(id, fmt.Sprintf("item%04d", i)))
		apply(t, s, report(SessionSource("p", id), id, events.ReportComplete, "", fmt.Sprintf("item%04d", i)))
	}
	return s
}

// Many portions find the same as one look, if nothing changes.
func TestPortionsFindWhatOneLookFinds(t *testing.T) {
	s := busyProject(t)
	q := s.Queue("p", "w")
	items, more := itemViews(s, q, nil)
	inbox, status := s.Inbox("p", nil), s.ProjectStatus(s.Project("p"))
	if len(items) == 0 || len(inbox) < 100 || status.Inbox < 200 || len(status.Unconfirmed) == 0 {
		t.Fatalf("%d items, %d things in the inbox, %+v", len(items), len(inbox), status)
	}
	for _, steps := range []uint64{1, 7, 500} {
		search := s.SearchInbox("p")
		on := func(s *State, until uint64) bool { return s.SearchOn(search, nil, until) }
		inPortions(t, s, steps, on, func() {})
		search.Want(InboxPart{})
		inPortions(t, s, steps, on, func() {})
		if got := search.Items(); !reflect.DeepEqual(got, inbox) {
			t.Errorf("portions of %d: the inbox is %+v", steps, got)
		}
		stands := s.SearchStatus(s.Project("p"))
		inPortions(t, s, steps, func(s *State, until uint64) bool { return s.StatusOn(stands, until) }, func() {})
		if got := stands.Status(); !reflect.DeepEqual(got, status) {
			t.Errorf("portions of %d: the status is %+v", steps, got)
		}
		listed := s.SearchItems(q, nil, 0, 0)
		gather := func(s *State, until uint64) bool { return s.ItemsOn(listed, until) }
		inPortions(t, s, steps, gather, func() {})
		chosen, left := listed.Choose()
		show := listed.Show(chosen)
		var got []ItemView
		inPortions(t, s, steps, func(s *State, until uint64) (done bool) {
			got, done = s.ViewItems(show, got, len(chosen), until)
			return done
		}, func() {})
		if !reflect.DeepEqual(got, items) || left != more {
			t.Errorf("portions of %d: the items are %+v", steps, got)
		}
	}
}

// If the state changes between portions, each object still counts once, as it is when it is looked at: objects created
// meanwhile do not count, and objects deleted meanwhile may.
func TestPortionsCountEachThingOnce(t *testing.T) {
	s := busyProject(t)
	before := s.ProjectStatus(s.Project("p"))
	all, deleted := 0, 0
	for _, n := range before.Tasks {
		all += n
	}
	ids := slices.Clone(s.taskIDs.get("p"))
	slices.Reverse(ids)
	at := 0
	stands := s.SearchStatus(s.Project("p"))
	q := s.Queue("p", "w")
	listed := s.SearchItems(q, nil, 0, 0)
	inPortions(t, s, 20, func(s *State, until uint64) bool {
		gathered := s.ItemsOn(listed, until)
		return s.StatusOn(stands, until+20) && gathered
	}, func() {
		apply(t, s, task(fmt.Sprintf("new%04d", at)))
		if at == len(ids) {
			return
		}
		switch id := ids[at]; {
		case at%3 == 0 && s.Task(id) != nil:
			apply(t, s, by(admin, &events.TaskDeleted{TaskID: id}))
			deleted++
		case s.Task(id) != nil && s.Task(id).Status == events.TaskTodo:
			apply(t, s, moved(id, events.TaskCompleted))
		}
		at++
	})
	counted := 0
	for _, n := range stands.Status().Tasks {
		counted += n
	}
	if deleted < 10 || counted > all || counted < all-deleted {
		t.Errorf("of %d tasks, of which %d were deleted meanwhile, %d are counted", all, deleted, counted)
	}
	chosen, _ := listed.Choose()
	show := listed.Show(chosen)
	var views []ItemView
	shown := func(s *State, until uint64) (done bool) {
		views, done = s.ViewItems(show, views, len(chosen), until)
		return done
	}
	left := s.itemTasks.get(queueKey("p", "w"))
	inPortions(t, s, 20, shown, func() {
		for len(left) > 0 { // the last ones are deleted while the first ones are shown
			task := left[len(left)-1]
			left = left[:len(left)-1]
			if item := s.Item("p", "w", task); item != nil && item.Status == events.ItemQueued {
				apply(t, s, by(admin, &events.QueueItemRemoved{Queue: "w", TaskID: task}))
				return
			}
		}
	})
	if len(views) == 0 || len(views) > 240 {
		t.Errorf("of 250 items, of which many are removed meanwhile, %d are listed", len(views))
	}
	seen := map[string]bool{}
	for _, view := range views {
		if seen[view.TaskID] {
			t.Errorf("item %s is listed twice", view.TaskID)
		}
		seen[view.TaskID] = true
	}
}
