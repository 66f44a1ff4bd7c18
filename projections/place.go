package projections

import (
	"slices"

	"maestro/events"
)

// Place says where an entry of a timeline is: in which event of the log, and which of the event's entries it is. The
// event holds the entry's text; see [Place.Entry].
type Place uint64

// A Place holds the event's sequence, the entry's index, and these marks, which the state gave the entry.
const (
	indexBits = 20
	markBits  = 4

	markBare     Place = 1 << 0 // it has no text
	markLate     Place = 1 << 1 // see Entry.Late
	markApart    Place = 1 << 2 // see Entry.Apart
	markTaskless Place = 1 << 3 // its task did not exist

	placeRest Place = 1<<(indexBits+markBits) - 1 // everything but the sequence
)

// PlaceAt returns the place of an entry without marks.
func PlaceAt(sequence uint64, index int) Place {
	return Place(sequence)<<(indexBits+markBits) | Place(index)<<markBits //nolint:gosec // an index is small
}

func placeOf(e *Entry, taskless bool) Place {
	p := PlaceAt(e.Sequence, e.Index)
	if e.Bare {
		p |= markBare
	}
	if e.Late {
		p |= markLate
	}
	if e.Apart {
		p |= markApart
	}
	if taskless {
		p |= markTaskless
	}
	return p
}

// Sequence is the sequence of the entry's event.
func (p Place) Sequence() uint64 { return uint64(p >> (indexBits + markBits)) }

func (p Place) index() int { return int(p >> markBits & (1<<indexBits - 1)) } //nolint:gosec // 20 bits

// IsBare reports whether the entry is without text; see [Entry.Bare].
func (p Place) IsBare() bool { return p&markBare != 0 }

// IsLate reports whether the entry is a report after its session's end.
func (p Place) IsLate() bool { return p&markLate != 0 }

// Entry reads the entry from its event. session is the session whose timeline has it, "" for a task's timeline.
func (p Place) Entry(event *events.Event, session string) *Entry {
	f := fact{Event: event, sequence: p.Sequence(), at: event.Time.UnixMilli()}
	e := f.entry(p.index())
	if session != "" {
		e.SessionID = session
	}
	e.Apart = p&markApart != 0
	if p&markTaskless != 0 {
		e.TaskID = ""
	}
	return &e
}

// Timeline says where the entries of a session or a task are, oldest first. It is a slice whose array may hold later
// entries beyond its length.
type Timeline []Place

// Bare returns the entries that are without text, or those with text.
func (t Timeline) Bare(bare bool) Timeline { return t.only(Place.IsBare, bare) }

// Late returns the entries that are late reports, or the others.
func (t Timeline) Late(late bool) Timeline { return t.only(Place.IsLate, late) }

func (t Timeline) only(is func(Place) bool, want bool) Timeline {
	return slices.DeleteFunc(slices.Clone(t), func(p Place) bool { return is(p) != want })
}
