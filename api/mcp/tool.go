package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"maestro/api/route"
	"maestro/commands"
	"maestro/internal/lazyregexp"
	"maestro/service/wire"
	"maestro/workers/prompt"
)

// Route is a read of the HTTP interface, or a write that leaves no event.
type Route struct {
	Method, Path, Name, Summary string
	// Rows are the rows of the permission table that permit it: one of them, depending on the request.
	Rows   []string
	Params []route.Param
	// Body is the type of its body; nil if it takes none.
	Body reflect.Type
}

// readsOf names the routes of the reads that are not called like their row, the preferred one first. An argument that
// only one of them takes chooses it.
var readsOf = map[string][]string{
	"status":        {"project-status"},
	"queue:status":  {"queue-names"},
	"queue:list":    {"queue-list", "session-queue"},
	"queue:top":     {"queue-next", "queue-top"},
	"input:wait":    {"input-get", "session-mail"},
	"manifest:show": {"session-manifest"},
	"watch":         {"live"},
	"audit:replay":  {"audit-export"},
}

// preset are parameters with one value over MCP: an answer has to end.
var preset = map[string]map[string]string{"live": {"follow": "false"}}

// argument is an argument of a tool, or a place in a route.
type argument struct {
	name, doc string
	schema    map[string]any
	required  bool
	// of is the argument that a session need not give, because it is its own.
	of owned
}

type owned int

const (
	nobodys owned = iota
	ownSession
	ownProject
	ownManifest
)

// tool is a command as a tool.
type tool struct {
	name string
	row  commands.Row
	// routes are those of a read, in the order of preference.
	routes []Route
	// fields are the arguments that the body of a write has, or the parameters of a read; options the others.
	fields, options []argument
	// listed are the tool's descriptions, for a session and for a user.
	listed [2]*sdk.Tool
}

// text, flag and list are schemas.
func text() map[string]any { return map[string]any{"type": "string"} }
func flag() map[string]any { return map[string]any{"type": "boolean"} }
func list() map[string]any { return map[string]any{"type": "array", "items": text()} }

// optionsOf returns the arguments of a write that are no fields of it: the options of its route, and its key.
func optionsOf(id string) []argument {
	options := []argument{{
		name:   wire.ArgKey,
		schema: text(),
		doc:    "a retry with the same key runs once; a new key for each call if absent",
	}}
	for _, option := range wire.OptionsOf(id) {
		a := argument{name: option.Name, doc: option.Doc, schema: forms[option.Form]()}
		if inferred[id] == option.Name {
			a.doc += absent[option.Name]
		}
		options = append(options, a)
	}
	return options
}

// forms are the schemas of options.
var forms = map[wire.OptionForm]func() map[string]any{
	wire.OptionFlag: flag,
	wire.OptionText: text,
	wire.OptionList: list,
}

// inferred are the options that a session's tool has if they are absent, as the command line does; absent says so.
var (
	inferred = map[string]string{
		"session:complete":   wire.ArgIfFinished,
		"report:complete":    wire.ArgIfFinished,
		"report:needs-input": wire.ArgIfNew,
	}
	absent = map[string]string{
		wire.ArgIfFinished: "; true for a session if absent",
		wire.ArgIfNew:      "; true for a session without an " + wire.ArgKey,
	}
)

// more are values that a field accepts besides those that its tag shows to agents.
var more = map[string][]string{"task:update.status": {"cancelled"}}

// fieldsOf returns the arguments of a command from the tags of its type.
func fieldsOf(id string, of reflect.Type) (fields []argument) {
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "" || name == "-" {
			continue
		}
		a := argument{
			name:     name,
			doc:      field.Tag.Get("doc"),
			schema:   schemaOf(field.Type, field.Tag.Get("doc")),
			required: options == "" && of != reflect.TypeFor[wire.NewManifest](),
		}
		words := strings.Split(field.Tag.Get("flag"), "|")
		if len(words) > 1 && !strings.ContainsAny(words[0], " <\"") {
			of := a.schema
			if items, ok := of["items"].(map[string]any); ok {
				of = items
			}
			of["enum"] = append(words, more[id+"."+name]...)
		}
		if name == "manifestDigest" && a.required {
			a.of = ownManifest
		}
		fields = append(fields, a)
	}
	return fields
}

// schemaOf returns the schema of a field's values. A pointer may be null where its description says what that means.
func schemaOf(t reflect.Type, doc string) map[string]any {
	null := t.Kind() == reflect.Pointer && strings.Contains(doc, "null")
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return map[string]any{}
	}
	schema := map[string]any{}
	switch t.Kind() {
	case reflect.Bool:
		schema["type"] = "boolean"
	case reflect.Int, reflect.Int64:
		schema["type"] = "integer"
	case reflect.Slice:
		schema = list()
	case reflect.Map:
		schema["type"], schema["additionalProperties"] = "object", text()
	case reflect.String:
		schema["type"] = "string"
	default:
		panic(fmt.Sprintf("mcp: a field of type %s has no schema", t))
	}
	if null {
		schema["type"] = []string{schema["type"].(string), "null"}
	}
	return schema
}

// nouns are what a path calls its objects, and how a tool names one.
var nouns = map[string]string{
	"tasks":     "taskId",
	"sessions":  "sessionId",
	"projects":  "projectId",
	"templates": "templateId",
	"inputs":    "inputId",
	"queues":    "queue",
	"commands":  "commandId",
	"why":       "id",
	"blobs":     "digest",
	"webhooks":  "webhookId",
	"skills":    "skillId",
	"role":      "role",
	"default":   "role",
}

