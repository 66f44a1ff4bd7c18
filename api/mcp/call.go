package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// Request is a request of the HTTP interface, with the caller's credential.
type Request struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
}

// Answer is its answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Cut says that the answer is longer than an answer to a model may be, so that Body is not all of it.
	Cut bool
}

// Caller is who calls.
type Caller struct {
	// Session is the caller's session, "" for a user, and Project its project.
	Session, Project string
	// Ask makes a request for the caller. It waits for the whole answer, and ends with ctx.
	Ask func(ctx context.Context, r Request) Answer
}

// get reads a view.
func (c Caller) get(ctx context.Context, path string, query url.Values) Answer {
	return c.Ask(ctx, Request{Method: http.MethodGet, Path: path, Query: query})
}

// read reads a view into a value, and reports whether it could.
func (c Caller) read(ctx context.Context, path string, into any) bool {
	answer := c.get(ctx, path, nil)
	return answer.Status == http.StatusOK && !answer.Cut && json.Unmarshal(answer.Body, into) == nil
}

// allowed returns the commands that the caller may use.
func (c Caller) allowed(ctx context.Context) ([]string, Answer) {
	var body wire.AllowedCommands
	answer := c.get(ctx, "/api/commands", nil)
	if answer.Status == http.StatusOK && json.Unmarshal(answer.Body, &body) != nil {
		answer.Status = http.StatusInternalServerError
	}
	return body.AllowedCommands, answer
}

// call calls a tool. key is the key that the client made for the call, "" if it made none. A refusal is a result too:
// the model reads it.
func (t *tool) call(ctx context.Context, c Caller, raw json.RawMessage, key string) *sdk.CallToolResult {
	given := map[string]json.RawMessage{}
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return t.invalid(ctx, c, "", "the arguments must be a JSON object")
	}
	request, fault := t.request(ctx, c, given, raw)
	if fault != nil {
		return t.invalid(ctx, c, fault.field, fault.message)
	}
	if key != "" && request.Header != nil && given[wire.ArgKey] == nil {
		request.Header.Set(wire.HeaderKey, key)
	}
	answer := c.Ask(ctx, request)
	result := t.result(answer)
	if t.row.ID != waitsForMail && answer.Header.Get(wire.HeaderMail) != "" && c.Session != "" {
		result.Content = append(result.Content, c.mail(ctx)...)
	}
	return result
}

// waitsForMail is the read that shows mail, and the only one that has to wait.
const waitsForMail = "input:wait"

// fault is an argument that no request can be made of.
type fault struct{ field, message string }

// request returns the request of a call.
func (t *tool) request(
	ctx context.Context, c Caller, given map[string]json.RawMessage, raw json.RawMessage,
) (Request, *fault) {
	if !t.row.Write {
		return t.readRequest(c, given)
	}
	r := Request{
		Method: http.MethodPost,
		Path:   "/api/commands/" + t.row.ID,
		Query:  url.Values{},
		Header: http.Header{wire.HeaderKey: {uuid.NewString()}},
		Body:   raw,
	}
	body, changed := maps.Clone(given), len(raw) == 0
	for _, a := range t.options {
		value, ok := given[a.name]
		if !ok {
			continue
		}
		words, bad := a.words(value)
		if bad != nil {
			return r, bad
		}
		if a.name == wire.ArgKey {
			r.Header.Set(wire.HeaderKey, words)
		} else {
			r.Query.Set(a.name, words)
		}
		delete(body, a.name)
		changed = true
	}
	if name := inferred[t.row.ID]; c.Session != "" && name != "" && !r.Query.Has(name) {
		if _, keyed := given[wire.ArgKey]; !keyed || name == wire.ArgIfFinished {
			r.Query.Set(name, "true")
		}
	}
	for _, a := range t.fields {
		if _, ok := body[a.name]; !ok && a.of == ownManifest && c.Session != "" {
			var own struct {
				ManifestDigest json.RawMessage `json:"manifestDigest"`
			}
			if c.read(ctx, "/api/sessions/"+c.Session, &own) && own.ManifestDigest != nil {
				body[a.name], changed = own.ManifestDigest, true
			}
		}
	}
	if changed {
		r.Body = encoded(body)
	}
	return r, nil
}

