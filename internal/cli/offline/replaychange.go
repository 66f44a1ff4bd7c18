package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"maestro/events"
	"maestro/internal/cli"
	"maestro/internal/safetext"
	"maestro/projections"
	"maestro/service/wire"
)

// What happened to a view. In the timeline of an object, a view of another one joins when that comes to concern the
// object, and leaves when it no longer does.
const (
	created = "created"
	changed = "changed"
	removed = "removed"
	joined  = "joined"
	left    = "left"
)

// viewChange is the difference between two states of a view.
type viewChange struct {
	Kind   projections.Kind `json:"kind"`
	ID     string           `json:"id"`
	Change string           `json:"change"`
	// Fields are those that differ, if it was changed.
	Fields []fieldChange `json:"fields,omitempty"`
	// Value is the view, if it was created or joined, or as it was, if it was removed or left.
	Value json.RawMessage `json:"value,omitempty"`

	// was and is are the whole views.
	was, is fields
}

// fieldChange is the difference of a field. It has no Old or no New if the view had no such field.
type fieldChange struct {
	Field string          `json:"field"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`
}

// fields are the fields of a view, in their order.
type fields []fieldOf

type fieldOf struct {
	name  string
	value json.RawMessage
}

func (f fields) get(name string) json.RawMessage {
	for _, x := range f {
		if x.name == name {
			return x.value
		}
	}
	return nil
}

// text returns a field that is a text, "" if there is none.
func (f fields) text(name string) (text string) {
	_ = json.Unmarshal(f.get(name), &text)
	return text
}

// notOfTheLog are the fields of views that say how long ago something was, or what the log does not record.
var notOfTheLog = map[projections.Kind][]string{
	projections.KindSession: {"lastHeard", "names"},
	projections.KindTask:    {"names"},
	projections.KindInput:   {"waited"},
}

// fieldsOf returns the fields of a view; nil for the view of what is gone.
func fieldsOf(kind projections.Kind, view json.RawMessage) (fields, error) {
	read := json.NewDecoder(bytes.NewReader(view))
	token, err := read.Token()
	if err != nil || token == nil {
		return nil, err
	}
	all := fields{}
	for read.More() {
		name, err := read.Token()
		if err != nil {
			return nil, err
		}
		field := fieldOf{name: fmt.Sprint(name)}
		if err := read.Decode(&field.value); err != nil {
			return nil, err
		}
		if kind == projections.KindSession {
			field.value = ownMembers(field)
		}
		if !slices.Contains(notOfTheLog[kind], field.name) && field.value != nil {
			all = append(all, field)
		}
	}
	return all, nil
}

// forOlderClients are the members of a session's metadata that lists add for older clients.
var forOlderClients = []string{"skills", "spawnedBy", "spawnSource", "role", "strategy", "context"}

// ownMembers returns the value of a session's field without what lists add for older clients: what other fields say
// already. It returns nil for metadata that is nothing else.
func ownMembers(field fieldOf) json.RawMessage {
	var added func(name string) bool
	switch field.name {
	case "env":
		added = func(name string) bool { return strings.HasPrefix(name, "MAESTRO_") }
	case "metadata":
		added = func(name string) bool { return slices.Contains(forOlderClients, name) }
	default:
		return field.value
	}
	members := fields{}
	for _, x := range membersOf(field.value) {
		if !added(x.name) {
			members = append(members, x)
		}
	}
	if len(members) == 0 && field.name == "metadata" {
		return nil
	}
	slices.SortFunc(members, func(x, y fieldOf) int { return strings.Compare(x.name, y.name) })
	return members.object()
}

// encoded returns a view as JSON, as the server does.
func encoded(view any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(view); err != nil {
		panic(err) // the views are our own types
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// object returns the fields as a JSON object.
func (f fields) object() json.RawMessage {
	if f == nil {
		return nil
	}
	b := []byte("{")
	for i, x := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, encoded(x.name)...), ':'), x.value...)
	}
	return append(b, '}')
}

// same reports whether two JSON values are equal.
func same(x, y json.RawMessage) bool {
	if bytes.Equal(x, y) || x == nil || y == nil {
		return bytes.Equal(x, y)
	}
	var a, b any
	return json.Unmarshal(x, &a) == nil && json.Unmarshal(y, &b) == nil && reflect.DeepEqual(a, b)
}

