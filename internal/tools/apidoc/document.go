package apidoc

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"maestro/api"
	"maestro/api/route"
	"maestro/service/wire"
)

// Source is what the document is written from, besides the code that this package imports.
type Source struct {
	// Root is the root of the repository, whose comments are read.
	Root string
	// Summaries say what each command does, by id.
	Summaries map[string]string
	// Attributes are those of an event.
	Attributes []Attribute
}

// Document returns the OpenAPI document, indented.
func Document(source Source) ([]byte, error) {
	from, err := readSources(source.Root)
	if err != nil {
		return nil, err
	}
	from.attributes = source.Attributes
	return newDocument(from, source.Summaries).json()
}

// document is the OpenAPI document.
type document struct {
	*huma.OpenAPI
	schemas   *schemas
	summaries map[string]string
}

func newDocument(from *sources, summaries map[string]string) *document {
	d := &document{schemas: newSchemas(from, api.Aliases()), summaries: summaries}
	d.OpenAPI = &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:       "Maestro",
			Version:     "1",
			Description: about,
			License:     &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
		},
		Servers:  []*huma.Server{{URL: "/", Description: "the server that this document comes from"}},
		Security: []map[string][]string{{"token": {}}},
		Tags:     tags(),
		Components: &huma.Components{
			Schemas:    d.schemas.Registry,
			Parameters: map[string]*huma.Param{},
			Responses:  map[string]*huma.Response{},
			Headers:    map[string]*huma.Header{},
			SecuritySchemes: map[string]*huma.SecurityScheme{"token": {
				Type:   "http",
				Scheme: "bearer",
				Description: "A token of `maestro token create`, the home's admin.token, or the secret of a session. " +
					"A browser that logged in sends a cookie instead.",
			}},
		},
	}
	for name, doc := range requestHeaders {
		d.Components.Parameters[name] = param(route.Param{Name: name, In: "header", Doc: doc})
	}
	for name, doc := range answerHeaders {
		d.Components.Headers[name] = &huma.Header{Description: doc, Schema: text()}
	}
	native, older := api.Routes()
	for _, r := range native {
		if r.Name == "command" {
			d.addCommands(r)
			continue
		}
		d.addRoute(r, camel(r.Name, false), tagOf(r.Name))
	}
	for _, r := range older {
		d.addRoute(r, camel("older-"+r.Name, false), tagOlder)
	}
	return d
}

func (d *document) addRoute(r api.Documented, name, tag string) {
	path := strings.NewReplacer("...}", "}", "/{$}", "/").Replace(r.Path)
	operation := &huma.Operation{
		OperationID: name,
		Method:      r.Method,
		Path:        path,
		Summary:     r.Summary,
		Tags:        []string{tag},
		Deprecated:  tag == tagOlder,
		Extensions:  map[string]any{},
	}
	if len(r.Rows) > 0 {
		operation.Description = "Needs the permission `" + strings.Join(r.Rows, "` or `") + "`."
		operation.Extensions["x-maestro-rows"] = r.Rows
	}
	for _, p := range r.Params {
		operation.Parameters = append(operation.Parameters, param(p))
	}
	if r.InPages && !hasParam(r.Params, "limit") {
		operation.Parameters = append(operation.Parameters, param(route.Param{
			Name: "limit",
			In:   "query",
			Doc:  "at most so many on a page",
		}))
	}
	switch {
	case r.Name == "mcp":
		operation.RequestBody = d.body(object("a JSON-RPC message"), nil)
	case r.Name == "login":
		operation.RequestBody = form()
	case r.Body != nil:
		operation.RequestBody = d.body(d.schemas.of(r.Body), examples()[r.Name])
	}
	statuses := []int{400, 401, 403, 404, 429, 500, 503, 504}
	if r.Method != http.MethodGet {
		statuses = append(statuses, 409, 413, 415, 422)
	}
	headers := headersOf[r.Name]
	if r.InPages {
		headers = append(headers, wire.HeaderNext)
	}
	if r.Public {
		operation.Security, statuses = []map[string][]string{}, []int{400, 403, 429, 500, 503}
	}
	operation.Responses = d.answers(r.Status, r.Media, d.content(r), headers...)
	statuses = append(statuses, further[r.Name]...)
	if tag == tagOlder {
		statuses = append(statuses, http.StatusUnprocessableEntity)
	}
	for _, status := range statuses {
		d.refusal(operation, status)
	}
	if r.Name == "mcp" { // these come from the library, and some from us
		operation.Responses["400"], operation.Responses["415"] = plain(400), plain(415)
		operation.Responses["400"].Content[api.JSON] = &huma.MediaType{ // a refusal, or an error of JSON-RPC
			Schema: d.schemas.of(reflect.TypeFor[map[string]any]()),
		}
	}
	if r.Name == "home" {
		operation.Responses["303"] = &huma.Response{
			Description: "Nobody is logged in: go to /login",
			Content:     map[string]*huma.MediaType{"text/html": {Schema: text()}},
		}
	}
	if r.Name == "login" {
		d.asPages(operation)
	}
	if published(r) {
		operation.Responses["304"] = &huma.Response{Description: "The client has it already (If-None-Match)"}
	}
	d.AddOperation(operation)
}

