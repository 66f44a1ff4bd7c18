package imports

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recursions are the functions that call themselves, directly or through others, and what bounds their depth.
var recursions = map[string]string{
	"commands appendFields":       "`json-depth`",
	"commands bodyScanner.list":   "`json-depth`",
	"commands bodyScanner.object": "`json-depth`",
	"commands bodyScanner.value":  "`json-depth`",
	"commands sameValue":          "`json-depth`",
	"projections Branch.Count":    "`tree-depth`",
	"projections Branch.tree":     "`tree-depth`",
	"projections forest.enter":    "`tree-depth`",
	"projections order":           "`tree-depth`",
	"projections difference":      "a line is balanced",
	"projections lineNode.walk":   "a line is balanced",
	"projections merge":           "a line is balanced",
	"projections remove":          "a line is balanced",
	"projections split":           "a line is balanced",
	"projections treapOf":         "a line is balanced",
	"projections union":           "a line is balanced",
	"service Tree.whole":          "`tree-depth`",
	"service count":               "`tree-depth`",
	"service enter":               "`tree-depth`",
}

// Decisions, folds and reads use recursion only where something bounds its depth, so that a long chain made by users
// cannot exhaust the stack.
func TestRecursionIsBounded(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range []string{"commands", "projections", "service"} {
		for _, name := range recursive(t, sourcesOf(t, dir)) {
			if key := dir + " " + name; recursions[key] == "" {
				t.Errorf("%s calls itself: keep a list of the remaining work, or say what bounds its depth", key)
			} else {
				used[key] = true
			}
		}
	}
	for key := range recursions {
		if !used[key] {
			t.Errorf("%s no longer calls itself: remove the entry", key)
		}
	}
}

// sourcesOf returns the sources of a package, without its tests.
func sourcesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../../" + dir + "/*.go")
	if err != nil || len(paths) == 0 {
		t.Fatal(dir, err)
	}
	sources := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources[path] = string(source)
	}
	return sources
}

// recursive names the functions of a package that lead back to themselves, and the variables that hold such functions.
// It treats each mention of a function as a call.
func recursive(t *testing.T, sources map[string]string) (names []string) {
	t.Helper()
	_, _, calls := callsOf(t, sources)
	for from := range calls {
		if reaches(calls, from) {
			names = append(names, nameOf(from))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// callsOf returns the files of a package, what their names mean, and which of its functions each function names.
func callsOf(t *testing.T, sources map[string]string) (
	files map[string]*ast.File, info *types.Info, calls map[types.Object][]types.Object,
) {
	t.Helper()
	set := token.NewFileSet()
	files = map[string]*ast.File{}
	for path, source := range sources {
		file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = file
	}
	info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	// Functions of other packages cannot call back by name.
	config := types.Config{Importer: onlyIter{importer.ForCompiler(set, "source", nil)}, Error: func(error) {}}
	pkg, _ := config.Check("p", set, slices.Collect(maps.Values(files)), info)
	calls = map[types.Object][]types.Object{}
	gather := func(from types.Object, body ast.Node) {
		ast.Inspect(body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if to := info.Uses[id]; to != nil && to.Pkg() == pkg {
					calls[from] = append(calls[from], originOf(to))
				}
			}
			return true
		})
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.FuncDecl:
				if x.Body != nil {
					gather(info.Defs[x.Name], x.Body)
				}
			case *ast.AssignStmt:
				for i, right := range x.Rhs {
					if id, ok := x.Lhs[i].(*ast.Ident); ok && len(x.Lhs) == len(x.Rhs) && info.Uses[id] != nil {
						if held, ok := right.(*ast.FuncLit); ok {
							gather(info.Uses[id], held.Body)
						}
					}
				}
			}
			return true
		})
	}
	return files, info, calls
}

// onlyIter imports only package iter, whose types range loops need: recursive calls go through no other package.
type onlyIter struct{ types.Importer }

func (i onlyIter) Import(path string) (*types.Package, error) {
	if path != "iter" {
		return nil, errors.New("not imported")
	}
	return i.Importer.Import(path)
}

// originOf returns the declared function, also for an instance of a generic one.
func originOf(o types.Object) types.Object {
	if f, ok := o.(*types.Func); ok {
		return f.Origin()
	}
	return o
}

// reaches reports whether calls lead from a function back to it.
func reaches(calls map[types.Object][]types.Object, from types.Object) bool {
	seen, todo := map[types.Object]bool{}, slices.Clone(calls[from])
	for len(todo) > 0 {
		to := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if to == from {
			return true
		}
		if !seen[to] {
			seen[to] = true
			todo = append(todo, calls[to]...)
		}
	}
	return false
}

// nameOf returns the name of a function, with the type that it is a method of.
func nameOf(o types.Object) string {
	f, ok := o.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return o.Name()
	}
	of := f.Signature().Recv().Type()
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	if named, ok := of.(*types.Named); ok {
		return named.Obj().Name() + "." + f.Name()
	}
	return f.Name()
}

func TestRecursionsAreFound(t *testing.T) {
	for source, want := range map[string]string{
		"func f() { f() }":                   "f",
		"func f() { g() }\nfunc g() { f() }": "f g",
		"func f() { g() }\nfunc g() { }":     "",
		"func f() { var v func(); v = func() { g(v) } }\nfunc g(v func()) { v() }":          "v",
		"type t struct{ n *t }\nfunc (x *t) f() { x.n.f() }":                                "t.f",
		"type t struct{ u }\ntype u struct{}\nfunc (x t) f() { x.u.f() }\nfunc (u) f() { }": "",
		"func f[T any](x T) { f[T](x) }":                                                    "f",
	} {
		found := strings.Join(recursive(t, map[string]string{"p.go": "package p\n\n" + source + "\n"}), " ")
		if found != want {
			t.Errorf("%s: found %q, want %q", source, found, want)
		}
	}
}
