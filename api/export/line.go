package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"maestro/events"
	"maestro/internal/syntax"
)

// Start is the prefix of every line of an export.
const Start = `{"sequence":`

// Line is one message of an export. It has either Event (or Raw, for a body that is not a line of JSON), or PrevHash
// and BodyHash.
type Line struct {
	Sequence uint64 `json:"sequence"`
	// Hash is the chain's hash after the message.
	Hash    events.Hash     `json:"hash"`
	Subject string          `json:"subject,omitempty"`
	Event   json.RawMessage `json:"event,omitempty"`
	Raw     []byte          `json:"raw,omitempty"`
	// PrevHash and BodyHash stand for a withheld body.
	PrevHash *events.Hash `json:"prevhash,omitempty"`
	BodyHash *events.Hash `json:"bodyhash,omitempty"`
}

// Withheld reports whether the line has no body.
func (l Line) Withheld() bool { return l.BodyHash != nil }

// Body returns the message's body, byte for byte; nil if it was withheld.
func (l Line) Body() []byte {
	if l.Raw != nil {
		return l.Raw
	}
	return l.Event
}

// Differs says how a line's hash differs from that of its event, "" if it does not. An unreadable event has no hash to
// compare.
func (l Line) Differs() string {
	event, err := events.Decode(l.Body())
	if l.Withheld() || err != nil {
		return ""
	}
	return differs(l, events.Next(event.PrevHash, events.BodyHash(l.Body())))
}

func differs(l Line, comes events.Hash) string {
	if comes == l.Hash {
		return ""
	}
	return fmt.Sprintf("the line says hash %s, but its message hashes to %s", l.Hash, comes)
}

// Append appends the line of a message, with its line break. hash is the hash of the chain after it.
func Append(b []byte, m events.Message, hash events.Hash) []byte {
	b = appendHead(b, m.Sequence, hash)
	b = append(b, `,"subject":`...)
	b = appendJSON(b, m.Subject)
	if json.Valid(m.Body) && !bytes.ContainsAny(m.Body, "\n\r") && m.Body[0] == '{' {
		b = append(b, `,"event":`...)
		b = append(b, m.Body...)
	} else {
		b = append(b, `,"raw":`...)
		b = appendJSON(b, m.Body)
	}
	return append(b, '}', '\n')
}

// AppendWithheld appends the line of a message whose body is withheld.
func AppendWithheld(b []byte, sequence uint64, hash, prev, body events.Hash) []byte {
	b = appendHead(b, sequence, hash)
	b = append(b, `,"prevhash":"`...)
	b = append(b, prev.String()...)
	b = append(b, `","bodyhash":"`...)
	b = append(b, body.String()...)
	return append(b, '"', '}', '\n')
}

func appendHead(b []byte, sequence uint64, hash events.Hash) []byte {
	b = append(b, Start...)
	b = strconv.AppendUint(b, sequence, 10)
	b = append(b, `,"hash":"`...)
	b = append(b, hash.String()...)
	return append(b, '"')
}

func appendJSON(b []byte, value any) []byte {
	// A string and a byte slice can always be marshalled.
	text, _ := json.Marshal(value)
	return append(b, text...)
}

// ReadLine parses one line of an export.
func ReadLine(line []byte) (Line, error) {
	var l Line
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return Line{}, fmt.Errorf("not a line of an export: %w", syntax.Plain(err))
	}
	if len(bytes.TrimSpace(line[decoder.InputOffset():])) > 0 {
		return Line{}, errors.New("not a line of an export: something follows the object")
	}
	bodies := 0
	for _, there := range []bool{l.Event != nil, l.Raw != nil, l.PrevHash != nil && l.BodyHash != nil} {
		if there {
			bodies++
		}
	}
	if bodies != 1 || (l.PrevHash == nil) != (l.BodyHash == nil) || l.Sequence == 0 {
		return Line{},
			errors.New("not a line of an export: it has a sequence, and either an event or prevhash and bodyhash")
	}
	if !bytes.Equal(bytes.TrimRight(line, "\r\n"), bytes.TrimRight(l.append(nil), "\n")) {
		return Line{}, errors.New("not a line of an export: Maestro writes it in another form; " +
			"a member that is there twice, for example, can hide another event")
	}
	return l, nil
}

// append appends the line as an export has it, with its line break.
func (l Line) append(b []byte) []byte {
	if l.Withheld() {
		return AppendWithheld(b, l.Sequence, l.Hash, *l.PrevHash, *l.BodyHash)
	}
	return Append(b, events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: l.Body()}, l.Hash)
}
