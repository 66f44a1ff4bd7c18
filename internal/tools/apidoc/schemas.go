package apidoc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"maestro/api/route"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

const prefix = "#/components/schemas/"

// schemas writes the schemas of types.
type schemas struct {
	huma.Registry
	sources *sources
	done    map[string]bool
}

func newSchemas(from *sources, aliases map[reflect.Type]reflect.Type) *schemas {
	huma.DefaultArrayNullable = false // the server writes [] for an empty list
	s := &schemas{sources: from, done: map[string]bool{}}
	s.Registry = huma.NewMapRegistry(prefix, s.name)
	for of, as := range aliases {
		s.RegisterTypeAlias(of, as)
	}
	s.addEvent()
	s.addManifest()
	s.addLiveView()
	return s
}

// name names the schema of a type: as service/wire does, and types of older clients with a prefix.
func (s *schemas) name(t reflect.Type, hint string) string {
	of := t
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if alias := s.sources.aliases[nameOf(of)]; alias != "" {
		return alias
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if of.PkgPath() == module+"api/compat" {
		return "Older" + name
	}
	return name
}

func ref(name string) *huma.Schema { return &huma.Schema{Ref: prefix + name} }

// or adds null to a schema.
func orNull(schema *huma.Schema) *huma.Schema {
	return &huma.Schema{Description: schema.Description, OneOf: []*huma.Schema{schema, {Type: "null"}}}
}

func text() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// object is an object with any members.
func object(about string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Description: about, AdditionalProperties: true}
}

// of returns a reference to the schema of a type, or the schema itself if it has no name.
func (s *schemas) of(t reflect.Type) *huma.Schema {
	if t == reflect.TypeFor[manifest.Manifest]() {
		return ref("Manifest")
	}
	schema := s.Schema(t, true, "")
	s.finish()
	return schema
}

// finish completes the schemas that were added since: what huma does not know of a type.
func (s *schemas) finish() {
	for again := true; again; {
		again = false
		for name, schema := range s.Map() {
			if s.done[name] {
				continue
			}
			s.done[name], again = true, true
			t := s.TypeFromRef(prefix + name)
			if t == nil {
				continue
			}
			schema.Description = s.sources.about(t)
			schema.AdditionalProperties = nil // a later version may have more
			older := strings.HasPrefix(name, "Older")
			if older { // they check fields by rules of their own
				schema.Required = nil
			}
			for _, field := range reflect.VisibleFields(t) {
				if json := jsonName(field); json != "" && !field.Anonymous && schema.Properties[json] != nil {
					schema.Properties[json] = s.field(t, field, schema.Properties[json])
					if older {
						schema.Properties[json].Enum = nil
					}
				}
			}
		}
	}
}

// field completes the schema of a field.
func (s *schemas) field(t reflect.Type, field reflect.StructField, schema *huma.Schema) *huma.Schema {
	owner := t
	for _, i := range field.Index[:len(field.Index)-1] {
		owner = owner.Field(i).Type
		for owner.Kind() == reflect.Pointer {
			owner = owner.Elem()
		}
	}
	_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	if special := s.special(owner, field); special != nil {
		schema = special
	}
	of := field.Type
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	about := field.Tag.Get("doc")
	if about == "" {
		about = s.sources.aboutField(owner, field)
	}
	if of == reflect.TypeFor[events.Millis]() && about == "" {
		about = "in milliseconds since 1970"
	}
	schema.Description = about
	words := s.sources.words[nameOf(of)]
	if of.Kind() == reflect.String && len(words) > 1 && len(schema.Enum) == 0 {
		schema.Enum = enum(words)
	}
	if field.Type.Kind() == reflect.Pointer && of.Kind() == reflect.Struct && schema.Ref != "" && options == "" {
		return orNull(schema)
	}
	if field.Type.Kind() == reflect.Pointer && schema.Nullable && len(schema.Enum) > 0 {
		schema.Enum = append(schema.Enum, nil)
	}
	return schema
}

func enum(words []string) (values []any) {
	for _, word := range words {
		values = append(values, word)
	}
	return values
}

// free are the fields of free JSON, by the names that they have everywhere.
var free = []string{"metadata", "context", "details", "target"}

// anyJSON are the types of a value that may be anything.
var anyJSON = []string{"object", "array", "string", "number", "boolean", "null"}

// special returns the schema of a field that holds JSON as it is.
func (s *schemas) special(owner reflect.Type, field reflect.StructField) *huma.Schema {
	switch {
	case field.Type != reflect.TypeFor[json.RawMessage]():
		return nil
	case jsonName(field) == "event" && owner == reflect.TypeFor[wire.Outcome]():
		return orNull(ref("Event"))
	case jsonName(field) == "event":
		return ref("Event")
	case owner == reflect.TypeFor[wire.LiveView](), slices.Contains(free, jsonName(field)):
		return object("")
	}
	if jsonName(field) == "data" {
		return &huma.Schema{Extensions: map[string]any{"type": anyJSON}}
	}
	panic(fmt.Sprintf("apidoc: %s.%s holds any JSON; say which in schemas.go", owner, field.Name))
}

