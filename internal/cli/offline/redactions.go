package offline

import (
	"bytes"

	"maestro/api/export"
	"maestro/events"
	"maestro/internal/cli"
	"maestro/projections"
	"maestro/service/wire"
)

// redactions are the long texts that a log says were removed for good, by digest. They are of the whole log: a text is
// marked wherever its beginning is shown, also if it was removed after the last event that is shown.
type redactions map[string]*wire.Redaction

// redactedType is in each event that removes a text.
var redactedType = []byte((*events.TextRedacted)(nil).EventType())

// in returns the texts among those that an event names.
func (r redactions) in(texts []events.Digest) []wire.RedactedText {
	return wire.RedactedTexts(texts, func(digest string) *wire.Redaction { return r[digest] })
}

// note adds the redaction that an event is.
func (r redactions) note(sequence uint64, e *events.Event) {
	if d, removes := e.Data.(*events.TextRedacted); removes {
		of := projections.Redaction{
			By:       e.Source,
			At:       e.Time.UnixMilli(),
			Reason:   d.Reason,
			Sequence: sequence,
		}
		r[d.Text] = of.View()
	}
}

// rest adds those of the lines that are left of an export, and does not fold them. What cannot be read is the fault of
// those who replay that far.
func (r redactions) rest(lines *export.Lines) error {
	return lines.Rest(func(text []byte) {
		if !bytes.Contains(text, redactedType) {
			return
		}
		line, err := export.ReadLine(text)
		if err != nil || line.Withheld() {
			return
		}
		if e, err := events.Decode(line.Body()); err == nil {
			r.note(line.Sequence, e)
		}
	})
}

// redactionsIn reads those of a file; none of stdin, which can be read only once.
func redactionsIn(a *cli.Run, file string) (redactions, error) {
	found := redactions{}
	if file == "-" {
		return found, nil
	}
	in, done, err := cli.OpenFile(a, file)
	if err != nil {
		return nil, err
	}
	defer done()
	return found, found.rest(export.NewLines(in))
}