// further are the statuses of refusals that only one route has.
var further = map[string][]int{"login": {401, 415}}

// asPages adds that the refusals of an operation are pages for a browser.
func (d *document) asPages(operation *huma.Operation) {
	for status, answer := range operation.Responses {
		known := d.Components.Responses[strings.TrimPrefix(answer.Ref, "#/components/responses/")]
		if known == nil {
			continue
		}
		both := *known
		both.Content = maps.Clone(known.Content)
		both.Content["text/html"] = &huma.MediaType{Schema: text()}
		operation.Responses[status] = &both
	}
}

// plain is a refusal in words.
func plain(status int) *huma.Response {
	return &huma.Response{
		Description: http.StatusText(status),
		Content:     map[string]*huma.MediaType{"text/plain": {Schema: text()}},
	}
}

// published reports whether a route serves the description of the API.
func published(r api.Documented) bool { return r.Public && strings.HasPrefix(r.Path, "/api/") }

func hasParam(params []route.Param, name string) bool {
	for _, p := range params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// content returns the schema of a successful answer.
func (d *document) content(r api.Documented) *huma.Schema {
	switch {
	case r.Name == "live":
		return d.schemas.liveMessage()
	case r.Name == "openapi":
		return object("an OpenAPI document")
	case r.Name == "manifest-schema":
		return object("a JSON Schema")
	case r.Name == "mcp":
		return object("a JSON-RPC message")
	case r.Answer == nil:
		return text()
	}
	return d.schemas.of(r.Answer)
}

func (d *document) body(schema *huma.Schema, example any) *huma.RequestBody {
	media := &huma.MediaType{Schema: schema}
	if example != nil {
		media.Example = example
	}
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{api.JSON: media}}
}

// form returns the body of a login.
func form() *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/x-www-form-urlencoded": {Schema: &huma.Schema{
			Type: huma.TypeObject,
			Properties: map[string]*huma.Schema{
				"code": {Type: huma.TypeString, Description: "the code of `maestro open`"},
				"path": {Type: huma.TypeString, Description: "where to go afterwards"},
			},
			Required: []string{"code"},
		}},
	}}
}

// answers returns the successful answer of an operation.
func (d *document) answers(status int, media string, schema *huma.Schema, headers ...string) map[string]*huma.Response {
	answer := &huma.Response{Description: http.StatusText(status), Headers: map[string]*huma.Header{}}
	for _, name := range append([]string{wire.HeaderSequence}, headers...) {
		answer.Headers[name] = &huma.Header{Ref: "#/components/headers/" + name}
	}
	if media != "" {
		answer.Content = map[string]*huma.MediaType{media: {Schema: schema}}
	}
	return map[string]*huma.Response{strconv.Itoa(status): answer}
}

// refusal adds the answer with a status to an operation.
func (d *document) refusal(operation *huma.Operation, status int) {
	known := refusals[status]
	if d.Components.Responses[known.name] == nil {
		answer := &huma.Response{
			Description: known.doc,
			Headers: map[string]*huma.Header{
				wire.HeaderSequence: {Ref: "#/components/headers/" + wire.HeaderSequence},
			},
			Content: map[string]*huma.MediaType{api.JSON: {
				Schema:  d.schemas.of(reflect.TypeFor[wire.Problem]()),
				Example: known.example,
			}},
		}
		if header := known.header; header != "" {
			answer.Headers[header] = &huma.Header{Ref: "#/components/headers/" + header}
		}
		d.Components.Responses[known.name] = answer
	}
	operation.Responses[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + known.name}
}

func (d *document) json() ([]byte, error) {
	compact, err := json.Marshal(d.OpenAPI)
	if err != nil {
		return nil, err
	}
	var plain any // for one order of members
	if err := json.Unmarshal(compact, &plain); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err = encoder.Encode(plain)
	return b.Bytes(), err
}
