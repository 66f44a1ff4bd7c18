package projections

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"maestro/events"
)

func rootsOf(s *State) (ids []string) {
	for _, b := range s.Branches("p", "", 0, MaxTreeTasks) {
		ids = append(ids, b.Task.ID)
	}
	return ids
}

func childrenOf(s *State, task string) (ids []string) {
	w := s.WalkChildren(task, "")
	s.WalkOn(w, 1<<60, func(t *Task) bool {
		ids = append(ids, t.ID)
		return true
	})
	return ids
}

// Siblings are shown in the same order as in a plain list with the same moves; also tasks that are created later, after
// decoding, and in a listing from any position.
func TestSiblings(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a seed that a failure can name
		s := New()
		give := func(data events.Data) {
			t.Helper()
			apply(t, s, by(admin, data))
		}
		give(&events.ProjectCreated{ProjectID: "p", Name: "Alpha"})
		want := map[string][]string{}
		var all []string
		for i := range 300 {
			if len(all) < 4 || r.IntN(8) == 0 {
				id, parent := fmt.Sprint("t", i), ""
				if len(all) > 1 && r.IntN(2) == 0 {
					parent = all[0]
				}
				give(&events.TaskCreated{
					TaskID:   id,
					Title:    id,
					Priority: "low",
					ParentID: parent,
				})
				all = append(all, id)
				want[parent] = append(want[parent], id)
				continue
			}
			list := want[[]string{"", all[0]}[r.IntN(2)]]
			if len(list) < 2 {
				continue
			}
			from, to := r.IntN(len(list)), r.IntN(len(list))
			if from == to {
				continue
			}
			id, beside, after := list[from], list[to], r.IntN(2) == 0
			parent := s.Task(id).ParentID
			order := &events.SiblingOrder{Key: s.KeyBeside(s.Task(beside), after)}
			if len(order.Key) > wholeDigits+1 && seed%2 == 0 {
				order.Key, order.Respaced = s.RespacedKey(s.Task(id), order.Key), true
			}
			give(&events.TaskUpdated{TaskID: id, Order: order})
			list = slices.DeleteFunc(list, func(other string) bool { return other == id })
			at := slices.Index(list, beside)
			if after {
				at++
			}
			want[parent] = slices.Insert(list, at, id)
		}
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*State{"folded": s, "decoded": decoded} {
			if got := rootsOf(s); !slices.Equal(got, want[""]) {
				t.Errorf("seed %d, %s: roots %v, want %v", seed, name, got, want[""])
			}
			if got := childrenOf(s, all[0]); !slices.Equal(got, want[all[0]]) {
				t.Errorf("seed %d, %s: children %v, want %v", seed, name, got, want[all[0]])
			}
			checkWalks(t, s, all)
			for i, id := range want[""] {
				var rest []string
				for _, b := range s.Branches("p", s.Task(id).SiblingKey(), 0, MaxTreeTasks) {
					rest = append(rest, b.Task.ID)
				}
				if !slices.Equal(rest, want[""][i+1:]) {
					t.Errorf("seed %d, %s: after %s come %v", seed, name, id, rest)
				}
			}
		}
	}
}

// checkWalks checks that walks from each task lead to all others, in the order of their keys.
func checkWalks(t *testing.T, s *State, all []string) {
	t.Helper()
	var keys []string
	for _, id := range all {
		keys = append(keys, s.tasks.get(id).SiblingKey())
	}
	slices.Sort(keys)
	for i, from := range keys {
		before := slices.Clone(keys[:i])
		slices.Reverse(before)
		for after, want := range map[bool][]string{true: keys[i+1:], false: before} {
			var got []string
			w := s.WalkBeside("p", from, after)
			for at, found := w.Next(); found; at, found = w.Next() {
				if at.Task == nil || at.Task.SiblingKey() != at.Key {
					t.Fatalf("the position %s has the task %v", at.Key, at.Task)
				}
				got = append(got, at.Key)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("from %s, after %t: %v, want %v", from, after, got, want)
			}
		}
	}
}

// walkByScan returns the positions beside a key as WalkBeside does, by looking at every task.
func walkByScan(s *State, key string, after bool, left int) (keys []string) {
	type place struct {
		key  string
		task *Task
		gone bool
	}
	var places []place
	for _, id := range s.taskIDs.get("p") {
		t := s.tasks.get(id)
		places = append(places, place{createdKey(t.CreatedSequence), t, t.Order != ""})
		if t.Order != "" {
			places = append(places, place{key: t.Order, task: t})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		switch order := cmp.Compare(a.key, b.key); {
		case order == 0 && a.gone: // another task got the key that it had
			return 1
		case order == 0:
			return -1
		case after:
			return order
		default:
			return -order
		}
	})
	for _, at := range places {
		switch {
		case at.key == key || after != (at.key > key):
		case !at.gone:
			keys = append(keys, at.key+" "+at.task.ID)
		case left == 0:
			keys = append(keys, at.key+" ")
		default:
			left--
		}
	}
	return keys
}

