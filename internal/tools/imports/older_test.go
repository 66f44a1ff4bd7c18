package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Everything that only older clients use is in api/compat, and older.txt there names it.
const compatPackage = "api/compat"

// servers are the packages of the server's interface and of its clients.
var servers = []string{"api", "api/client", "api/route", "service", wirePackage}

// tags returns the JSON names in the tags of a struct's fields.
func tags(structure *ast.StructType) (names []string) {
	for _, field := range structure.Fields.List {
		if field.Tag == nil {
			continue
		}
		text, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			continue
		}
		if name, _, _ := strings.Cut(reflect.StructTag(text).Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// members returns the JSON names in the structs of some packages, except in tests, each with its place.
func (s *source) members(packages ...string) map[string]token.Position {
	found := map[string]token.Position{}
	for _, d := range s.structs {
		at := s.files.Position(d.expr.Pos())
		structure, ok := d.expr.(*ast.StructType)
		if !ok || !slices.Contains(packages, d.pkg) || strings.HasSuffix(at.Filename, "_test.go") {
			continue
		}
		for _, name := range tags(structure) {
			found[name] = at
		}
	}
	return found
}

// olderElsewhere returns the places outside api/compat of what only older clients use.
func (s *source) olderElsewhere(routes, members []string) (found []string) {
	for name, at := range s.members(servers...) {
		if slices.Contains(members, name) {
			found = append(found, at.String()+": only older clients know the member "+name)
		}
	}
	for _, r := range s.routes {
		if slices.Contains(routes, r.text) && r.pkg != compatPackage {
			found = append(found, s.files.Position(r.at).String()+": only older clients use "+r.text)
		}
	}
	return found
}

// routesIn returns the routes that a file registers: the patterns of a mux, and the fields of a route.Route.
func routesIn(pkg string, file *ast.File) (routes []literal) {
	word := func(e ast.Expr) string {
		switch x := e.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(x.Value)
			if err == nil {
				return text
			}
		case *ast.SelectorExpr:
			return strings.ToUpper(strings.TrimPrefix(x.Sel.Name, "Method"))
		}
		return ""
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			if strings.HasPrefix(calledName(x), "Handle") && len(x.Args) == 2 {
				routes = append(routes, literal{pkg, word(x.Args[0]), x.Pos()})
			}
		case *ast.CompositeLit:
			method, path := "GET", ""
			for _, element := range x.Elts {
				field, ok := element.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				switch name, ok := field.Key.(*ast.Ident); {
				case !ok:
				case name.Name == "Method":
					method = word(field.Value)
				case name.Name == "Path":
					path = word(field.Value)
				}
			}
			if strings.HasPrefix(path, "/") {
				routes = append(routes, literal{pkg, method + " " + path, x.Pos()})
			}
		}
		return true
	})
	return routes
}

// olderLines reads the lines of older.txt that begin with a word.
func olderLines(t *testing.T, word string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../../" + compatPackage + "/older.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word+" "); ok {
			lines = append(lines, rest)
		}
	}
	if len(lines) < 10 {
		t.Fatalf("older.txt has %d lines of %s", len(lines), word)
	}
	return lines
}

// What only older clients use is in api/compat and nowhere else. Whatever only api/compat has is in the list.
func TestOlderClientsHaveOnePlace(t *testing.T) {
	s, routes, members := readSource(t), olderLines(t, "route"), olderLines(t, "member")
	for _, fault := range s.olderElsewhere(routes, members) {
		t.Error(fault)
	}
	theirs := s.members(compatPackage)
	for _, name := range members {
		if _, ok := theirs[name]; !ok {
			t.Errorf("nothing in %s has the member %s", compatPackage, name)
		}
	}
	shared := s.members(append([]string{"commands", "projections", "engine", "events"}, servers...)...)
	for name, at := range theirs {
		if _, ok := shared[name]; !ok && !slices.Contains(members, name) {
			t.Errorf("%s: older.txt does not have the member %s", at, name)
		}
	}
}

func TestOlderShapesElsewhereAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"type T struct { Code int `json:\"statusCode,omitempty\"` }":                            1,
		"func f() { x := struct { Host string `json:\"hostname\"` }{}; _ = x }":                 1,
		"func f() { route.Read(s, route.Route{Path: \"/api/templates/role/{role}\"}) }":         1,
		"func f() { write(op{Route: route.Route{Method: http.MethodPut, Path: \"/api/x\"}}) }":  1,
		"func f() { mux.HandleFunc(\"PUT /api/x\", g) }":                                        1,
		"func f() { route.Read(s, route.Route{Path: \"/api/x\"}); read(\"/api/templates/a\") }": 0,
		"type T struct { Code int `json:\"code\"`; StatusCode int }":                            0,
	} {
		s := &source{files: token.NewFileSet(), types: map[string]declared{}}
		file, err := parser.ParseFile(s.files, "x.go", "package api\n\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.add("api", file)
		routes := []string{"GET /api/templates/role/{role}", "PUT /api/x"}
		if found := s.olderElsewhere(routes, []string{"statusCode", "hostname"}); len(found) != want {
			t.Errorf("%s: %q", text, found)
		}
	}
}
