package projections

import (
	"fmt"
	"reflect"
	"testing"

	"maestro/events"
)

// examineAll makes a state's inboxes examine every task and session.
func examineAll(s *State) {
	for _, p := range s.projectIDs {
		var tasks, sessions line
		for _, id := range s.taskIDs.get(p) {
			tasks = tasks.with(s.tasks.get(id).CreatedSequence, id)
		}
		for _, id := range s.sessionIDs.get(p) {
			sessions = sessions.with(s.sequenceOf(s.sessions.get(id).Cause), id)
		}
		s.taskAttention.put(p, tasks)
		s.sessionAttention.put(p, sessions)
	}
}

// An inbox that examines only what may need a person finds what one finds that examines everything: after every fifth
// event of random logs, from a snapshot, and in an overlay.
func TestInboxMissesNothing(t *testing.T) {
	kinds := map[InboxKind]int{}
	for seed := range uint64(40) {
		s := New()
		for i, g := range randomStory(t, seed, 100) {
			overlay := s.Overlay()
			apply(t, overlay, g)
			apply(t, s, g)
			if i%5 > 0 { // what an event left out stays left out
				continue
			}
			encoded := []byte(encode(t, s))
			decoded, err := Decode(encoded)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := Decode(encoded)
			if err != nil {
				t.Fatal(err)
			}
			examineAll(whole)
			for _, p := range s.projectIDs {
				want := whole.Inbox(p, nil)
				for name, x := range map[string]*State{"fold": s, "snapshot": decoded, "overlay": overlay} {
					if got := x.Inbox(p, nil); !reflect.DeepEqual(got, want) {
						t.Fatalf("seed %d, event %d, project %s, %s:\n%+v\nwant\n%+v", seed, i, p, name, got, want)
					}
				}
				for _, item := range want {
					kinds[item.Kind]++
				}
			}
		}
	}
	for _, kind := range []InboxKind{
		InboxBlocked, InboxFailed, InboxUnconfirmed, InboxUnattended, InboxLost, InboxUnstarted,
	} {
		if kinds[kind] == 0 {
			t.Errorf("no inbox had an item of kind %s: %v", kind, kinds)
		}
	}
}

// The inbox examines a task from the moment when it may need a person until it does not.
func TestTasksThatInboxesExamine(t *testing.T) {
	says := func(id string, kind events.ReportKind) given {
		said := report(SessionSource("p", "s"), "s", kind, "…")
		said.data.(*events.SessionReported).TaskIDs = []string{id}
		return said
	}
	under := func(id, parent string) given {
		return by(admin, &events.TaskUpdated{TaskID: id, ParentID: &parent})
	}
	depends := func(id string, on ...string) given {
		on = append([]string{}, on...)
		return by(admin, &events.TaskUpdated{TaskID: id, Dependencies: &on})
	}
	s := stateOf(t, project(), task("other"), spawn("s", "other"))
	for _, step := range []struct {
		name string
		does given
		want string
	}{
		{"a task nobody has", task("alone"), "[other]"},
		{"a session without it reports on it", says("alone", events.ReportProgress), "[other alone]"},
		{"it is completed", moved("alone", events.TaskCompleted), "[other]"},
		{"a parent", task("parent"), "[other]"},
		{"a first task is below it", below("a", "parent"), "[other]"},
		{"a second one", below("b", "parent"), "[other]"},
		{"the first is completed", moved("a", events.TaskCompleted), "[other]"},
		{"the second is cancelled", moved("b", events.TaskCancelled), "[other parent]"},
		{"the first is reopened", moved("a", events.TaskTodo), "[other]"},
		{"the first is completed again", moved("a", events.TaskCompleted), "[other parent]"},
		{"a third one is created", below("c", "parent"), "[other]"},
		{"the third is deleted", deleted("c"), "[other parent]"},
		{"another parent", task("second"), "[other parent]"},
		{"a parent of one", task("third"), "[other parent]"},
		{"a task below it", below("d", "third"), "[other parent]"},
		{"the first is moved to the other parent", under("a", "second"), "[other parent second]"},
		// A deleted task stays in the list of what is below its parent.
		{"the second is moved to it", under("b", "second"), "[other parent second]"},
		{"the only one below a parent is moved away", under("d", "second"), "[other parent]"},
		{"it is completed", moved("d", events.TaskCompleted), "[other parent second]"},
		{"it is moved back", under("d", "third"), "[other parent second third]"},
		{"it is moved away again", under("d", "second"), "[other parent second]"},
		{"the other parent is cancelled", moved("second", events.TaskCancelled), "[other parent]"},
		{"a task that others wait for", task("first"), "[other parent]"},
		{"a task that waits for it", below("waits", "", "first"), "[other parent]"},
		{"the awaited one is cancelled", moved("first", events.TaskCancelled), "[other parent waits]"},
		{"another one waits for the cancelled one", below("vain", "", "first"), "[other parent waits vain]"},
		{"it no longer depends on it", depends("vain"), "[other parent waits]"},
		{"it depends on it again", depends("vain", "first"), "[other parent waits vain]"},
		{"it is cancelled itself", moved("vain", events.TaskCancelled), "[other parent waits]"},
		{"the awaited one is open again", moved("first", events.TaskTodo), "[other parent]"},
		{"the awaited one is deleted", deleted("first"), "[other parent waits]"},
	} {
		apply(t, s, step.does)
		decoded, err := Decode([]byte(encode(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []*State{s, decoded} {
			if got := fmt.Sprint(x.taskAttention.get("p").tasks()); got != step.want {
				t.Errorf("%s: the inbox examines %s, want %s", step.name, got, step.want)
			}
		}
	}
}

// An inbox costs nothing for tasks that wait for their turn or are done, and sessions that ended well.
func TestInboxIgnoresWhatNeedsNobody(t *testing.T) {
	story := []given{project(), task("open"), task("parent")}
	for i := range 500 {
		done, id := fmt.Sprint("done", i), fmt.Sprint("s", i)
		child := task(fmt.Sprint("child", i))
		child.data.(*events.TaskCreated).ParentID = "parent"
		story = append(story, task(fmt.Sprint("todo", i)), task(done), child, spawn(id, done),
			by(admin, &events.TaskStatusChanged{TaskID: done, To: events.TaskCompleted}),
			by(admin, &events.SessionKilled{SessionID: id, Status: events.SessionStopped}))
	}
	s := stateOf(t, append(story, by(admin, &events.TaskStatusChanged{TaskID: "open", To: events.TaskBlocked}))...)
	steps := s.CountReads()
	items := s.Inbox("p", nil)
	if len(items) != 1 || items[0].TaskID != "open" {
		t.Errorf("the inbox has %+v", items)
	}
	if *steps > 100 {
		t.Errorf("an inbox with one item took %d steps", *steps)
	}
}