// addManifest adds the JSON Schema of manifests, without the conditions that only a validator needs.
func (s *schemas) addManifest() {
	var whole map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(manifest.Schema()), "#/$defs/", prefix+"Manifest")),
		&whole); err != nil {
		panic("apidoc: " + err.Error())
	}
	for name, schema := range whole["$defs"].(map[string]any) {
		s.Map()["Manifest"+name] = &huma.Schema{Extensions: schema.(map[string]any)}
	}
	for _, left := range []string{"$schema", "$id", "$defs", "oneOf", "allOf"} {
		delete(whole, left)
	}
	whole["description"] = whole["description"].(string) +
		" GET /api/manifests/schema has the conditions between its members too."
	s.Map()["Manifest"] = &huma.Schema{Extensions: whole}
}

// Attribute is an attribute of an event.
type Attribute struct {
	Name, Doc string
	// Always says that every event has it.
	Always bool
}

func (s *schemas) addEvent() {
	schema := &huma.Schema{
		Type:        huma.TypeObject,
		Description: "A stored CloudEvent. docs/events.md lists the types and their data.",
		Properties:  map[string]*huma.Schema{},
	}
	for _, a := range s.sources.attributes {
		schema.Properties[a.Name] = &huma.Schema{Type: huma.TypeString, Description: a.Doc}
		if a.Always {
			schema.Required = append(schema.Required, a.Name)
		}
	}
	schema.Properties["data"] = object("what happened, by type")
	s.Map()["Event"] = schema
}

// event returns the schema of the events of one type.
func (s *schemas) event(entry events.Entry) *huma.Schema {
	t := reflect.TypeOf(entry.New()).Elem()
	name := t.Name() + "Event"
	if s.Map()[name] == nil {
		s.Map()[name] = &huma.Schema{
			Description: entry.Doc,
			AllOf: []*huma.Schema{ref("Event"), {
				Type: huma.TypeObject,
				Properties: map[string]*huma.Schema{
					"type": {Type: huma.TypeString, Enum: []any{entry.Type}},
					"data": s.of(t),
				},
				Required: []string{"type", "data"},
			}},
		}
	}
	return ref(name)
}

// addLiveView adds a schema for each kind of view, so that the kind says what the value is.
func (s *schemas) addLiveView() {
	t := reflect.TypeFor[wire.LiveView]()
	s.of(t)
	all := &huma.Schema{Description: s.sources.about(t)}
	for _, kind := range projections.Kinds() {
		view := wire.ViewType(kind)
		if view == nil {
			panic("apidoc: say in service/wire/viewtype.go of which type the views of kind " + string(kind) + " are")
		}
		name := "Live" + camel(string(kind), true)
		s.Map()[name] = &huma.Schema{
			Type: huma.TypeObject,
			Properties: map[string]*huma.Schema{
				"kind":  {Type: huma.TypeString, Enum: []any{string(kind)}},
				"id":    text(),
				"value": orNull(s.of(view)),
			},
			Required: []string{"kind", "id", "value"},
		}
		all.OneOf = append(all.OneOf, ref(name))
	}
	s.Map()["LiveView"] = all
}

// liveMessage returns the schema of the messages of the live views, as a client reads them.
func (s *schemas) liveMessage() *huma.Schema {
	all := &huma.Schema{
		Description: "A server-sent event: its name, its id if it has one, and its data, parsed. A message with an " +
			"id alone moves the position; a comment says only that the connection lives.",
	}
	for _, m := range []struct {
		event string
		data  reflect.Type
	}{
		{wire.LiveKindSnapshot, reflect.TypeFor[wire.LivePart]()},
		{wire.LiveKindFrame, reflect.TypeFor[wire.LiveFrame]()},
		{wire.LiveKindReady, reflect.TypeFor[wire.LivePoint]()},
	} {
		all.OneOf = append(all.OneOf, &huma.Schema{
			Type: huma.TypeObject,
			Properties: map[string]*huma.Schema{
				"event": {Type: huma.TypeString, Enum: []any{m.event}},
				"id":    {Type: huma.TypeString, Description: "the position after it, for Last-Event-ID"},
				"data":  s.of(m.data),
			},
			Required: []string{"event", "data"},
		})
	}
	s.Map()["LiveMessage"] = all
	return ref("LiveMessage")
}

// camel joins words that are separated by other characters: "report:needs-input" becomes reportNeedsInput.
func camel(id string, upper bool) string {
	var b strings.Builder
	for _, r := range id {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			upper = b.Len() > 0 || upper
			continue
		case upper:
			r = unicode.ToUpper(r)
		}
		upper = false
		b.WriteRune(r)
	}
	return b.String()
}

// param returns a parameter of a route.
func param(p route.Param) *huma.Param {
	schema := text()
	switch {
	case p.Name == "limit", p.Name == "minSeq":
		schema = &huma.Schema{Type: huma.TypeInteger, Format: "int64"}
	case len(p.Words) > 0:
		schema.Enum = enum(p.Words)
	}
	return &huma.Param{
		Name:        p.Name,
		In:          p.In,
		Description: p.Doc,
		Required:    p.In == "path",
		Schema:      schema,
	}
}