// A walk that skips tasks by their positions leads where looking at every task leads, wherever it must stop to skip,
// also on an overlay and in a decoded state.
func TestWalksLeadWhereScansDo(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // a seed that a failure can name
		committed := New()
		apply(t, committed, by(admin, &events.ProjectCreated{ProjectID: "p", Name: "Alpha"}))
		s := committed.Overlay()
		tasks := 1 + r.IntN(400)
		for i := range tasks {
			apply(t, s, by(admin, &events.TaskCreated{TaskID: fmt.Sprint("t", i), Title: "t", Priority: "low"}))
			if r.IntN(20) == 0 {
				s.Commit()
			}
		}
		first, n := r.IntN(tasks), 0
		for i := first; i < tasks && n < 300; i, n = i+1+r.IntN(2)*r.IntN(3), n+1 {
			order := &events.SiblingOrder{Key: s.KeyBeside(s.Task(fmt.Sprint("t", r.IntN(tasks))), r.IntN(2) == 0)}
			apply(t, s, by(admin, &events.TaskUpdated{TaskID: fmt.Sprint("t", i), Order: order}))
			switch r.IntN(20) {
			case 0:
				s.Commit()
			case 1:
				s.Commit()
				s.Drop()
			}
		}
		s.Commit()
		encoded, err := committed.Encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			from, after := s.Task(fmt.Sprint("t", r.IntN(tasks))).SiblingKey(), r.IntN(2) == 0
			left := []int{0, 1, r.IntN(130), mostElsewhere}[r.IntN(4)]
			want := walkByScan(s, from, after, left)
			for name, s := range map[string]*State{"overlay": s, "committed": committed, "decoded": decoded} {
				var got []string
				w := s.WalkBeside("p", from, after)
				w.left = left
				for at, found := w.Next(); found; at, found = w.Next() {
					id := ""
					if at.Task != nil {
						id = at.Task.ID
					}
					got = append(got, at.Key+" "+id)
				}
				for i := range max(len(got), len(want)) {
					if i >= len(got) || i >= len(want) || got[i] != want[i] {
						t.Fatalf("seed %d, %s, from %s, after %t, %d to skip: %d positions of %d, %v, want %v",
							seed, name, from, after, left, len(got), len(want), got[i:], want[i:])
					}
				}
			}
		}
	}
}

