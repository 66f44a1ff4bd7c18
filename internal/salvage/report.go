package salvage

import (
	"fmt"
	"strings"
	"time"

	"maestro/bus"
	"maestro/engine"
	"maestro/events"
)

// Report is the result of a salvage. The new home holds it as salvage.json.
type Report struct {
	From string    `json:"from"`
	To   string    `json:"to"`
	At   time.Time `json:"at"`
	// Head is the end of the new log.
	Head events.Head `json:"head"`
	// Acknowledged is the head in the damaged home's head file, if it can be read.
	Acknowledged events.Head `json:"acknowledged"`
	// End is the highest sequence that the log is known to have had, and EndBy the evidence.
	End   uint64 `json:"end"`
	EndBy string `json:"endBy,omitempty"`
	// EndUnknown says that the end of the log is unknown, because only the note of a clean stop proves it: an unknown
	// number of events after End may be lost.
	EndUnknown bool `json:"endUnknown,omitempty"`
	// Filled counts the events that came from other files, by file; Unused says why others were not used, or not
	// completely.
	Filled map[string]uint64 `json:"filled"`
	// Missing are the sequences that no source has.
	Missing []Range `json:"missing"`
	// Behind counts the readable events after the first gap, which are in the file BehindFile of the new home.
	Behind     uint64 `json:"behind"`
	BehindFile string `json:"behindFile,omitempty"`
	// Tail counts events that starts had cut off the log as unfinished appends, and that are not in the new log. They
	// are in the file TailFile of the new home.
	Tail     uint64 `json:"tail,omitempty"`
	TailFile string `json:"tailFile,omitempty"`
	// Aside counts events of the sources that are on another chain than the new log, or were left out of it. They are
	// in the file AsideFile of the new home. AsideOwn counts those of the damaged store itself. LeftOut counts those
	// that follow the new log and were left out of it: if the file that has them is right, they were acknowledged.
	Aside     uint64 `json:"aside,omitempty"`
	AsideFile string `json:"asideFile,omitempty"`
	AsideOwn  uint64 `json:"asideOwn,omitempty"`
	LeftOut   uint64 `json:"leftOut,omitempty"`
	// Unread lists what may hold acknowledged events and could not be read.
	Unread []string `json:"unread,omitempty"`
	// Earlier is the report of the salvage that created the damaged home, if that lacked events and others were written
	// since.
	Earlier *Report `json:"earlier,omitempty"`
	// Texts counts the long texts in the new home. LostTexts are those that the events name and no source has.
	Texts     int               `json:"texts"`
	LostTexts []engine.LostText `json:"lostTexts"`
	// UnreadTexts counts the named long texts that the old store lacks. FilledTexts counts those that came from other
	// files, by file.
	UnreadTexts int            `json:"unreadTexts"`
	FilledTexts map[string]int `json:"filledTexts"`
	Refusals    int            `json:"refusals"`
	// Newer says what this version cannot do because a newer maestro wrote the damaged home; "" if it did not. Install
	// says what to install, and what to do with it.
	Newer   string `json:"newer,omitempty"`
	Install string `json:"install,omitempty"`
	// Key says why the tokens of sessions do not work in the new home, "" if they do.
	Key    string            `json:"key,omitempty"`
	Damage []bus.Fault       `json:"damage"`
	Faults []engine.Fault    `json:"faults"`
	Unused map[string]string `json:"unused"`
	Notes  []string          `json:"notes"`
}

// Range is a range of sequences, both ends included.
type Range struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

func (r Range) String() string {
	if r.From == r.To {
		return fmt.Sprintf("%d", r.From)
	}
	return fmt.Sprintf("%d to %d", r.From, r.To)
}

// Whole reports whether everything acknowledged is in the new home: its events, in order, their long texts, and the key
// without which no server starts there; and whether a server of this version can serve it.
func (r *Report) Whole() bool {
	return r.Key == "" && r.Newer == "" && !r.EndUnknown && len(r.Missing) == 0 && r.Behind == 0 && r.Tail == 0 &&
		r.AsideOwn == 0 && r.LeftOut == 0 && len(r.Unread) == 0 && len(r.LostTexts) == 0 && len(r.Faults) == 0 &&
		(r.Earlier == nil || !r.Earlier.lacks())
}

// Lost has a line for everything that is missing in the new log.
func (r *Report) Lost() string {
	var b strings.Builder
	for _, missing := range r.Missing {
		fmt.Fprintf(&b, "events missing: %s\n", missing)
	}
	if r.Behind > 0 {
		fmt.Fprintf(&b, "events after a gap, kept in %s: %d\n", r.BehindFile, r.Behind)
	}
	if r.Tail > 0 {
		fmt.Fprintf(&b, "events that a start cut off as an unfinished append, kept in %s: %d\n", r.TailFile, r.Tail)
	}
	if r.AsideOwn > 0 {
		fmt.Fprintf(&b, "events of the store that are on another chain than the new log, kept in %s: %d\n", r.AsideFile,
			r.AsideOwn)
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "events that follow the new log and were left out of it, kept in %s: %d\n", r.AsideFile,
			r.LeftOut)
	}
	for _, unread := range r.Unread {
		fmt.Fprintf(&b, "not read: %s\n", unread)
	}
	if r.EndUnknown {
		fmt.Fprintf(&b, "events after %d: it is not known whether there were any: "+
			"the server did not end with a clean stop, whose note tells where the log ended; "+
			"the head file is written every tenth of a second\n", r.End)
	}
	if r.Key != "" {
		fmt.Fprintf(&b, "%s: put the right one into the new home; or start once with --new-key, then "+
			"spawn the sessions and make the tokens again\n", r.Key)
	}
	if r.Newer != "" {
		fmt.Fprintf(&b, "%s\n", r.Newer)
	}
	for _, lost := range r.LostTexts {
		fmt.Fprintf(&b, "%s\n", lost)
	}
	for _, fault := range r.Faults {
		fmt.Fprintf(&b, "event %d: %s: %s\n", fault.Sequence, fault.Rule, fault.What)
	}
	if r.Earlier != nil && r.Earlier.lacks() {
		fmt.Fprintf(&b, "lost before: the home came from a salvage of %s at %s, which lacked:\n", r.Earlier.From,
			r.Earlier.At.Format(time.RFC3339))
		for line := range strings.Lines(r.Earlier.Lost()) {
			fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\n"))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// lacks reports whether events are known to be missing. Texts do not count, because they can be searched for again.
func (r *Report) lacks() bool {
	return len(r.Missing) > 0 || r.Behind > 0 || r.Tail > 0 || r.AsideOwn > 0 || len(r.Unread) > 0 ||
		r.Earlier != nil && r.Earlier.lacks()
}

// miss records that sequences have no event.
func (r *Report) miss(from, to uint64) {
	if last := len(r.Missing) - 1; last >= 0 && r.Missing[last].To+1 == from {
		r.Missing[last].To = to
		return
	}
	r.Missing = append(r.Missing, Range{from, to})
}
