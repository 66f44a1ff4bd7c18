package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"maestro/engine"
	"maestro/events"
)

// maxLine is the longest line: a body, in base64 at the worst, and its hashes. maxText is that of a long text, with as
// much room again.
const (
	maxLine = 2*events.MaxBody + 4<<10
	maxText = 4 * events.MaxLongText
)

// Verdict is the verdict on an export.
type Verdict struct {
	engine.Verdict

	// Ended says that the last line confirmed where the log ended.
	Ended bool `json:"ended,omitempty"`
	// Redacted counts the long texts of which the export of a project says that they were redacted. The events that
	// prove it are withheld.
	Redacted int `json:"redacted,omitempty"`
}

// VerifyExport verifies an export: every line against the chain, every event against the rules of its time on the state
// before it, the long texts, if it has them, against their digests, and the whole against a head that was stored
// elsewhere, if from is not nil. It cannot judge withheld bodies and what comes after them, but still checks the chain,
// and the texts that the other events name. The error is the reader's; faults of the export are in the verdict.
func VerifyExport(r io.Reader, from *events.Head) (Verdict, error) {
	v := &verifier{
		rules:   engine.NewVerifier(),
		judging: true,
		from:    from,
		kept:    map[string]bool{},
		lost:    map[string]string{},
	}
	lines := bufio.NewReaderSize(r, 64<<10)
	for broken := false; ; {
		line, err := readLine(lines)
		switch {
		case len(line) == 0:
		case broken:
			v.skip(line)
		default:
			broken = !v.read(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, bufio.ErrTooLong) {
			v.rules.Fault(v.head.Sequence+1, engine.FaultUnreadable, "a line is longer than any event")
			break
		}
		if err != nil {
			return Verdict{}, fmt.Errorf("read the export: %w", err)
		}
	}
	verdict, err := v.verdict()
	return Verdict{verdict, v.rest.ended, v.redacted}, err
}

// readLine returns the next line without its line break; with io.EOF the last one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxText, len(line) > maxLine && !IsText(line):
			return nil, bufio.ErrTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil:
			return line[:len(line)-1], nil
		}
		return line, err
	}
}

type verifier struct {
	rules *engine.Verifier
	// judging says that the state is complete, so that decisions can be verified.
	judging bool
	decoder events.Decoder
	// head is the head of the chain, according to the lines.
	head events.Head
	// lines counts all lines that were read, events those of the log.
	lines    uint64
	events   uint64
	withheld uint64
	from     *events.Head
	seen     bool
	// kept are the long texts that the export has, lost says of others why they are lost.
	kept map[string]bool
	lost map[string]string
	// redacted counts the texts that were redacted, according to their lines.
	redacted int
	rest     rest
}

// read verifies a line; it reports false when no line after it can be read.
func (v *verifier) read(line []byte) bool {
	taken, err := v.rest.takes(line, v.head, v.text)
	if !taken {
		return v.line(line)
	}
	v.lines++
	if err != nil {
		v.rules.Fault(v.head.Sequence, engine.FaultUnreadable, "line %d: %s", v.lines, err)
	}
	return err == nil
}

// text notes a long text. It is a fault if no event names it.
func (v *verifier) text(t Text) error {
	if !v.rules.NamesText(t.Digest) || t.Redacted && v.withheld == 0 {
		return Unnamed(t)
	}
	if t.Redacted {
		v.redacted++
	}
	v.lost[t.Digest] = t.Lost
	v.kept[t.Digest] = v.kept[t.Digest] || t.Lost == ""
	return nil
}

