package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/commands"
	"maestro/events"
)

// hostile draws refusals of attackers: sessions of a few projects, and tokens, with long texts, kept and not.
func hostile(rng *rand.Rand, n int, long string) Denial {
	actor := fmt.Sprintf("/projects/evil%d/sessions/s%d", rng.IntN(4), rng.IntN(1+n/8))
	if rng.IntN(20) == 0 {
		actor = fmt.Sprint("/users/", long[:rng.IntN(500)], rng.IntN(9))
	}
	text := fmt.Sprint(n, long[:rng.IntN(len(long))])
	x := Denial{
		Actor:   actor,
		Authn:   commands.AuthnToken,
		Command: text,
		Code:    commands.CodeNotAllowed,
		Message: text,
		Why:     text,
		Project: text,
	}
	x.Target = fmt.Appendf(nil, `{"taskId":"%s"}`, strings.Repeat("t", rng.IntN(4<<10)))
	if rng.IntN(3) > 0 {
		x.Kept, x.Text, x.Key = true, text, text
	}
	return x
}

// checkBounds compares the size of the records with the bounds.
func checkBounds(t *testing.T, d *Denials, store *fakeDenials) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	store.mu.Lock() // the last record may be being stored
	defer store.mu.Unlock()
	bounds, bytes, recent := d.shares.bounds, 0, 0
	for at := d.shares.all.Front(); at != nil; at = at.Next() {
		r := at.Value.(*denialRecord)
		bytes += r.size()
		if r.size() > MaxDenial {
			t.Errorf("a record of %d bytes", r.size())
		}
	}
	inShares := 0
	for _, a := range d.shares.actors {
		recent += len(a.recent)
		inShares += a.size()
		for sort, records := range a.records {
			if len(records) > bounds.OfOne {
				t.Errorf("%s has %d records of sort %d", a.name, len(records), sort)
			}
		}
	}
	n := d.shares.all.Len()
	if n > bounds.Records || bytes != d.shares.bytes || bytes > bounds.Records*MaxDenial || inShares != n {
		t.Errorf("%d records (%d of actors), %d bytes, counted as %d", n, inShares, bytes, d.shares.bytes)
	}
	if len(d.shares.actors) > n || len(d.shares.roots) > len(d.shares.actors) || recent > n || len(d.free)+n > d.next {
		t.Errorf(
			"%d actors, %d roots, %d recent, %d free places of %d, for %d records", len(d.shares.actors),
			len(d.shares.roots), recent, len(d.free), d.next, n,
		)
	}
	if len(store.slots) > bounds.Records {
		t.Errorf("%d places are stored", len(store.slots))
	}
	for _, stored := range store.slots {
		if len(stored.Body) > 2*MaxDenial+1<<10 {
			t.Errorf("a stored record has %d bytes", len(stored.Body))
		}
	}
}

// Whatever attackers send, the records take no more memory and disk than the bounds allow, and the records of another
// project stay.
func TestRefusalsAreBounded(t *testing.T) {
	const hostileRefusals = 6000
	bounds := DenialBounds{
		Records: 600,
		OfOne:   100,
		AMinute: 10,
		Waiting: 64,
	}
	long := strings.Repeat("<\x1b\"é\x00", 12<<10)
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 4))
		now, store := time.Now(), &fakeDenials{}
		open := func() *Denials {
			d, err := OpenDenialsWithin(t.Context(), store, bounds, func() time.Time { return now }, nil)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := open()
		const quiet = "/projects/quiet/sessions/s"
		// The two actors of this project have less than an equal share of the records: there are also four hostile
		// projects and some tokens.
		for n := range 20 {
			now = now.Add(time.Millisecond)
			x := Denial{
				Actor:   fmt.Sprint(quiet, n%2),
				Command: fmt.Sprint("c", n),
				Message: "no",
				Kept:    n%4 == 0,
				Text:    fmt.Sprint("words ", n),
			}
			if err := d.stored(t.Context(), x); err != nil {
				t.Fatal(err)
			}
		}
		survive := func(when string) {
			t.Helper()
			list := d.List(func(x *Denial) bool { return strings.HasPrefix(x.Actor, quiet) })
			if len(list) != 20 {
				t.Errorf("%s: %d records of the quiet project are left", when, len(list))
			}
			for n, x := range list {
				if x.Text != fmt.Sprint("words ", n) || x.Count != 1 {
					t.Errorf("%s: record %d is %+v", when, n, x)
				}
			}
			checkBounds(t, d, store)
		}
		for n := range hostileRefusals {
			if rng.IntN(30) == 0 {
				now = now.Add(time.Duration(rng.IntN(40)) * time.Second)
			}
			if err := d.stored(t.Context(), hostile(rng, n, long)); err != nil {
				t.Fatal(err)
			}
			if n%1500 == 0 {
				survive(fmt.Sprint("after ", n))
			}
		}
		survive("after all")
		d.Close()
		d = open()
		survive("after a restart")
		d.Close()
	}
}

