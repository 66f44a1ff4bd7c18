package events

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"maestro/internal/syntax"
)

// Decoder decodes stored events. It caches recurring strings (sources, projects), so one Decoder serves one replay. It
// is not safe for concurrent use. The zero Decoder is ready for use.
type Decoder struct {
	interned map[string]string
	sources  map[string]string
}

// maxInterned bounds the cache of a Decoder; a log has few sources for its length.
const maxInterned = 4096

// Decode decodes one stored event. It decodes an event in our own form in one pass, and any other valid CloudEvents
// JSON with the SDK. An unknown type gives *UnknownTypeError.
func (d *Decoder) Decode(body []byte) (*Event, error) {
	event := new(Event)
	return event, d.DecodeInto(body, event)
}

// DecodeInto decodes into an event that the caller reuses for the next body; the payload is always newly allocated.
func (d *Decoder) DecodeInto(body []byte, event *Event) error {
	*event = Event{}
	err := d.fast(body, event)
	if err == nil {
		return nil
	}
	if unknown := (*UnknownTypeError)(nil); errors.As(err, &unknown) {
		return err
	}
	slow, err := decodeWithSDK(body)
	if err != nil {
		return err
	}
	*event = *slow
	return nil
}

// Decode decodes one stored event; see [Decoder.Decode].
func Decode(body []byte) (*Event, error) { return new(Decoder).Decode(body) }

// errNotOurShape leaves a body to the SDK. It does not mean that the body is invalid.
var errNotOurShape = errors.New("not in the shape that Append writes")

func (d *Decoder) intern(b []byte) string {
	if s, ok := d.interned[string(b)]; ok {
		return s
	}
	s := string(b)
	if d.interned == nil {
		d.interned = make(map[string]string)
	}
	if len(d.interned) < maxInterned {
		d.interned[s] = s
	}
	return s
}

// source is intern for a source attribute, and reports whether it is one of ours: the SDK checks other URIs.
func (d *Decoder) source(b []byte) (string, bool) {
	if s, ok := d.sources[string(b)]; ok {
		return s, true
	}
	if len(b) == 0 || b[0] != '/' {
		return "", false
	}
	for _, c := range b {
		if !isIDByte(c) && c != '/' && c != '.' {
			return "", false
		}
	}
	s := string(b)
	if d.sources == nil {
		d.sources = make(map[string]string)
	}
	if len(d.sources) < maxInterned {
		d.sources[s] = s
	}
	return s, true
}

// fast decodes exactly what Event.Append writes.
func (d *Decoder) fast(body []byte, e *Event) error {
	s := scanner{b: body}
	s.literal(`{"specversion":"1.0","id":"`)
	id := s.next(36)
	s.literal(`","source":"`)
	source := s.plain()
	s.literal(`","type":"`)
	eventType := s.plain()
	s.literal(`","subject":"`)
	subject := s.plain()
	s.literal(`","time":"`)
	at := s.next(len(timeLayout))
	s.literal(`","datacontenttype":"application/json","dataschema":"urn:maestro:schema:`)
	schema := s.plain()
	s.literal(`"`)
	if s.optional(`,"partitionkey":"`) {
		e.Project = d.intern(s.plain())
		s.literal(`"`)
	}
	if s.optional(`,"causationid":"`) {
		e.CausationID = d.intern(s.plain())
		s.literal(`"`)
	}
	if s.optional(`,"correlationid":"`) {
		e.CorrelationID = d.intern(s.plain())
		s.literal(`"`)
	}
	if s.optional(`,"traceparent":"`) {
		e.TraceParent = string(s.plain())
		s.literal(`"`)
	}
	s.literal(`,"prevhash":"`)
	prev := s.next(2 * len(e.PrevHash))
	s.literal(`","requesthash":"`)
	request := s.next(2 * len(e.RequestHash))
	s.literal(`"`)
	if s.optional(`,"rules":"`) {
		e.Rules = d.intern(s.plain())
		s.literal(`"`)
	}
	if s.optional(`,"authn":"`) {
		e.Authn = d.intern(s.plain())
		s.literal(`"`)
	}
	var occurred []byte
	if s.optional(`,"occurredat":"`) {
		occurred = s.next(len(timeLayout))
		s.literal(`"`)
	}
	s.literal(`,"data":`)
	if s.bad || len(body) == 0 || body[len(body)-1] != '}' || s.i >= len(body)-1 {
		return errNotOurShape
	}
	if string(schema) != string(eventType) {
		return errNotOurShape
	}
	var err error
	if e.ID, err = parseUUID(id); err != nil {
		return err
	}
	if e.Time, err = parseInstant(at); err != nil {
		return err
	}
	if occurred != nil {
		if e.OccurredAt, err = parseInstant(occurred); err != nil {
			return err
		}
	}
	if _, err := hex.Decode(e.PrevHash[:], prev); err != nil {
		return errNotOurShape
	}
	if _, err := hex.Decode(e.RequestHash[:], request); err != nil {
		return errNotOurShape
	}
	known := false
	if e.Source, known = d.source(source); !known || e.Time.IsZero() || occurred != nil && e.OccurredAt.IsZero() {
		return errNotOurShape
	}
	entry := byType[string(eventType)]
	if entry == nil {
		return &UnknownTypeError{Type: string(eventType), PrevHash: e.PrevHash}
	}
	e.Data, err = d.data(entry, body[s.i:len(body)-1])
	if err != nil {
		return err
	}
	kind, aggregate := e.Data.Aggregate()
	if len(subject) != len(kind)+1+len(aggregate) || string(subject[:len(kind)]) != kind || subject[len(kind)] != '/' ||
		string(subject[len(kind)+1:]) != aggregate {
		return errNotOurShape
	}
	return nil
}

