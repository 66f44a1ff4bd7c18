package salvage

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"maestro/engine"
	"maestro/events"
)

// choice is one of the events that can follow the log.
type choice struct {
	message events.Message
	hash    events.Hash
	// from are the sources that have it, and by is what proves best that it is the home's own.
	from []*source
	by   proof
	// contradicted says that a witness saw another event there, or on the chain after it; by is that witness.
	contradicted bool
	// foreign says that it may be anybody's event: nothing proves that it was in the home's log.
	foreign bool
	// end is how far the longest chain with it reaches.
	end uint64
}

// rank orders choices: what a strong witness contradicts is last.
func (c *choice) rank() int {
	if c.contradicted {
		return -int(c.by)
	}
	return int(c.by)
}

// own reports whether the damaged home itself has the event.
func (s *salvage) own(c *choice) bool { return c.from[0] == s.intact }

// next returns the event that follows the head by the chain, from any source that has it. Of several, it takes the one
// on the chain that is proven best to be the home's own, whatever the order of the files. It reports whether the
// verifier was given the event.
func (s *salvage) next(head events.Head) (m events.Message, judged, ok bool) {
	for {
		choices := s.choices(head)
		var best *choice
		for _, c := range choices {
			if best == nil || c.rank() > best.rank() || c.rank() == best.rank() && !s.own(best) && c.end > best.end {
				best = c
			}
		}
		if s.openBetter(head.Sequence+1, best) {
			continue
		}
		if best == nil {
			return events.Message{}, false, false
		}
		if best.foreign && !s.options.AcceptFaults {
			if faults := s.verifier.Try(best.message); len(faults) > 0 {
				s.leaveOut(best, faults)
				continue
			}
			judged = true
		}
		s.noteUndecided(best, choices)
		s.noteLeadsElsewhere(best)
		s.noteUnproven(best)
		s.taken(best)
		return best.message, judged, true
	}
}

// choices returns the events that can follow the head. While the store's log passes through the head file's head, or is
// behind it, the store's event is the only one.
func (s *salvage) choices(head events.Head) (choices []*choice) {
	sequence := head.Sequence + 1
	s.intact.seek(sequence)
	if hash, ok := follows(s.intact, sequence, head.Hash); ok {
		own := &choice{
			message: s.intact.at,
			hash:    hash,
			from:    []*source{s.intact},
			by:      byStore,
			end:     math.MaxUint64,
		}
		choices = append(choices, own)
		if s.passesHead || sequence > s.report.Acknowledged.Sequence {
			own.by = byHeadFile
			return choices
		}
	}
	for _, other := range s.all()[1:] {
		if !s.asks(other.upTo, sequence) {
			continue
		}
		other.seek(sequence)
		hash, ok := follows(other, sequence, head.Hash)
		if !ok || s.refuses(other) {
			continue
		}
		c := &choice{
			message: other.at,
			hash:    hash,
			from:    []*source{other},
			foreign: other.foreignAt(sequence),
		}
		c.by, c.contradicted = other.proofOf(sequence)
		if r := other.runAt(sequence); r != nil {
			c.end = r.end.Sequence
		}
		choices = merged(choices, c)
	}
	return choices
}

// merged adds a choice to others, or to the one that is the same event.
func merged(choices []*choice, c *choice) []*choice {
	for _, same := range choices {
		if same.hash != c.hash {
			continue
		}
		if c.rank() > same.rank() {
			same.by, same.contradicted = c.by, c.contradicted
		}
		same.from, same.end = append(same.from, c.from...), max(same.end, c.end)
		same.foreign = same.foreign && c.foreign
		return choices
	}
	return append(choices, c)
}

// refuses reports whether the next event of a source is not taken, whatever else there is: a witness saw another one,
// or its line in an export was changed.
func (s *salvage) refuses(other *source) bool {
	if s.options.AcceptFaults {
		return false
	}
	sequence := other.at.Sequence
	if saw, at := other.contradicted(sequence); saw > byNothing {
		other.leave(fmt.Sprintf("%s saw other events up to %d", witnessNames[saw], at))
		return true
	}
	if noted := s.end.noted; noted > 0 && sequence > noted && !s.forked && other.foreignAt(sequence) {
		other.leave(fmt.Sprintf("the server stopped cleanly after event %d, and nothing proves what follows it", noted))
		return true
	}
	if _, wrong := slices.BinarySearch(other.wrong, sequence); wrong && other.foreignAt(sequence) {
		other.leave(fmt.Sprintf("the line of event %d has a hash that is not the event's", sequence))
		return true
	}
	return false
}

// foreignAt reports whether nothing proves that the home's log had the source's event at a sequence.
func (s *source) foreignAt(sequence uint64) bool {
	by, contradicted := s.proofOf(sequence)
	return s.foreign && (contradicted || by == byNothing)
}