// compare returns the difference of a view that was and is, each nil if there was or is none; false if they are equal.
func compare(key projections.ViewKey, was, is fields) (c viewChange, differs bool) {
	c = viewChange{
		Kind: key.Kind,
		ID:   key.ID,
		was:  was,
		is:   is,
	}
	switch {
	case was == nil && is == nil:
		return c, false
	case was == nil:
		c.Change, c.Value = created, is.object()
		return c, true
	case is == nil:
		c.Change, c.Value = removed, was.object()
		return c, true
	}
	c.Change = changed
	for _, x := range is {
		if old := was.get(x.name); !same(old, x.value) {
			c.Fields = append(c.Fields, fieldChange{x.name, old, x.value})
		}
	}
	for _, x := range was {
		if is.get(x.name) == nil {
			c.Fields = append(c.Fields, fieldChange{x.name, x.value, nil})
		}
	}
	return c, len(c.Fields) > 0
}

// marks stand before the lines of what was created, changed and removed.
var marks = map[string]string{created: "+", changed: "~", removed: "-", joined: ">", left: "<"}

// nouns are what the kinds are called.
var nouns = map[projections.Kind]string{projections.KindQueueItem: "item", projections.KindInput: "question"}

// noun returns what a kind is called.
func noun(kind projections.Kind) string {
	if word := nouns[kind]; word != "" {
		return word
	}
	return string(kind)
}

// line describes the change. names are those of tasks and sessions, by id. Only times that say when something changed
// are left out: it returns "" if nothing else did.
func (c viewChange) line(names map[string]string) string {
	name := c.named(names)
	state := c.is
	if state == nil {
		state = c.was
	}
	if c.Change != changed {
		status := state.text("status")
		return name + cli.Prefixed("  ", status)
	}
	var told []string
	for _, f := range c.Fields {
		if f.Field != "updatedAt" && f.Field != "lastActivity" {
			told = append(told, c.told(f.Field, f.Old, f.New, names)...)
		}
	}
	if len(told) == 0 {
		return ""
	}
	return name + "  " + strings.Join(told, ", ")
}

// named returns what the object is called, and what it is.
func (c viewChange) named(names map[string]string) string {
	state := c.is
	if state == nil {
		state = c.was
	}
	_, rest, _ := strings.Cut(c.ID, "/")
	switch c.Kind { //nolint:exhaustive // the others have an id
	case projections.KindQueue:
		return "queue " + rest
	case projections.KindQueueItem:
		queue, task, _ := strings.Cut(rest, "/")
		return "item " + idNamed(task, state.text("title")) + " of queue " + queue
	case projections.KindInput:
		return noun(c.Kind) + " " + idNamed(c.ID, state.text("question"))
	}
	name := state.text("title") + state.text("name")
	if name == "" {
		name = names[c.ID]
	}
	return noun(c.Kind) + " " + idNamed(c.ID, name)
}

// idNamed puts the name of an object beside its id.
func idNamed(id, name string) string {
	const longest = 60
	if name == "" || name == id {
		return id
	}
	return id + " (" + safetext.Clip(safetext.OneLine(name), longest) + ")"
}

// told describes the change of a value: of each member that differs, if it is an object.
func (c viewChange) told(field string, old, is json.RawMessage, names map[string]string) (told []string) {
	if strings.HasSuffix(field, ".at") || strings.HasSuffix(field, ".sequence") {
		return nil // when something was said stands above it
	}
	was, now := membersOf(old), membersOf(is)
	if was != nil || now != nil {
		for _, x := range now {
			if before := was.get(x.name); !same(before, x.value) {
				told = append(told, c.told(field+"."+x.name, before, x.value, names)...)
			}
		}
		for _, x := range was {
			if now.get(x.name) == nil {
				told = append(told, c.told(field+"."+x.name, x.value, nil, names)...)
			}
		}
		return told
	}
	if words := listChange(old, is, names); words != "" {
		return []string{field + words}
	}
	return []string{field + " " + c.value(field, old, names) + " → " + c.value(field, is, names)}
}

