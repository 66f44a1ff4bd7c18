package salvage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
)

// end is what is known about where the damaged log ended.
type end struct {
	// sequence is the highest that a witness saw, by names the witness.
	sequence uint64
	by       string
	// known says that one of the witnesses saw the last event, not only one on the way.
	known bool
	// snapshots saw events too, if they are of this log.
	snapshots []events.Snapshot
}

func (e *end) saw(sequence uint64, by string) {
	if sequence > e.sequence {
		e.sequence, e.by = sequence, by
	}
}

// findEnd asks everything that remembers a head: the head file, the note of the last clean stop, the marks in the
// store, and the snapshots.
func (s *salvage) findEnd() {
	head, err := bus.LoadHeadFile(s.options.Home.Head())
	switch {
	case err != nil:
		s.note("the head file cannot be read: %s", err)
	case head.Sequence == 0:
		s.note("there is no head file")
	default:
		s.report.Acknowledged = head
		s.end.known = true
		s.end.saw(head.Sequence, "the head file")
		s.verifier.Witness(engine.Witnessed{Head: head, By: "the head file"})
	}
	if s.store != nil {
		stored := s.store.End()
		s.end.saw(stored.Sequence, "the store")
		s.end.known = s.end.known || stored.Known
		if stored.Cut && !s.end.known {
			s.note("the store has less of the log than its last clean stop noted")
		}
	}
	s.readSnapshots()
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
	for _, sequence := range sequences {
		snapshot, err := bus.ReadSnapshots(dir).Load(sequence)
		if err != nil {
			// Its name tells how far the log was, and nothing tells of which log.
			s.note("the snapshot %s cannot be read", filepath.Join(dir, fmt.Sprintf("%d.snapshot", sequence)))
			if s.end.by == "" || sequence > s.end.sequence {
				s.end.saw(sequence, "the name of a snapshot")
			}
			continue
		}
		snapshot.State = nil
		s.end.snapshots = append(s.end.snapshots, snapshot)
	}
}

// compare holds the new log against the snapshots: those of its own genesis saw its events.
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

// seen gives the highest sequence that the log is known to have had.
func (s *salvage) seen() uint64 {
	for _, snapshot := range s.end.snapshots {
		if s.genesis == (events.Hash{}) || snapshot.Genesis == s.genesis {
			s.end.saw(snapshot.Sequence, "a snapshot")
		}
	}
	return s.end.sequence
}

// settleEnd says in the report what is known about the log's end.
func (s *salvage) settleEnd(head events.Head) {
	s.report.End, s.report.EndBy = max(s.seen(), head.Sequence), s.end.by
	s.report.EndUnknown = !s.end.known
}
