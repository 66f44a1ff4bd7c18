package salvage

import (
	"math"
	"slices"

	"maestro/events"
)

// run is a part of a source in which each event names the hash of the chain after the one before it.
type run struct {
	from uint64
	end  events.Head
	// passes has, for each kind of witness, the highest head of it that the run passes through. differs has the lowest
	// sequence at which the run, after that, has another event than the witness saw.
	passes, differs [proofs]uint64
}

// chainReader finds the runs of a source, whose messages it is given in order, and compares them with the witnesses.
type chainReader struct {
	witnesses []witness // those that are left
	runs      []run
	genesis   events.Hash
	// linked says that the last run may continue.
	linked bool
}

// message returns the head of the chain after a message; false if the event does not state its predecessor.
func (c *chainReader) message(m events.Message) (after events.Head, ok bool) {
	prev, ok := prevOf(m)
	if !ok {
		c.linked = false
		return after, false
	}
	after = events.Head{Sequence: m.Sequence, Hash: events.Next(prev, events.BodyHash(m.Body))}
	before := events.Head{Sequence: m.Sequence - 1, Hash: prev}
	if !c.linked || c.runs[len(c.runs)-1].end != before {
		c.runs = append(c.runs, run{from: m.Sequence})
		c.genesis = events.Hash{}
	}
	if m.Sequence == 1 {
		c.genesis = after.Hash
	}
	c.linked = true
	last := &c.runs[len(c.runs)-1]
	last.end = after
	for len(c.witnesses) > 0 && c.witnesses[0].Sequence < m.Sequence {
		c.witnesses = c.witnesses[1:]
	}
	here := 0
	for here < len(c.witnesses) && c.witnesses[here].Sequence == m.Sequence {
		here++
	}
	last.compare(after, c.witnesses[:here], c.genesis)
	return after, true
}

// compare compares a head of the run with what witnesses saw there. A snapshot of another log is none.
func (r *run) compare(head events.Head, witnesses []witness, genesis events.Hash) {
	for _, w := range witnesses {
		ofAnother := w.proof == bySnapshot && w.genesis != genesis
		if w.Head != head && !ofAnother && r.differs[w.proof] == 0 {
			r.differs[w.proof] = head.Sequence
		}
	}
	for _, w := range witnesses {
		if w.Head == head {
			r.passes[w.proof] = head.Sequence
			for p := range w.proof + 1 { // what proves no more was of something else
				r.differs[p] = 0
			}
		}
	}
}

// runAt returns the run that has a sequence, or nil.
func (s *source) runAt(sequence uint64) *run {
	i, found := slices.BinarySearchFunc(s.runs, sequence, func(r run, sequence uint64) int {
		switch {
		case r.end.Sequence < sequence:
			return -1
		case r.from > sequence:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &s.runs[i]
}

// proofOf returns what proves that the event at a sequence is the home's own. If a witness contradicts that, it returns
// the strongest one: the source passes through none after the event, and has another event than the witness saw.
func (s *source) proofOf(sequence uint64) (by proof, contradicted bool) {
	r := s.runAt(sequence)
	if r == nil {
		return byNothing, false
	}
	other, by := uint64(math.MaxUint64), byNothing
	for p := proofs - 1; p >= bySnapshot; p-- {
		if r.passes[p] >= sequence && r.passes[p] < other {
			return p, false
		}
		if r.differs[p] > 0 {
			other, by = min(other, r.differs[p]), max(by, p)
		}
	}
	if by > byNothing {
		return by, true
	}
	return s.by, false
}

// contradicted returns the witness that saw another event than the source has, and where: at a sequence or before it,
// or after it too if the source's events may be anybody's. It returns byNothing if there is none.
func (s *source) contradicted(sequence uint64) (saw proof, at uint64) {
	if s.foreign {
		return s.leadsElsewhere(sequence, math.MaxUint64)
	}
	return s.leadsElsewhere(sequence, sequence)
}

// leadsElsewhere returns the witness that saw another event than the one to which the source's chain leads from a
// sequence, and where, up to another one; byNothing if there is none. A snapshot does not count against what the home's
// key signed.
func (s *source) leadsElsewhere(sequence, upTo uint64) (saw proof, at uint64) {
	if _, contradicted := s.proofOf(sequence); !contradicted {
		return byNothing, 0
	}
	r := s.runAt(sequence)
	for p := proofs - 1; p >= bySnapshot; p-- {
		if at = r.differs[p]; at > 0 && at <= upTo && (p > bySnapshot || s.by < bySignature) {
			return p, at
		}
	}
	return byNothing, 0
}

// contradictedAnywhere reports whether the source has another event than a witness saw.
func (s *source) contradictedAnywhere() bool {
	return slices.ContainsFunc(s.runs, func(r run) bool { return r.differs != [proofs]uint64{} })
}
