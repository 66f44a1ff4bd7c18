package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wirePackage declares what crosses the wire: the shapes, and the names of headers.
const wirePackage = "service/wire"

// keyPackage may contain the name of the idempotency header, because it appears in a refusal.
const keyPackage = "commands"

// sameNames are structs with the names of a shape that mean something else.
var sameNames = map[string]string{
	"bus.headFile":          "the file, in which a member may be missing",
	"internal/backups.Seen": "the beginning of a hash, which a name holds",
}

// independent are the packages that must not import what they judge.
var independent = []string{"internal/oracle"}

// source is what a tree of Go files declares about shapes and headers.
type source struct {
	files *token.FileSet
	// types are the named types by package and name, such as "service/wire.Task".
	types map[string]declared
	// structs are all structs, named and anonymous.
	structs []declared
	// texts are all string literals outside tags.
	texts []literal
	// routes are the routes that files register, except tests.
	routes []literal
}

// declared is a type in its file.
type declared struct {
	pkg, name string
	expr      ast.Expr
	alias     bool
	imports   map[string]string
}

type literal struct {
	pkg, text string
	at        token.Pos
}

// add reads a file of a package.
func (s *source) add(pkg string, file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = strings.TrimPrefix(imported, module)
	}
	if !strings.HasSuffix(s.files.Position(file.Pos()).Filename, "_test.go") {
		s.routes = append(s.routes, routesIn(pkg, file)...)
	}
	named := map[ast.Expr]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.TypeSpec:
			named[x.Type] = x.Name.Name
			s.types[pkg+"."+x.Name.Name] = declared{pkg, x.Name.Name, x.Type, x.Assign.IsValid(), imports}
		case *ast.StructType:
			s.structs = append(s.structs, declared{pkg, named[x], x, false, imports})
		case *ast.BasicLit:
			if text, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING {
				s.texts = append(s.texts, literal{pkg, text, x.Pos()})
			}
		}
		return true
	})
}

// named returns the type that an expression names; false if it is not one of our types.
func (s *source) named(in declared, expr ast.Expr) (declared, bool) {
	key := ""
	switch x := expr.(type) {
	case *ast.StarExpr:
		return s.named(in, x.X)
	case *ast.Ident:
		key = in.pkg + "." + x.Name
	case *ast.SelectorExpr:
		if of, ok := x.X.(*ast.Ident); ok {
			key = in.imports[of.Name] + "." + x.Sel.Name
		}
	}
	found, ok := s.types[key]
	if ok {
		if _, isStruct := found.expr.(*ast.StructType); !isStruct {
			return s.named(found, found.expr)
		}
	}
	return found, ok
}

// names returns the JSON names of a struct, in order; none if it has no JSON tags. own reports whether it declares one
// of them itself: a struct that only embeds a shape does not declare it again.
func (s *source) names(d declared) (names []string, own bool) {
	structure, ok := d.expr.(*ast.StructType)
	if !ok {
		return nil, false
	}
	tagged := false
	for _, field := range structure.Fields.List {
		tag := ""
		if field.Tag != nil {
			text, _ := strconv.Unquote(field.Tag.Value)
			tag, _, _ = strings.Cut(reflect.StructTag(text).Get("json"), ",")
		}
		switch {
		case tag == "-":
		case tag != "":
			tagged, own = true, true
			names = append(names, tag)
		case len(field.Names) == 0:
			if embedded, ok := s.named(d, field.Type); ok {
				if inner, _ := s.names(embedded); len(inner) > 0 {
					tagged = true
					names = append(names, inner...)
				}
			}
		default:
			for _, name := range field.Names {
				if name.IsExported() {
					names = append(names, name.Name)
				}
			}
		}
	}
	if !tagged {
		return nil, false
	}
	slices.Sort(names)
	return slices.Compact(names), own
}

// shapes returns the shapes of service/wire by their JSON names, and the structs that declare them.
func (s *source) shapes() (byNames map[string]string, declare map[string]bool) {
	byNames, declare = map[string]string{}, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(s.types)) {
		d := s.types[key]
		if d.pkg != wirePackage {
			continue
		}
		shape := d
		if _, ok := d.expr.(*ast.StructType); !ok {
			if shape, ok = s.named(d, d.expr); !ok {
				continue
			}
		}
		if names, _ := s.names(shape); len(names) > 1 { // a struct with one name says too little
			byNames[strings.Join(names, " ")] = d.name
			declare[shape.pkg+"."+shape.name] = true
		}
	}
	return byNames, declare
}

