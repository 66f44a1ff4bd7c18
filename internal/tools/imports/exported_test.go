package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// kept are exported names that no source uses outside of tests, each with the reason.
var kept = map[string]string{
	"GetHeaders": "huma asks for it", "Less": "sort asks for it", "Swap": "sort asks for it",
	"MarshalJSON": "encoding/json asks for it", "MarshalText": "encoding/json asks for it",
	"Debugf": "nats-server asks for it", "Noticef": "nats-server asks for it",
	"Tracef": "nats-server asks for it", "Warnf": "nats-server asks for it",

	"AuthnSocket":   "an event may say that its caller is known by a socket",
	"Inject":        "the tests of other packages make operations on files fail",
	"FaultRules":    "docs/operations.md is held to it, from another package",
	"ParsePosition": "a stream is asked for from a position",
	"WatchNow":      "a stream begins with a snapshot",
	"WithPatience":  "whoever limits the waiting of a client is outside of this module's sources",
	"WithTransport": "whoever reaches the server otherwise is outside of this module's sources",
}

// What is exported is used by a source, not by tests alone. It goes by names, so a name that another thing has too is
// taken for used.
func TestExportedNamesAreUsed(t *testing.T) {
	declared := map[string]string{} // name → place
	uses := map[string]int{}
	files := token.NewFileSet()
	for path, content := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		declares := func(name *ast.Ident) {
			if name.IsExported() && !strings.HasPrefix(path, "internal/testing/") {
				declared[name.Name] = files.Position(name.Pos()).String()
				uses[name.Name]--
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declares(d.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						declares(spec.Name)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							declares(name)
						}
					}
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				uses[name.Name]++
			}
			return true
		})
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		switch {
		case uses[name] == 0 && kept[name] == "":
			t.Errorf("%s: only tests use %s: unexport it, or move it to them", declared[name], name)
		case uses[name] > 0 && kept[name] != "":
			t.Errorf("%s: %s needs no exception", declared[name], name)
		}
	}
	for name := range kept {
		if declared[name] == "" {
			t.Errorf("%s is not there, and needs no exception", name)
		}
	}
}
