package manifest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxFaults bounds the reported faults of a document. More would not help, and a crafted document can have millions.
const maxFaults = 100

// Fault is one fault of a document.
type Fault struct {
	// Pointer is its place (RFC 6901): for a missing member the place where it would be, for the whole document "".
	Pointer string `json:"pointer"`
	// Message says what is wrong and what is expected.
	Message string `json:"message"`
}

// InvalidError lists the faults of a document, in document order. Match it with errors.As.
type InvalidError struct {
	Faults []Fault `json:"errors"`
	// More is the number of further faults, after the first hundred.
	More int `json:"more,omitempty"`
}

// Error implements error. It names the first few.
func (e *InvalidError) Error() string {
	const most = 3
	var b strings.Builder
	b.WriteString("invalid manifest: ")
	for i, fault := range e.Faults {
		if i == most {
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		if fault.Pointer != "" {
			b.WriteString(fault.Pointer + ": ")
		}
		b.WriteString(fault.Message)
	}
	if rest := max(0, len(e.Faults)-most) + e.More; rest > 0 {
		b.WriteString("; and " + strconv.Itoa(rest) + " more")
	}
	return b.String()
}

// whole returns a fault of the document as a whole.
func whole(message string) *InvalidError {
	return &InvalidError{Faults: []Fault{{Message: message}}}
}

// faultList keeps the first faults of a document by their place, in whatever order they are found.
type faultList struct {
	kept  []placedFault
	last  int
	total int
}

type placedFault struct {
	at int
	Fault
}

// add adds a fault at a byte of the document. Its text is only created if the fault is kept.
func (l *faultList) add(at int, pointer, message func() string) {
	l.total++
	if len(l.kept) >= maxFaults && at >= l.last {
		return
	}
	l.last = max(l.last, at)
	l.kept = append(l.kept, placedFault{at, Fault{pointer(), message()}})
	if len(l.kept) >= 2*maxFaults {
		l.trim()
	}
}

func (l *faultList) trim() {
	slices.SortStableFunc(l.kept, func(a, b placedFault) int { return cmp.Compare(a.at, b.at) })
	if len(l.kept) > maxFaults {
		l.kept = l.kept[:maxFaults]
	}
	if len(l.kept) > 0 {
		l.last = l.kept[len(l.kept)-1].at
	}
}

// err returns the faults as an error, or nil if there are none.
func (l *faultList) err() error {
	if l.total == 0 {
		return nil
	}
	l.trim()
	invalid := &InvalidError{More: l.total - len(l.kept)}
	for _, fault := range l.kept {
		invalid.Faults = append(invalid.Faults, fault.Fault)
	}
	return invalid
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// step is one part of a pointer: a member, or an item if the index is not negative.
type step struct {
	name  string
	index int
}

func pointerOf(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteByte('/')
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(pointerEscapes.Replace(s.name))
		}
	}
	return b.String()
}