func (d *Decoder) data(entry *Entry, raw []byte) (Data, error) {
	data := entry.New()
	if report, ok := data.(*SessionReported); ok {
		if d.report(raw, report) {
			return report, nil
		}
		*report = SessionReported{}
	}
	if err := json.Unmarshal(raw, data); err != nil {
		return nil, fmt.Errorf("data of %s: %w", entry.Type, syntax.Plain(err))
	}
	return data, nil
}

// report decodes exactly what SessionReported.append writes, if its strings have only the escapes of plain text.
func (d *Decoder) report(raw []byte, r *SessionReported) bool {
	s := scanner{b: raw}
	s.literal(`{"sessionId":"`)
	session := s.plain()
	s.literal(`","kind":"`)
	kind := s.plain()
	s.literal(`"`)
	if s.optional(`,"message":"`) {
		r.Message = string(s.plain())
		s.literal(`"`)
	}
	if s.optional(`,"taskIds":["`) {
		r.TaskIDs = append(r.TaskIDs, d.intern(s.plain()))
		s.literal(`"`)
		for s.optional(`,"`) {
			r.TaskIDs = append(r.TaskIDs, d.intern(s.plain()))
			s.literal(`"`)
		}
		s.literal(`]`)
	}
	r.SessionCompleted = s.optional(`,"sessionCompleted":true`)
	r.Late = s.optional(`,"late":true`)
	s.literal(`}`)
	if s.bad || s.i != len(raw) {
		return false
	}
	r.SessionID = d.intern(session)
	r.Kind = ReportKind(d.intern(kind))
	return true
}

// scanner reads bytes of a known form. The first unexpected byte makes it bad permanently.
type scanner struct {
	b   []byte
	i   int
	bad bool
}

func (s *scanner) literal(want string) {
	if !s.optional(want) {
		s.bad = true
	}
}

func (s *scanner) optional(want string) bool {
	if s.bad || len(s.b)-s.i < len(want) || string(s.b[s.i:s.i+len(want)]) != want {
		return false
	}
	s.i += len(want)
	return true
}

func (s *scanner) next(n int) []byte {
	if s.bad || len(s.b)-s.i < n {
		s.bad = true
		return nil
	}
	s.i += n
	return s.b[s.i-n : s.i]
}

// plain returns the content of a string up to its closing quote; an escape or invalid UTF-8 makes the scanner bad.
func (s *scanner) plain() []byte {
	if s.bad {
		return nil
	}
	start, ascii := s.i, true
	for s.i+8 <= len(s.b) && isPlain(binary.LittleEndian.Uint64(s.b[s.i:])) {
		s.i += 8
	}
	for ; s.i < len(s.b); s.i++ {
		c := s.b[s.i]
		if c == '"' {
			text := s.b[start:s.i]
			if !ascii && !utf8.Valid(text) {
				s.bad = true
				return nil
			}
			return text
		}
		if c == '\\' || c < 0x20 {
			break
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	s.bad = true
	return nil
}

// isPlain reports whether none of eight bytes is a quote, a backslash, a control character or beyond ASCII.
func isPlain(eight uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote := eight ^ ones*'"'
	backslash := eight ^ ones*'\\'
	return (eight|(eight-ones*0x20)|(quote-ones)|(backslash-ones))&highs == 0
}

func parseUUID(b []byte) (uuid.UUID, error) {
	var id uuid.UUID
	if b[8] != '-' || b[13] != '-' || b[18] != '-' || b[23] != '-' {
		return id, errNotOurShape
	}
	var digits [32]byte
	copy(digits[:8], b[:8])
	copy(digits[8:12], b[9:13])
	copy(digits[12:16], b[14:18])
	copy(digits[16:20], b[19:23])
	copy(digits[20:], b[24:])
	for _, c := range digits {
		if 'A' <= c && c <= 'F' {
			return id, errNotOurShape
		}
	}
	if _, err := hex.Decode(id[:], digits[:]); err != nil {
		return id, errNotOurShape
	}
	return id, nil
}

// parseInstant parses "2006-01-02T15:04:05.000Z".
func parseInstant(b []byte) (time.Time, error) {
	if b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return time.Time{}, errNotOurShape
	}
	ok := true
	number := func(from, to int) int {
		n := 0
		for _, c := range b[from:to] {
			if c < '0' || c > '9' {
				ok = false
			}
			n = 10*n + int(c-'0')
		}
		return n
	}
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second, milli := number(11, 13), number(14, 16), number(17, 19), number(20, 23)
	if !ok || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, errNotOurShape
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, milli*int(time.Millisecond), time.UTC)
	if t.Day() != day {
		return time.Time{}, errNotOurShape
	}
	return t, nil
}
