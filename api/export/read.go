package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"maestro/events"
)

// DamageError says why a file is not a complete export. Match it with errors.As.
type DamageError struct {
	// Why describes what is wrong with the file.
	Why string
	// Part says that the file is an export of one project.
	Part bool
	// Err is the cause, if it is of interest: an *events.UnknownTypeError.
	Err error
}

func (e *DamageError) Error() string { return "the export cannot be used: " + e.Why }

func (e *DamageError) Unwrap() error { return e.Err }

// Read yields the messages of an export of the whole log, in order and without a gap. It does not verify them. A line
// without its body is an error: an export of one project is not the log.
func Read(r io.Reader, yield func(events.Message) error) error {
	return ReadLines(r, func(l Line) error {
		return yield(events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()})
	})
}

// ReadLines is Read for callers that also want each line's hash. See [Line.Differs].
func ReadLines(r io.Reader, yield func(Line) error) error {
	_, err := ReadAll(r, yield, func(Text) error { return nil })
	return err
}

// ReadAll is ReadLines with the long texts, which follow the events; each has its digest. ended says that the last line
// of the export confirmed where the log ended.
func ReadAll(r io.Reader, yield func(Line) error, text func(Text) error) (ended bool, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	reading := reader{yield: yield, text: text}
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if errors.Is(err, bufio.ErrTooLong) {
			return false, damagedAt(n, "it is longer than that of any event")
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read the export at line %d: %w", n, err)
		}
		if len(line) > 0 {
			if err := reading.line(n, line); err != nil {
				return false, err
			}
		}
		if err != nil {
			if cut := reading.rest.cut(); cut != nil {
				return false, damagedAt(n, "%s", cut)
			}
			return reading.rest.ended, nil // io.EOF, which is the end
		}
	}
}

// reader reads a whole export line by line.
type reader struct {
	yield func(Line) error
	text  func(Text) error
	head  events.Head
	rest  rest
	// failed is the error of a caller's function.
	failed error
}

func (r *reader) line(n int, line []byte) error {
	taken, err := r.rest.takes(line, r.head, func(t Text) error {
		r.failed = r.text(t)
		return r.failed
	})
	switch {
	case r.failed != nil:
		return r.failed
	case err != nil:
		return damagedAt(n, "%s", err)
	case taken:
		return nil
	}
	next := r.head.Sequence + 1
	l, err := ReadLine(line)
	switch {
	case err != nil:
		return damagedAt(n, "event %d cannot be read: %s", next, err)
	case l.Withheld():
		return &DamageError{
			Why:  fmt.Sprintf("it has no body for event %d: it is an export of one project", l.Sequence),
			Part: true,
		}
	case l.Sequence != next:
		return damagedAt(n, "it has event %d where event %d should be", l.Sequence, next)
	}
	r.head = events.Head{Sequence: l.Sequence, Hash: l.Hash}
	return r.yield(l)
}

func damagedAt(line int, format string, v ...any) error {
	return &DamageError{Why: fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, v...)}
}
