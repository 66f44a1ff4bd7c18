package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A literal with more than three named fields has one field a line. A row of a table stays on its line.
func TestFieldsHaveLines(t *testing.T) {
	literals := 0
	files := token.NewFileSet()
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found, faults := crowded(files, file)
		literals += found
		for _, fault := range faults {
			t.Errorf("%s: fields share a line", files.Position(fault))
		}
		return nil
	})
	if err != nil || literals == 0 {
		t.Fatalf("%d literals: %v", literals, err)
	}
}

func TestCrowdedLiteralsAreFound(t *testing.T) {
	for source, want := range map[string]int{
		"var a = T{A: 1, B: 2, C: 3}":                                    0,
		"var a = T{A: 1, B: 2, C: 3, D: 4}":                              1,
		"var a = T{\nA: 1, B: 2,\nC: 3,\nD: 4,\n}":                       1,
		"var a = T{\nA: 1,\nB: 2,\nC: 3,\nD: 4,\n}":                      0,
		"var a = []T{{A: 1, B: 2, C: 3, D: 4}}":                          0,
		"var a = []T{{A: 1, B: 2,\nC: 3, D: 4}}":                         1,
		"var a = map[K]int{A: 1, B: 2, C: 3, D: 4}":                      0,
		"var a = map[string]int{\"A\": 1, \"B\": 2, \"C\": 3, \"D\": 4}": 0,
	} {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "p.go", "package p\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, faults := crowded(files, file); len(faults) != want {
			t.Errorf("%q: %d faults, want %d", source, len(faults), want)
		}
	}
}

// crowded counts the literals with more than three named fields, and returns those with several fields on a line.
func crowded(files *token.FileSet, file *ast.File) (found int, faults []token.Pos) {
	line := func(p token.Pos) int { return files.Position(p).Line }
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || len(literal.Elts) <= 3 || !hasFields(literal) {
			return true
		}
		found++
		row := literal.Type == nil && line(literal.Lbrace) == line(literal.Rbrace)
		previous := literal.Lbrace
		for _, field := range literal.Elts {
			if line(previous) == line(field.Pos()) && !row {
				faults = append(faults, field.Pos())
				break
			}
			previous = field.End()
		}
		return true
	})
	return found, faults
}

// hasFields reports whether the keys of a literal are those of a struct.
func hasFields(literal *ast.CompositeLit) bool {
	switch literal.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
		return false
	}
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		if _, ok := pair.Key.(*ast.Ident); !ok {
			return false
		}
	}
	return true
}
