package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"maestro/engine"
	"maestro/events"
)

// maxLine is the longest line: a body, in base64 at the worst, and its hashes.
const maxLine = 2*events.MaxBody + 4<<10

// VerifyExport verifies an export: every line against the chain, every event against the rules of its time on the state
// before it, and the whole against a head that was stored elsewhere, if from is not nil. It cannot judge withheld
// bodies and what comes after them, but still checks the chain. The error is the reader's; faults of the export are in
// the verdict.
func VerifyExport(r io.Reader, from *events.Head) (engine.Verdict, error) {
	v := &verifier{rules: engine.NewVerifier(), judging: true, from: from}
	lines := bufio.NewReaderSize(r, 64<<10)
	for ended := false; ; {
		line, err := readLine(lines)
		switch {
		case len(line) == 0:
		case ended:
			v.skip(line)
		default:
			ended = !v.line(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, bufio.ErrTooLong) {
			v.rules.Fault(v.head.Sequence+1, engine.FaultUnreadable, "a line is longer than any event")
			break
		}
		if err != nil {
			return engine.Verdict{}, fmt.Errorf("read the export: %w", err)
		}
	}
	return v.verdict()
}

// readLine returns the next line without its line break; with io.EOF the last one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
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
	head     events.Head
	lines    uint64
	withheld uint64
	from     *events.Head
	seen     bool
}

// line verifies a line; it reports false when no line after it can be read.
func (v *verifier) line(text []byte) bool {
	v.lines++
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
	if v.judging {
		v.judging = v.rules.Event(events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()})
		return
	}
	v.rules.Skip(l.Sequence, l.Sequence)
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
	verdict, err := v.rules.Verdict()
	verdict.Head, verdict.Events, verdict.Withheld = v.head, v.lines, v.withheld
	for i := range verdict.Faults {
		verdict.Faults[i].Next = verdict.Faults[i].Rule.NextForFile()
	}
	if !v.judging {
		verdict.Views = events.Hash{}
	}
	return verdict, err
}
