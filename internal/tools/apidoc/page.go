package apidoc

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

//go:embed page.tmpl
var pageText string

// Page returns the page that shows a document. It has no script, and its style is a file of its own.
func Page(document []byte) ([]byte, error) {
	var whole openAPI
	if err := json.Unmarshal(document, &whole); err != nil {
		return nil, err
	}
	page, err := template.New("page").Funcs(template.FuncMap{"type": typeOf, "prose": prose}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.Execute(&b, whole.shown())
	return b.Bytes(), err
}

// The parts of a document that the page shows.
type (
	openAPI struct {
		Info       struct{ Description string }
		Tags       []struct{ Name, Description string }
		Paths      map[string]map[string]operation
		Components struct {
			Schemas    map[string]*schema
			Parameters map[string]parameter
			Responses  map[string]struct{ Description string }
		}
	}
	operation struct {
		ID          string `json:"operationId"`
		Summary     string
		Description string
		Tags        []string
		Parameters  []parameter
		Deprecated  bool
		Security    *[]any
		RequestBody *struct {
			Content map[string]media
		}
		Responses map[string]struct {
			Ref         string `json:"$ref"`
			Description string
			Content     map[string]media
			Headers     map[string]any
		}
	}
	parameter struct {
		Ref                   string `json:"$ref"`
		Name, In, Description string
		Required              bool
		Schema                *schema
	}
	media struct {
		Schema  *schema
		Example any
	}
	schema struct {
		Ref                  string `json:"$ref"`
		Type                 any
		Description          string
		Properties           map[string]*schema
		Required             []string
		Items                *schema
		AdditionalProperties any
		Enum                 []any
		Const                any
		OneOf, AllOf         []*schema
		MaxLength, MaxItems  *int
		Deprecated           bool
	}
)

// What the page shows.
type (
	shownPage struct {
		About   string
		Groups  []shownGroup
		Schemas []shownSchema
		Errors  []shownAnswer
	}
	shownGroup struct {
		ID, Name, About string
		Operations      []shownOperation
	}
	shownOperation struct {
		operation
		Method, Path, Media, Status string
		Example                     string
		Open                        bool // no token
		Parameters                  []parameter
		Body, Answer                *schema
		Fields                      []shownField // of the body
		Headers, Refusals           []string
	}
	shownSchema struct {
		Name   string
		Of     *schema
		Fields []shownField
	}
	shownField struct {
		Name     string
		Required bool
		Of       *schema
	}
	shownAnswer struct{ Status, About string }
)

func (d *openAPI) shown() shownPage {
	page := shownPage{About: d.Info.Description}
	statuses := map[string]string{}
	for _, tag := range d.Tags {
		group := shownGroup{ID: camel(tag.Name, false), Name: tag.Name, About: tag.Description}
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			for _, method := range []string{"get", "post", "put", "patch", "delete"} {
				if o, ok := d.Paths[path][method]; ok && o.Tags[0] == tag.Name {
					group.Operations = append(group.Operations, d.operation(path, method, o, statuses))
				}
			}
		}
		page.Groups = append(page.Groups, group)
	}
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		page.Errors = append(page.Errors, shownAnswer{status, statuses[status]})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		page.Schemas = append(page.Schemas, shownSchema{name, s, fieldsOf(s)})
	}
	return page
}

func (d *openAPI) operation(path, method string, o operation, statuses map[string]string) shownOperation {
	shown := shownOperation{
		operation: o,
		Method:    strings.ToUpper(method),
		Path:      path,
		Open:      o.Security != nil && len(*o.Security) == 0,
	}
	for _, p := range o.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[lastOf(p.Ref)]
		}
		shown.Parameters = append(shown.Parameters, p)
	}
	if o.RequestBody != nil {
		for _, content := range o.RequestBody.Content {
			shown.Body = content.Schema
			shown.Fields = d.fieldsBehind(content.Schema)
			if content.Example != nil {
				example, _ := json.MarshalIndent(content.Example, "", "  ")
				shown.Example = string(example)
			}
		}
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		answer := o.Responses[status]
		if answer.Ref != "" {
			statuses[status] = d.Components.Responses[lastOf(answer.Ref)].Description
			shown.Refusals = append(shown.Refusals, status)
			continue
		}
		if shown.Status != "" {
			continue
		}
		shown.Status, shown.Headers = status, slices.Sorted(maps.Keys(answer.Headers))
		for kind, content := range answer.Content {
			shown.Media, shown.Answer = kind, content.Schema
		}
	}
	return shown
}

// fieldsBehind returns the fields of a body, following a reference.
func (d *openAPI) fieldsBehind(s *schema) []shownField {
	if s.Ref != "" {
		return fieldsOf(d.Components.Schemas[lastOf(s.Ref)])
	}
	return fieldsOf(s)
}

// fieldsOf returns the fields of an object, the required ones first.
func fieldsOf(s *schema) (fields []shownField) {
	for _, required := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) == required {
				fields = append(fields, shownField{name, required, s.Properties[name]})
			}
		}
	}
	return fields
}

// prose returns a text with what stands in backquotes as code.
func prose(text string) template.HTML {
	parts := strings.Split(template.HTMLEscapeString(text), "`")
	for i := 1; i+1 < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return template.HTML(strings.Join(parts, ""))
}

func lastOf(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// typeOf returns the type of a schema in words, with links to the schemas that it names.
func typeOf(s *schema) template.HTML {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		name := lastOf(s.Ref)
		return template.HTML(fmt.Sprintf(`<a href="#schema-%s">%[1]s</a>`, template.HTMLEscapeString(name)))
	case len(s.Enum) > 0:
		return template.HTML(template.HTMLEscapeString(inWords(s.Enum)))
	case s.Const != nil:
		return template.HTML(template.HTMLEscapeString(fmt.Sprint(s.Const)))
	case len(s.OneOf) > 0:
		return joined(s.OneOf, " or ")
	case len(s.AllOf) > 0:
		return joined(s.AllOf, " with ")
	case s.Items != nil:
		return "list of " + typeOf(s.Items)
	case len(s.Properties) > 0:
		var parts []string
		for _, f := range fieldsOf(s) {
			parts = append(parts, template.HTMLEscapeString(f.Name)+": "+string(typeOf(f.Of)))
		}
		return template.HTML(strings.Join(parts, ", "))
	}
	if values, ok := s.AdditionalProperties.(map[string]any); ok {
		kind, _ := values["type"].(string)
		if ref, ok := values["$ref"].(string); ok {
			return "map of " + typeOf(&schema{Ref: ref})
		}
		return template.HTML("map of " + template.HTMLEscapeString(kind))
	}
	if kinds, ok := s.Type.([]any); ok {
		if len(kinds) > 2 {
			return "any JSON"
		}
		return template.HTML(template.HTMLEscapeString(inWords(kinds)))
	}
	if s.Type == nil {
		return "see below"
	}
	return template.HTML(template.HTMLEscapeString(fmt.Sprint(s.Type)))
}

func joined(all []*schema, by string) template.HTML {
	var parts []string
	for _, s := range all {
		parts = append(parts, string(typeOf(s)))
	}
	return template.HTML(strings.Join(parts, by))
}

func inWords(values []any) string {
	var words []string
	for _, value := range values {
		if value == nil {
			value = "null"
		}
		words = append(words, fmt.Sprint(value))
	}
	return strings.Join(words, " | ")
}
