package salvage

import (
	"cmp"
	"slices"

	"maestro/events"
)

// proof says what shows that an event of a source is this home's own, the weakest first.
type proof int

const (
	byNothing proof = iota
	// byCutOff: a start cut the event off the home's log, which had it.
	byCutOff
	// bySignature: the home's key signed the file that has the event, a backup that the user named or an automatic one.
	// A copy of the home has the same key, so what the home itself remembers proves more.
	bySignature
	byOwnBackup
	bySnapshot
	// byStore: what the damaged store has of the log after it follows from the event.
	byStore
	byHeadFile
	proofs
)

// witness is a head that the home itself remembers: a chain that passes through it is the home's own up to there.
type witness struct {
	events.Head
	proof proof
	// genesis is the hash after the first event of the log that a snapshot is of.
	genesis events.Hash
}

var witnessNames = map[proof]string{
	bySnapshot: "a snapshot",
	byStore:    "the store",
	byHeadFile: "the head file",
}

// findWitnesses lists the heads that the home remembers, in the order of their sequences: the head file's, those of
// the snapshots, and what the store has of the log from a sequence on.
func (s *salvage) findWitnesses(from uint64) {
	s.witnesses, s.seenBy = nil, map[proof][]uint64{}
	if head := s.report.Acknowledged; head.Sequence > 0 {
		s.witnesses = append(s.witnesses, witness{Head: head, proof: byHeadFile})
	}
	for _, snapshot := range s.end.snapshots {
		w := witness{Head: snapshot.Head, proof: bySnapshot, genesis: snapshot.Genesis}
		s.witnesses = append(s.witnesses, w)
	}
	s.witnesses = append(s.witnesses, s.storeWitnesses(from)...)
	slices.SortStableFunc(s.witnesses, func(a, b witness) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, w := range s.witnesses {
		s.seenBy[w.proof] = append(s.seenBy[w.proof], w.Sequence)
	}
}

// storeWitnesses returns the heads at both ends of each unbroken part of the store's log, from a sequence on.
func (s *salvage) storeWitnesses(from uint64) (found []witness) {
	if s.store == nil || s.store.Head() < from {
		return nil
	}
	saw := func(head events.Head) {
		if head.Sequence > 0 {
			found = append(found, witness{Head: head, proof: byStore})
		}
	}
	var last events.Head
	_ = s.store.ReadableFrom(s.ctx, from, func(m events.Message) error { // unreadable reports an error
		prev, ok := prevOf(m)
		if !ok {
			return nil
		}
		if before := (events.Head{Sequence: m.Sequence - 1, Hash: prev}); before != last {
			saw(last)
			saw(before)
		}
		last = events.Head{Sequence: m.Sequence, Hash: events.Next(prev, events.BodyHash(m.Body))}
		return nil
	})
	saw(last)
	return found
}

// mayProve returns what best can prove events at a sequence in a file that ends at another one.
func (s *salvage) mayProve(sequence, end uint64) proof {
	for _, p := range []proof{byHeadFile, byStore, bySnapshot} {
		seen := s.seenBy[p]
		if i, _ := slices.BinarySearch(seen, sequence); i < len(seen) && seen[i] <= end {
			return p
		}
	}
	return byNothing
}

// storePassesHead reports whether the store's own log passes through the head file's head. Nothing proves more.
func (s *salvage) storePassesHead(head events.Head) (passes bool) {
	if s.store == nil || head.Sequence == 0 {
		return false
	}
	_ = s.store.Read(s.ctx, head.Sequence, head.Sequence, func(m events.Message) error { // else it does not
		hash, ok := hashBehind(m)
		passes = ok && hash == head.Hash
		return nil
	})
	return passes
}
