package engine

import (
	"cmp"
	"slices"
)

const (
	// batchSteps bounds the expensive work of a batch: the batch ends with the command that exceeds it. It therefore
	// bounds how long a command whose turn is in the next batch waits. A step of an expensive command takes up to
	// 0.7 µs.
	batchSteps = 4000
	// ordinarySteps is how many steps of a command do not count, so that batches of ordinary commands are not
	// shortened: a report takes up to 30.
	ordinarySteps = 30
)

// rounds orders commands that did not all fit into one batch. Each share gets one command in each round; a share whose
// commands took more work recently comes later in the round. Commands of one share keep their order.
type rounds struct {
	// spent is the recent number of steps of each share. It is halved with each batch.
	spent map[string]uint64
	lanes map[string]*lane
	round []*lane
}

// lane is the queue of one share's waiting commands.
type lane struct {
	share   string
	spent   uint64
	waiting []*pending
}

// work adds the steps of a decision to its share.
func (t *rounds) work(share string, steps uint64) {
	if t.spent == nil {
		t.spent = map[string]uint64{}
	}
	t.spent[share] += steps
}

// fade reduces the weight of past work after a batch.
func (t *rounds) fade() {
	for share, steps := range t.spent {
		if steps /= 2; steps == 0 {
			delete(t.spent, share)
		} else {
			t.spent[share] = steps
		}
	}
}

// order sorts the waiting commands by turn.
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

// share returns the share that the command counts for.
func (p *pending) share() string { return cmp.Or(p.Share, p.source) }
