package projections

import (
	"fmt"
	"strings"
	"testing"

	"maestro/events"
)

// crowdedQueue is a queue w of items that wait for the same tasks, the last of which is cancelled.
func crowdedQueue(t *testing.T, items, dependencies int) *State {
	t.Helper()
	story := []given{project(), by(admin, &events.QueueCreated{Queue: "w", MaxAttempts: 3})}
	var hubs []string
	for i := range dependencies {
		hubs = append(hubs, fmt.Sprintf("hub%03d", i))
		story = append(story, task(hubs[i]))
	}
	for i := range items {
		id := fmt.Sprintf("item%04d", i)
		story = append(story, needs(id, hubs...), by(admin, &events.QueueItemPushed{Queue: "w", TaskID: id}))
	}
	return stateOf(t, append(story, moved(hubs[dependencies-1], events.TaskCancelled))...)
}

// stepsOf counts the look-ups of a read.
func stepsOf(s *State, see func(*State)) int {
	view := s.Overlay()
	reads := view.CountReads()
	see(view)
	return int(*reads) //nolint:gosec // a test reads little
}

// TestDependenciesOfAnItemAreBounded: a few dependencies are named, first those that will not be completed, and the
// others are counted; the cost does not depend on their number.
func TestDependenciesOfAnItemAreBounded(t *testing.T) {
	for dependencies, want := range map[int]string{
		1: "waits for hub000 (cancelled)",
		WaitsNamed: fmt.Sprintf("waits for hub%03d (cancelled), hub000, hub001, hub002, hub003",
			WaitsNamed-1),
		200: "waits for hub199 (cancelled), hub000, hub001, hub002, hub003 and 195 more",
	} {
		s := crowdedQueue(t, 1, dependencies)
		q := s.Queue("p", "w")
		item := s.Items(q)[0]
		if got := s.WaitsFor(q, item); got != want {
			t.Errorf("of %d dependencies: %q, want %q", dependencies, got, want)
		}
		const most = 20
		if allocs := testing.AllocsPerRun(10, func() { s.WaitsFor(q, item) }); allocs > most {
			t.Errorf("%d dependencies take %v allocations, more than %d", dependencies, allocs, most)
		}
	}
}

// TestInboxRendersOnlyListedItems: items after the cut are found and counted, but no text is made for them.
func TestInboxRendersOnlyListedItems(t *testing.T) {
	const items, dependencies = 1000, 20
	s := crowdedQueue(t, items, dependencies)
	// Finding out that an item is stuck takes a look at each of its dependencies.
	const find = items * (2*dependencies + 10)
	const tell = (InboxListed + 1) * (4*dependencies + 10)
	count := 0
	steps := stepsOf(s, func(s *State) { count = s.ProjectStatus(s.Project("p")).Inbox })
	if steps > find || count != items {
		t.Errorf("counting %d of %d takes %d steps, more than %d", count, items, steps, find)
	}
	var listed []InboxItem
	if steps := stepsOf(s, func(s *State) { listed = s.Inbox("p", nil) }); steps > find+tell {
		t.Errorf("listing %d of %d takes %d steps, more than %d", len(listed), items, steps, find+tell)
	}
	if len(listed) != InboxListed+1 || !strings.HasPrefix(listed[0].Message, "waits for hub019 (cancelled), hub000") {
		t.Errorf("%d are listed, the first with %q", len(listed), listed[0].Message)
	}
}

// TestListsLookAtFewDependencies: however many dependencies the items of a queue have, a list of the items and the
// inbox look at a bounded number, and say what they did not look at.
func TestListsLookAtFewDependencies(t *testing.T) {
	const items, dependencies, looked = 600, 200, WaitsLooked / 200
	s := crowdedQueue(t, items, dependencies)
	q := s.Queue("p", "w")
	var views []ItemView
	const most = 3*WaitsLooked + 20*items
	if steps := stepsOf(s, func(s *State) { views, _ = itemViews(s, q, nil) }); steps > most {
		t.Errorf("listing the items takes %d steps, more than %d", steps, most)
	}
	if waits := views[looked-1].Waits; !strings.HasPrefix(waits, "waits for hub199 (cancelled)") {
		t.Errorf("the last item that is looked at %s", waits)
	}
	if waits := views[looked].Waits; waits != "waits for some of its 200 dependencies" {
		t.Errorf("the item after it %s", waits)
	}
	var inbox []InboxItem
	if steps := stepsOf(s, func(s *State) { inbox = s.Inbox("p", nil) }); steps > most {
		t.Errorf("the inbox takes %d steps, more than %d", steps, most)
	}
	unread := 0
	for _, item := range inbox {
		if item.Kind == InboxUnread {
			unread++
			if !strings.HasPrefix(item.Message, "of 100 waiting items") || item.Queue != "w" {
				t.Errorf("what was not looked at: %+v", item)
			}
		}
	}
	if unread != 1 || len(inbox) != InboxListed+2 {
		t.Errorf("%d items, %d of them say what was not looked at", len(inbox), unread)
	}
}
