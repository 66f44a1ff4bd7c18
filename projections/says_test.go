package projections

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"maestro/events"
)

// The reports on a task are the same as in a plain list, whatever is reported, withdrawn and dropped; and no version of
// a task changes after it was created.
func TestReportsMatchPlainList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	task := &Task{TaskFields: &TaskFields{}}
	var plain []StatusReport
	type version struct {
		task *Task
		says []StatusReport
	}
	var versions []version
	statuses := []events.TaskSessionStatus{events.SaysWorking, events.SaysBlocked, events.SaysCompleted}
	for step := range 20_000 {
		session := fmt.Sprint("s", random.IntN(1+step/20))
		by := func(said StatusReport) bool { return said.SessionID == session }
		done := func(said StatusReport) bool { return said.Status == events.SaysCompleted }
		next := *task
		copied, most := 0, 4*mostTogether+2*len(plain)/mostTogether+10
		switch chance := random.IntN(5000); {
		case chance == 0:
			copied, most = next.keepSays(func(said StatusReport) bool { return !done(said) }), len(plain)
			plain = slices.DeleteFunc(slices.Clone(plain), done)
		case chance < 1500:
			copied = next.dropSaid(session)
			plain = slices.DeleteFunc(slices.Clone(plain), by)
		default:
			status := statuses[random.IntN(len(statuses))]
			said := StatusReport{session, status, events.Millis(int64(step)), uint64(step), nil, nil}
			copied = next.addSaid(said)
			plain = append(slices.DeleteFunc(slices.Clone(plain), by), said)
		}
		if copied > most {
			t.Fatalf("step %d copies %d of %d reports", step, copied, len(plain))
		}
		if got := next.SaidBy(session); slices.ContainsFunc(plain, by) != (got.SessionID == session) {
			t.Fatalf("step %d: %s says %+v", step, session, got)
		}
		if next.Speakers() != len(plain) {
			t.Fatalf("step %d: %d speakers, want %d", step, next.Speakers(), len(plain))
		}
		task = &next
		if step%500 == 0 {
			versions = append(versions, version{task, plain})
		}
	}
	for _, v := range versions {
		if got := v.task.AllSays(); len(got)+len(v.says) > 0 && !slices.Equal(got, v.says) {
			t.Fatalf("a version has %d reports, want %d, or they differ", len(got), len(v.says))
		}
		newest := v.task.newest(func(said StatusReport) bool { return said.Status == events.SaysBlocked })
		var want StatusReport
		for _, said := range v.says {
			if said.Status == events.SaysBlocked {
				want = said
			}
		}
		if newest != want {
			t.Errorf("the newest is %+v, want %+v", newest, want)
		}
	}
}

// A report that is withdrawn and made again is stored once, as after a snapshot.
func TestWithdrawnAndRepeatedReports(t *testing.T) {
	s := New()
	task := &Task{TaskFields: &TaskFields{ID: "t", CreatedSequence: 7}}
	s.tasks.put(task.ID, task)
	for range 100 {
		s.say(fact{Event: &events.Event{}}, "t", "s", events.SaysWorking, 0)
		s.retract(fact{Event: &events.Event{}}, "t", "s")
	}
	if n := s.spokeOf.get("s").len(); n != 0 {
		t.Errorf("%d tasks are remembered without a report", n)
	}
	s.say(fact{Event: &events.Event{}}, "t", "s", events.SaysWorking, 0)
	if n := s.spokeOf.get("s").len(); n != 1 {
		t.Errorf("%d tasks are remembered for one report", n)
	}
	again := New()
	if err := again.restore(&header{Tasks: []*Task{s.tasks.get("t")}}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.spokeOf.get("s"), s.spokeOf.get("s")) {
		t.Error("a snapshot remembers something else")
	}
}