// doubles returns the structs outside service/wire with the same names as one of its shapes.
func (s *source) doubles() (found []string) {
	byNames, declare := s.shapes()
	for _, d := range s.structs {
		names, own := s.names(d)
		shape, same := byNames[strings.Join(names, " ")]
		key := d.pkg + "." + d.name
		mayBe := d.pkg == wirePackage || declare[key] || sameNames[key] != "" || slices.Contains(independent, d.pkg)
		if same && own && !mayBe {
			found = append(found, s.files.Position(d.expr.Pos()).String()+": wire."+shape+" declared again")
		}
	}
	return found
}

// headers returns the names of headers that service/wire declares.
func (s *source) headers() (names []string) {
	for _, l := range s.texts {
		if l.pkg == wirePackage && strings.HasPrefix(l.text, "Maestro-") {
			names = append(names, l.text)
		}
	}
	return append(names, "Idempotency-Key", "Traceparent")
}

// headersElsewhere returns the places outside service/wire that contain the name of a header.
func (s *source) headersElsewhere() (found []string) {
	names := s.headers()
	for _, l := range s.texts {
		at := s.files.Position(l.at).String()
		elsewhere := !slices.Contains([]string{wirePackage, keyPackage, "internal/tools/imports"}, l.pkg)
		if elsewhere && slices.Contains(names, l.text) {
			found = append(found, at+": "+strconv.Quote(l.text)+" is a constant of service/wire")
		}
	}
	return found
}

// readSource reads all Go files, including tests.
func readSource(t *testing.T) *source {
	t.Helper()
	const root = "../../.."
	s := &source{files: token.NewFileSet(), types: map[string]declared{}}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		file, err := parser.ParseFile(s.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err == nil {
			s.add(filepath.ToSlash(dir), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A shape of the wire is declared once: no other package has a struct with the same names in JSON.
func TestWireShapesAreDeclaredOnce(t *testing.T) {
	s := readSource(t)
	if shapes, _ := s.shapes(); len(shapes) < 40 {
		t.Fatalf("service/wire has only %d shapes", len(shapes))
	}
	for _, double := range s.doubles() {
		t.Error(double)
	}
}

// The name of a header is written once.
func TestHeadersAreNamedOnce(t *testing.T) {
	s := readSource(t)
	if names := s.headers(); len(names) < 10 {
		t.Fatalf("service/wire has only the headers %q", names)
	}
	for _, again := range s.headersElsewhere() {
		t.Error(again)
	}
}

func TestDoublesAreFound(t *testing.T) {
	const wireSource = "package wire\n\nimport \"maestro/projections\"\n\n" +
		"type Outcome struct{ Sequence int `json:\"sequence\"`; Event string `json:\"event,omitempty\"` }\n" +
		"type Done struct { Outcome; Token string `json:\"token\"`; Retried bool `json:\"-\"` }\n" +
		"type Task = projections.TaskView\n"
	const projectionsSource = "package projections\n\n" +
		"type TaskView struct{ ID, Title string `json:\"id\"`; At int `json:\"at\"` }\n"
	for elsewhere, want := range map[string]int{
		"type said struct{ Event int `json:\"event\"`; Sequence int `json:\"sequence\"` }":                       1,
		"func f() { var said struct{ Event int `json:\"event\"`; Sequence int `json:\"sequence\"` }; _ = said }": 1,
		"type said struct{ wire.Outcome; Token int `json:\"token\"` }":                                           1,
		"type said struct{ inner; Token int `json:\"token\"` }\ntype inner = wire.Outcome":                       1,
		"type said struct{ ID string `json:\"id\"`; At int `json:\"at\"` }":                                      1,
		"type said struct{ wire.Outcome; at int }":                                                               0,
		"type said struct{ wire.Outcome; More int `json:\"more\"` }":                                             0,
		"type said struct{ Sequence int `json:\"sequence\"` }":                                                   0,
		"type said struct{ Sequence, Event int }":                                                                0,
		"type said = wire.Outcome":                                                                               0,
		"type said struct{ Event int `json:\"event\"`; Sequence int `json:\"sequence\"`; secret int }":           1,
	} {
		s := &source{files: token.NewFileSet(), types: map[string]declared{}}
		for pkg, text := range map[string]string{
			"service/wire": wireSource,
			"projections":  projectionsSource,
			"api/client":   "package client\n\nimport \"maestro/service/wire\"\n\nvar key wire.Outcome\n\n" + elsewhere,
		} {
			file, err := parser.ParseFile(s.files, pkg, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			s.add(pkg, file)
		}
		if got := s.doubles(); len(got) != want {
			t.Errorf("%s: %q", elsewhere, got)
		}
	}
}
