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
}

func (e *DamageError) Error() string { return "the export cannot be used: " + e.Why }

// Read yields the messages of an export of the whole log, in order and without a gap. It does not verify them. A line
// without its body is an error: an export of one project is not the log.
func Read(r io.Reader, yield func(events.Message) error) error {
	return ReadLines(r, func(l Line) error {
		return yield(events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()})
	})
}

// ReadLines is Read for callers that also want each line's hash. See [Line.Differs].
func ReadLines(r io.Reader, yield func(Line) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	next := uint64(1)
	for {
		text, err := readLine(lines)
		if errors.Is(err, bufio.ErrTooLong) {
			return &DamageError{fmt.Sprintf("the line of event %d is longer than that of any event", next), false}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the export at sequence %d: %w", next, err)
		}
		if len(text) > 0 {
			l, bad := ReadLine(text)
			switch {
			case bad != nil:
				return &DamageError{fmt.Sprintf("event %d cannot be read: %s", next, bad), false}
			case l.Withheld():
				return &DamageError{
					fmt.Sprintf("it has no body for event %d: it is an export of one project", l.Sequence), true,
				}
			case l.Sequence != next:
				return &DamageError{fmt.Sprintf("it has event %d where event %d should be", l.Sequence, next), false}
			}
			if err := yield(l); err != nil {
				return err
			}
			next++
		}
		if err != nil {
			return nil //nolint:nilerr // io.EOF, which is the end
		}
	}
}
