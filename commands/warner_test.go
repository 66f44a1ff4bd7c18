package commands

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// The text of a warning names no command: a command is a step, which the service shows only to callers who may use it.
func TestWarningsNameCommandsAsSteps(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.KeyValueExpr)
			if !ok || !isNamed(field.Key, "Text") {
				return true
			}
			found++
			ast.Inspect(field.Value, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && strings.Contains(text.Value, "`maestro ") {
					t.Errorf("%s: a warning says %s; put the command into Next", entry.Name(), text.Value)
				}
				return true
			})
			return true
		})
	}
	if found < 10 {
		t.Errorf("only %d warnings were found", found)
	}
}

func isNamed(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}
