package bus

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
)

// settle combines the blocks: it determines which messages exist and which are missing. In the log (whole) every
// sequence must exist once and in order. Messages may be deleted from the other streams.
func (s *scannedStream) settle(whole bool) {
	slices.SortStableFunc(s.blocks, func(a, b scannedBlock) int { return cmp.Compare(a.key, b.key) })
	s.keys = make(map[int]int, len(s.blocks))
	total := 0
	for i := range s.blocks {
		s.keys[s.blocks[i].index] = s.blocks[i].key
		total += len(s.blocks[i].places)
	}
	s.places = make([]place, 0, total)
	ordered := true
	for i := range s.blocks {
		for _, p := range s.blocks[i].places {
			if len(s.places) > 0 && p.sequence <= s.places[len(s.places)-1].sequence {
				ordered = false
				if whole {
					s.faults = append(
						s.faults, s.fault(i, p.offset, fmt.Sprintf("message %d is out of order", p.sequence)),
					)
				}
			}
			s.places = append(s.places, p)
		}
		s.faults = append(s.faults, s.blocks[i].faults...)
		s.blocks[i].places = nil
	}
	if !ordered {
		slices.SortStableFunc(s.places, bySequence)
		kept := s.places[:0]
		for _, p := range s.places {
			if len(kept) == 0 || kept[len(kept)-1].sequence != p.sequence {
				kept = append(kept, p)
			} else if whole {
				s.others = append(s.others, p)
			}
		}
		s.places = kept
	}
	if whole {
		s.findMissing()
	} else {
		s.dropDeleted()
	}
	if len(s.places) > 0 {
		s.last = s.places[len(s.places)-1].sequence
	}
	s.markTail()
}

func bySequence(a, b place) int { return cmp.Compare(a.sequence, b.sequence) }

func (s *scannedStream) fault(block int, offset int64, why string) Fault {
	file := filepath.Join("jetstream", "$G", "streams", s.name, "msgs", blockName(s.blocks[block].index))
	return Fault{
		Stream: s.name,
		File:   file,
		Offset: offset,
		Why:    why,
	}
}

// dropDeleted removes the messages that tombstones and erased records mark as deleted.
func (s *scannedStream) dropDeleted() {
	deleted := map[uint64]bool{}
	for i := range s.blocks {
		for _, sequence := range s.blocks[i].deleted {
			deleted[sequence] = true
		}
	}
	if len(deleted) > 0 {
		s.places = slices.DeleteFunc(s.places, func(p place) bool { return deleted[p.sequence] })
	}
}

// findMissing assigns each missing sequence to the fault that lost it, or to a fault of its own.
func (s *scannedStream) findMissing() {
	next := uint64(1)
	for i, p := range s.places {
		if p.sequence > next {
			s.missing(next, p.sequence-1, i)
		}
		next = p.sequence + 1
	}
	// A tombstone here is nats-server's mark that the log was once longer than what the server could recover.
	known := uint64(0)
	for i := range s.blocks {
		for _, sequence := range s.blocks[i].deleted {
			known = max(known, sequence)
			if at, found := s.at(sequence); found {
				s.faults = append(s.faults, s.fault(i, s.places[at].offset,
					fmt.Sprintf("message %d is marked as deleted; nats-server would delete it", sequence)))
			}
		}
	}
	if known >= next {
		f := s.fault(len(s.blocks)-1, s.blocks[len(s.blocks)-1].size, "the log was longer than what is left of it")
		f.From, f.To = next, known
		s.faults = append(s.faults, f)
	}
}

// missing adds the missing sequences from..to to the nearest fault before the message after them.
func (s *scannedStream) missing(from, to uint64, next int) {
	before, behind := next-1, s.places[next]
	for i := range s.faults {
		f := &s.faults[i]
		isBehind := before < 0 || s.isBehind(*f, s.places[before])
		key := s.keyOf(*f)
		isBefore := key < s.keys[int(behind.block)] || key == s.keys[int(behind.block)] && f.Offset < behind.offset
		if f.Length > 0 && f.From == 0 && isBehind && isBefore {
			f.From, f.To = from, to
			return
		}
	}
	block := slices.IndexFunc(s.blocks, func(b scannedBlock) bool { return b.index == int(behind.block) })
	f := s.fault(block, behind.offset, fmt.Sprintf("message %d stands where %d is due", behind.sequence, from))
	f.From, f.To = from, to
	s.faults = append(s.faults, f)
}

// markTail marks the faults that nothing readable follows.
func (s *scannedStream) markTail() {
	for i := range s.faults {
		f := &s.faults[i]
		if f.next != nil || f.Length == 0 {
			continue
		}
		f.Tail = len(s.places) == 0 || !slices.ContainsFunc(s.places, func(p place) bool {
			key := s.keys[int(p.block)]
			return key > s.keyOf(*f) || key == s.keyOf(*f) && p.offset > f.Offset
		})
	}
}

// keyOf returns the number under which a fault's block was written.
func (s *scannedStream) keyOf(f Fault) int {
	index, _ := blockIndex(filepath.Base(f.File))
	return s.keys[index]
}

func (s *scannedStream) isBehind(f Fault, p place) bool {
	key := s.keys[int(p.block)]
	return s.keyOf(f) > key || s.keyOf(f) == key && f.Offset > p.offset
}

// oneAppend reports whether everything readable after a fault came in one append, the last. The fault can then be what
// a power cut left of that append.
func (s *scannedStream) oneAppend(f Fault) bool {
	if f.Tail {
		return true
	}
	key := s.keyOf(f)
	var first *string
	if f.next != nil {
		first = f.next
	}
	last := ""
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.key < key || b.key > key && b.empty {
			continue
		}
		if b.key > key && first == nil {
			first = &b.firstAppend
		}
		last = b.lastAppend
	}
	return f.Length > 0 && first != nil && *first != "" && *first == last
}

// at returns the index of a message by its sequence, or of the first message after it.
func (s *scannedStream) at(sequence uint64) (int, bool) {
	return slices.BinarySearchFunc(
		s.places, sequence, func(p place, q uint64) int { return cmp.Compare(p.sequence, q) },
	)
}
