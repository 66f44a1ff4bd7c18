package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// kept are exported names that only tests use, each with the reason.
var kept = map[string]string{
	"Less":        "sort asks for it",
	"MarshalJSON": "encoding/json asks for it", "MarshalText": "encoding/json asks for it",
	"Debugf": "nats-server asks for it", "Noticef": "nats-server asks for it",
	"Tracef": "nats-server asks for it", "Warnf": "nats-server asks for it",

	"commands.AuthnSocket":    "an event may say that its caller is known by a socket",
	"commands.IDs":            "the tests of the engine decide every command",
	"engine.FaultRules":       "docs/operations.md is held to it, from another package",
	"api/client.WithPatience": "the load test counts the answers that the command line waits out",
}

// exports are the exported names that files declare, and how often sources use each. A method is counted by its name
// alone, because the parser does not know the types of values.
type exports struct {
	declared map[string]string // name → place
	uses     map[string]int
}

// mayDeclare reports whether a package may export names that no source uses: helpers for tests, the operations of
// package os under their names, or the shapes of parts of answers.
func mayDeclare(pkg string) bool {
	return strings.HasPrefix(pkg, "internal/testing/") || pkg == "internal/disk" || pkg == "service/wire"
}

// add reads a source of a package.
func (x *exports) add(files *token.FileSet, pkg string, file *ast.File) {
	imported := map[string]string{}
	for _, spec := range file.Imports {
		of, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.HasPrefix(of, module) {
			continue
		}
		name := path.Base(of)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = strings.TrimPrefix(of, module)
	}
	declares := func(of string, name *ast.Ident) {
		if name.IsExported() && !mayDeclare(pkg) {
			x.declared[of+name.Name] = files.Position(name.Pos()).String()
		}
	}
	own := map[*ast.Ident]bool{} // a declaration is not a use of its name, nor is a method's receiver a use of its type
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			own[d.Name] = true
			if d.Recv == nil {
				declares(pkg+".", d.Name)
				continue
			}
			declares("", d.Name)
			ast.Inspect(d.Recv, func(n ast.Node) bool {
				if name, ok := n.(*ast.Ident); ok {
					own[name] = true
				}
				return true
			})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					own[spec.Name] = true
					declares(pkg+".", spec.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						own[name] = true
						declares(pkg+".", name)
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x.uses[n.Sel.Name]++
			own[n.Sel] = true
			if of, ok := n.X.(*ast.Ident); ok && imported[of.Name] != "" {
				x.uses[imported[of.Name]+"."+n.Sel.Name]++
			}
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				for _, name := range method.Names {
					x.uses[name.Name]++
				}
			}
		case *ast.Ident:
			if !own[n] {
				x.uses[pkg+"."+n.Name]++
			}
		}
		return true
	})
}

// Every exported name is used outside of tests.
func TestExportedNamesAreUsed(t *testing.T) {
	x := exports{map[string]string{}, map[string]int{}}
	files := token.NewFileSet()
	for name, content := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		x.add(files, path.Dir(name), file)
	}
	for _, name := range slices.Sorted(maps.Keys(x.declared)) {
		switch {
		case x.uses[name] == 0 && kept[name] == "":
			t.Errorf("%s: only tests use %s: unexport it, or move it to them", x.declared[name], name)
		case x.uses[name] > 0 && kept[name] != "":
			t.Errorf("%s: %s needs no exception", x.declared[name], name)
		}
	}
	for name := range kept {
		if x.declared[name] == "" {
			t.Errorf("%s does not exist, and needs no exception", name)
		}
	}
}