// openBetter opens one more of the files that are searched for a sequence, if it may have an event that is proven
// better than the best so far. It reports false when there are no more.
func (s *salvage) openBetter(sequence uint64, best *choice) bool {
	if best != nil && best.by == byHeadFile && !best.contradicted {
		return false
	}
	for i := 0; i < len(s.sources) && s.ctx.Err() == nil; {
		f := s.sources[i]
		if s.opened[f.path] || !s.asks(f.upTo(s.before), sequence) || !s.mayBeBetter(f, sequence, best) {
			i++
			continue
		}
		s.opened[f.path] = true
		i = 0 // its content may change which files are searched
		if s.openFile(f, sequence) {
			return true
		}
	}
	return false
}

// mayBeBetter reports whether a file may have an event that is proven better than the best so far. Those that the user
// named are all consulted once the store lacks an event.
func (s *salvage) mayBeBetter(f file, sequence uint64, best *choice) bool {
	if best == nil || f.named && !s.own(best) {
		return true
	}
	if s.seenBy == nil {
		s.findWitnesses(sequence)
	}
	by := byOwnBackup
	if f.named {
		by = bySignature
	}
	rank := int(max(by, s.mayProve(sequence, f.upTo(s.before))))
	// Another automatic backup may have another chain, and then neither is taken unseen.
	return rank > best.rank() || rank == best.rank() && best.by == byOwnBackup
}

func (s *salvage) openFile(f file, sequence uint64) bool {
	if s.seenBy == nil {
		s.findWitnesses(sequence)
	}
	other, err := f.open(s.ctx, s.options.Signer, s.witnesses)
	if err != nil {
		s.report.Unused[f.path] = err.Error()
		s.noteForeign(f.path, err)
		s.noteFormat(f.path, err)
		s.noteName(f, err)
		return false
	}
	other.upTo = f.upTo(s.before)
	if !other.contradictedAnywhere() {
		s.end.saw(other.head, f.path)
	}
	s.others = append(s.others, other)
	return true
}

// taken records where an event comes from.
func (s *salvage) taken(c *choice) {
	from := c.from[0]
	if from == s.intact {
		return
	}
	if !s.intact.done && s.intact.at.Sequence == c.message.Sequence {
		s.passedOver = true
	}
	s.report.Filled[from.name]++
	if slices.Contains(s.others, from) {
		s.end.saw(c.message.Sequence, from.name)
	}
}

// leaveOut ends the use of the sources of an event that no server would have written. The log does not continue with
// it, because the state would then say what nobody was permitted to cause.
func (s *salvage) leaveOut(c *choice, faults []engine.Fault) {
	first := faults[0]
	why := fmt.Sprintf("event %d: %s: %s", first.Sequence, first.Rule, first.What)
	for _, from := range c.from {
		from.leave(why)
		if first.Rule == engine.FaultVersion && s.newerBackup == "" {
			s.newerBackup = from.name + ": " + why
		}
	}
}

// noteLeadsElsewhere reports, once for each file, that a file which the home's key signed fills a gap although its
// chain goes on to another event than a witness saw: it may be of a copy of this home.
func (s *salvage) noteLeadsElsewhere(best *choice) {
	from := best.from[0]
	saw, at := from.leadsElsewhere(best.message.Sequence, math.MaxUint64)
	if !best.contradicted || saw == byNothing || s.own(best) || best.foreign || from.noted {
		return
	}
	names := make([]string, 0, len(best.from))
	for _, f := range best.from {
		f.noted = true
		names = append(names, f.name)
	}
	s.note("what %s fills in from event %d on leads to another event %d than %s saw: it may come from a copy of this "+
		"home", strings.Join(names, ", "), best.message.Sequence, at, witnessNames[saw])
}

// noteUnproven reports, once for each file, that its events fill a gap although nothing proves that this home
// acknowledged them.
func (s *salvage) noteUnproven(best *choice) {
	from := best.from[0]
	if !best.foreign || from.noted {
		return
	}
	from.noted = true
	s.note("nothing proves that this home acknowledged what %s fills in from event %d on", from.name,
		best.message.Sequence)
}

// noteUndecided reports that several chains continue the log and nothing shows which of them the home acknowledged.
func (s *salvage) noteUndecided(best *choice, choices []*choice) {
	for _, c := range choices {
		if c == best || c.rank() < best.rank() || s.own(best) {
			continue
		}
		s.note("%s and %s have different events from event %d on, and nothing tells which of them this home "+
			"acknowledged: the new log has those of %[1]s", best.from[0].name, c.from[0].name, c.message.Sequence)
		s.forked = true
	}
}
