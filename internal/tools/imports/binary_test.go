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

// wiring are the sources of the binary, each with its purpose.
var wiring = map[string]string{
	"doc.go":          "says where what is",
	"main.go":         "main",
	"serve.go":        "wires a server",
	"parts.go":        "makes the parts of it that need several packages",
	"readonly.go":     "wires a server that writes nothing",
	"listening.go":    "says where the server is",
	"serveoptions.go": "the flags of serve",
}

// mostWired is how many lines of code a function of the binary may have. Only serve, which names every part, is longer.
const mostWired = 70

// longer are the functions that wire a whole server.
var longer = []string{"serveOnce", "serveReadOnly"}

// TestBinaryOnlyWires: package main contains main and the wiring of serve. A type, a goroutine, a loop over time or
// another file belongs in a package, where it can be tested without a server.
func TestBinaryOnlyWires(t *testing.T) {
	paths, err := filepath.Glob("../../../cmd/maestro/*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		seen++
		for _, fault := range notWired(t, path, nil) {
			t.Error(fault)
		}
	}
	if seen != len(wiring) {
		t.Errorf("the binary has %d sources, and %d are listed", seen, len(wiring))
	}
}

// notWired returns what is not wiring in a source of the binary.
func notWired(t *testing.T, path string, source any) (faults []string) {
	t.Helper()
	name := filepath.Base(path)
	if wiring[name] == "" {
		faults = append(faults, name+" is not part of the wiring of serve: put it into a package")
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(n ast.Node) int { return files.Position(n.End()).Line - files.Position(n.Pos()).Line }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if n.Name.Name != "serveOptions" {
				faults = append(faults, name+" declares "+n.Name.Name)
			}
		case *ast.GoStmt:
			faults = append(faults, name+" starts a goroutine: use process.Beside")
		case *ast.SelectStmt:
			faults = append(faults, name+" waits")
		case *ast.FuncDecl:
			if n.Recv != nil && name != "serveoptions.go" {
				faults = append(faults, name+" has the method "+n.Name.Name)
			}
			if lines(n) > mostWired && !slices.Contains(longer, n.Name.Name) {
				faults = append(faults, name+" has more than wiring in "+n.Name.Name)
			}
		}
		return true
	})
	return faults
}

// The check rejects a loop for automatic backups in the binary.
func TestNonWiringIsFound(t *testing.T) {
	const upkeep = `package main

type upkeep struct{ lost []string }

func (u *upkeep) run(ctx context.Context) {
	go look()
	select {
	case <-u.after(textLook):
	case <-ctx.Done():
	}
}
`
	for path, want := range map[string]int{"upkeep.go": 5, "serve.go": 4} {
		if faults := notWired(t, path, upkeep); len(faults) != want {
			t.Errorf("in %s the check finds %q", path, faults)
		}
	}
}
