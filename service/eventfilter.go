package service

import (
	"bytes"
	"encoding/json"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// eventFilter selects events.
type eventFilter struct {
	// types are whole type names, or beginnings of them that end in a dot; nil for all.
	types            []string
	actor, aggregate string
	// text is in lower case.
	text string
}

// The type of an event is "maestro.<noun>.<verb>.v1".
const (
	typePrefix = "maestro."
	typeSuffix = ".v1"
)

// eventFilterOf reads the filters of a query.
func eventFilterOf(in *wire.EventsQuery) (f eventFilter, err error) {
	f = eventFilter{actor: in.Actor, aggregate: in.Aggregate, text: strings.ToLower(in.Text)}
	for name := range strings.SplitSeq(in.Type, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		full := name
		if !strings.HasPrefix(full, typePrefix) {
			full = typePrefix + name
		}
		switch {
		case events.KnownType(full):
		case events.KnownType(full + typeSuffix):
			full += typeSuffix
		case events.KnownNoun(strings.TrimPrefix(full, typePrefix)):
			full += "."
		default:
			refusal := Invalid("/type", "there is no type of event '%s'", safetext.Printable(name))
			refusal.Next = "name a noun, " + strings.Join(events.Nouns(), ", ") +
				", or one of docs/events.md, such as task.created; a login is token.used"
			return f, refusal
		}
		f.types = append(f.types, full)
	}
	return f, nil
}

// selects reports whether an event passes all filters but that for a text.
func (f *eventFilter) selects(e *events.Event) bool {
	return f.ofType(e.Data.EventType()) && f.by(e.Source) && f.about(e.Data)
}

func (f *eventFilter) ofType(name string) bool {
	for _, wanted := range f.types {
		if name == wanted || strings.HasSuffix(wanted, ".") && strings.HasPrefix(name, wanted) {
			return true
		}
	}
	return len(f.types) == 0
}

func (f *eventFilter) by(source string) bool {
	if f.actor == "" || f.actor == source || f.actor == strings.TrimPrefix(source, "/") {
		return true
	}
	if _, session, ok := projections.SessionOfSource(source); ok {
		return f.actor == session
	}
	user, ok := projections.UserOfSource(source)
	return ok && f.actor == user
}

func (f *eventFilter) about(data events.Data) bool {
	if f.aggregate == "" {
		return true
	}
	kind, id := data.Aggregate()
	return f.aggregate == id || f.aggregate == kind+"/"+id
}

// says reports whether somebody wrote the text in an event, given as its reader sees it.
func (f *eventFilter) says(text []byte) bool {
	if f.text == "" {
		return true
	}
	var event struct {
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(text, &event) != nil {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(event.Data))
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		if said, ok := token.(string); ok && strings.Contains(strings.ToLower(said), f.text) {
			return true
		}
	}
}
