package projections

import (
	"encoding/binary"
	"sort"
	"time"

	"maestro/events"
)

// Mark says which of the things that people look for an event is.
type Mark byte

// The marks, the most serious first in each group: what agents say, what was noticed, what people decided.
const (
	MarkNone Mark = iota
	MarkAsks
	MarkBlocked
	MarkFailed
	MarkSaysDone
	MarkLost
	MarkQuarantined
	MarkCompleted
	MarkAnswered
	MarkMessaged
	MarkKilled
	marks
)

// markNames are the names of the marks, as the API shows them.
var markNames = [marks]string{
	MarkAsks: "asks", MarkBlocked: "blocked", MarkFailed: "failed", MarkSaysDone: "says_done",
	MarkLost: "lost", MarkQuarantined: "quarantined",
	MarkCompleted: "completed", MarkAnswered: "answered", MarkMessaged: "messaged", MarkKilled: "killed",
}

// String returns the mark's name, "" for none.
func (m Mark) String() string { return markNames[m] }

// MarkOf returns the mark of an event.
func MarkOf(data events.Data) Mark {
	switch d := data.(type) {
	case *events.SessionReported:
		return markOfReport(d.Kind)
	case *events.QueueItemCompleted:
		return MarkSaysDone
	case *events.QueueItemFailed:
		return MarkFailed
	case *events.QueueItemQuarantined:
		return MarkQuarantined
	case *events.SessionLost, *events.SessionTimedOut:
		return MarkLost
	case *events.SessionExited:
		if d.Status == events.SessionEndFailed {
			return MarkFailed
		}
	case *events.PreflightFailed:
		return MarkAsks
	case *events.SessionKilled:
		return MarkKilled
	case *events.SessionMessaged:
		return MarkMessaged
	case *events.InputAnswered:
		return MarkAnswered
	case *events.TaskStatusChanged:
		if d.To == events.TaskCompleted {
			return MarkCompleted
		}
	case *events.TaskUpdated:
		if d.Status != nil && d.Status.To == events.TaskCompleted {
			return MarkCompleted
		}
	}
	return MarkNone
}

func markOfReport(kind events.ReportKind) Mark {
	switch kind {
	case events.ReportNeedsInput:
		return MarkAsks
	case events.ReportBlocked:
		return MarkBlocked
	case events.ReportError:
		return MarkFailed
	case events.ReportComplete:
		return MarkSaysDone
	case events.ReportProgress:
	}
	return MarkNone
}

// Tape says of each event of the log, in order, when it was, of which project, and its mark. Its copies share what both
// hold; only one of them may grow at a time.
type Tape struct {
	chunks []*tapeChunk
	n      uint64
}

// tapeChunk holds the events of one segment: a tape that grows copies none of them.
type tapeChunk struct {
	at   [SegmentEvents]int64
	what [SegmentEvents]uint32
}

// tapeBits are the bits of what an entry holds that are its mark; the others are the number of its project.
const tapeBits = 4

// with returns a tape with one more event.
func (t Tape) with(at int64, project uint32, mark Mark) Tape {
	chunk, i := int(t.n/SegmentEvents), t.n%SegmentEvents //nolint:gosec // as many as fit into memory
	if chunk == len(t.chunks) {
		t.chunks = append(t.chunks, new(tapeChunk))
	}
	t.chunks[chunk].at[i], t.chunks[chunk].what[i] = at, project<<tapeBits|uint32(mark)
	t.n++
	return t
}

// Tape returns what was said of the events up to now. It does not change, and may be read without the state.
func (s *State) Tape() Tape { return s.tape }

// Len returns how many events there are: the sequence of the last one.
func (t Tape) Len() uint64 { return t.n }

// At returns the time of an event, in milliseconds since 1970; 0 if there is no such event.
func (t Tape) At(sequence uint64) int64 {
	if sequence == 0 || sequence > t.n {
		return 0
	}
	return t.chunks[(sequence-1)/SegmentEvents].at[(sequence-1)%SegmentEvents]
}

// Before returns the sequence of the last event before a time, 0 if there is none. No event is older than the one
// before it.
func (t Tape) Before(moment time.Time) uint64 {
	at := moment.UnixMilli()
	if moment.After(time.UnixMilli(at)) { // the times of events are whole milliseconds
		at++
	}
	//nolint:gosec // lengths
	return uint64(sort.Search(int(t.n), func(i int) bool { return t.At(uint64(i)+1) >= at }))
}

// Until returns the sequence of the last event up to a time, 0 if there is none.
func (t Tape) Until(moment time.Time) uint64 { return t.Before(moment.Add(time.Nanosecond)) }

// Slice counts events that follow each other.
type Slice struct {
	First, Last uint64
	// Count is how many of them count, and Marks how many of these have a mark.
	Count uint64
	Marks [marks]uint32
}

// Named calls see with the name and the number of each mark that is in the slice, the most serious first.
func (x *Slice) Named(see func(name string, n uint32)) {
	for mark, n := range x.Marks {
		if n > 0 && Mark(mark) != MarkNone { //nolint:gosec // a mark
			see(markNames[mark], n)
		}
	}
}

// Slices divides the events from first to last into so many slices of equal length, or one for each event if there are
// fewer. counts says which projects count, by [Project.Number]; events of no project are number 0.
func (t Tape) Slices(first, last uint64, most int, counts []bool) []Slice {
	first, last = max(first, 1), min(last, t.n)
	if first > last || most < 1 {
		return nil
	}
	total := last - first + 1
	n := min(uint64(most), total)
	slices := make([]Slice, n)
	for i := range slices {
		x := &slices[i]
		x.First = first + total*uint64(i)/n      //nolint:gosec // an index
		x.Last = first + total*uint64(i+1)/n - 1 //nolint:gosec // an index
		for from := x.First; from <= x.Last; {
			chunk, begin := t.chunks[(from-1)/SegmentEvents], (from-1)%SegmentEvents
			end := min(begin+x.Last-from+1, SegmentEvents)
			for _, what := range chunk.what[begin:end] {
				if project := int(what >> tapeBits); project < len(counts) && counts[project] {
					x.Count++
					x.Marks[what&(1<<tapeBits-1)]++
				}
			}
			from += end - begin
		}
	}
	return slices
}

// appendTape appends what the tape says of the events of a segment.
func (i *Image) appendTape(b []byte, first, last uint64) []byte {
	before := int64(0)
	for sequence := first; sequence <= last; sequence++ {
		at := i.tape.At(sequence)
		b = binary.AppendVarint(b, at-before)
		what := i.tape.chunks[(sequence-1)/SegmentEvents].what[(sequence-1)%SegmentEvents]
		b = binary.AppendUvarint(b, uint64(what))
		before = at
	}
	return b
}

// restoreTape restores what the tape says of the next events.
func (s *State) restoreTape(r *reader, n uint64) {
	at := int64(0)
	for range n {
		at += r.varint()
		what := r.uvarint()
		project, mark := what>>tapeBits, Mark(what&(1<<tapeBits-1))
		if r.bad || project > uint64(len(s.projectIDs)) || mark >= marks {
			r.bad = true
			return
		}
		s.tape = s.tape.with(at, uint32(project), mark) //nolint:gosec // a number of projects
	}
}

func (r *reader) varint() int64 {
	value, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return value
}