// line verifies a line; it reports false when no line after it can be read.
func (v *verifier) line(text []byte) bool {
	v.lines++
	v.events++
	l, err := ReadLine(text)
	if err != nil {
		v.rules.Fault(v.head.Sequence+1, engine.FaultUnreadable, "line %d: %s", v.lines, err)
		return false
	}
	joined := v.follows(l)
	prev, body, ok := v.hashes(l)
	if !ok {
		return false
	}
	if joined && prev != v.head.Hash {
		v.rules.Fault(
			l.Sequence,
			engine.FaultChain,
			"it follows hash %s, and the message before it has %s",
			prev,
			v.head.Hash,
		)
	}
	if what := differs(l, events.Next(prev, body)); what != "" {
		v.rules.Fault(l.Sequence, engine.FaultChain, "%s", what)
	}
	v.head = events.Head{Sequence: l.Sequence, Hash: l.Hash}
	v.judge(l)
	if v.from != nil && v.from.Sequence == l.Sequence {
		v.seen = true
		if v.from.Hash != l.Hash {
			v.rules.Fault(
				l.Sequence,
				engine.FaultWitness,
				"the witness saw hash %s here, and the export has %s",
				v.from.Hash,
				l.Hash,
			)
		}
	}
	return true
}

// follows reports whether the line is the next of the chain.
func (v *verifier) follows(l Line) bool {
	if l.Sequence == v.head.Sequence+1 {
		return true
	}
	switch {
	case v.lines == 1:
		v.rules.Fault(
			1,
			engine.FaultMissing,
			"the export begins at sequence %d: what led there is missing, so its decisions cannot be judged",
			l.Sequence,
		)
	case l.Sequence > v.head.Sequence:
		v.rules.Fault(v.head.Sequence+1, engine.FaultMissing, "line %d is sequence %d", v.lines, l.Sequence)
	default:
		v.rules.Fault(l.Sequence, engine.FaultChain, "out of order: it comes after sequence %d", v.head.Sequence)
	}
	v.judging = false
	return false
}

// hashes returns the hash before a line and that of its body.
func (v *verifier) hashes(l Line) (prev, body events.Hash, ok bool) {
	if l.Withheld() {
		v.withheld++
		v.judging = false
		return *l.PrevHash, *l.BodyHash, true
	}
	event, err := v.decoder.Decode(l.Body())
	if err != nil {
		v.rules.Fault(l.Sequence, engine.FaultUnreadable, "it cannot be read: %s", err)
		return prev, body, false
	}
	return event.PrevHash, events.BodyHash(l.Body()), true
}

func (v *verifier) judge(l Line) {
	judged := v.judging // with its subject
	if judged {
		v.judging = v.rules.Event(events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()})
		if v.judging {
			return
		}
	} else {
		v.rules.Skip(l.Sequence, l.Sequence)
	}
	event, err := v.decoder.Decode(l.Body())
	if err != nil || l.Withheld() {
		return
	}
	v.rules.NoteTexts(l.Sequence, event.Data)
	if kind, id := event.Data.Aggregate(); !judged && l.Subject != events.Subject(event.Project, kind, id) {
		v.rules.Fault(l.Sequence, engine.FaultSubject, "it is stored under the subject %s", l.Subject)
	}
}

// skip notes a line after one that cannot be read.
func (v *verifier) skip(text []byte) {
	if l, err := ReadLine(text); err == nil {
		v.rules.Skip(l.Sequence, l.Sequence)
	}
}

func (v *verifier) verdict() (engine.Verdict, error) {
	if v.from != nil && v.from.Sequence > 0 && !v.seen {
		v.rules.Fault(
			v.head.Sequence+1,
			engine.FaultWitness,
			"the export ends at %d, and the witness saw %s",
			v.head.Sequence,
			v.from,
		)
	}
	if v.rest.holdsTexts {
		v.rules.LoseTexts(v.kept, v.lost, "the export does not hold it")
	}
	if cut := v.rest.cut(); cut != nil {
		v.rules.Fault(v.head.Sequence, engine.FaultUnreadable, "line %d: %s", v.lines+1, cut)
	}
	verdict, err := v.rules.Verdict()
	verdict.Head, verdict.Events, verdict.Withheld = v.head, v.events, v.withheld
	engine.AdviseForFile(verdict.Faults)
	if !v.judging {
		verdict.Views = events.Hash{}
	}
	return verdict, err
}
