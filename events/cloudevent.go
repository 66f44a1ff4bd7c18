package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	cloudevent "github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"maestro/internal/syntax"
)

// FromCloudEvent converts the SDK's type to an Event.
func FromCloudEvent(in cloudevent.Event) (*Event, error) {
	if err := in.Validate(); err != nil {
		return nil, fmt.Errorf("not a valid CloudEvent: %w", err)
	}
	entry := byType[in.Type()]
	if entry == nil {
		unknown := &UnknownTypeError{Type: in.Type()}
		if text, ok := in.Extensions()["prevhash"].(string); ok {
			if prev, err := ParseHash(text); err == nil {
				unknown.PrevHash = prev
			}
		}
		return nil, unknown
	}
	id, err := uuid.Parse(in.ID())
	if err != nil {
		return nil, fmt.Errorf("id of an event: %w", err)
	}
	e := &Event{ID: id, Source: in.Source(), Time: Instant(in.Time())}
	if in.Time().IsZero() {
		return nil, fmt.Errorf("event %s has no time", id)
	}
	for name, value := range in.Extensions() {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("attribute %s of event %s is not a string", name, id)
		}
		if err := e.setExtension(name, text); err != nil {
			return nil, fmt.Errorf("attribute %s of event %s: %w", name, id, err)
		}
	}
	data := entry.New()
	if err := json.Unmarshal(in.Data(), data); err != nil {
		return nil, fmt.Errorf("data of %s: %w", entry.Type, syntax.Plain(err))
	}
	e.Data = data
	kind, aggregate := data.Aggregate()
	if in.Subject() != kind+"/"+aggregate {
		return nil, fmt.Errorf("event %s has subject %q, and its data says %s/%s", id, in.Subject(), kind, aggregate)
	}
	return e, nil
}

func (e *Event) setExtension(name, text string) error {
	switch name {
	case "partitionkey":
		e.Project = text
	case "causationid":
		e.CausationID = text
	case "correlationid":
		e.CorrelationID = text
	case "traceparent":
		e.TraceParent = text
	case "rules":
		e.Rules = text
	case "authn":
		e.Authn = text
	case "prevhash":
		return e.PrevHash.UnmarshalText([]byte(text))
	case "requesthash":
		return e.RequestHash.parse(text)
	case "occurredat":
		at, err := time.Parse(time.RFC3339Nano, text)
		e.OccurredAt = Instant(at)
		return syntax.Plain(err)
	}
	return nil
}

func (h *RequestHash) parse(text string) error {
	var whole Hash
	if err := whole.UnmarshalText([]byte(text + strings.Repeat("0", len(text)))); err != nil {
		return fmt.Errorf("a request hash has %d hexadecimal digits: %q", 2*len(h), text)
	}
	copy(h[:], whole[:])
	return nil
}

func decodeWithSDK(body []byte) (*Event, error) {
	var in cloudevent.Event
	if err := json.Unmarshal(body, &in); err != nil {
		why := strings.TrimSpace(syntax.Plain(err).Error()) // the SDK's errors end with a line break
		return nil, fmt.Errorf("not a CloudEvent in structured JSON: %s", why)
	}
	return FromCloudEvent(in)
}
