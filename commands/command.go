package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// Command is a request to change the state. Each has a type, in the file of its noun.
type Command interface {
	// ID is the command's id in the permission table.
	ID() string
	// Decide returns the result: one event's data, nil for "already so", or a *Refusal. It is pure: the result depends
	// on its arguments alone.
	Decide(s *projections.State, c Call) (events.Data, error)

	// project returns the project in which the command acts: the one that it names, or that of its target; "" if none.
	project(s *projections.State, by Actor) string
	// texts returns the free texts that become blobs when they are long, by field name, and where their digests belong.
	texts() (map[string]*string, *events.Blobs)
}

// Call is a decision's input besides the state and the command: the caller, the project, the time, and the id of the
// event.
type Call struct {
	By      Actor
	Project string
	At      time.Time
	ID      uuid.UUID
	// Rules is the version of the rules for the decision.
	Rules string
	// OccurredAt is when the command was given, if it waited in an outbox; otherwise zero. The caller states it, and it
	// is never after At.
	OccurredAt time.Time
}

// ProjectOf returns the project in which a command acts: the one that it names, or that of its target; "" if none.
func ProjectOf(s *projections.State, command Command, by Actor) string { return command.project(s, by) }

// TextsOf returns the free texts of a command that become blobs when they are long, by field name, and where their
// digests belong.
func TextsOf(command Command) (map[string]*string, *events.Blobs) { return command.texts() }

// ProjectRef is the project that a caller names; a session's default is its own.
type ProjectRef struct {
	Project string `json:"project,omitempty" doc:"the project; a session's own if absent"`
}

func (in ProjectRef) projectOr(by Actor) string {
	if in.Project != "" {
		return in.Project
	}
	return by.Project
}

// noTexts is embedded by commands whose texts are always short.
type noTexts struct{}

func (noTexts) texts() (map[string]*string, *events.Blobs) { return nil, nil }

// IDs returns the id of every command that may become an event, sorted.
func IDs() []string { return slices.Sorted(maps.Keys(makers())) }

// TypeOf returns the type of a command, a struct whose tags describe its fields; nil for an id that becomes no event.
func TypeOf(id string) reflect.Type {
	row, known := current().Row(id)
	if !known || row.makes == nil {
		return nil
	}
	return reflect.TypeOf(row.makes.empty()).Elem()
}

// WhyPlanned says why a known id cannot be used.
const WhyPlanned = "its id is reserved for a later version"

// Parse parses a command from the body of its route: a JSON object of its fields. It refuses unknown fields, wrong
// types, data after the object, invalid UTF-8, and bodies above the limits. Its work grows only with the body's length.
func Parse(id string, body []byte) (Command, error) {
	return ParseContext(context.Background(), id, body)
}

// ParseContext is Parse, but ends with ctx.
func ParseContext(ctx context.Context, id string, body []byte) (Command, error) {
	row, known := current().Row(id)
	switch {
	case !known:
		return nil, UnknownCommand(id)
	case row.Planned:
		return nil, &Refusal{
			Code:    CodeNotFound,
			Message: "Command '" + id + "' is not available in this version",
			Why:     WhyPlanned,
			Next:    "see `maestro commands`",
		}
	case !row.Write:
		return nil, &Refusal{
			Code: CodeNotFound, Message: "'" + id + "' is a read, not a command",
			Next: "ask for it as a read",
		}
	}
	command := row.makes.empty()
	if err := ReadBody(ctx, body, command); err != nil {
		return nil, err
	}
	if report, ok := command.(*Report); ok && row.Alias != "" && len(report.TaskIDs) == 0 {
		return nil, invalid("/taskIds", "a task report names its task")
	}
	return command, nil
}

// UnknownCommand returns the refusal for an id without a row. For a command line, it names the ids that the line needs;
// for anything else, the nearest known id.
func UnknownCommand(id string) *Refusal {
	if IsLine(id) {
		return &Refusal{
			Code:    CodeNotFound,
			Message: "'" + id + "' is not in the permission table",
			Why:     whyNoRow(id),
			Next:    "see `maestro commands`",
		}
	}
	refusal := &Refusal{
		Code:    CodeNotFound,
		Message: "There is no command '" + safetext.Printable(id) + "'",
		Why:     "no command has this id",
		Next:    "see `maestro commands`",
	}
	if near := current().Meant(id); near != "" {
		refusal.Next = "did you mean " + near + "? " + refusal.Next
	}
	return refusal
}

// ReadBody reads a JSON object of a struct's fields, as strictly as ParseContext.
func ReadBody(ctx context.Context, body []byte, into any) error {
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return ValidText("", string(body))
	}
	strict, known := newScanner(ctx, body), formOf(into)
	strict.expect(known)
	if strict.scan(); strict.stop != nil {
		return strict.stop
	}
	if known.flat && len(known.fields) > 0 && strict.fault == nil && bytes.HasPrefix(body, []byte{'{'}) &&
		(strict.readPlain(known, into) || json.Unmarshal(body, into) == nil) { // the scanner knows all names
		return ctx.Err()
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return unknownField(ExplainJSON(err), err, strict.fields)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("", "the body holds more than one JSON object")
	}
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) > 0 && text[0] != '{' {
		return invalid("", "the body must be a JSON object")
	}
	if strict.fault != nil {
		return strict.fault
	}
	return ctx.Err()
}

// unknownJSONField begins encoding/json's only error for an unknown field.
const unknownJSONField = "json: unknown field "

// unknownField completes the refusal of an unknown field with the nearest known field, or all of them.
func unknownField(refusal *Refusal, err error, fields []string) *Refusal {
	quoted, ok := strings.CutPrefix(err.Error(), unknownJSONField)
	if !ok || len(fields) == 0 {
		return refusal
	}
	if near := safetext.Nearest(strings.Trim(quoted, `"`), fields); near != "" {
		refusal.Next = "did you mean " + near + "?"
	} else {
		refusal.Next = "the fields are: " + strings.Join(fields, ", ")
	}
	return refusal
}

// ExplainJSON translates an error of encoding/json into words for the caller.
func ExplainJSON(err error) *Refusal {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return invalid("/"+wrongType.Field, "%s must be %s, not %s", wrongType.Field,
			jsonType(wrongType.Type.Kind().String()), wrongType.Value)
	case errors.As(err, &wrongType):
		return invalid("", "the body must be a JSON object, not %s", wrongType.Value)
	case errors.As(err, &syntax):
		return invalid("", "the body is not JSON: %s at byte %d", syntax.Error(), syntax.Offset)
	case errors.Is(err, io.EOF):
		return invalid("", "the body is empty, and must be a JSON object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("", "the body is cut: it ends inside the JSON object")
	}
	if quoted, ok := strings.CutPrefix(err.Error(), unknownJSONField); ok {
		return invalid("", "there is no field %s here", safetext.Printable(quoted))
	}
	return invalid("", "%s", safetext.Printable(err.Error()))
}

func jsonType(kind string) string {
	switch kind {
	case "slice", "array":
		return "a list"
	case "struct", "map":
		return "an object"
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	}
	return "a number"
}
