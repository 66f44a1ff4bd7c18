package service

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"maestro/events"
	"maestro/projections"
)

// TestPagesAreTheList: all pages together are the list, whatever their length; removing an item between two pages hides
// no other, and new items are at the end.
func TestPagesAreTheList(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		var list []projections.TaskView
		made := 0
		add := func() {
			made++
			at := events.Millis(made)
			list = append(list, projections.TaskView{ID: fmt.Sprint("task ", made), CreatedAt: at})
		}
		for range random.IntN(50) {
			add()
		}
		always := map[string]bool{}
		for _, task := range list {
			always[task.ID] = true
		}
		shown := map[string]int{}
		var at *cursor
		for pages := 0; ; pages++ {
			if pages > 1000 {
				t.Fatal("the pages have no end")
			}
			items, next := cut(List[projections.TaskView]{Items: slices.Values(list)}, at, 1+random.IntN(7))
			for _, item := range items {
				shown[item.(projections.TaskView).ID]++
			}
			if next == "" {
				break
			}
			var err error
			if at, err = parseCursor(next); err != nil {
				t.Fatal(err)
			}
			for range random.IntN(4) {
				if len(list) > 0 && random.IntN(2) == 0 {
					i := random.IntN(len(list))
					delete(always, list[i].ID)
					list = slices.Delete(list, i, i+1)
				} else if made < 80 {
					add()
				}
			}
		}
		for id := range always {
			if shown[id] != 1 {
				t.Fatalf("seed %d: %s was shown %d times", seed, id, shown[id])
			}
		}
		for id, n := range shown {
			if n > 1 {
				t.Fatalf("seed %d: %s was shown %d times", seed, id, n)
			}
		}
	}
}

func TestInvalidCursors(t *testing.T) {
	for _, text := range []string{"x", "MQ", "eCB5IHo", "!"} {
		if _, err := parseCursor(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
