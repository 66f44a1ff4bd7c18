package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listIn returns the words of a variable of the Makefile.
func listIn(t *testing.T, makefile, variable string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + variable + ` *:= ((?:.*\\\n)*.*)$`).FindStringSubmatch(makefile)
	if found == nil {
		t.Fatalf("the Makefile has no %s", variable)
	}
	return strings.Fields(strings.ReplaceAll(found[1], "\\\n", " "))
}

// unshared are functions whose goroutines need no detector, and why.
var unshared = map[string]string{
	"took": "its caller waits for it at once",
	"fill": "what its goroutines share is the Handler, whose own tests run with the detector",
}

// Packages whose tests run without the race detector start no goroutines, except in tests that run with it once more.
func TestUnracedPackagesShareNothing(t *testing.T) {
	content, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	raced := listIn(t, string(content), "CONCURRENT")
	used := map[string]bool{}
	for _, dir := range listIn(t, string(content), "UNRACED") {
		paths, err := filepath.Glob(filepath.Join("../../..", dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(paths), err)
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, declared := range file.Decls {
				function, ok := declared.(*ast.FuncDecl)
				if !ok || !startsGoroutines(function) || unshared[function.Name.Name] != "" {
					continue
				}
				used[function.Name.Name] = true
				if !slices.Contains(raced, function.Name.Name) {
					t.Errorf("%s: %s starts goroutines: name it in CONCURRENT of the Makefile, or take %s "+
						"out of UNRACED", path, function.Name.Name, dir)
				}
			}
		}
	}
	for _, name := range raced {
		if !used[name] {
			t.Errorf("CONCURRENT names %s, which starts no goroutines", name)
		}
	}
}

// startsGoroutines reports whether a function has a go statement, or calls a method Go or Parallel.
func startsGoroutines(function *ast.FuncDecl) (starts bool) {
	ast.Inspect(function, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			name := calledName(n)
			starts = starts || name == "Go" || name == "Parallel"
		}
		return true
	})
	return starts
}

// What is left out under the race detector runs elsewhere. The Makefile finds a call of race.Without if it is a
// statement of a test's own body; and where race.Part shortens something, TWICE or `make sim` has it in full.
func TestNothingIsLeftOut(t *testing.T) {
	content, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	twice := append(listIn(t, string(content), "TWICE"), "internal/testing/simulation")
	found := 0
	for path, content := range goFiles(t) {
		if !strings.Contains(content, `"maestro/internal/testing/race"`) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		calls := calledOf(file, "race")
		if calls["Part"] > 0 && !slices.Contains(twice, filepath.ToSlash(filepath.Dir(path))) {
			t.Errorf("%s: race.Part is for packages in TWICE of the Makefile: use race.Without", path)
		}
		if direct := leftOutTests(file); direct != calls["Without"] {
			t.Errorf("%s: race.Without must be a statement of a test's own body, not below: %d of %d are", path, direct,
				calls["Without"])
		}
		found += calls["Without"]
	}
	if found == 0 {
		t.Error("no test calls race.Without")
	}
}

// calledOf counts the calls of a package's functions in a part of a file.
func calledOf(in ast.Node, of string) map[string]int {
	calls := map[string]int{}
	ast.Inspect(in, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				if name, ok := f.X.(*ast.Ident); ok && name.Name == of {
					calls[f.Sel.Name]++
				}
			}
		}
		return true
	})
	return calls
}

// leftOutTests counts the tests of a file that call race.Without themselves.
func leftOutTests(file *ast.File) (tests int) {
	for _, declared := range file.Decls {
		test, ok := declared.(*ast.FuncDecl)
		if !ok || test.Recv != nil || !strings.HasPrefix(test.Name.Name, "Test") {
			continue
		}
		for _, statement := range test.Body.List {
			if x, ok := statement.(*ast.ExprStmt); ok {
				if call, ok := x.X.(*ast.CallExpr); ok && len(call.Args) == 1 {
					tests += calledOf(x, "race")["Without"]
				}
			}
		}
	}
	return tests
}
