package projections

import (
	"encoding/binary"
	"sort"

	"github.com/google/uuid"
)

// What only grows (the ids of events, the tape and the timelines) is encoded in segments, one for each [SegmentEvents]
// events of the log. A full segment is the same in every later encoding, so a store keeps it once.

// SegmentEvents is how many events a full segment is about.
const SegmentEvents = idsPerChunk

// timelineOf says whose a timeline is.
type timelineOf byte

const (
	ofTask timelineOf = iota
	ofSession
)

// unowned names a timeline that began before its task or session. An event may name one that never existed.
type unowned struct {
	Of timelineOf
	ID string
}

type namedTimeline struct {
	of       timelineOf
	id       string
	timeline Timeline
}

// segments returns how many segments there are, the last of which may not be full.
func (i *Image) segments() int {
	return int((i.ids.n + SegmentEvents - 1) / SegmentEvents) //nolint:gosec // as many as fit into memory
}

// Full returns how many segments are full.
func (i *Image) Full() int { return int(i.ids.n / SegmentEvents) } //nolint:gosec // as many as fit into memory

// Segment returns the full segment with this number.
func (i *Image) Segment(n int) []byte { return i.appendSegment(nil, n) }

// Rest returns the segment after the full ones, empty if there is none.
func (i *Image) Rest() []byte {
	if i.Full() == i.segments() {
		return nil
	}
	return i.appendSegment(nil, i.Full())
}

// appendSegment appends the ids of a segment's events, what the tape says of them, and what these events added to
// timelines.
func (i *Image) appendSegment(b []byte, n int) []byte {
	first := uint64(n)*SegmentEvents + 1 //nolint:gosec // a number of segments
	last := min(first+SegmentEvents-1, i.ids.n)
	b = binary.AppendUvarint(b, last-first+1)
	for sequence := first; sequence <= last; sequence++ {
		b = append(b, i.ids.at(sequence)[:]...)
	}
	b = i.appendTape(b, first, last)
	grown := 0
	for _, t := range i.timelines {
		if len(t.timeline.between(first, last)) > 0 {
			grown++
		}
	}
	b = binary.AppendUvarint(b, uint64(grown)) //nolint:gosec // a length
	for _, t := range i.timelines {
		places := t.timeline.between(first, last)
		if len(places) == 0 {
			continue
		}
		b = append(b, byte(t.of))
		b = appendText(b, t.id)
		b = binary.AppendUvarint(b, uint64(len(places)))
		before := first
		for _, p := range places {
			b = binary.AppendUvarint(b, p.Sequence()-before)
			b = binary.AppendUvarint(b, uint64(p&placeRest))
			before = p.Sequence()
		}
	}
	return b
}

// between returns the entries of the events with these sequences.
func (t Timeline) between(first, last uint64) Timeline {
	from := sort.Search(len(t), func(i int) bool { return t[i].Sequence() >= first })
	rest := t[from:]
	return rest[:sort.Search(len(rest), func(i int) bool { return rest[i].Sequence() > last })]
}

// restoreSegment restores the next segment of a state that ends at a sequence.
func (s *State) restoreSegment(r *reader, last uint64) {
	first := s.ids.n + 1
	n := r.uvarint()
	if n != min(SegmentEvents, last-first+1) || n > uint64(len(r.b)/len(uuid.UUID{})) {
		r.bad = true
		return
	}
	for range n {
		s.ids = s.ids.with(uuid.UUID(r.take(uint64(len(uuid.UUID{})))))
		s.accepted.add(&s.ids, s.ids.n)
	}
	s.restoreTape(r, n)
	for range r.uvarint() {
		timelines := s.timelinesOf(timelineOf(r.uvarint())) //nolint:gosec // any other is a task's
		id := r.text()
		places := r.uvarint()
		if r.bad || places > uint64(len(r.b)) {
			r.bad = true
			return
		}
		timeline := timelines.get(id)
		before := first
		for range places {
			before += r.uvarint()
			timeline = append(timeline, PlaceAt(before, 0)|Place(r.uvarint())&placeRest)
		}
		timelines.put(id, timeline)
	}
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func (r *reader) text() string { return string(r.take(r.uvarint())) }
