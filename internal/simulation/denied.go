package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"maestro/commands"
)

// denied keeps a server's records of refusals: at once, over crashes, and when it is broken not at all.
type denied struct {
	server *server

	mu     sync.Mutex
	slots  map[string]map[string][]byte // by actor
	broken bool
}

var errDenied = errors.New("the store of refusals does not answer")

func newDenied(s *server) *denied { return &denied{server: s, slots: map[string]map[string][]byte{}} }

// StoreDenials implements commands.DenialStore.
func (d *denied) StoreDenials(_ context.Context, records []commands.StoredDenial) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		d.server.troubles.Add(1)
		return errDenied
	}
	for _, record := range records {
		if d.slots[record.Actor] == nil {
			d.slots[record.Actor] = map[string][]byte{}
		}
		d.slots[record.Actor][record.Slot] = record.Body
	}
	return nil
}

// LoadDenials implements commands.DenialStore.
func (d *denied) LoadDenials(_ context.Context, yield func(commands.StoredDenial) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, actor := range slices.Sorted(maps.Keys(d.slots)) {
		for _, slot := range slices.Sorted(maps.Keys(d.slots[actor])) {
			if err := yield(commands.StoredDenial{Actor: actor, Slot: slot, Body: d.slots[actor][slot]}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) breakDenials(broken bool) {
	for _, s := range w.servers {
		s.denied.mu.Lock()
		s.denied.broken = broken
		s.denied.mu.Unlock()
	}
}

// denial is the part of a record that the promises speak of.
type denial struct {
	Actor   string `json:"actor"`
	Command string `json:"command"`
	Code    string `json:"code"`
	Count   int    `json:"count"`
	More    bool   `json:"more"`
	Kept    bool   `json:"kept"`
	Key     string `json:"key"`
	Text    string `json:"text"`
}

// records gives what is recorded of an actor.
func (w *world) records(actor string) []denial {
	var records []denial
	for _, s := range w.servers {
		s.denied.mu.Lock()
		for _, slot := range slices.Sorted(maps.Keys(s.denied.slots[actor])) {
			var record denial
			if err := json.Unmarshal(s.denied.slots[actor][slot], &record); err != nil {
				panic(err)
			}
			records = append(records, record)
		}
		s.denied.mu.Unlock()
	}
	return records
}

// judgeRecord holds a refusal that was answered against what is recorded of its caller.
func (w *world) judgeRecord(c *call, refusal *commands.Refusal) *Failure {
	actor := c.wish.by.source()
	w.refused[actor]++
	count, found := 0, false
	for _, r := range w.records(actor) {
		count += r.Count
		same := r.Actor == actor && r.Command == c.wish.id && r.Code == string(refusal.Code)
		if kept := !c.wish.occurred.IsZero(); kept {
			same = same && r.Kept && r.Key == c.wish.key && (r.Text != "" || c.wish.fields.Message == "" && c.wish.fields.File == "")
		}
		found = found || same || r.More
	}
	switch {
	case count < w.refused[actor]:
		return failure("2 every refusal is recorded", "call %d was refused; that makes %d refusals of %s, and %d are recorded", c.number, w.refused[actor], actor, count)
	case !found:
		return failure("2 every refusal is recorded", "call %d was refused, and no record of %s says so: %s %s", c.number, actor, c.wish.id, refusal.Code)
	}
	return nil
}
