package offline

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"maestro/api/export"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/projections"
)

// foldedLog is an export that is folded, event by event.
type foldedLog struct {
	// file is the export's, "" for that of a server.
	file    string
	lines   *export.Lines
	decoder events.Decoder
	state   *projections.State

	// line and event were read last; ahead says that they are not folded yet.
	line  export.Line
	event events.Event
	ahead bool
	// changes are those of the event that was folded last.
	changes []projections.Change
	// whole says that the log was read to its end.
	whole bool
	// withheld counts the events without a body, which the export of a project has for those of others.
	withheld int
}

func newFoldedLog(log io.Reader, file string) *foldedLog {
	return &foldedLog{file: file, lines: export.NewLines(log), state: projections.New()}
}

// next folds the next event that has a body. It returns false if that event is after the moment, or the log ends.
func (l *foldedLog) next(until moment) (bool, error) {
	for {
		if !l.ahead {
			read, err := l.read()
			if err != nil || !read {
				return false, err
			}
		}
		if l.line.Withheld() && until.sequence > 0 && l.line.Sequence > until.sequence ||
			!l.line.Withheld() && until.before(l.line.Sequence, l.event.Time) {
			return false, nil
		}
		l.ahead = false
		if !l.line.Withheld() {
			return l.fold()
		}
		l.withheld++
		if err := l.state.Withheld(l.line.Sequence, *l.line.PrevHash, *l.line.BodyHash); err != nil {
			return false, l.damaged(err)
		}
	}
}

func (l *foldedLog) fold() (bool, error) {
	var err error
	follows := l.line.Sequence == l.state.Head().Sequence+1 && l.event.PrevHash == l.state.Head().Hash
	l.changes, err = l.state.Apply(l.line.Sequence, &l.event, events.BodyHash(l.line.Body()))
	if broken := (*events.DamageError)(nil); l.withheld > 0 && follows && errors.As(err, &broken) {
		return false, &failure.Error{
			Status: http.StatusUnprocessableEntity,
			Code:   failure.File,
			Err:    err,
			Message: fmt.Sprintf("The export %s cannot be read beyond event %d", safetext.Quoted(l.file),
				broken.Sequence-1),
			Why:  fmt.Sprintf("event %d: %s; %s", broken.Sequence, broken.Why, l.part()),
			Next: fmt.Sprintf("ask for an export of the whole log, or end with --to %d", broken.Sequence-1),
		}
	}
	return err == nil, l.damaged(err)
}

// read reads the next event; false at the end of the log.
func (l *foldedLog) read() (bool, error) {
	var err error
	switch l.line, err = l.lines.Next(&l.decoder, &l.event); {
	case errors.Is(err, io.EOF):
		l.whole = true
		return false, nil
	case err != nil:
		return false, l.damaged(err)
	}
	l.ahead = true
	return true, nil
}

// damaged explains why the log cannot be read on. A file can be fetched again; for a server's log, the error itself
// says what helps. The error of a reader stays as it is.
func (l *foldedLog) damaged(err error) error {
	var broken *events.DamageError
	var line *export.DamageError
	ofLine, ofChain := errors.As(err, &line), errors.As(err, &broken)
	behind := l.state.Head().Sequence
	if !ofLine && !ofChain || l.file == "" && ofChain {
		return err
	}
	file := safetext.Quoted(l.file)
	f := &failure.Error{
		Status:  http.StatusUnprocessableEntity,
		Code:    failure.File,
		Err:     err,
		Message: fmt.Sprintf("The export %s cannot be read after event %d", file, behind),
		Next: "ask whoever made the file for it again; " +
			safetext.Line("maestro", "audit", "verify", l.file) + " names what is wrong with this one",
	}
	if l.file == "" {
		f.Message = fmt.Sprintf("The server's log cannot be read after event %d", behind)
		f.Next = "run `maestro audit verify`; if the log is not damaged, try again"
	}
	switch {
	case ofChain:
		f.Why = fmt.Sprintf("event %d: %s", broken.Sequence, broken.Why)
	case errors.As(err, new(*events.UnknownTypeError)):
		f.Why, f.Next = line.Why, "update this command (`maestro version` shows its version)"
	default:
		f.Why = line.Why
	}
	return f
}

// part says what the export of a project does not show, "" for a whole export.
func (l *foldedLog) part() string {
	if l.withheld == 0 {
		return ""
	}
	of := "one project"
	if ids := l.state.ProjectIDs(); len(ids) == 1 {
		of = "project " + ids[0]
	}
	return fmt.Sprintf("%s holds only the events of %s: %s left out", safetext.Quoted(l.file), of,
		cli.Many(l.withheld, "other event"))
}
