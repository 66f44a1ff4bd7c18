package main

import (
	"fmt"
	"reflect"
	"strings"

	"maestro/commands"
	"maestro/events"
)

// attribute is one member of the envelope, in the order in which it is written.
type attribute struct{ name, value, presence string }

const (
	always   = "always"
	ifAny    = "if any"
	whenLate = "if it was sent late"
)

var attributes = []attribute{
	{"specversion", "`1.0`", always},
	{
		"id", "UUIDv5 of actor, project, command and idempotency key, so a retried command gets the same id. " +
			"From the second token of a name on, the actor is `/users/NAME#GENERATION` here", always,
	},
	{"source", "who did it: `/projects/<id>/sessions/<id>`, `/users/<name>`, `/runners/<name>` or `/system`", always},
	{"type", "`maestro.<aggregate>.<past tense>.v<n>`, a literal name", always},
	{"subject", "what it happened to: `<aggregate>/<id>`", always},
	{"time", "when it was decided: RFC 3339, UTC, milliseconds; never before the previous event's", always},
	{"datacontenttype", "`application/json`", always},
	{"dataschema", "`urn:maestro:schema:<type>`", always},
	{"partitionkey", "the project", ifAny},
	{
		"causationid",
		"the event that led to this one: for example the push of a queue item, the question of an answer, or the " +
			"end of the session that returned an item; otherwise the event that created the acting session",
		ifAny,
	},
	{"correlationid", "the first event of that chain of causes", ifAny},
	{"traceparent", "the caller's W3C trace context", ifAny},
	{
		"prevhash",
		"SHA-256(previous event's prevhash ‖ SHA-256(previous body)), 64 hexadecimal digits; zeros at the beginning",
		always,
	},
	{"requesthash", "the first half of the SHA-256 of the command as it was sent, 32 hexadecimal digits", always},
	{"rules", "version of the rules that permitted and decided the command", always},
	{"authn", "how the actor was authenticated: `token`, `socket` or `none`; the system is not", ifAny},
	{"occurredat", "when the command was given, if it then waited in an outbox", whenLate},
	{"data", "what happened; see the types below", always},
}

func eventsPage() string {
	var b strings.Builder
	b.WriteString("# Events\n\n" + notice)
	b.WriteString(`Everything that happens is recorded as a CloudEvents 1.0 event in structured JSON, in the stream ` +
		"`MAESTRO`" + `, under the subject
` + "`" + events.SubjectPrefix + "<project>.<aggregate>.<id>`" + ` (in a subject,
every byte outside ` + "`[A-Za-z0-9_-]`" + ` is written ` + "`=XX`" + `). The log holds exactly these
bytes: compact, with the members in the order below. A body has at most ` + fmt.Sprint(events.MaxBody>>10) + ` KiB.
Of a text above ` + fmt.Sprint(events.MaxText>>10) + ` KiB the event holds only the beginning;
` + "`blobs`" + ` holds the digest of the whole text.

A reader that meets a type it does not know, or a newer version of one, stops, because the state that it would show
is incomplete. A published type only ever gains optional fields.

## Envelope

| attribute | value | present |
|---|---|---|
`)
	for _, a := range attributes {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", a.name, a.value, a.presence)
	}
	b.WriteString("\n## Types\n\n| type | from the command | what happened |\n|---|---|---|\n")
	for _, entry := range events.Catalogue() {
		from := commandsOf(entry.Type)
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", entry.Type, anchor(entry.Type), from, entry.Doc)
	}
	for _, entry := range events.Catalogue() {
		fmt.Fprintf(&b, "\n### %s\n\n%s Schema `%s`.\n\n| field | type | | meaning |\n|---|---|---|---|\n", entry.Type,
			entry.Doc, events.Schema(entry.Type))
		fields(&b, "", reflect.TypeOf(entry.New()).Elem())
	}
	return b.String()
}

// anchor returns the name by which GitHub links to a heading.
func anchor(heading string) string { return strings.ReplaceAll(heading, ".", "") }

// commandsOf names the commands that become an event of a type, in the table's order.
func commandsOf(eventType string) string {
	var ids []string
	for _, row := range commands.CurrentRules().Rows() {
		if row.Alias == "" && "maestro."+row.Events+".v1" == eventType {
			ids = append(ids, "`"+row.ID+"`")
		}
	}
	return strings.Join(ids, ", ")
}

func fields(b *strings.Builder, prefix string, t reflect.Type) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		presence := ""
		if strings.Contains(options, "omitempty") {
			presence = "optional"
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s | %s |\n", prefix, name, typeName(f.Type), presence, f.Tag.Get("doc"))
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			fields(b, prefix+name+".", inner)
		}
	}
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Struct:
		return "object"
	case reflect.Map:
		return "object of " + typeName(t.Elem()) + "s"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "any JSON"
		}
		return "list of " + typeName(t.Elem()) + "s"
	default:
		return "number"
	}
}
