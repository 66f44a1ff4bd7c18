package commands

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestRefusalsByTheStateSayWhy: a refusal that depends on the state names its rule, because the state alone does not
// explain it.
func TestRefusalsByTheStateSayWhy(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set, looked := token.NewFileSet(), 0
	for _, name := range files {
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if fields := namedFields(n); isConflict(fields["Code"]) {
					looked++
					if fields["Why"] == nil {
						t.Errorf("%s: the refusal has no Why", set.Position(n.Pos()))
					}
				}
			case *ast.CallExpr:
				if called, named := n.Fun.(*ast.Ident); named && called.Name == "forbidden" {
					looked++
					if why, literal := n.Args[0].(*ast.BasicLit); literal && why.Value == `""` {
						t.Errorf("%s: the refusal has no why", set.Position(n.Pos()))
					}
				}
			}
			return true
		})
	}
	if looked < 40 {
		t.Errorf("%d refusals were found", looked)
	}
}

func namedFields(lit *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}
	for _, element := range lit.Elts {
		if pair, keyed := element.(*ast.KeyValueExpr); keyed {
			if key, named := pair.Key.(*ast.Ident); named {
				fields[key.Name] = pair.Value
			}
		}
	}
	return fields
}

func isConflict(code ast.Expr) bool {
	name, named := code.(*ast.Ident)
	return named && name.Name == "CodeConflict"
}
