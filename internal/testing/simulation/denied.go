package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"maestro/commands"
	"maestro/engine"
)

// denied stores a server's records of refusals. They are durable at once and survive crashes; while it is broken, it
// stores nothing.
type denied struct {
	server *server

	mu     sync.Mutex
	slots  map[place]stored
	broken bool
	// failed says that it was ever broken: the server's memory may then differ from what is stored.
	failed bool
	// epoch counts the server's lives and the changes of its clock.
	epoch int
}

// place is where a record is stored.
type place struct{ actor, slot string }

// stored is a record, and when it was stored.
type stored struct {
	body  []byte
	epoch int
}

var errDenied = errors.New("the store of refusals does not answer")

func newDenied(s *server) *denied { return &denied{server: s, slots: map[place]stored{}} }

// denialBounds returns a run's bounds on records: in some runs few in all, in others few per minute.
func denialBounds(seed uint64) engine.DenialBounds {
	bounds := engine.DefaultDenialBounds()
	switch {
	case fewDenials(seed):
		bounds.Records = 12
	case seed%4 == 3:
		bounds.AMinute = 1
	}
	return bounds
}

// fewDenials reports whether a run's bound on all records is small.
func fewDenials(seed uint64) bool { return seed%4 == 1 }

// StoreDenials implements engine.DenialStore.
func (d *denied) StoreDenials(_ context.Context, records []engine.StoredDenial) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		d.failed = true
		d.server.troubles.Add(1)
		return errDenied
	}
	for _, record := range records {
		at := place{record.Actor, record.Slot}
		now := stored{record.Body, d.epoch}
		if before, ok := d.slots[at]; ok && decodeDenial(before.body).ID == decodeDenial(now.body).ID {
			now.epoch = before.epoch
		}
		d.slots[at] = now
	}
	return nil
}

// LoadDenials implements engine.DenialStore.
func (d *denied) LoadDenials(_ context.Context, yield func(engine.StoredDenial) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
	for _, at := range d.places() {
		if err := yield(engine.StoredDenial{Actor: at.actor, Slot: at.slot, Body: d.slots[at].body}); err != nil {
			return err
		}
	}
	return nil
}

// places returns the places that have a record, in order; mu is held.
func (d *denied) places() []place {
	return slices.SortedFunc(maps.Keys(d.slots), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.actor, b.actor), cmp.Compare(len(a.slot), len(b.slot)), cmp.Compare(a.slot, b.slot))
	})
}

func decodeDenial(body []byte) (record denial) {
	if err := json.Unmarshal(body, &record); err != nil {
		panic(err)
	}
	return record
}

func (w *world) breakDenials(broken bool) {
	for _, s := range w.servers {
		s.denied.mu.Lock()
		s.denied.broken = broken
		s.denied.mu.Unlock()
	}
}

// denial is the part of a record that the checks need.
type denial struct {
	ID      string `json:"id"`
	Actor   string `json:"actor"`
	First   int64  `json:"first"`
	Command string `json:"command"`
	Code    string `json:"code"`
	Count   int    `json:"count"`
	More    bool   `json:"more"`
	Kept    bool   `json:"kept"`
	Key     string `json:"key"`
	Text    string `json:"text"`
}

// records yields each record with its server and the epoch in which it was stored.
func (w *world) records(yield func(s *server, epoch int, record denial)) {
	for _, s := range w.servers {
		s.denied.mu.Lock()
		for _, at := range s.denied.places() {
			yield(s, s.denied.slots[at].epoch, decodeDenial(s.denied.slots[at].body))
		}
		s.denied.mu.Unlock()
	}
}

