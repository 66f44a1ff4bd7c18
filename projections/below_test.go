package projections

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"maestro/events"
)

// largeTree returns a state with a root, this many tasks below it, and nine ended sessions that reported on the first
// of them. The tasks are created without events, which would take long.
func largeTree(t *testing.T, tasks, spoken int) (s *State, root *Task) {
	t.Helper()
	given := []given{project(), task("root")}
	var words []StatusReport
	for i := range 9 {
		id := fmt.Sprint("s", i)
		end := by(admin, &events.SessionKilled{SessionID: id, Status: events.SessionStopped})
		given = append(given, spawn(id, "root"), end)
		words = append(words, StatusReport{
			SessionID: id,
			Status:    events.SaysCompleted,
			At:        events.Millis(int64(i)),
			Sequence:  uint64(i + 1),
		})
	}
	s = stateOf(t, given...)
	first := s.Task("root")
	ids := make([]string, tasks)
	for i := range ids {
		ids[i] = fmt.Sprint("t", i)
		fields := TaskFields{ID: ids[i], ProjectID: "p", ParentID: "root"}
		fields.CreatedSequence = first.CreatedSequence + uint64(i) + 1
		it := &Task{TaskFields: &fields, Status: events.TaskTodo}
		if i < spoken {
			it.Says = words
		}
		s.tasks.put(it.ID, it)
	}
	s.children.put("root", ids)
	s.taskIDs.put("p", append(s.taskIDs.get("p"), ids...))
	return s, first
}

// The tasks below a task are summed up in portions, however many there are, and the largest project that is allowed is
// summed up completely.
func TestTotalsAreComputedInPortions(t *testing.T) {
	const tasks, spoken, portion = 99_999, 79_000, 5000
	s, root := largeTree(t, tasks, spoken)
	inPortions := func(work func(s *State) (done bool)) (portions, most, total uint64) {
		for done := false; !done; portions++ {
			reader, steps := s.Reader(math.MaxUint64, nil)
			done = work(reader)
			most, total = max(most, *steps), total+*steps
			if portions > 10_000 {
				t.Fatal("the work does not end")
			}
		}
		return portions, most, total
	}
	sums := NewSums(SumsMost)
	var sum *Sum
	portions, most, total := inPortions(func(s *State) bool {
		if sum == nil {
			sum = s.SumBelow(root.ID, sums)
		}
		return s.SumOn(sum, portion)
	})
	if got, want := sum.Progress(), (Progress{Total: tasks, Said: spoken}); got == nil || *got != want {
		t.Errorf("below the root: %+v, want %+v", got, want)
	}
	if most > portion+100 || portions < total/(portion+100) || total > 3*tasks {
		t.Errorf("%d portions of at most %d steps, %d in total", portions, most, total)
	}
	again := s.SumBelow(root.ID, sums)
	if got := again.Progress(); got == nil || got.Total != tasks {
		t.Errorf("a sum that was known is not found again: %+v", got)
	}

	growth := s.GrowthOf(root, NewSums(SumsMost))
	_, most, total = inPortions(func(s *State) bool { return s.BuildTrees(growth, portion) })
	branch := growth.Branches[0]
	if branch.Count() != MaxTreeTasks+1 || branch.Below != tasks-MaxTreeTasks ||
		*branch.Progress != (Progress{Total: tasks, Said: spoken}) {
		t.Errorf("a tree of %d tasks, %d below it: %+v", branch.Count(), branch.Below, branch.Progress)
	}
	if most > portion+100 || total > SumsMost {
		t.Errorf("a tree takes portions of %d steps, %d in total", most, total)
	}
	all := s.NewGrowth("p", "", 2, MaxTreeTasks, NewSums(SumsMost))
	if _, most, _ := inPortions(func(s *State) bool { return s.BuildTrees(all, portion) }); most > portion+100 {
		t.Errorf("the trees of a project take portions of %d steps", most)
	}
	if len(all.Branches) != 1 {
		t.Errorf("%d roots", len(all.Branches))
	}

	little := NewSums(1000)
	sum, growth = nil, s.GrowthOf(root, little)
	inPortions(func(s *State) bool {
		if sum == nil {
			sum = s.SumBelow(root.ID, little)
		}
		return s.SumOn(sum, portion)
	})
	if got := sum.Progress(); got.Total == 0 || got.Total+got.Unread != tasks {
		t.Errorf("a sum above the limit says %+v", got)
	}
	inPortions(func(s *State) bool { return s.BuildTrees(growth, portion) })
	if branch := growth.Branches[0]; branch.Below != tasks-MaxTreeTasks || branch.Progress.Unread == 0 {
		t.Errorf("a tree above the limit says that %d tasks are below it, and %+v", branch.Below, branch.Progress)
	}
}

// held returns the number of bytes of the heap that are in use.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The parts of a view count as steps, its size is that of its contents, and a list shows the newest of many reports.
func TestViewsCountWhatTheyCopy(t *testing.T) {
	const tasks, words = 200, 990
	s := stateOf(t, project(), task("t"), spawn("last", "t"))
	lean := s.Task("t")
	fat := *lean
	for i := range words {
		id := fmt.Sprint("s", i)
		if i == words-1 {
			id = "last"
		}
		fat.addSaid(StatusReport{SessionID: id, Status: events.SaysWorking, Sequence: uint64(i + 1)})
	}
	for name, c := range map[string]struct {
		make  func(s *State, t *Task) TaskView
		words int
	}{
		"alone":     {(*State).TaskViewAlone, words},
		"in a list": {(*State).ListedTask, ListedSays},
	} {
		measure := func(task *Task) (steps uint64, real, counted int64) {
			reader, taken := s.Reader(math.MaxUint64, nil)
			views := make([]TaskView, 0, tasks)
			before := held()
			for range tasks {
				views = append(views, c.make(reader, task))
			}
			real = held() - before + tasks*viewSize
			for i := range views {
				counted += views[i].Size()
			}
			return *taken, real, counted
		}
		few, _, _ := measure(lean)
		many, real, counted := measure(&fat)
		if more := many - few; more < uint64(c.words*tasks) || more > uint64(c.words*tasks*2) {
			t.Errorf("%s: %d steps more for %d words of %d tasks", name, more, c.words, tasks)
		}
		if counted > 2*real || real > 2*counted {
			t.Errorf("%s: %d bytes are counted as %d", name, real, counted)
		}
	}
	v := s.ListedTask(&fat)
	if len(v.Says) != ListedSays || v.SaysMore != words-ListedSays || v.Says[ListedSays-1].SessionID != "last" ||
		v.Says[0].Sequence != words-ListedSays+1 {
		t.Errorf("a list shows %d words and %d more, from %+v", len(v.Says), v.SaysMore, v.Says[0])
	}
	if got, most := s.ListedSize(&fat), 2*v.Size(); got < v.Size() || got > most {
		t.Errorf("a view of %d bytes reports a size of %d", v.Size(), got)
	}
}
