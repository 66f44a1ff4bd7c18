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