// However many tasks were moved from where they were created, a whole walk skips a bounded number of them, and looks at
// few of those.
func TestWalkPastMovedTasksIsBounded(t *testing.T) {
	const moved, placed, steps = 3 * mostElsewhere, 300, 200
	s := New()
	apply(t, s, by(admin, &events.ProjectCreated{ProjectID: "p", Name: "Alpha"}))
	var made []*Task
	for i := range moved + 1 {
		made = append(made, &Task{TaskFields: &TaskFields{
			ID: fmt.Sprint("t", i), ProjectID: "p", CreatedSequence: uint64(i + 2),
		}, Status: events.TaskTodo})
	}
	for i, task := range made[1:] { // a few are far after the place of their creation, the others before all
		task.Order = fmt.Sprintf("1%015d1", i+1)
		if i < placed {
			task.Order = fmt.Sprintf("f%015d1", i+1)
		}
	}
	encoded, err := json.Marshal(map[string]any{
		"Projects": []*Project{{ID: "p", CreatedBy: "/users/admin", Tasks: len(made)}}, "Tasks": made,
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Decode(append(encoded, '\n')); err != nil {
		t.Fatal(err)
	}
	took := s.CountReads()
	w := s.WalkBeside("p", made[0].SiblingKey(), true)
	for range steps {
		if _, found := w.Next(); !found {
			t.Fatal("the walk ends")
		}
	}
	if *took == 0 || *took > mostElsewhere/perWord+4*steps+100 {
		t.Errorf("%d positions take %d steps", steps, *took)
	}
}

// A key between two others is valid, and grows by one digit at most for every three insertions.
func TestKeyBetween(t *testing.T) {
	low, high := createdKey(5), createdKey(6)
	for i := range 400 {
		key := keyBetween(low, high)
		if key <= low || key >= high || !ValidOrder(key) {
			t.Fatalf("%q is not between %q and %q", key, low, high)
		}
		if most := wholeDigits + 2 + i/3; len(key) > most {
			t.Fatalf("the key number %d has %d digits", i, len(key))
		}
		if i%2 == 0 {
			low = key
		} else {
			high = key
		}
	}
}

// Repeatedly moving tasks to either end does not make keys longer.
func TestKeysAtTheEndsStayShort(t *testing.T) {
	s := stateOf(t, project(), task("a"), task("b"))
	for i := range 1000 {
		roots := rootsOf(s)
		id, beside, after := roots[1], roots[0], false
		if i >= 500 {
			id, beside, after = roots[0], roots[1], true
		}
		order := &events.SiblingOrder{Key: s.KeyBeside(s.Task(beside), after)}
		apply(t, s, by(admin, &events.TaskUpdated{TaskID: id, Order: order}))
		if got := rootsOf(s); got[0] != roots[1] || len(order.Key) > wholeDigits+1 {
			t.Fatalf("move %d gives %v with the key %q", i, got, order.Key)
		}
	}
}

// Tasks that get new keys keep their order, all have short keys with room between them, and no view changes.
func TestRespacing(t *testing.T) {
	s := stateOf(t, project(), task("a"), task("x"), task("y"), task("z"), task("b"))
	move := func(id string, long bool) {
		t.Helper()
		order := &events.SiblingOrder{Key: s.KeyBeside(s.Task("a"), true)}
		if long {
			order.Key, order.Respaced = s.RespacedKey(s.Task(id), order.Key), true
		}
		apply(t, s, by(admin, &events.TaskUpdated{TaskID: id, Order: order}))
	}
	for i := range 999 {
		move([]string{"x", "y", "z"}[i%3], false)
	}
	if key := s.Task("z").Order; len(key) < 200 {
		t.Fatalf("the key after all moves is %s", key)
	}
	before := rootsOf(s)
	move("z", true)
	if got := rootsOf(s); !slices.Equal(got, before) {
		t.Errorf("%v become %v", before, got)
	}
	for _, id := range []string{"x", "y", "z"} {
		if key := s.Task(id).Order; len(key) > wholeDigits+fractionDigits || !ValidOrder(key) {
			t.Errorf("%s has the key %s", id, key)
		}
	}
	for _, key := range []string{createdKey(3), createdKey(3) + "1", createdKey(900) + "9", "8"} {
		order := &events.SiblingOrder{Key: key, Respaced: true}
		if err := s.taskUpdated(fact{}, &events.TaskUpdated{TaskID: "x", Order: order}); err == nil {
			t.Errorf("the key %q is accepted for tasks that are spaced anew", key)
		}
	}
}

// New keys that are decided and then dropped leave no trace in the state below, and values that readers keep do not
// change.
func TestRespacingLeavesNoTrace(t *testing.T) {
	s := stateOf(t, project(), task("a"), task("x"), task("y"), task("b"))
	for i := range 8 {
		order := &events.SiblingOrder{Key: s.KeyBeside(s.Task("a"), true)}
		apply(t, s, by(admin, &events.TaskUpdated{TaskID: []string{"x", "y"}[i%2], Order: order}))
	}
	before, kept := encode(t, s), map[string]TaskFields{}
	for _, id := range []string{"a", "x", "y", "b"} {
		kept[id] = *s.Task(id).TaskFields
	}
	overlay := s.Overlay()
	order := &events.SiblingOrder{Key: s.KeyBeside(s.Task("a"), true), Respaced: true}
	order.Key = s.RespacedKey(s.Task("y"), order.Key)
	apply(t, overlay, by(admin, &events.TaskUpdated{TaskID: "y", Order: order}))
	if overlay.Task("x").Order == kept["x"].Order {
		t.Fatal("no task got a new key")
	}
	for id, fields := range kept {
		if got := s.Task(id).Order; got != fields.Order {
			t.Errorf("%s has the key %s below the overlay, and had %s", id, got, fields.Order)
		}
	}
	overlay.Drop()
	if encode(t, s) != before {
		t.Error("dropped keys left a trace")
	}
}

// However many tasks are spaced anew, their keys are valid, and in order.
func TestSpacedKeys(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 255, 10_000, 1_000_000} {
		last := createdKey(7)
		for i := range n {
			key := spacedKey(createdKey(7)+"123", i, n)
			if key <= last || !ValidOrder(key) {
				t.Fatalf("the key %d of %d is %s, after %s", i, n, key, last)
			}
			last = key
		}
		if last >= createdKey(8) {
			t.Errorf("the last of %d is %s", n, last)
		}
	}
}

func TestOrderOfNoForm(t *testing.T) {
	for _, key := range []string{"", "8", "80000000000000010", "800000000000000g", "80000000000000AA"} {
		if ValidOrder(key) {
			t.Errorf("%q is accepted as a key", key)
		}
	}
}
