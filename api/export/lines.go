package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"maestro/events"
	"maestro/internal/syntax"
)

// Lines reads the events of an export one after the other, of the whole log or of one project, and compares each line
// with its own hash and the end of the file with the line that says where the log ended. Whoever folds the events
// compares each with the one before it.
type Lines struct {
	in   *bufio.Reader
	n    int
	head events.Head
	rest rest
}

// NewLines reads an export from its beginning.
func NewLines(r io.Reader) *Lines { return &Lines{in: bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next event, decoded by the decoder into the event unless its body is withheld. The error is io.EOF
// at the end, a *DamageError for a line that is not as it was written, or the reader's.
func (l *Lines) Next(decoder *events.Decoder, event *events.Event) (Line, error) {
	for {
		text, err := readLine(l.in)
		if errors.Is(err, bufio.ErrTooLong) {
			return Line{}, damagedAt(l.n+1, "it is longer than that of any event")
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return Line{}, err
		}
		if len(text) == 0 && err != nil {
			if cut := l.rest.cut(); cut != nil {
				return Line{}, damagedAt(l.n+1, "%s", cut)
			}
			return Line{}, io.EOF
		}
		if l.n++; len(text) == 0 {
			continue
		}
		switch taken, err := l.rest.takes(text, l.head, func(Text) error { return nil }); {
		case err != nil:
			return Line{}, damagedAt(l.n, "%s", err)
		case !taken:
			return l.line(text, decoder, event)
		}
	}
}

func (l *Lines) line(text []byte, decoder *events.Decoder, event *events.Event) (Line, error) {
	line, err := ReadLine(text)
	if err != nil {
		return line, damagedAt(l.n, "%s", err)
	}
	var comes events.Hash
	if line.Withheld() {
		comes = events.Next(*line.PrevHash, *line.BodyHash)
	} else {
		if err := decoder.DecodeInto(line.Body(), event); err != nil {
			why := fmt.Sprintf("line %d: event %d cannot be read: %s", l.n, line.Sequence, syntax.Plain(err))
			return line, &DamageError{Why: why, Err: err}
		}
		comes = events.Next(event.PrevHash, events.BodyHash(line.Body()))
	}
	if what := differs(line, comes); what != "" {
		return line, damagedAt(l.n, "%s", what)
	}
	l.head = events.Head{Sequence: line.Sequence, Hash: line.Hash}
	return line, nil
}

// Rest yields the lines that are left, as they are. The error is the reader's.
func (l *Lines) Rest(yield func(text []byte)) error {
	for {
		text, err := readLine(l.in)
		if len(text) > 0 {
			yield(text)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrTooLong):
			return nil
		case err != nil:
			return err
		}
	}
}