// judgeRecord checks that a refusal that was answered is among the records of its caller.
func (w *world) judgeRecord(c *call, refusal *commands.Refusal) *Failure {
	actor := c.wish.by.source()
	w.refused[actor]++
	found := false
	w.records(func(_ *server, _ int, r denial) {
		if r.Actor != actor {
			return
		}
		same := r.Command == c.wish.id && r.Code == string(refusal.Code)
		if kept := !c.wish.occurred.IsZero(); kept {
			same = same && r.Kept && r.Key == c.wish.key &&
				(r.Text != "" || c.wish.fields.Message == "" && c.wish.fields.File == "")
		}
		found = found || same || r.More
	})
	if !found && !w.mayGiveWay(actor) {
		return failure(
			"2 every refusal is recorded",
			"call %d was refused, and no record of %s says so: %s %s",
			c.number,
			actor,
			c.wish.id,
			refusal.Code,
		)
	}
	if f := w.judgeShares(c); f != nil {
		return f
	}
	return w.judgeBounds()
}

// judgeShares compares the records of every refused caller with the number of its refusals: records of others may not
// displace them while the caller has less than its share.
func (w *world) judgeShares(c *call) *Failure {
	recorded := map[string]int{}
	w.records(func(_ *server, _ int, r denial) { recorded[r.Actor] += r.Count })
	for _, actor := range slices.Sorted(maps.Keys(w.refused)) {
		if recorded[actor] < w.refused[actor] && !w.mayGiveWay(actor) {
			return failure(
				"2 every refusal is recorded", "call %d was refused; there were %d refusals of %s, and %d are recorded",
				c.number, w.refused[actor], actor, recorded[actor],
			)
		}
	}
	return nil
}

// mayGiveWay reports whether an actor may have lost records: its root has used its share, or a store failed, so that
// its number is unknown.
func (w *world) mayGiveWay(actor string) bool {
	m := w.oracle.model()
	root := m.rootOf(actor)
	records, roots := map[*server]int{}, map[string]bool{}
	for actor := range w.refused {
		roots[m.rootOf(actor)] = true
	}
	hidden := false
	for _, s := range w.servers {
		s.denied.mu.Lock()
		hidden = hidden || s.denied.failed
		s.denied.mu.Unlock()
	}
	w.records(func(s *server, _ int, r denial) {
		roots[m.rootOf(r.Actor)] = true
		if m.rootOf(r.Actor) == root {
			records[s]++
		}
	})
	bounds := denialBounds(w.plan.Seed)
	for _, n := range records {
		if n >= bounds.Records/len(roots)-1 {
			return true
		}
	}
	return hidden && bounds.Records < engine.DefaultDenialBounds().Records
}

// judgeBounds checks the bounds on stored refusals: their number, their length, and how fast they were added.
func (w *world) judgeBounds() *Failure {
	const promise = "2 records of refusals are bounded"
	bounds := denialBounds(w.plan.Seed)
	for _, s := range w.servers {
		s.denied.mu.Lock()
		n, longest := len(s.denied.slots), 0
		for _, record := range s.denied.slots {
			longest = max(longest, len(record.body))
		}
		s.denied.mu.Unlock()
		switch {
		case n > bounds.Records:
			return failure(promise, "%s stores %d records, of %d", s.name, n, bounds.Records)
		case longest > 2*engine.MaxDenial+1<<10:
			return failure(promise, "%s stores a record of %d bytes", s.name, longest)
		}
	}
	type line struct {
		s     *server
		epoch int
		actor string
		kept  bool
	}
	began := map[line][]int64{}
	w.records(func(s *server, epoch int, r denial) {
		if at := (line{s, epoch, r.Actor, r.Kept}); !r.More {
			began[at] = append(began[at], r.First)
		}
	})
	for at, times := range began {
		slices.Sort(times)
		for i := 2 * bounds.AMinute; i < len(times); i++ {
			if span := times[i] - times[i-2*bounds.AMinute]; span < 60_000 {
				return failure(
					promise, "%d refusals of %s (kept: %t) are recorded one by one within %d ms", 2*bounds.AMinute+1,
					at.actor, at.kept, span,
				)
			}
		}
	}
	return nil
}
