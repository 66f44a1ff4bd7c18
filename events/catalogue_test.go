package events

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCatalogue(t *testing.T) {
	name := regexp.MustCompile(
		`^maestro\.(project|task|session|queue|input|token|template|text|webhook|sandbox|preflight)` +
			`\.[a-z]+(_[a-z]+)*\.v[1-9][0-9]*$`)
	seen := map[string]bool{}
	for _, entry := range Catalogue() {
		data := entry.New()
		if data.EventType() != entry.Type {
			t.Errorf("%s creates a payload of type %s", entry.Type, data.EventType())
		}
		if !name.MatchString(entry.Type) {
			t.Errorf("%s is not a name of a type", entry.Type)
		}
		// What a supervisor notices besides the session itself happens to the session, too.
		ofSession := strings.HasPrefix(entry.Type, "maestro.sandbox.") ||
			strings.HasPrefix(entry.Type, "maestro.preflight.")
		if kind, _ := data.Aggregate(); !strings.HasPrefix(entry.Type, "maestro."+kind+".") &&
			(kind != AggregateSession || !ofSession) {
			t.Errorf("%s happens to a %s", entry.Type, kind)
		}
		if seen[entry.Type] {
			t.Errorf("%s is there twice", entry.Type)
		}
		seen[entry.Type] = true
		if entry.Doc == "" {
			t.Errorf("%s has no description", entry.Type)
		}
		if entry.New() == data {
			t.Errorf("%s gives the same payload twice", entry.Type)
		}
	}
	Catalogue()[0].Type = "changed"
	if Catalogue()[0].Type == "changed" {
		t.Error("Catalogue returns its own list, not a copy")
	}
}

// sealedTypes returns the names of the types of this package that have the method sealed.
func sealedTypes(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "sealed" {
				names[f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func TestEveryPayloadIsInTheCatalogue(t *testing.T) {
	var listed []string
	for _, entry := range Catalogue() {
		listed = append(listed, reflect.TypeOf(entry.New()).Elem().Name())
	}
	slices.Sort(listed)
	if sealed := sealedTypes(t); !slices.Equal(sealed, listed) {
		t.Errorf("payloads of the package: %v\nin the catalogue:         %v", sealed, listed)
	}
}

func TestJSONNames(t *testing.T) {
	camel := regexp.MustCompile(`^[a-z][A-Za-z]*$`)
	var check func(typ reflect.Type)
	check = func(typ reflect.Type) {
		seen := map[string]bool{}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !camel.MatchString(name) {
				t.Errorf("%s.%s has the JSON name %q", typ.Name(), f.Name, name)
			}
			// encoding/json reads names without looking at case.
			if seen[strings.ToLower(name)] {
				t.Errorf("%s has two fields %q", typ.Name(), name)
			}
			seen[strings.ToLower(name)] = true
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				check(inner)
			}
		}
	}
	for _, entry := range Catalogue() {
		check(reflect.TypeOf(entry.New()).Elem())
	}
}

func TestReportKinds(t *testing.T) {
	for kind, says := range map[ReportKind]TaskSessionStatus{
		"progress": "working", "complete": "completed", "blocked": "blocked", "error": "failed",
		"needs-input": "needs_input", "other": "",
	} {
		if got := kind.SessionStatus(); got != says {
			t.Errorf("a report %s says %q, want %q", kind, got, says)
		}
	}
}