// argumentOf returns the argument for a parameter of a route.
func (r Route) argumentOf(p route.Param) argument {
	a := argument{name: p.Name, doc: p.Doc, schema: text()}
	if p.In != "path" {
		return a
	}
	segments := strings.Split(r.Path, "/")
	at := slices.IndexFunc(segments, func(s string) bool { return strings.HasPrefix(s, "{"+p.Name) })
	if a.name, a.required = nouns[segments[at-1]], true; a.name == "" {
		panic("mcp: nouns does not say how a tool names what " + r.Path + " is about")
	}
	switch a.name {
	case "sessionId":
		a.doc, a.of = "the session; your own if absent", ownSession
	case "projectId":
		a.doc, a.of = "the project; a session's own if absent", ownProject
	case "id":
		a.doc = "a task, a session, a question, or the item <queue>/<taskId>"
	default:
		a.doc = "the " + strings.TrimSuffix(a.name, "Id")
	}
	return a
}

// takes reports whether the route has a parameter for an argument.
func (r Route) takes(name string) bool {
	return slices.ContainsFunc(r.Params, func(p route.Param) bool { return r.argumentOf(p).name == name })
}

// newTool returns the tool of a row.
func newTool(row commands.Row, routes map[string]Route) *tool {
	t := &tool{name: wire.ToolOf(row.ID), row: row}
	if row.Write {
		t.fields, t.options = fieldsOf(row.ID, commands.TypeOf(row.ID)), optionsOf(row.ID)
	} else {
		names := readsOf[row.ID]
		if names == nil {
			names = []string{strings.ReplaceAll(row.ID, ":", "-")}
		}
		for _, name := range names {
			r, ok := routes[name]
			if !ok {
				panic("mcp: the read " + row.ID + " has no route " + name)
			}
			t.routes = append(t.routes, r)
		}
		t.fields = t.parameters()
	}
	for i := range t.listed {
		t.listed[i] = t.list(i == 0)
	}
	return t
}

// parameters returns the arguments of a read's routes. One that not all of them need is optional. A model that has read
// the results of its writes needs no minSeq.
func (t *tool) parameters() (all []argument) {
	if body := t.routes[0].Body; body != nil {
		return fieldsOf(t.row.ID, body)
	}
	for _, r := range t.routes {
		for _, p := range r.Params {
			a := r.argumentOf(p)
			_, fixed := preset[r.Name][p.Name]
			known := slices.ContainsFunc(all, func(b argument) bool { return a.name == b.name })
			if fixed || known || p.Name == "minSeq" {
				continue
			}
			a.required = a.required && len(t.routes) == 1
			all = append(all, a)
		}
	}
	return all
}

// list describes the tool to a session or to a user.
func (t *tool) list(session bool) *sdk.Tool {
	properties, required := map[string]any{}, []string{}
	for _, a := range slices.Concat(t.fields, t.options) {
		schema := map[string]any{}
		for key, value := range a.schema {
			schema[key] = value
		}
		if a.doc != "" {
			schema["description"] = a.doc
		}
		properties[a.name] = schema
		if a.required && (!session || a.of == nobodys) {
			required = append(required, a.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	destroys := t.row.Write && slices.ContainsFunc(destructive, func(verb string) bool {
		return strings.HasSuffix(t.row.ID, ":"+verb)
	})
	world := false
	return &sdk.Tool{
		Name:        t.name,
		Description: t.description(),
		InputSchema: schema,
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint:    !t.row.Write,
			DestructiveHint: &destroys,
			IdempotentHint:  !t.row.Write || slices.Contains(repeatable, t.row.ID),
			OpenWorldHint:   &world,
		},
	}
}

// destructive are the verbs of commands that end or remove something.
var destructive = []string{"delete", "kill", "revoke", "remove", "reset"}

// repeatable are the writes that change nothing when they are repeated.
var repeatable = []string{
	"session:register", "session:complete", "worker:init", "orchestrator:init", "task:complete", "session:link",
	"session:unlink", "input:received", "queue:start",
}

var flagName = lazyregexp.New(`--[a-z-]+`)

// description is that of the command line, without what it says about flags: a tool has arguments, which have their
// own.
func (t *tool) description() string {
	_, words, _ := prompt.Syntax(t.row.ID)
	var kept []string
	for part := range strings.SplitSeq(words, "; ") {
		if !flagName().MatchString(part) {
			kept = append(kept, part)
		}
	}
	about := strings.Join(kept, "; ")
	if line := strings.ReplaceAll(t.row.ID, ":", " "); t.row.Write {
		about += " (maestro " + line + "). The answer has the event that it became"
	} else {
		about += " (maestro " + line + ")"
	}
	return about + beyond[t.row.ID] + "."
}

// beyond says what a tool's caller has to know and the command line does by itself.
var beyond = map[string]string{
	"report:needs-input": ". Wait for the answer with input_wait",
	"input:wait": ". It waits up to 25 s: call it again if nothing came. Confirm each piece with " +
		"input_received",
	"worker:init":       ". Your manifest is the resource maestro://sessions/{sessionId}/manifest",
	"orchestrator:init": ". Your manifest is the resource maestro://sessions/{sessionId}/manifest",
	"queue:start":       ". With wait, it waits up to 25 s for an item",
	"watch":             ". The answer ends with the newest event: call it again with after",
}
