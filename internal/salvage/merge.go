package salvage

import (
	"errors"
	"fmt"
	"math"

	"maestro/events"
)

// next gives the event that follows the head by the chain, from whichever source has it.
func (s *salvage) next(head events.Head) (events.Message, bool) {
	sequence := head.Sequence + 1
	s.intact.seek(sequence)
	if follows(s.intact, sequence, head.Hash) {
		return s.intact.at, true
	}
	if s.intact.at.Sequence == sequence && !s.intact.done {
		s.noteType(s.intact.at)
	}
	for _, cut := range s.tails {
		cut.source.seek(sequence)
		if follows(cut.source, sequence, head.Hash) {
			s.report.Filled[cut.source.name]++
			return cut.source.at, true
		}
	}
	if seen, _ := s.seen(); s.intact.done && s.endIsKnown() && sequence > seen {
		return events.Message{}, false // nothing is missing
	}
	for i := 0; ; i++ {
		if i == len(s.others) && !s.openNext() {
			return events.Message{}, false
		}
		other := s.others[i]
		other.seek(sequence)
		if follows(other, sequence, head.Hash) {
			s.report.Filled[other.name]++
			s.end.saw(sequence, other.name)
			return other.at, true
		}
	}
}

// noteType takes note of an event that is of no known type, as those of a newer maestro are: the log ends before it.
func (s *salvage) noteType(m events.Message) {
	var unknown *events.UnknownTypeError
	if _, err := events.Decode(m.Body); errors.As(err, &unknown) {
		s.unknown = &events.NewerError{Sequence: m.Sequence, What: err.Error()}
	}
}

// follows reports whether a source has the event that the chain asks for.
func follows(s *source, sequence uint64, prev events.Hash) bool {
	if s.done || s.at.Sequence != sequence {
		return false
	}
	event, err := events.Decode(s.at.Body)
	return err == nil && event.PrevHash == prev
}

// openNext opens one more of the files; false when there are no more.
func (s *salvage) openNext() bool {
	for s.opened < len(s.sources) && s.ctx.Err() == nil {
		f := s.sources[s.opened]
		s.opened++
		other, head, err := f.open(s.ctx, s.options.Signer)
		if err != nil {
			s.report.Unused[f.path] = err.Error()
			s.noteForeign(f.path, err)
			continue
		}
		s.end.saw(head.Sequence, f.path)
		s.others = append(s.others, other)
		return true
	}
	return false
}

// noteForeign says once for each signer how to use the backups of a home whose key is lost.
func (s *salvage) noteForeign(path string, err error) {
	var foreign *foreignError
	if !errors.As(err, &foreign) || s.foreign[foreign.signer] {
		return
	}
	s.foreign[foreign.signer] = true
	s.note("%s was not used: %s", path, err)
}

func (s *salvage) closeSources() {
	for _, other := range append(s.others, s.intact) {
		if other != nil {
			other.stop()
		}
	}
	for _, cut := range s.tails {
		cut.close()
	}
}

// any gives the event at a sequence: the store's, or that of a file whose hashes fit the event before it or the one
// behind.
func (s *salvage) any(sequence uint64, before events.Head) (events.Message, bool) {
	s.intact.seek(sequence)
	if !s.intact.done && s.intact.at.Sequence == sequence {
		return s.intact.at, true
	}
	for _, cut := range s.tails {
		if cut.source.seek(sequence); !cut.source.done && cut.source.at.Sequence == sequence {
			return cut.source.at, true
		}
	}
	for _, other := range s.others {
		other.seek(sequence)
		if before.Sequence+1 == sequence && follows(other, sequence, before.Hash) || leads(other, sequence, s.intact) {
			return other.at, true
		}
	}
	return events.Message{}, false
}

// nextThere gives the lowest sequence from this one on that a source has, whether it fits or not: what comes before it
// is nowhere. No number that a file merely names is counted up to.
func (s *salvage) nextThere(sequence uint64) uint64 {
	next := uint64(math.MaxUint64)
	sources := append([]*source{s.intact}, s.others...)
	for _, cut := range s.tails {
		sources = append(sources, cut.source)
	}
	for _, source := range sources {
		if source.seek(sequence); !source.done {
			next = min(next, source.at.Sequence)
		}
	}
	return next
}

// noteSources says which files could be read to some place only.
func (s *salvage) noteSources() {
	for _, other := range s.others {
		if other.err != nil {
			s.report.Unused[other.name] = fmt.Sprintf("it can be read up to event %d only: %s",
				other.at.Sequence, other.err)
		}
	}
}

// leads reports whether a file has the event that the store's next one follows.
func leads(s *source, sequence uint64, next *source) bool {
	if s.done || s.at.Sequence != sequence {
		return false
	}
	event, err := events.Decode(s.at.Body)
	return err == nil && follows(next, sequence+1, hashBehind(event, s.at))
}

// hashBehind gives the chain's hash behind an event.
func hashBehind(event *events.Event, m events.Message) events.Hash {
	return events.Next(event.PrevHash, events.BodyHash(m.Body))
}
