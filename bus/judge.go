package bus

import (
	"fmt"
	"time"

	"maestro/events"
)

// lazyWindow is the part of the log's end in which lazy syncs can leave holes: they are a second apart, and wait for a
// busy disk.
const lazyWindow = 5 * time.Second

// witnesses is what is known about the end of a log from outside its blocks.
type witnesses struct {
	// witnessed is the highest sequence known to have been acknowledged.
	witnessed uint64
	// headFile is the sequence in the head file, 0 without one.
	headFile   uint64
	durability Durability
}

func (o Options) witnesses() witnesses {
	return witnesses{max(o.Witnessed, o.HeadFile), o.HeadFile, o.Durability}
}

// judge distinguishes damage from the remains of an unacknowledged append that a kill or a power cut interrupted. It
// returns the first such remains as torn. It fails with the read error when the files can no longer be read.
func (s *scannedStream) judge(seen witnesses) (torn *Fault, damage error) {
	for i := range s.faults {
		f := &s.faults[i]
		lost := f.From
		if lost == 0 && f.Length > 0 {
			lost = s.behind(*f)
		}
		if lost == 0 {
			return nil, s.damageError(s.last+1, *f)
		}
		forgiven := lost > seen.witnessed && (f.Tail || s.oneAppend(*f))
		if lost > seen.witnessed && !forgiven {
			if forgiven, damage = s.leftByLazySyncs(*f, seen); damage != nil {
				return nil, damage
			}
		}
		if !forgiven {
			return nil, s.damageError(lost, *f)
		}
		if torn == nil {
			torn = f
		}
	}
	if s.last < seen.witnessed {
		return nil, &events.DamageError{
			Sequence: s.last + 1,
			Why:      fmt.Sprintf("the log ends at %d, and %d was acknowledged", s.last, seen.witnessed),
		}
	}
	return torn, nil
}

// behind returns the first readable sequence after a fault, or the log's next one.
func (s *scannedStream) behind(f Fault) uint64 {
	if !f.Tail {
		for _, p := range s.places {
			if !s.isBehind(f, p) {
				return p.sequence
			}
		}
	}
	return s.last + 1
}

// leftByLazySyncs reports whether a hole can be what a power cut leaves where syncs are lazy. A power cut then costs
// about a second of the log, never a part of a finished block. Everything that the head file lacks must be that recent;
// otherwise the head file is not the last one written, and proves nothing.
func (s *scannedStream) leftByLazySyncs(f Fault, seen witnesses) (bool, error) {
	if f.Length == 0 || seen.durability != Interval || seen.headFile == 0 || len(s.places) == 0 {
		return false, nil
	}
	newest := s.places[len(s.places)-1]
	if s.keyOf(f) != s.keys[int(newest.block)] {
		return false, nil
	}
	reader := &placeReader{
		dir:    s.dir,
		stream: s.name,
		prefix: events.SubjectPrefix,
		keys:   s.keys,
		paths:  s.paths,
	}
	defer reader.close()
	end, err := reader.read(newest)
	if err != nil {
		return false, onlyFailed(err)
	}
	limit := end.time - lazyWindow.Nanoseconds()
	for i, _ := s.at(seen.headFile + 1); i < len(s.places); i++ {
		record, err := reader.read(s.places[i])
		if err != nil || record.time < limit {
			return false, onlyFailed(err)
		}
	}
	return true, nil
}

// onlyFailed returns an error if it is a read failure, and otherwise nil.
func onlyFailed(err error) error {
	if failedToRead(err) {
		return err
	}
	return nil
}

func (s *scannedStream) damageError(sequence uint64, f Fault) error {
	why := f.String()
	if more := len(s.faults) - 1; more > 0 {
		why += fmt.Sprintf(", and %d more", more)
	}
	return &events.DamageError{Sequence: sequence, Why: why}
}

// ownWitnesses is what a running server knows about its log, which no head file exceeds.
func (b *Bus) ownWitnesses() witnesses {
	acked := b.acked.Load()
	return witnesses{acked, acked, b.options.Durability}
}
