package projections

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"maestro/events"
)

// following applies events and checks after each that no view has changed except those that the index names, and that
// an index that is made anew names the same.
type following struct {
	*testing.T
	state *State
	index *ViewIndex
	views map[ViewKey]string
}

func follow(t *testing.T, story ...given) *following {
	s := New()
	f := &following{t, s, NewViewIndex(s), map[ViewKey]string{}}
	for _, g := range story {
		f.goOn(g)
	}
	return f
}

func (f *following) goOn(g given) {
	f.Helper()
	named, anew := map[ViewKey]bool{}, NewViewIndex(f.state)
	changes := apply(f.T, f.state, g)
	changed := f.index.Changed(f.state, changes)
	for _, key := range changed {
		named[key] = true
	}
	if want := anew.Changed(f.state, changes); !slices.Equal(changed, want) {
		f.Errorf("event %d, %s, changed %v, says the index that followed the log, and one that is made anew %v",
			f.state.Head().Sequence, g.data.EventType(), changed, want)
	}
	views := map[ViewKey]string{}
	for key := range f.index.Keys(f.state) {
		view := f.index.View(f.state, key)
		if input, ok := view.(InputView); ok {
			input.Waited = 0 // it grows with time
			view = input
		}
		b, err := json.Marshal(view)
		if err != nil {
			f.Fatal(err)
		}
		views[key] = string(b)
	}
	both := maps.Clone(f.views)
	maps.Copy(both, views)
	for key := range both {
		if f.views[key] != views[key] && !named[key] {
			f.Errorf("event %d, %s, changed %v unnoticed\nfrom %s\nto   %s", f.state.Head().Sequence,
				g.data.EventType(), key, f.views[key], views[key])
		}
	}
	f.views = views
}

// has checks a member of a view.
func (f *following) has(kind Kind, id, member, want string) {
	f.Helper()
	var view map[string]json.RawMessage
	if err := json.Unmarshal([]byte(f.views[ViewKey{kind, id}]), &view); err != nil {
		f.Fatal(kind, id, err)
	}
	if got := string(view[member]); got != want {
		f.Errorf("%s of %s %s is %s, not %s", member, kind, id, got, want)
	}
}

// The golden story has every type of event.
func TestChangedViewsOfEveryEvent(t *testing.T) { follow(t, goldenStory()...) }

// A view changes with what it names: a session's name, a task's title, the end of a session's command.
func TestChangedViewsOfNames(t *testing.T) {
	f := follow(t, project(), task("t1"), spawn("w", "t1"),
		by(admin, &events.QueueCreated{Queue: "q", MaxAttempts: 3}),
		by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "t1"}),
		started("w", "q", "t1", 1),
		by(worker, &events.SessionReported{
			SessionID: "w",
			Kind:      events.ReportNeedsInput,
			Message:   "Which?",
			InputID:   "i",
			TaskIDs:   []string{"t1"},
		}),
		by(admin, &events.SessionUpdated{SessionID: "w", Name: new("Renamed")}),
	)
	f.has(KindQueueItem, "p/q/t1", "sessionName", `"Renamed"`)
	f.has(KindInput, "i", "sessionName", `"Renamed"`)
	f.goOn(by(admin, &events.TaskUpdated{TaskID: "t1", Title: new("Retitled")}))
	f.has(KindQueueItem, "p/q/t1", "title", `"Retitled"`)
	f.has(KindInput, "i", "taskTitles", `["Retitled"]`)
	f.goOn(by(worker, &events.SessionNoted{
		SessionID: "w",
		Type:      TypeExited,
		Data:      json.RawMessage(`{"command":"sh","exitCode":3}`),
	}))
	f.has(KindSession, "w", "exitCode", "3")
	f.goOn(by(worker, &events.SessionReported{SessionID: "w", Kind: events.ReportProgress, Message: "Back"}))
	f.has(KindSession, "w", "exitCode", "")
}

// The end of a session changes what counts of what sessions say of a task, and so what lies below the task above it,
// and what waits for it in a queue that trusts reports.
func TestChangedViewsOfAnEnd(t *testing.T) {
	says := func(source, session string, kind events.ReportKind) given {
		return by(source, &events.SessionReported{
			SessionID: session,
			Kind:      kind,
			Message:   "m",
			TaskIDs:   []string{"t1"},
		})
	}
	f := follow(t, project(), task("top"), taskBelow("top", "t1"), spawn("w", "t1"), spawn("w2", "t1"),
		by(admin, &events.TaskCreated{TaskID: "next", Title: "N", Dependencies: []string{"t1"}}),
		by(admin, &events.QueueCreated{Queue: "q", MaxAttempts: 3, TrustReports: true}),
		by(admin, &events.QueueItemPushed{Queue: "q", TaskID: "next"}),
		says(worker, "w", events.ReportComplete),
		says(second, "w2", events.ReportProgress),
	)
	f.has(KindTask, "t1", "sessionStatus", `"working"`)
	f.has(KindQueueItem, "p/q/next", "waits", `"waits for t1"`)
	f.goOn(by(admin, &events.SessionKilled{SessionID: "w2"}))
	f.has(KindTask, "t1", "sessionStatus", `"completed"`)
	f.has(KindQueueItem, "p/q/next", "waits", "")
	f.has(KindTask, "top", "progress",
		`{"total":1,"completed":0,"said":1,"blocked":0,"failed":0,"cancelled":0}`)
}

// What lies below tasks follows moves and deletions.
func TestProgressOfTheIndex(t *testing.T) {
	f := follow(t, project(), task("a"), task("b"), taskBelow("a", "a1"), taskBelow("a1", "leaf"), taskBelow("b", "b1"),
		by(admin, &events.TaskStatusChanged{TaskID: "leaf", From: events.TaskTodo, To: events.TaskCompleted}),
		by(admin, &events.TaskUpdated{TaskID: "a1", ParentID: new("b1")}),
		by(admin, &events.TaskCreated{TaskID: "late", Title: "L"}),
		by(admin, &events.TaskUpdated{TaskID: "b", ParentID: new("late")}),
		by(admin, &events.TaskDeleted{TaskID: "a1", Descendants: []string{"leaf"}}),
	)
	for _, x := range []*ViewIndex{f.index, NewViewIndex(f.state)} {
		for task := range f.state.Tasks("p") {
			got, want := leavesOf(x.Progress(task.ID)), leavesOf(f.state.Progress(task))
			if got != want {
				t.Errorf("below %s is %s, not %s", task.ID, got, want)
			}
		}
	}
}

func leavesOf(p *Progress) string {
	if p == nil {
		return "nothing"
	}
	return fmt.Sprintf("%+v", *p)
}