// encoded returns an object whose values are JSON already. It gets no longer: the limits count it as it was sent.
func encoded(object map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(object) // the values are valid, because they were decoded
	return b.Bytes()
}

// words returns the value of an argument as a query has it.
func (a argument) words(value json.RawMessage) (string, *fault) {
	var text string
	var number json.Number
	var yes bool
	var texts []string
	switch {
	case json.Unmarshal(value, &text) == nil:
		return text, nil
	case json.Unmarshal(value, &number) == nil:
		return number.String(), nil
	case json.Unmarshal(value, &yes) == nil:
		return strconv.FormatBool(yes), nil
	case json.Unmarshal(value, &texts) == nil:
		return strings.Join(texts, ","), nil
	}
	return "", &fault{a.name, a.name + " must be a text, not an object"}
}

// readRequest returns the request of a read, to the first route that takes all arguments and has all that it needs.
func (t *tool) readRequest(c Caller, given map[string]json.RawMessage) (Request, *fault) {
	if r := t.routes[0]; r.Body != nil {
		return Request{Method: r.Method, Path: r.Path, Body: encoded(given)}, nil
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(t.fields, func(a argument) bool { return a.name == name }) {
			return Request{}, &fault{name, "there is no argument '" + safetext.Printable(name) + "' here; " + t.takes()}
		}
	}
	var first *fault
	for _, route := range t.routes {
		r, bad := route.request(c, given)
		if bad == nil {
			if t.row.ID == waitsForMail && !r.Query.Has(wire.ArgWait) {
				r.Query.Set(wire.ArgWait, "25s")
			}
			return r, nil
		}
		if first == nil {
			first = bad
		}
	}
	return Request{}, first
}

// takes lists the arguments of a tool.
func (t *tool) takes() string {
	names := make([]string, len(t.fields))
	for i, a := range t.fields {
		names[i] = a.name
	}
	if len(names) == 0 {
		return t.name + " takes none"
	}
	return t.name + " takes " + strings.Join(names, ", ")
}

// request returns the request of a call to a route.
func (r Route) request(c Caller, given map[string]json.RawMessage) (Request, *fault) {
	out := Request{Method: r.Method, Path: r.Path, Query: url.Values{}}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !r.takes(name) {
			return out, &fault{name, "the argument " + name + " does not go with the others"}
		}
	}
	for name, value := range preset[r.Name] {
		out.Query.Set(name, value)
	}
	for _, p := range r.Params {
		a := r.argumentOf(p)
		value := ""
		if raw, ok := given[a.name]; ok && string(raw) != "null" {
			words, bad := a.words(raw)
			if bad != nil {
				return out, bad
			}
			value = words
		}
		if value == "" {
			value = map[owned]string{ownSession: c.Session, ownProject: c.Project}[a.of]
		}
		switch {
		case p.In != "path" && value != "":
			out.Query.Set(p.Name, value)
		case p.In != "path":
		case value == "" || value == "." || value == "..":
			return out, &fault{a.name, a.name + " is required: " + a.doc}
		default:
			out.Path = strings.NewReplacer("{"+p.Name+"}", url.PathEscape(value),
				"{"+p.Name+"...}", url.PathEscape(value)).Replace(out.Path)
		}
	}
	return out, nil
}

// invalid refuses arguments. A caller that may not use the command at all is told that instead.
func (t *tool) invalid(ctx context.Context, c Caller, field, message string) *sdk.CallToolResult {
	var check wire.CommandCheck
	if c.read(ctx, "/api/commands/"+t.row.ID, &check) && !check.Allowed {
		return refusal(wire.Problem{
			Code:    string(commands.CodeNotAllowed),
			Message: check.Message,
			Why:     check.Why,
			Next:    check.Next,
		})
	}
	p := wire.Problem{
		Code:    string(commands.CodeInvalid),
		Message: message,
		Why:     wire.InvalidWhy,
		Next:    wire.InvalidNext,
	}
	if field != "" {
		p.Pointer = "/" + safetext.Printable(field)
	}
	return refusal(p)
}
