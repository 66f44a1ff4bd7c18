package salvage

import (
	"errors"
	"fmt"
	"math"

	"maestro/bus"
	"maestro/events"
	"maestro/internal/backups"
)

// asks reports whether a file that may have events up to upTo is searched for the one at sequence. After the known end
// of the log, only files that may know more are searched, because the home may be an older copy of itself: then the
// note of its last clean stop knows no more than the copy.
func (s *salvage) asks(upTo, sequence uint64) bool {
	seen, _ := s.seen()
	return upTo >= sequence || sequence <= seen || !s.intact.done || !s.endIsKnown()
}

// noteType records the first event of an unknown type, such as a newer maestro writes: the log ends before it,
// whichever source has it.
func (s *salvage) noteType(m events.Message) {
	var unknown *events.UnknownTypeError
	if _, err := events.Decode(m.Body); s.unknown == nil && errors.As(err, &unknown) {
		s.unknown = &events.NewerError{Sequence: m.Sequence, What: err.Error()}
	}
}

// further searches all sources for the event after a head: one of an unknown type is not added to the log, but shows
// that the log continued.
func (s *salvage) further(head events.Head) {
	for _, source := range s.all() {
		if !s.asks(source.upTo, head.Sequence+1) {
			continue
		}
		if source.seek(head.Sequence + 1); chained(source, head.Sequence+1, head.Hash) {
			s.end.saw(source.at.Sequence, source.name)
		}
	}
}

// all lists the open sources.
func (s *salvage) all() []*source {
	sources := []*source{s.intact}
	for _, cut := range s.tails {
		sources = append(sources, cut.source)
	}
	return append(sources, s.others...)
}

// follows returns the hash of the chain after a source's event, if that is the next event of the chain.
func follows(s *source, sequence uint64, prev events.Hash) (hash events.Hash, ok bool) {
	if s.done || s.at.Sequence != sequence {
		return hash, false
	}
	event, err := events.Decode(s.at.Body)
	if err != nil || event.PrevHash != prev {
		return hash, false
	}
	return events.Next(prev, events.BodyHash(s.at.Body)), true
}

// chained reports whether a source has the next event of the chain, of a known type or not.
func chained(s *source, sequence uint64, prev events.Hash) bool {
	if s.done || s.at.Sequence != sequence {
		return false
	}
	said, ok := prevOf(s.at)
	return ok && said == prev
}

// prevOf returns the hash of the predecessor that an event states. A newer maestro keeps the chain too, so this
// distinguishes an event of an unknown type from one of another log.
func prevOf(m events.Message) (prev events.Hash, ok bool) {
	event, err := events.Decode(m.Body)
	var unknown *events.UnknownTypeError
	switch {
	case err == nil:
		return event.PrevHash, true
	case errors.As(err, &unknown):
		return unknown.PrevHash, true
	}
	return prev, false
}

// noteName takes account of the name of an unreadable automatic backup: the log reached that sequence.
func (s *salvage) noteName(f file, err error) {
	var refused *refusedError
	seen, _ := s.seen()
	made, ok := backups.Named(f.path)
	if f.named || !ok || errors.As(err, &refused) || s.ctx.Err() != nil {
		return
	}
	if made.Sequence <= seen+nearName {
		s.end.saw(made.Sequence, "the name of "+f.path)
	}
}

// noteFormat records a backup that only a newer maestro can read.
func (s *salvage) noteFormat(path string, err error) {
	if errors.Is(err, bus.ErrNewerBackup) && s.newerBackup == "" {
		s.newerBackup = path + ": " + err.Error()
	}
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

// any returns the event at a sequence: the store's, or that of a file whose hashes match the event before or after it.
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
	var best *source
	strongest := byNothing
	for _, other := range s.others {
		other.seek(sequence)
		if saw, _ := other.contradicted(sequence); saw > byNothing && !s.options.AcceptFaults {
			continue
		}
		if before.Sequence+1 == sequence && chained(other, sequence, before.Hash) || s.leads(other, sequence) {
			by, contradicted := other.proofOf(sequence)
			if best == nil || !contradicted && by > strongest {
				best, strongest = other, by
			}
		}
	}
	if best == nil {
		return events.Message{}, false
	}
	return best.at, true
}

// nextThere returns the lowest sequence from this one on that any source has, whether it fits or not: nothing before it
// exists. It does not count up to a number that a file merely names.
func (s *salvage) nextThere(sequence uint64) uint64 {
	next := uint64(math.MaxUint64)
	for _, source := range s.all() {
		if source.seek(sequence); !source.done {
			next = min(next, source.at.Sequence)
		}
	}
	return next
}

// unreadable returns why the home's own events cannot be read further. Damage is skipped, and is not an error.
func (s *salvage) unreadable() error {
	err := errors.Join(s.ctx.Err(), s.intact.err)
	for _, cut := range s.tails {
		err = errors.Join(err, cut.source.err)
	}
	return err
}

// noteSources reports which files could be read only in part.
func (s *salvage) noteSources() {
	for _, other := range s.others {
		if other.err != nil {
			s.unused(other.name, fmt.Sprintf("it can be read up to event %d only: %s", other.at.Sequence, other.err))
		}
	}
}

// unused adds a reason why a file was not used, or not completely.
func (s *salvage) unused(path, why string) {
	if before := s.report.Unused[path]; before != "" {
		why = before + "; " + why
	}
	s.report.Unused[path] = why
}

// leads reports whether a file has the predecessor of the next event of the store, or of an end that was cut off.
func (s *salvage) leads(other *source, sequence uint64) bool {
	if other.done || other.at.Sequence != sequence {
		return false
	}
	behind, ok := hashBehind(other.at)
	if !ok {
		return false
	}
	for _, cut := range s.tails {
		if chained(cut.source, sequence+1, behind) {
			return true
		}
	}
	return chained(s.intact, sequence+1, behind)
}

// hashBehind returns the hash of the chain after an event; false if the event does not state its predecessor.
func hashBehind(m events.Message) (events.Hash, bool) {
	prev, ok := prevOf(m)
	if !ok {
		return events.Hash{}, false
	}
	return events.Next(prev, events.BodyHash(m.Body)), true
}
