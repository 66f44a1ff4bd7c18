package salvage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
)

// end is what is known about the end of the damaged log.
type end struct {
	// sequence is the highest that a witness saw, by names the witness.
	sequence uint64
	by       string
	// noted is the last sequence in the note of the last clean stop, 0 without a note. Only the note proves that
	// nothing followed: the head file lags by up to a tenth of a second, and the others by more.
	noted uint64
	// snapshots also prove events, if they belong to this log.
	snapshots []events.Snapshot
}

func (e *end) saw(sequence uint64, by string) {
	if sequence > e.sequence {
		e.sequence, e.by = sequence, by
	}
}

// findEnd consults everything that records a head: the head file, the note of the last clean stop, the marks in the
// store, and the snapshots.
func (s *salvage) findEnd() error {
	head, err := bus.LoadHeadFile(s.options.Home.Head())
	switch {
	case err != nil:
		s.note("the head file cannot be read: %s", err)
	case head.Sequence == 0:
		s.note("there is no head file")
	default:
		s.report.Acknowledged = head
		s.end.saw(head.Sequence, "the head file")
		s.verifier.Witness(engine.Witnessed{Head: head, By: "the head file"})
	}
	if s.store != nil {
		if err := s.leaveForks(head); err != nil {
			return err
		}
		s.passesHead = s.storePassesHead(head)
		stored := s.store.End()
		s.end.saw(stored.Sequence, "the store")
		if stored.Known {
			s.end.noted = stored.Sequence
		}
		if stored.Cut && !stored.Known {
			s.note("the store has less of the log than its last clean stop noted")
		}
	}
	s.readSnapshots()
	s.settleEarlier()
	return nil
}

// leaveForks drops messages that another server wrote into the store's blocks. If the head file does not show which
// ones those are, it is unknown whether all acknowledged events are there.
func (s *salvage) leaveForks(head events.Head) error {
	forks, err := s.store.Prefer(s.ctx, head)
	if err != nil || forks.Others == 0 {
		return err
	}
	what := fmt.Sprintf(
		"from event %d on, the store has %d that are not on the same chain: another server wrote into its "+
			"blocks, such as that of a copy made of hard links", forks.From, forks.Others)
	if forks.Decided {
		s.note("%s. They are not in the new log, which leads to the head that the head file saw, but in %s", what,
			s.fileName(asideFile))
		return nil
	}
	s.note("%s. The head file does not tell which of them this home acknowledged: the new log has the longest chain, "+
		"and the rest is in %s", what, s.fileName(asideFile))
	s.forked = true
	return nil
}

func (s *salvage) readSnapshots() {
	dir := s.options.Home.Snapshots()
	sequences, err := bus.ListSnapshots(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.note("the snapshots cannot be read: %s", err)
		}
		return
	}
	var names []uint64
	for _, sequence := range sequences {
		path := filepath.Join(dir, fmt.Sprintf("%d.snapshot", sequence))
		snapshot, err := bus.ReadSnapshots(dir).Read(sequence)
		if err != nil {
			s.note("the snapshot %s cannot be read", path)
			names = append(names, sequence)
			continue
		}
		if snapshot.Sequence != sequence {
			s.note("the snapshot %s is of sequence %d", path, snapshot.Sequence)
		}
		snapshot.State = nil
		s.end.snapshots = append(s.end.snapshots, snapshot)
	}
	s.believeNames(names)
}

// nearName is how far after everything else the sequence in a snapshot's name is trusted.
const nearName = 1 << 20

// believeNames considers the names of unreadable snapshots, highest first: they show how far the log reached, but not
// which log, nor who chose the name. The note of a clean stop takes precedence.
func (s *salvage) believeNames(names []uint64) {
	if s.end.noted > 0 {
		return
	}
	seen, _ := s.seen()
	for _, sequence := range slices.Backward(names) {
		if sequence > seen+nearName {
			s.note("nothing else tells that the log was as far as the name of the snapshot %d says, so that is ignored",
				sequence)
			return
		}
		s.end.saw(sequence, "the name of a snapshot")
		seen, _ = s.seen()
	}
}

// compare compares the new log with the snapshots: those with its genesis saw its events.
func (s *salvage) compare(head events.Head) {
	if head.Sequence == 1 {
		s.genesis = head.Hash
	}
	for _, snapshot := range s.end.snapshots {
		if snapshot.Genesis == s.genesis && snapshot.Sequence == head.Sequence && snapshot.Hash != head.Hash {
			s.verifier.Fault(head.Sequence, engine.FaultWitness, "a snapshot saw hash %s here, and the log has %s",
				snapshot.Hash, head.Hash)
		}
	}
}

// seen returns the highest sequence that the log is known to have had, and the evidence. While the first event is
// missing, a snapshot of any log counts.
func (s *salvage) seen() (sequence uint64, by string) {
	seen := s.end
	for _, snapshot := range s.end.snapshots {
		if s.genesis == (events.Hash{}) || snapshot.Genesis == s.genesis {
			seen.saw(snapshot.Sequence, "a snapshot")
		}
	}
	return seen.sequence, seen.by
}

// endIsKnown reports whether it is known that nothing followed.
func (s *salvage) endIsKnown() bool {
	seen, _ := s.seen()
	return s.end.noted > 0 && seen <= s.end.noted && !s.forked
}

// settleEnd reports what is known about the log's end.
func (s *salvage) settleEnd() {
	s.report.End, s.report.EndBy = s.seen()
	s.report.EndUnknown = !s.endIsKnown()
}
