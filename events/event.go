package events

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // RFC 9562 bases version 5 on SHA-1
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Event is one of Maestro's CloudEvents 1.0 events: the envelope and its payload. [FromCloudEvent] converts one from
// the SDK's type.
type Event struct {
	// ID is UUIDv5(actor, project, command, idempotency key); see [ID].
	ID uuid.UUID
	// Source identifies the actor: "/users/<name>", "/projects/<id>/sessions/<id>", "/runners/<name>" or "/system".
	Source string
	// Time is when the event was decided, in UTC and whole milliseconds. It is never before the previous event's.
	Time time.Time
	// OccurredAt is when the command was given, if it waited in an outbox; otherwise zero.
	OccurredAt time.Time
	// Project is the partitionkey attribute.
	Project string
	// CausationID is the event that caused this one, CorrelationID the first of that chain; empty if a person started
	// it.
	CausationID, CorrelationID string
	// TraceParent is the caller's W3C trace context, if it sent one.
	TraceParent string
	// PrevHash is the chain's hash after the previous event.
	PrevHash Hash
	// RequestHash is the hash of the requested command. The same key with another command is refused.
	RequestHash RequestHash
	// Rules is the version of Permit and Decide that accepted the event.
	Rules string
	// Authn says how the actor was authenticated: "token", "socket" or "none".
	Authn string
	// Data is the payload; its type is the event's type.
	Data Data
}

// RequestHash is the first half of the SHA-256 of a command's canonical JSON; as text, 32 hexadecimal digits.
type RequestHash [16]byte

// String returns the 32 hexadecimal digits.
func (h RequestHash) String() string { return hex.EncodeToString(h[:]) }

// Time format of every time in an event: RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Instant rounds t down to what an event can hold: whole milliseconds, UTC.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// namespace is the namespace of event ids; it must never change.
var namespace = uuid.MustParse("6d616573-7472-5f65-8e76-656e74730001")

// ID returns the id of the event that a command with this key becomes: keys of different callers never collide.
func ID(source, project, command, key string) uuid.UUID {
	var buffer [256]byte
	name := append(buffer[:0], namespace[:]...)
	name = append(name, source...)
	name = append(name, 0)
	name = append(name, project...)
	name = append(name, 0)
	name = append(name, command...)
	name = append(name, 0)
	name = append(name, key...)
	sum := sha1.Sum(name) //nolint:gosec // RFC 9562 bases version 5 on SHA-1
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}

// TooLargeError: the event's body exceeds the maximum size.
type TooLargeError struct{ Bytes int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the event would be %d bytes, and the log takes at most %d; shorten it, or split it", e.Bytes,
		MaxBody)
}

// Append appends the event as structured JSON: compact, members in a fixed order, no HTML escapes. This form is what
// the log stores and what the chain hashes.
func (e *Event) Append(b []byte) ([]byte, error) {
	if e.Data == nil {
		return nil, errors.New("an event needs a payload")
	}
	start := len(b)
	kind, id := e.Data.Aggregate()
	eventType := e.Data.EventType()
	b = append(b, `{"specversion":"1.0","id":"`...)
	b = appendUUID(b, e.ID)
	b = append(b, `","source":`...)
	b = AppendString(b, e.Source)
	b = append(b, `,"type":"`...)
	b = append(b, eventType...)
	b = append(b, `","subject":`...)
	b = appendSubject(b, kind, id)
	b = append(b, `,"time":"`...)
	b = e.Time.UTC().AppendFormat(b, timeLayout)
	b = append(b, `","datacontenttype":"application/json","dataschema":"urn:maestro:schema:`...)
	b = append(b, eventType...)
	b = append(b, '"')
	b = appendAttribute(b, "partitionkey", e.Project)
	b = appendAttribute(b, "causationid", e.CausationID)
	b = appendAttribute(b, "correlationid", e.CorrelationID)
	b = appendAttribute(b, "traceparent", e.TraceParent)
	b = append(b, `,"prevhash":"`...)
	b = hex.AppendEncode(b, e.PrevHash[:])
	b = append(b, `","requesthash":"`...)
	b = hex.AppendEncode(b, e.RequestHash[:])
	b = append(b, '"')
	b = appendAttribute(b, "rules", e.Rules)
	b = appendAttribute(b, "authn", e.Authn)
	if !e.OccurredAt.IsZero() {
		b = append(b, `,"occurredat":"`...)
		b = e.OccurredAt.UTC().AppendFormat(b, timeLayout)
		b = append(b, '"')
	}
	b = append(b, `,"data":`...)
	b, err := AppendData(b, e.Data)
	if err != nil {
		return nil, err
	}
	b = append(b, '}')
	if size := len(b) - start; size > MaxBody {
		return nil, &TooLargeError{Bytes: size}
	}
	return b, nil
}

// AppendData appends a payload's canonical JSON.
func AppendData(b []byte, data Data) ([]byte, error) {
	if report, ok := data.(*SessionReported); ok && report.isPlain() {
		return report.append(b), nil
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		return nil, fmt.Errorf("encode %s: %w", data.EventType(), err)
	}
	return append(b, bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))...), nil
}

// isPlain reports whether the report has only the fields of nearly all reports.
func (d *SessionReported) isPlain() bool {
	return d.Blobs == nil && d.InputID == "" && d.Options == nil && !d.AfterDone
}

// append writes what encoding/json would, at a fraction of the cost: nearly all events of a log are reports.
func (d *SessionReported) append(b []byte) []byte {
	b = append(b, `{"sessionId":`...)
	b = AppendString(b, d.SessionID)
	b = append(b, `,"kind":`...)
	b = AppendString(b, string(d.Kind))
	if d.Message != "" {
		b = append(b, `,"message":`...)
		b = AppendString(b, d.Message)
	}
	for i, id := range d.TaskIDs {
		if i == 0 {
			b = append(b, `,"taskIds":[`...)
		} else {
			b = append(b, ',')
		}
		b = AppendString(b, id)
	}
	if len(d.TaskIDs) > 0 {
		b = append(b, ']')
	}
	if d.SessionCompleted {
		b = append(b, `,"sessionCompleted":true`...)
	}
	if d.Late {
		b = append(b, `,"late":true`...)
	}
	return append(b, '}')
}

func appendUUID(b []byte, id uuid.UUID) []byte {
	var text [36]byte
	hex.Encode(text[:8], id[:4])
	text[8] = '-'
	hex.Encode(text[9:13], id[4:6])
	text[13] = '-'
	hex.Encode(text[14:18], id[6:8])
	text[18] = '-'
	hex.Encode(text[19:23], id[8:10])
	text[23] = '-'
	hex.Encode(text[24:], id[10:])
	return append(b, text[:]...)
}

func appendAttribute(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return AppendString(b, value)
}

// appendSubject writes the subject attribute, "<aggregate>/<id>".
func appendSubject(b []byte, kind, id string) []byte {
	b = append(b, '"')
	b = append(b, kind...)
	b = append(b, '/')
	b = appendStringContent(b, id)
	return append(b, '"')
}
