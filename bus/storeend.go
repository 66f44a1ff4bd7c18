package bus

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"maestro/events"
)

// End is what a store's files say about the end of its log, apart from the events.
type End struct {
	// Sequence is the highest sequence that the log is known to have had, 0 if unknown.
	Sequence uint64
	// Known says that nothing followed: the last clean stop noted the end.
	Known bool
	// Cut says that the files hold less of the log than the last clean stop noted.
	Cut bool
}

// End looks for other evidence than the events of where the log ended: the note of the last clean stop, and the marks
// that nats-server leaves when it recovers less than it once had.
func (r *ReadOnly) End() End {
	end := End{Sequence: r.log.last}
	for _, f := range r.log.faults {
		end.Sequence = max(end.Sequence, f.To)
	}
	note := loadNote(r.dir)
	if note == nil {
		return end
	}
	noted := note.Streams[StreamName]
	if noted.Last > maxSequence {
		return end
	}
	if noted.Last > 0 { // every append since would have removed the note, unless the store was changed by hand
		known := end.Sequence <= noted.Last
		return End{Sequence: max(end.Sequence, noted.Last), Known: known, Cut: r.log.last < noted.Last}
	}
	if len(noted.Blocks) == 0 {
		return end
	}
	// An earlier version noted only the blocks.
	last := slices.MaxFunc(noted.Blocks, func(a, b blockNote) int { return cmp.Compare(a.Index, b.Index) })
	at := slices.IndexFunc(r.log.blocks, func(b scannedBlock) bool { return b.index == last.Index })
	if at < 0 || r.log.blocks[at].size < last.Size {
		end.Cut = true
		return end
	}
	torn := slices.ContainsFunc(r.log.faults, func(f Fault) bool {
		return filepath.Base(f.File) == blockName(last.Index)
	})
	end.Known = !torn && at == len(r.log.blocks)-1 && r.log.blocks[at].size == last.Size
	return end
}

// Damage returns why a server would not write to the store: what is damaged in its log, or that the log ends before
// what is known to have been acknowledged, or before what the last clean stop noted. It is nil for an intact log, and
// for one whose last append was torn. It uses the options Witnessed, HeadFile, Durability and Used.
func (r *ReadOnly) Damage(o Options) error {
	if err := r.unreadLog(); err != nil {
		return err
	}
	if _, damage := r.log.judge(o.witnesses()); damage != nil {
		return damage
	}
	if gone := r.log.gone(r.dir, o.Used); gone != nil {
		return gone
	}
	return r.shortened()
}

func (r *ReadOnly) shortened() error {
	end := r.End()
	if !end.Cut {
		return nil
	}
	why := fmt.Sprintf("the log ends at %d, and the note of the last clean stop saw more", r.log.last)
	if end.Known {
		why = fmt.Sprintf("the log ends at %d, and the note of the last clean stop saw %d", r.log.last, end.Sequence)
	}
	return &events.DamageError{Sequence: r.log.last + 1, Why: why}
}
