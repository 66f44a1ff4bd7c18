package engine

import (
	"cmp"
	"slices"
)

// batchSteps is how much work a batch takes before it ends, with the command that goes beyond it: whoever has its turn
// in the next one waits so long at most. A step of a dear command takes up to 0.7 µs. Plain commands have few steps, so
// their batches are as large as without this limit.
const batchSteps = 4000

// rounds puts commands in order that did not all fit into one batch. Each share has one command in each round; a share
// whose commands took more work of late comes later in the round. Commands of one share keep their order.
type rounds struct {
	// spent are the steps of each share of late; they are halved with each batch.
	spent map[string]uint64
	lanes map[string]*lane
	round []*lane
}

// lane is what waits of one share.
type lane struct {
	share   string
	spent   uint64
	waiting []*pending
}

// work notes what a decision of a share took.
func (t *rounds) work(share string, steps uint64) {
	if t.spent == nil {
		t.spent = map[string]uint64{}
	}
	t.spent[share] += steps
}

// fade makes old work count for less, after a batch.
func (t *rounds) fade() {
	for share, steps := range t.spent {
		if steps /= 2; steps == 0 {
			delete(t.spent, share)
		} else {
			t.spent[share] = steps
		}
	}
}

// order puts what waits in order of turns.
func (t *rounds) order(waiting []*pending) {
	if t.lanes == nil {
		t.lanes = map[string]*lane{}
	}
	t.round = t.round[:0]
	for _, p := range waiting {
		of := t.lanes[p.share()]
		if of == nil {
			of = &lane{share: p.share()}
			t.lanes[of.share] = of
		}
		if len(of.waiting) == 0 {
			of.spent = t.spent[of.share]
			t.round = append(t.round, of)
		}
		of.waiting = append(of.waiting, p)
	}
	slices.SortStableFunc(t.round, func(a, b *lane) int { return cmp.Compare(a.spent, b.spent) })
	at := 0
	for turn := 0; at < len(waiting); turn++ {
		for _, of := range t.round {
			if turn < len(of.waiting) {
				waiting[at] = of.waiting[turn]
				at++
			}
		}
	}
	clear(t.lanes)
	clear(t.round)
}

// share returns whose turn it is to have the command decided.
func (p *pending) share() string { return cmp.Or(p.Share, p.source) }
