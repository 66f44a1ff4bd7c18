package projections

import (
	"fmt"
	"testing"

	"maestro/events"
)

// hidden is a project with an open question, a chain of tasks that many sessions had, and started tasks at its end that
// no session ever had.
func hidden(t *testing.T, depth, sessions, leaves int) *State {
	t.Helper()
	asks := report(SessionSource("p", "asks"), "asks", events.ReportNeedsInput, "?", "asked")
	asks.data.(*events.SessionReported).InputID = "i"
	s := stateOf(t, project(), task("asked"), spawn("asks", "asked"), asks)
	var chain []string
	for i := range depth {
		id := fmt.Sprintf("level%03d", i)
		made := &events.TaskCreated{TaskID: id, Title: id}
		if i > 0 {
			made.ParentID = chain[i-1]
		}
		apply(t, s, by(admin, made))
		chain = append(chain, id)
	}
	for i := range sessions {
		id := fmt.Sprintf("s%03d", i)
		apply(t, s, spawn(id, chain...))
		apply(t, s, by(admin, &events.SessionKilled{SessionID: id, Status: events.SessionStopped}))
	}
	for i := range leaves {
		id := fmt.Sprintf("leaf%05d", i)
		apply(t, s, by(admin, &events.TaskCreated{TaskID: id, Title: id, ParentID: chain[depth-1]}))
		apply(t, s, moved(id, events.TaskInProgress))
	}
	return s
}

// The tasks above many tasks are visited once, not for each of them: the work grows with the size of the project, not
// with tasks times levels times sessions.
func TestInboxLooksAboveOnce(t *testing.T) {
	const depth, sessions, leaves = 90, 40, 400
	s := hidden(t, depth, sessions, leaves)
	var inbox []InboxItem
	steps := stepsOf(s, func(s *State) { inbox = s.Inbox("p", nil) })
	if most := 3*depth*sessions + 30*(depth+sessions+leaves); steps > most {
		t.Errorf("%d steps, at most %d", steps, most)
	}
	kinds := map[InboxKind]int{}
	for _, item := range inbox {
		kinds[item.Kind] += item.Things()
	}
	if kinds[InboxQuestion] != 1 || kinds[InboxUnattended] != depth+leaves {
		t.Errorf("%v", kinds)
	}
}

// Each of many failed sessions that left many tasks is searched once.
func TestInboxLooksThroughFailedSessionsOnce(t *testing.T) {
	const sessions, each = 5, 200
	story := []given{project()}
	for i := range sessions {
		var ids []string
		for k := range each {
			ids = append(ids, fmt.Sprintf("t%d-%03d", i, k))
			story = append(story, task(ids[k]))
		}
		id := fmt.Sprintf("s%d", i)
		story = append(story, spawn(id, ids...),
			by(admin, &events.SessionKilled{SessionID: id, Status: events.SessionEndFailed}))
	}
	s := stateOf(t, story...)
	var inbox []InboxItem
	steps := stepsOf(s, func(s *State) { inbox = s.Inbox("p", nil) })
	if most := 20 * sessions * each; steps > most {
		t.Errorf("%d steps, at most %d", steps, most)
	}
	if len(inbox) != sessions || inbox[0].Kind != InboxFailed {
		t.Errorf("%+v", inbox)
	}
}

// A search that ends early returns what it found, questions first, and says what it did not look at.
func TestStoppedInboxReturnsWhatItFound(t *testing.T) {
	const depth, sessions, leaves = 20, 10, 300
	s := hidden(t, depth, sessions, leaves)
	for until := uint64(100); ; until += 400 {
		reader, _ := s.Reader(untilDone, func(uint64) {})
		search := reader.SearchInbox("p")
		done := reader.SearchOn(search, nil, until)
		unread := search.Stop()
		search.Want(InboxPart{})
		reader.SearchOn(search, nil, untilDone)
		items := search.Items()
		if len(items) == 0 || items[0].Kind != InboxQuestion {
			t.Fatalf("after %d steps the inbox has %+v", until, items)
		}
		if done != (len(unread) == 0) {
			t.Errorf("after %d steps %q is unread", until, unread)
		}
		stands := s.SearchStatus(s.Project("p"))
		reader, _ = s.Reader(untilDone, func(uint64) {})
		whole := reader.StatusOn(stands, until)
		stands.Stop()
		if status := stands.Status(); whole != (len(status.Unread) == 0) ||
			!whole && status.Unread[len(status.Unread)-1] != "inbox" {
			t.Errorf("after %d steps the status leaves out %q", until, status.Unread)
		}
		if whole {
			return
		}
	}
}
