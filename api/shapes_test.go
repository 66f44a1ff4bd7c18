package api

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"maestro/api/compat"
	"maestro/service"
	"maestro/service/wire"
)

// asItIs are the routes whose answer is no type of service/wire, and what it is instead.
var asItIs = map[string]string{
	"GET /api/audit/export":             "lines of events",
	"GET /api/backup":                   "an archive",
	"GET /api/blobs/{digest}":           "a text",
	"GET /api/docs":                     "a page",
	"GET /api/docs/style.css":           "a style sheet",
	"GET /api/openapi.json":             "an OpenAPI document",
	"GET /api/live":                     "server-sent events, with types of service/wire as their data",
	"GET /api/manifests/schema":         "a JSON Schema",
	"GET /api/sessions/{id}/manifest":   "a manifest",
	"POST /api/manifests/generate":      "a manifest",
	"POST /api/sessions/{id}/heartbeat": "no body",
	"GET /{$}":                          "a page",
	"GET /login":                        "a page",
	"GET /login.js":                     "a script",
	"POST /login":                       "no body",
	"POST /logout":                      "no body",
	"GET /metrics":                      "the text format of Prometheus",
}

// withMore are the answers that have further members for older clients: those that older.txt lists.
var withMore = map[reflect.Type]reflect.Type{
	reflect.TypeFor[compat.SessionBody]():  reflect.TypeFor[wire.Session](),
	reflect.TypeFor[compat.SessionQueue](): reflect.TypeFor[wire.SessionQueue](),
}

// madeLate are answers that are created while they are written, and their types.
var madeLate = map[reflect.Type]reflect.Type{
	reflect.TypeFor[service.List[wire.Entry]](): reflect.TypeFor[[]wire.Entry](),
}

// wireTypes returns the types that service/wire declares or aliases, as reflect writes them.
func wireTypes(t *testing.T) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("../service/wire/*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, name := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		imports := map[string]string{}
		for _, spec := range file.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			imports[path.Base(imported)] = imported
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				named["maestro/service/wire."+spec.Name.Name] = true
				if of, ok := spec.Type.(*ast.SelectorExpr); ok {
					named[imports[of.X.(*ast.Ident).Name]+"."+of.Sel.Name] = true
				}
			}
			return true
		})
	}
	return named
}

// shapeFaults returns the parts of an answer that are not typed by service/wire: a struct without a name or of another
// package, or a value of any type.
func shapeFaults(named map[string]bool, at string, shape reflect.Type, seen map[reflect.Type]bool) (faults []string) {
	if seen[shape] {
		return nil
	}
	seen[shape] = true
	if late, ok := madeLate[shape]; ok {
		shape = late
	}
	switch shape {
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[time.Time]():
		return nil
	}
	switch shape.Kind() { //nolint:exhaustive // the others are plain values
	case reflect.Interface, reflect.Func, reflect.Chan:
		return []string{at + " may be anything"}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return shapeFaults(named, at, shape.Elem(), seen)
	case reflect.Map:
		return shapeFaults(named, at+"[]", shape.Elem(), seen)
	case reflect.Struct:
		if !named[shape.PkgPath()+"."+shape.Name()] {
			faults = append(faults, fmt.Sprintf("%s is a %s, which is no type of service/wire", at, shape))
		}
		for field := range shape.Fields() {
			if field.IsExported() && field.Tag.Get("json") != "-" {
				faults = append(faults, shapeFaults(named, at+"."+field.Name, field.Type, seen)...)
			}
		}
	}
	return faults
}

// answerOf returns the type that a documented route answers with; nil if it has no name.
func answerOf(document *huma.OpenAPI, operation *huma.Operation) reflect.Type {
	for status, response := range operation.Responses {
		media := response.Content["application/json"]
		if media == nil || !strings.HasPrefix(status, "2") {
			continue
		}
		schema := media.Schema
		for schema.Items != nil {
			schema = schema.Items
		}
		if schema.Ref != "" {
			return document.Components.Schemas.TypeFromRef(schema.Ref)
		}
	}
	return nil
}

// The answer of each route of our own clients is a type of service/wire, at every level: types of other languages are
// generated from them.
func TestAnswersAreShapesOfTheWire(t *testing.T) {
	s := &server{mux: http.NewServeMux()}
	s.nativeRoutes()
	answers := map[string]reflect.Type{
		"POST /api/commands/{id}": reflect.TypeFor[wire.Done](),
		"POST /api/manifests":     reflect.TypeFor[wire.StoredManifest](),
		"an error":                reflect.TypeFor[wire.Problem](),
	}
	for route, shape := range s.shapes {
		answers[route] = shape
	}
	document := documentOf(s.table)
	for path, item := range document.Paths {
		for _, operation := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if operation != nil {
				answers[operation.Method+" "+path] = answerOf(document, operation)
			}
		}
	}
	if len(answers) < 40 {
		t.Errorf("only %d routes have answers", len(answers))
	}
	for _, route := range s.besides {
		if name := route.Method + " " + route.Path; answers[name] == nil && asItIs[name] == "" {
			t.Errorf("%s: its answer is not documented", name)
		}
	}
	named := wireTypes(t)
	for route, shape := range answers {
		if shape == nil {
			t.Errorf("%s answers with a type that has no name", route)
			continue
		}
		if ours, ok := withMore[shape]; ok {
			shape = ours
		}
		for _, fault := range shapeFaults(named, route, shape, map[reflect.Type]bool{}) {
			t.Error(fault)
		}
	}
}

// An answer with members for older clients has the same type in the other members.
func TestMoreForOlderClientsKeepsTheShape(t *testing.T) {
	for more, ours := range withMore {
		theirs, members := membersOf(more), membersOf(ours)
		for name, of := range members {
			if theirs[name] == nil || theirs[name] != of && membersOf(theirs[name]) == nil {
				t.Errorf("%s has no %s like %s", more, name, ours)
				continue
			}
			for inner, kind := range membersOf(of) {
				if of.Kind() == reflect.Struct && membersOf(theirs[name])[inner] != kind {
					t.Errorf("%s.%s has no %s like %s", more, name, inner, ours)
				}
			}
		}
	}
}

// membersOf returns the members of a struct by their JSON names; nil for any other type.
func membersOf(shape reflect.Type) map[string]reflect.Type {
	if shape == nil || shape.Kind() != reflect.Struct {
		return nil
	}
	members := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(shape) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			members[name] = field.Type
		}
	}
	return members
}

func TestFormlessAnswersAreFound(t *testing.T) {
	named := wireTypes(t)
	for name, shape := range map[string]reflect.Type{
		"no name":           reflect.TypeFor[struct{ A int }](),
		"another package":   reflect.TypeFor[service.Position](),
		"anything":          reflect.TypeFor[any](),
		"a map of it":       reflect.TypeFor[map[string]any](),
		"in a list":         reflect.TypeFor[[]struct{ A int }](),
		"an older client's": reflect.TypeFor[compat.SessionBody](),
	} {
		if len(shapeFaults(named, name, shape, map[reflect.Type]bool{})) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	if faults := shapeFaults(named, "", reflect.TypeFor[[]wire.Can](), map[reflect.Type]bool{}); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
}
