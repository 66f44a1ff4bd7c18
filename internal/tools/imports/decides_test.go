package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decisions are what package commands decides with; its bodies, its table and what may wait are for everybody to read.
var decisions = []string{"Permit", "PermitAt", "Decide", "DecideContext"}

// decides gives the places in a file that ask for a decision.
func decides(t *testing.T, name string, source any) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && slices.Contains(decisions, selector.Sel.Name) {
			found = append(found, files.Position(selector.Pos()).String()+": "+selector.Sel.Name)
		}
		return true
	})
	return found
}

// TestTheCommandLineDecidesNothing: what a command comes to is the server's to say. Before a command is kept for a
// server that is away, the session's manifest alone refuses it (commands.PermitListed).
func TestTheCommandLineDecidesNothing(t *testing.T) {
	paths, err := filepath.Glob("../../cli/*.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, place := range decides(t, path, nil) {
			t.Errorf("%s decides in the command line", place)
		}
	}
	const wrong = "package p\nfunc f() { commands.Permit(); command.Decide() }"
	if found := decides(t, "wrong.go", wrong); len(found) != 2 {
		t.Errorf("of two decisions, it sees %v", found)
	}
}
