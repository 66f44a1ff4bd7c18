package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"maestro/events"
)

// Read yields the messages of an export of the whole log, in order and without a gap. It does not judge them. A line without
// its body is an error: an export of one project is not the log.
func Read(r io.Reader, yield func(events.Message) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	next := uint64(1)
	for {
		text, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the export at sequence %d: %w", next, err)
		}
		if len(text) > 0 {
			l, bad := ReadLine(text)
			switch {
			case bad != nil:
				return fmt.Errorf("the export is damaged or cut at sequence %d: %w; use another", next, bad)
			case l.Withheld():
				return fmt.Errorf("the export has no body for event %d: it is of one project; export the whole log", l.Sequence)
			case l.Sequence != next:
				return fmt.Errorf("the export has event %d where %d should be; use another", l.Sequence, next)
			}
			if err := yield(events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()}); err != nil {
				return err
			}
			next++
		}
		if err != nil {
			return nil //nolint:nilerr // io.EOF, which is the end
		}
	}
}