// membersOf returns the members of a JSON object, and of a list of objects each by its first member, such as a
// session's id; nil for another value.
func membersOf(value json.RawMessage) fields {
	if len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return nil
	}
	if value[0] == '{' {
		members, _ := fieldsOf("", value)
		return members
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return nil
	}
	var members fields
	for _, x := range list {
		if len(x) == 0 || x[0] != '{' {
			return nil
		}
		if of := membersOf(x); len(of) > 0 {
			members = append(members, fieldOf{plain(of[0].value), of[1:].object()})
		}
	}
	return members
}

// listChange describes how a list of texts changed, if elements were only added or removed; otherwise it returns "".
func listChange(old, is json.RawMessage, names map[string]string) string {
	var was, now []string
	if !isList(old) && !isList(is) || json.Unmarshal(orEmpty(old), &was) != nil ||
		json.Unmarshal(orEmpty(is), &now) != nil {
		return ""
	}
	words := ""
	add := func(mark string, from, without []string) {
		for _, x := range from {
			if !slices.Contains(without, x) {
				words += " " + mark + idNamed(plain(encoded(x)), names[x])
			}
		}
	}
	add("+", now, was)
	add("-", was, now)
	return words
}

func isList(value json.RawMessage) bool { return len(value) > 0 && value[0] == '[' }

// orEmpty returns an empty list for a value that is absent.
func orEmpty(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("[]")
	}
	return value
}

// word is a text that needs no quotes.
var word = regexp.MustCompile(`^"[A-Za-z0-9_./:-]+"$`)

// plain returns a JSON value without the quotes that it does not need.
func plain(value json.RawMessage) string {
	if word.Match(value) {
		return strings.Trim(string(value), `"`)
	}
	return string(value)
}

// value shows a value, clipped: a time as a time, and a text in quotes unless it is one word.
func (c viewChange) value(field string, value json.RawMessage, names map[string]string) string {
	const longest = 100
	if value == nil || string(value) == "null" {
		return "none"
	}
	if ms, err := strconv.ParseInt(string(value), 10, 64); err == nil && isTime(c.Kind, field) {
		return cli.Instant(events.Millis(ms))
	}
	text := plain(value)
	if strings.HasPrefix(text, "/") && (strings.HasSuffix(field, "by") || strings.HasSuffix(field, "By")) {
		return cli.WhoNamed(text, names)
	}
	return idNamed(safetext.Clip(text, longest), names[text])
}

// isTime reports whether a field of a view, such as startedAt or result.at, is a time.
func isTime(kind projections.Kind, field string) bool {
	of := wire.ViewType(kind)
	for name := range strings.SplitSeq(field, ".") {
		if of == nil || of.Kind() != reflect.Struct {
			return false
		}
		var next reflect.Type
		for i := range of.NumField() {
			if tag, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); tag == name {
				next = of.Field(i).Type
			}
		}
		if next != nil && next.Kind() == reflect.Pointer {
			next = next.Elem()
		}
		of = next
	}
	return of == reflect.TypeFor[events.Millis]()
}

// fullLine is line, with the times that say when something changed if nothing else did.
func (c viewChange) fullLine(names map[string]string) string {
	if line := c.line(names); line != "" {
		return line
	}
	var told []string
	for _, f := range c.Fields {
		told = append(told, c.told(f.Field, f.Old, f.New, names)...)
	}
	return c.named(names) + "  " + strings.Join(told, ", ")
}

// began are the fields that say when an object was created, by kind; createdAt for the others.
var began = map[projections.Kind]string{
	projections.KindSession:   "startedAt",
	projections.KindQueueItem: "addedAt",
	projections.KindInput:     "askedAt",
}

// inTimeline tells what was created or removed by an event from what joined or left the timeline of another object.
func (c viewChange) inTimeline(e *events.Event) viewChange {
	switch {
	case e == nil:
	case c.Change == created:
		at := c.is.get(cmp.Or(began[c.Kind], "createdAt"))
		if string(at) != strconv.FormatInt(e.Time.UnixMilli(), 10) {
			c.Change = joined
		}
	case c.Change == removed:
		if kind := e.Data.EventType(); !strings.Contains(kind, "deleted") && !strings.Contains(kind, "removed") {
			c.Change = left
		}
	}
	return c
}
