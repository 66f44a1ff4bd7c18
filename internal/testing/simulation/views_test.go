package simulation

import (
	"encoding/json"
	"flag"
	"maps"
	"slices"
	"testing"

	"maestro/events"
	"maestro/projections"
)

var viewSeeds = flag.Int("view-seeds", 30, "how many seeds TestChangedViews runs")

// allViews returns every view of a state, encoded.
func allViews(s *projections.State, x *projections.ViewIndex) map[projections.ViewKey]string {
	views := map[projections.ViewKey]string{}
	for key := range x.Keys(s) {
		view := x.View(s, key)
		if input, ok := view.(projections.InputView); ok {
			input.Waited = 0 // it grows with time
			view = input
		}
		if view != nil {
			b, err := json.Marshal(view)
			if err != nil {
				panic(err)
			}
			views[key] = string(b)
		}
	}
	return views
}

// TestChangedViews: after each event of many random histories, no view has changed except those that the index names,
// and the index that followed the log names and shows the same as one that is made anew.
func TestChangedViews(t *testing.T) {
	named, changed := 0, 0
	for n := range uint64(*viewSeeds) {
		result := Run(t, NewPlan(n+1))
		s := projections.New()
		x := projections.NewViewIndex(s)
		before := allViews(s, x)
		for i, body := range result.Log {
			event, err := events.Decode(body)
			if err != nil {
				t.Fatal(err)
			}
			anew := projections.NewViewIndex(s)
			changes, err := s.Apply(uint64(i)+1, event, events.BodyHash(body))
			if err != nil {
				t.Fatal(err)
			}
			keys := map[projections.ViewKey]bool{}
			followed := x.Changed(s, changes)
			for _, key := range followed {
				keys[key] = true
			}
			if want := anew.Changed(s, changes); !slices.Equal(followed, want) {
				t.Fatalf("seed %d: event %d, %s: the index that followed the log names %v, one that is made anew %v",
					n+1, i+1, event.Data.EventType(), followed, want)
			}
			after := allViews(s, x)
			for key := range maps.Keys(union(before, after)) {
				if before[key] == after[key] {
					continue
				}
				changed++
				if !keys[key] {
					t.Fatalf("seed %d: event %d, %s, changed %v unnoticed\nfrom %s\nto   %s", n+1, i+1,
						event.Data.EventType(), key, before[key], after[key])
				}
			}
			named += len(keys)
			before = after
		}
		anew := allViews(s, projections.NewViewIndex(s))
		for key := range maps.Keys(union(before, anew)) {
			if before[key] != anew[key] {
				t.Fatalf("seed %d: %v is\n%s\nand anew\n%s", n+1, key, before[key], anew[key])
			}
		}
		for key, view := range before {
			if key.Kind != projections.KindTask {
				continue
			}
			want, err := json.Marshal(s.Progress(s.Task(key.ID)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(x.Progress(key.ID))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Fatalf("seed %d: below %s is %s, not %s: %s", n+1, key.ID, got, want, view)
			}
		}
	}
	t.Logf("%d views changed, %d were named", changed, named)
	if changed == 0 {
		t.Error("nothing changed")
	}
}

func union(a, b map[projections.ViewKey]string) map[projections.ViewKey]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}
