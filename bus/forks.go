package bus

import (
	"context"
	"slices"

	"maestro/events"
)

// Forks describes the messages of the log that are not on the chain that Prefer chose.
type Forks struct {
	// From is the first sequence with several messages, 0 if there is none.
	From uint64
	// Decided says that a given head decided; otherwise the longest chain was chosen.
	Decided bool
	// Others counts the messages that are not on the chain.
	Others int
}

// fork is a message at or after the first sequence with several messages.
type fork struct {
	place place
	prev  events.Hash
	hash  events.Hash // of the chain, after the message
	// length is the length of the longest chain that begins with it.
	length int
	chosen bool
	// aside says that the message is on another chain than the chosen one.
	aside bool
}

// Prefer resolves sequences with several messages by choosing one chain: the one that leads to the first of the heads
// that is found, or else the longest. Such a log arises when a server opened the same blocks under another name. Later
// reads return that chain, and the messages that belong to no other chain. Call it before any read.
func (r *ReadOnly) Prefer(ctx context.Context, heads ...events.Head) (Forks, error) {
	if len(r.log.others) == 0 {
		return Forks{}, nil
	}
	found := Forks{From: r.log.others[0].sequence}
	at, _ := r.log.at(found.From)
	begin := max(at-1, 0) // the messages before show which of them follow
	forks, err := r.readForks(ctx, slices.Concat(r.log.places[begin:], r.log.others))
	if err != nil {
		return Forks{}, err
	}
	tree := treeOf(forks)
	found.Decided = tree.choose(found.From, heads)
	found.Others = tree.setAside(forks, found.From)
	r.log.keepChosen(at, forks)
	return found, nil
}

// Others yields the messages that Prefer dropped, by sequence. An error from yield ends the reading and is returned
// unchanged.
func (r *ReadOnly) Others(ctx context.Context, yield func(events.Message) error) error {
	return r.readPlaces(ctx, r.log.asides, yield, func(uint64, error) error { return nil })
}

// readForks reads messages, and returns by sequence those that are events.
func (r *ReadOnly) readForks(ctx context.Context, places []place) ([]*fork, error) {
	slices.SortStableFunc(places, bySequence)
	reader, err := r.reader(r.log, events.SubjectPrefix)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	var forks []*fork
	for _, p := range places {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		record, err := reader.read(p)
		if err != nil {
			continue // it counts as missing
		}
		if event, err := events.Decode(record.body); err == nil {
			hash := events.Next(event.PrevHash, events.BodyHash(record.body))
			forks = append(forks, &fork{place: p, prev: event.PrevHash, hash: hash})
		}
	}
	return forks, nil
}

// forkTree finds forks by their position in the chain.
type forkTree struct {
	byHash   map[events.Hash]*fork
	children map[events.Hash][]*fork // by the hash of the message before
	first    []*fork                 // by sequence
}

func treeOf(forks []*fork) *forkTree {
	t := &forkTree{
		byHash:   make(map[events.Hash]*fork, len(forks)),
		children: make(map[events.Hash][]*fork, len(forks)),
		first:    forks,
	}
	for _, f := range slices.Backward(forks) { // successors come first
		for _, next := range t.children[f.hash] {
			f.length = max(f.length, next.length)
		}
		f.length++
		t.byHash[f.hash] = f
		t.children[f.prev] = append(t.children[f.prev], f)
	}
	return t
}

// choose marks one chain from a sequence on. It reports whether one of the heads decided.
func (t *forkTree) choose(from uint64, heads []events.Head) (decided bool) {
	var next []*fork
	for _, f := range t.first {
		if f.place.sequence == from {
			next = append(next, f)
		}
	}
	follow := slices.DeleteFunc(slices.Clone(next), func(f *fork) bool { return from > 1 && t.byHash[f.prev] == nil })
	if len(follow) > 0 {
		next = follow
	}
	for _, head := range heads {
		last := t.byHash[head.Hash]
		if last == nil || last.place.sequence != head.Sequence || head.Sequence < from {
			continue
		}
		for f := last; f != nil && f.place.sequence >= from; f = t.byHash[f.prev] {
			f.chosen = true
		}
		next, decided = t.children[last.hash], true
		break
	}
	for len(next) > 0 {
		longest := slices.MaxFunc(next, func(a, b *fork) int { return a.length - b.length })
		longest.chosen = true
		next = t.children[longest.hash]
	}
	return decided
}

// setAside marks the messages on other chains than the chosen one, and counts them.
func (t *forkTree) setAside(forks []*fork, from uint64) (others int) {
	chosen := map[uint64]events.Hash{}
	for _, f := range forks {
		if f.chosen {
			chosen[f.place.sequence] = f.hash
		}
	}
	for _, f := range forks { // predecessors come first
		if f.chosen || f.place.sequence < from {
			continue
		}
		hash, beside := chosen[f.place.sequence]
		before := t.byHash[f.prev]
		if f.aside = beside || before != nil && before.aside; f.aside && f.hash != hash {
			others++
		}
	}
	return others
}

// keepChosen replaces the messages from an index on by the chosen ones, and drops those on another chain.
func (s *scannedStream) keepChosen(at int, forks []*fork) {
	chosen, aside := map[uint64]place{}, map[place]bool{}
	for _, f := range forks {
		switch {
		case f.chosen:
			chosen[f.place.sequence] = f.place
		case f.aside:
			aside[f.place] = true
		}
	}
	for _, f := range forks {
		if f.aside {
			s.asides = append(s.asides, f.place)
		}
	}
	kept := slices.Clone(s.places[:at])
	for _, p := range s.places[at:] {
		if better, found := chosen[p.sequence]; found {
			kept = append(kept, better)
		} else if !aside[p] {
			kept = append(kept, p)
		}
	}
	s.places, s.others = kept, nil
	if len(kept) > 0 {
		s.last = kept[len(kept)-1].sequence
	}
}