// A record that an earlier version stored whole is cut when it is read, and stored again; its place is used again.
func TestOldRecordsAreCut(t *testing.T) {
	store := &fakeDenials{slots: map[string]StoredDenial{}}
	for n := range 30 {
		x := Denial{
			ID:    fmt.Sprint("kept_", n),
			Actor: "/projects/p/sessions/s",
			Kept:  true,
			Text:  strings.Repeat("x", events.MaxText),
			First: events.Millis(int64(n)),
		}
		body, err := x.encode()
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(x.Actor, " kept-", n)
		store.slots[name], store.order = StoredDenial{
			Actor: x.Actor,
			Slot:  fmt.Sprint("kept-", n),
			Body:  body,
		}, append(
			store.order, name,
		)
	}
	bounds := DenialBounds{
		Records: 20,
		OfOne:   100,
		AMinute: 60,
		Waiting: 1000,
	}
	d, err := OpenDenialsWithin(t.Context(), store, bounds, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if list := d.List(nil); len(list) != 20 || list[0].ID != "kept_10" || !list[0].Cut {
		t.Errorf("%d records, the first is %s", len(list), list[0].ID)
	}
	for n := range 15 {
		if err := d.stored(t.Context(), Denial{Actor: "/users/u", Command: fmt.Sprint("c", n)}); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	if len(store.slots) != 30 {
		t.Errorf("%d places", len(store.slots))
	}
	for name, stored := range store.slots {
		if len(stored.Body) > 2*MaxDenial {
			t.Errorf("%s holds %d bytes", name, len(stored.Body))
		}
	}
}

// While the store is slow, the number of waiting callers is bounded, in total and for each project.
func TestRefusalsWaitWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, open := &fakeDenials{}, make(chan struct{})
		store.when(func() error { <-open; return nil })
		bounds := DenialBounds{
			Records: 100,
			OfOne:   100,
			AMinute: 60,
			Waiting: 16,
		}
		d, err := OpenDenialsWithin(t.Context(), store, bounds, time.Now, nil)
		if err != nil {
			t.Fatal(err)
		}
		outcomes := map[string][]error{}
		ask := func(project string) {
			d.record(
				Denial{Actor: "/projects/" + project + "/sessions/s", Command: fmt.Sprint(len(outcomes[project]))},
				func(err error) {
					outcomes[project] = append(outcomes[project], err)
				},
			)
		}
		ask("first") // the store is busy with it
		synctest.Wait()
		for range 10 {
			ask("loud")
		}
		var unavailable *UnavailableError
		if n := len(outcomes["loud"]); n != 6 || !errors.As(outcomes["loud"][0], &unavailable) ||
			unavailable.Next == "" {
			t.Errorf("%d of the loud project's callers were turned away: %v", n, outcomes["loud"])
		}
		for n := range 20 {
			ask(fmt.Sprint("p", n%10))
		}
		turned := 0
		for n := range 10 {
			turned += len(outcomes[fmt.Sprint("p", n)])
		}
		if turned != 8 || len(d.waiting) != bounds.Waiting {
			t.Errorf("%d of the other callers were turned away, %d wait", turned, len(d.waiting))
		}
		close(open)
		d.Close()
		if n := len(outcomes["loud"]); n != 10 || outcomes["loud"][9] != nil || len(outcomes["first"]) != 1 {
			t.Errorf("%v", outcomes)
		}
	})
}

// Refusals of the sessions of one root displace no records of other roots, however many projects these sessions create.
func TestCreatedProjectsShareWithTheirRoot(t *testing.T) {
	const projects, each = 190, 116
	for _, stored := range []string{"with their roots", "by an earlier version"} {
		now, store := time.Now(), &fakeDenials{}
		d, err := OpenDenials(t.Context(), store, func() time.Time { return now }, nil)
		if err != nil {
			t.Fatal(err)
		}
		refuse := func(actor, root string, n int) {
			t.Helper()
			x := Denial{
				Actor:   actor,
				Root:    root,
				Command: fmt.Sprint("c", n),
				Message: "no",
			}
			if err := d.stored(t.Context(), x); err != nil {
				t.Fatal(err)
			}
		}
		const honest = "/projects/honest/sessions/worker"
		hostile := func(project int) string { return fmt.Sprintf("/projects/made%d/sessions/s", project) }
		if stored == "by an earlier version" {
			for project := range projects {
				refuse(hostile(project), "", -1)
			}
			d.Close()
			if d, err = OpenDenials(t.Context(), store, func() time.Time { return now }, nil); err != nil {
				t.Fatal(err)
			}
		}
		for n := range each {
			if n%50 == 0 {
				now = now.Add(time.Minute)
			}
			refuse(honest, "", n)
			refuse("/projects/evil/sessions/orchestrator", "", n)
			for project := range projects {
				refuse(hostile(project), "evil", n)
			}
		}
		survive := func(when string) {
			t.Helper()
			if got := len(d.List(func(x *Denial) bool { return x.Actor == honest })); got != each {
				t.Errorf("%s, %s: %d of the honest worker's %d refusals are left", stored, when, got, each)
			}
			checkBounds(t, d, store)
			for name, root := range d.shares.roots {
				records := 0
				for _, a := range root.actors {
					records += a.size()
				}
				if records != root.records || root != d.shares.roots[name] {
					t.Errorf("%s, %s: root %s counts %d records and has %d", stored, when, name, root.records, records)
				}
			}
			if n := len(d.shares.roots); n != 2 {
				t.Errorf("%s, %s: there are %d roots", stored, when, n)
			}
		}
		survive("in the end")
		d.Close()
		if d, err = OpenDenials(t.Context(), store, func() time.Time { return now }, nil); err != nil {
			t.Fatal(err)
		}
		survive("after a restart")
		d.Close()
	}
}
