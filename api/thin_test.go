package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The server uses the service, and nothing below it: otherwise another interface would lack what it read from the state
// or the log itself.
func TestServerUsesServiceOnly(t *testing.T) {
	below := []string{"Handler", "Log", "Blobs", "Leases", "Denials", "Keys"}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		looked++
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selected, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(below, selected.Sel.Name) {
				return true
			}
			of, _ := selected.X.(*ast.Ident)
			inner := false
			if through, ok := selected.X.(*ast.SelectorExpr); ok {
				inner = through.Sel.Name == "Service"
			}
			if inner || of != nil && (of.Name == "s" || of.Name == "v") {
				t.Errorf("%s: %s belongs to the service", files.Position(n.Pos()), selected.Sel.Name)
			}
			return true
		})
	}
	if looked < 20 {
		t.Errorf("only %d files were checked", looked)
	}
}
