package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"maestro/events"
)

// TestPagesOfRefusals: a client that reads page by page gets each remaining record once and in order, while records are
// added, counted up and dropped, the clock goes back, and the server restarts between two pages.
func TestPagesOfRefusals(t *testing.T) {
	bounds := DenialBounds{
		Records: 400,
		OfOne:   100,
		AMinute: 60,
		Waiting: 64,
	}
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 7))
		now, store := time.Now(), &fakeDenials{}
		open := func() *Denials {
			d, err := OpenDenialsWithin(t.Context(), store, bounds, func() time.Time { return now }, nil)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := open()
		n := 0
		arrive := func(count int) {
			for range count {
				if rng.IntN(40) == 0 {
					now = now.Add(time.Duration(rng.IntN(90)-20) * time.Second)
				}
				n++
				actor := fmt.Sprintf("/projects/p%d/sessions/s%d", rng.IntN(3), rng.IntN(5))
				x := Denial{Actor: actor, Command: fmt.Sprint("c", rng.IntN(1+n)), Kept: rng.IntN(4) == 0}
				if err := d.stored(t.Context(), x); err != nil {
					t.Fatal(err)
				}
			}
		}
		arrive(600)
		kept := d.List(nil) // if they were not dropped
		seen := map[uint64]string{}
		var behind uint64
		pages := 0
		for more := true; more; pages++ {
			if pages > 1000 {
				t.Fatalf("seed %d: there is no last page", seed)
			}
			var page []Denial
			page, more = d.Page(behind, 1+rng.IntN(40), nil)
			for _, x := range page {
				if x.Number <= behind {
					t.Errorf("seed %d: record %d comes after %d", seed, x.Number, behind)
				}
				behind, seen[x.Number] = x.Number, x.Actor+x.ID
			}
			if rng.IntN(4) == 0 {
				d.Close()
				d = open()
			}
			arrive(rng.IntN(10))
		}
		for _, x := range kept {
			stays := len(d.List(func(y *Denial) bool { return y.Number == x.Number })) == 1
			if stays && seen[x.Number] != x.Actor+x.ID {
				t.Errorf("seed %d: record %d was not listed", seed, x.Number)
			}
		}
		if all, _ := d.Page(0, bounds.Records, nil); fmt.Sprint(all) != fmt.Sprint(d.List(nil)) {
			t.Errorf("seed %d: a single page of all records differs from the list", seed)
		}
		d.Close()
	}
}

// Records of an earlier version, which have no numbers, are listed in the order in which they began.
func TestRecordsWithoutNumbers(t *testing.T) {
	store := &fakeDenials{slots: map[string]StoredDenial{}}
	for n := range 20 {
		x := Denial{
			ID:    fmt.Sprint("denial_", n/2),
			Actor: fmt.Sprint("/projects/p/sessions/s", n%2),
			First: events.Millis(n),
		}
		body, err := x.encode()
		if err != nil {
			t.Fatal(err)
		}
		slot := fmt.Sprint(19 - n)
		store.slots[" "+slot] = StoredDenial{Slot: slot, Body: body}
		store.order = append(store.order, " "+slot)
	}
	for range 2 {
		d, err := OpenDenials(t.Context(), store, time.Now, nil)
		if err != nil {
			t.Fatal(err)
		}
		page, more := d.Page(5, 10, nil)
		if len(page) != 10 || !more || page[0].First != 5 || page[9].First != 14 {
			t.Errorf("%d records, more %v: %+v", len(page), more, page)
		}
		d.Close()
	}
	for _, stored := range store.records(t) {
		if stored.Number == 0 {
			t.Errorf("%+v was not stored again", stored)
		}
	}
}
