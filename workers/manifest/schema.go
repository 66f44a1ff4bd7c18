package manifest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"maestro/commands"
	"maestro/events"
)

// SchemaID is the id of the schema.
const SchemaID = "urn:maestro:schema:manifest:1.0"

// Schema returns the JSON Schema (draft 2020-12) of what Parse accepts, generated from the same types and rules; the
// package's schema.json is its copy. It cannot express what needs the whole document at once: commands that a role may
// not have, ids that are taken, cycles; nor repeated names and the limits of a document. What it refuses, Parse
// refuses.
func Schema() []byte {
	w := &schemaWriter{definitions: map[string]members{}}
	root := w.object(documentShape())
	root = append(members{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", SchemaID},
		{"title", "Maestro manifest"},
		{"description", "What a session is: who it is, what it works on, and how."},
	}, root...)
	root = append(root, conditions()...)
	definitions := members{}
	for _, name := range w.order {
		definitions = append(definitions, pair{name, w.definitions[name]})
	}
	root = append(root, pair{"$defs", definitions})
	var compact, indented bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(root); err != nil {
		panic("manifest: " + err.Error())
	}
	if err := json.Indent(&indented, compact.Bytes(), "", "  "); err != nil {
		panic("manifest: " + err.Error())
	}
	return indented.Bytes()
}

// members is a JSON object in a readable order.
type members []pair

type pair struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (m members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, p := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encoder.Encode(p.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encoder.Encode(p.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

type schemaWriter struct {
	definitions map[string]members
	order       []string
}

func (w *schemaWriter) object(s *shape) members {
	properties := members{}
	required := []string{}
	for _, f := range s.fields {
		value := append(members{{"description", f.doc}}, w.value(f.shape)...)
		if f.legacy != "" {
			value = append(value, pair{"deprecated", true})
		}
		properties = append(properties, pair{f.name, value})
		if f.required && !s.hasLegacy(f) {
			required = append(required, f.name)
		}
	}
	object := members{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		object = append(object, pair{"required", required})
	}
	return append(object, pair{"additionalProperties", false})
}

// hasLegacy reports whether another member may stand for this one.
func (s *shape) hasLegacy(f *field) bool { return s.replaced(f, ^uint64(0)) }

func (w *schemaWriter) value(s *shape) members {
	switch s.kind {
	case anObject:
		if _, done := w.definitions[s.name]; !done {
			w.definitions[s.name] = nil // for its place in the order
			w.order = append(w.order, s.name)
			w.definitions[s.name] = w.object(s)
		}
		return members{{"$ref", "#/$defs/" + s.name}}
	case freeObject:
		return members{{"type", "object"}}
	case aList:
		list := members{{"type", "array"}, {"items", w.value(s.items)}}
		if s.atLeast > 0 {
			list = append(list, pair{"minItems", s.atLeast})
		}
		return list
	case aText:
		return s.text()
	case anInteger:
		return members{{"type", "integer"}, {"minimum", s.rule.lowest}, {"maximum", s.rule.highest}}
	case aNumber:
		return members{{"type", "number"}}
	case aBoolean:
		return members{{"type", "boolean"}}
	default:
		panic("manifest: no schema for " + s.kind.String())
	}
}

func (s *shape) text() members {
	text := members{{"type", "string"}}
	if s.nullable {
		text = members{{"type", []string{"string", "null"}}}
	}
	r := s.rule
	switch {
	case r == nil || r.enum == nil && r.fits == nil:
		text = append(text, pair{"pattern", `^[^\x00]*$`})
	case r.fits != nil:
		text = append(text, pair{"pattern", r.fits().String()})
	case len(r.enum) == 1:
		return append(text, pair{"const", r.enum[0]})
	default:
		return append(text, pair{"enum", r.enum})
	}
	if r == nil {
		return text
	}
	if r.format != "" {
		text = append(text, pair{"format", r.format})
	}
	if r.least > 0 {
		text = append(text, pair{"minLength", r.least})
	}
	if r.most > 0 {
		text = append(text, pair{"maxLength", r.most})
	}
	return text
}

// conditions are the relations that JSON Schema can express: tasks or task, strategies of a role, who may have no
// tasks, models of an agent.
func conditions() members {
	is := func(member, value string) members {
		return members{{"properties", members{{member, members{{"const", value}}}}}, {"required", []string{member}}}
	}
	strategies := func(role events.Role) members {
		fit := members{{"enum", strategiesOf(role)}}
		return members{{"if", is("role", string(role))}, {"then", members{{"properties", members{
			{"strategy", fit},
			{"orchestratorStrategy", fit},
		}}}}}
	}
	queue := members{{"allOf", []members{
		is("role", string(events.RoleWorker)),
		{{"anyOf", []members{is("strategy", string(events.StrategyQueue)), is("orchestratorStrategy",
			string(events.StrategyQueue))}}},
	}}}
	all := []members{
		strategies(events.RoleWorker),
		strategies(events.RoleOrchestrator),
		{
			{"if", members{{"not", queue}}},
			{"then", members{{"properties", members{{"tasks", members{{"minItems", 1}}}}}}},
		},
	}
	for _, agent := range slices.Sorted(maps.Keys(makers)) {
		runs := is("agent", agent)
		if agent == defaultAgent {
			runs = members{{"properties", members{{"agent", members{{"const", agent}}}}}}
		}
		model := members{{"anyOf", []members{{{"enum", shortModels}}, {{"pattern", makers[agent]().String()}}}}}
		all = append(all, members{
			{"if", members{{"properties", members{{"session", runs}}}}},
			{"then", members{{"properties", members{{"session", members{{"properties", members{{"model", model}}}}}}}}},
		})
	}
	return members{
		{"oneOf", []members{{{"required", []string{"tasks"}}}, {{"required", []string{"task"}}}}},
		{"allOf", all},
	}
}

// strategiesOf uses Parse's check to list the strategies of a role.
func strategiesOf(role events.Role) []string {
	var fit []string
	for _, strategy := range rules["strategy"].enum {
		if _, err := commands.ResolveStrategy(role, events.Strategy(strategy)); err == nil {
			fit = append(fit, strategy)
		}
	}
	return fit
}
