package projections

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"maestro/events"
)

// A walk through the graph takes the same steps in a folded state and in one from a snapshot: limits of decisions count
// steps, and the audit counts them again on a state folded from the beginning.
func TestGraphFromSnapshotIsIdentical(t *testing.T) {
	for seed := range uint64(30) {
		s, ids := randomGraph(t, seed)
		content, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(content)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		for range 40 {
			waits := randomWaits(r, ids)
			these := []string{ids[r.IntN(len(ids))], ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]}
			other, most := ids[r.IntN(len(ids))], r.IntN(60)
			found, steps := s.Reaches(these, other, waits, most)
			again, stepsAgain := decoded.Reaches(these, other, waits, most)
			if found != again || steps != stepsAgain {
				t.Fatalf("seed %d: %v to %s within %d: %q in %d steps when folded, %q in %d from a snapshot",
					seed, these, other, most, found, steps, again, stepsAgain)
			}
		}
		for _, id := range ids {
			if a, b := s.DependentCount(id), decoded.DependentCount(id); a != b {
				t.Fatalf("seed %d: %d tasks wait for %s when folded, %d from a snapshot", seed, a, id, b)
			}
			if a, b := taskIDsOf(s.Dependents(id)), taskIDsOf(decoded.Dependents(id)); !slices.Equal(a, b) {
				t.Fatalf("seed %d: %v wait for %s when folded, %v from a snapshot", seed, a, id, b)
			}
		}
	}
}

// A walk finds exactly the existing paths, whichever end it starts from.
func TestReaches(t *testing.T) {
	for seed := range uint64(30) {
		s, ids := randomGraph(t, seed)
		r := rand.New(rand.NewPCG(seed, 2))
		for _, waits := range []Waits{{}, {Parts: true}, randomWaits(r, ids), randomWaits(r, ids)} {
			for _, from := range ids {
				if from == waits.Moved {
					continue
				}
				below := reachable(s, from, waits)
				for _, to := range ids {
					found, _ := s.Reaches([]string{from}, to, waits, 1_000_000)
					if (found != "") != below[to] && to != waits.Moved {
						t.Fatalf("seed %d, %+v: %s to %s: %q, expected %v", seed, waits, from, to, found, below[to])
					}
				}
			}
		}
	}
}

// randomWaits moves a task below another.
func randomWaits(r *rand.Rand, ids []string) Waits {
	return Waits{Parts: true, Moved: ids[r.IntN(len(ids))], Parent: ids[r.IntN(len(ids))]}
}

func reachable(s *State, from string, waits Waits) map[string]bool {
	below := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; {
		task := s.Task(next[0])
		next = next[1:]
		if task == nil || task.ID == waits.Moved {
			continue
		}
		for _, id := range task.Dependencies {
			if !below[id] {
				below[id] = true
				next = append(next, id)
			}
		}
		for child := range s.Children(task.ID) {
			if waits.Parts && !below[child.ID] && (child.ID != waits.Moved || waits.Parent == task.ID) {
				below[child.ID] = true
				next = append(next, child.ID)
			}
		}
	}
	return below
}

// randomGraph creates tasks that depend on earlier ones, and changes the dependencies of some.
func randomGraph(t *testing.T, seed uint64) (*State, []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	s := New()
	apply(t, s, given{by: admin, data: &events.ProjectCreated{ProjectID: "p", Name: "P"}})
	var ids []string
	some := func(among []string) []string {
		var chosen []string
		for range r.IntN(5) {
			if len(among) > 0 {
				chosen = append(chosen, among[r.IntN(len(among))])
			}
		}
		return chosen
	}
	for i := range 60 {
		id := fmt.Sprint("t", i)
		created := &events.TaskCreated{TaskID: id, Title: id, Dependencies: some(ids)}
		if i > 0 && r.IntN(2) == 0 {
			created.ParentID = ids[r.IntN(i)]
		}
		apply(t, s, given{by: admin, data: created})
		ids = append(ids, id)
	}
	for range 60 {
		i := r.IntN(len(ids))
		wanted := some(ids[:i])
		apply(t, s, given{by: admin, data: &events.TaskUpdated{TaskID: ids[i], Dependencies: &wanted}})
	}
	return s, ids
}

func taskIDsOf(tasks []*Task) []string {
	var ids []string
	for _, task := range tasks {
		ids = append(ids, task.ID)
	}
	return ids
}

// Dependents returns the tasks that depend on one, in order of creation.
func (s *State) Dependents(task string) []*Task {
	var found []*Task
	for _, id := range s.dependents.get(task) {
		if t := s.Task(id); t != nil {
			found = append(found, t)
		}
	}
	s.work(uint64(len(found)))
	slices.SortStableFunc(found, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return found
}
