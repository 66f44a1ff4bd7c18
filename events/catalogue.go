package events

import (
	"fmt"
	"slices"
	"strings"
)

// Entry links a literal type name to its payload.
type Entry struct {
	// Type is the literal name, as stored.
	Type string
	// New returns an empty payload to decode into.
	New func() Data
	// Doc describes the event in one line.
	Doc string
}

// Schema returns the dataschema attribute of an event of this type.
func Schema(eventType string) string { return "urn:maestro:schema:" + eventType }

// entry links a payload to its literal type name.
func entry[T any, P interface {
	*T
	Data
}](doc string) Entry {
	return Entry{Type: P(new(T)).EventType(), New: func() Data { return P(new(T)) }, Doc: doc}
}

// catalogue lists the events of each noun; they are declared in the noun's file.
var catalogue = slices.Concat(
	projectEvents,
	taskEvents,
	sessionEvents,
	messageEvents,
	reportEvents,
	fileEvents,
	deadlineEvents,
	runEvents,
	queueEvents,
	inputEvents,
	tokenEvents,
	templateEvents,
	textEvents,
	webhookEvents,
)

var byType = func() map[string]*Entry {
	m := make(map[string]*Entry, len(catalogue))
	for i := range catalogue {
		m[catalogue[i].Type] = &catalogue[i]
	}
	return m
}()

// Catalogue lists every event type that this version knows, in the order of docs/events.md.
func Catalogue() []Entry { return append([]Entry(nil), catalogue...) }

// UnknownTypeError stops a fold: the log holds an event that this version does not understand.
type UnknownTypeError struct {
	Type string
	// PrevHash is the hash of the predecessor that the event states; zero if it is not in a known form.
	PrevHash Hash
}

func (e *UnknownTypeError) Error() string {
	if at := strings.LastIndex(e.Type, ".v"); at >= 0 {
		for i := range catalogue {
			if strings.HasPrefix(catalogue[i].Type, e.Type[:at+2]) {
				return fmt.Sprintf("event type %q is newer than this version of maestro, which knows %q; "+
					"use a newer maestro", e.Type, catalogue[i].Type)
			}
		}
	}
	return fmt.Sprintf("event type %q is unknown to this version of maestro; use a newer maestro", e.Type)
}

// KnownType reports whether events have this type, such as "maestro.task.created.v1".
func KnownType(name string) bool { return byType[name] != nil }

// KnownNoun reports whether the types of some events begin with this noun, such as "task".
func KnownNoun(noun string) bool {
	return slices.ContainsFunc(catalogue, func(e Entry) bool { return strings.HasPrefix(e.Type, "maestro."+noun+".") })
}

// TypeNames returns the names by which people select events: the nouns, such as "task", and the types, such as
// "task.created".
func TypeNames() []string {
	nouns, types := Nouns(), make([]string, 0, len(catalogue))
	for _, e := range catalogue {
		types = append(types, strings.TrimSuffix(strings.TrimPrefix(e.Type, "maestro."), ".v1"))
	}
	return append(nouns, types...)
}

// Nouns returns the nouns with which the types of events begin, in alphabetical order.
func Nouns() (nouns []string) {
	for _, e := range catalogue {
		noun, _, _ := strings.Cut(strings.TrimPrefix(e.Type, "maestro."), ".")
		nouns = append(nouns, noun)
	}
	slices.Sort(nouns)
	return slices.Compact(nouns)
}
