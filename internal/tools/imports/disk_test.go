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

// byDisk are the packages that open files through an open directory, or pass on such paths.
var byDisk = []string{
	"bus", "internal/backups", "internal/files", "internal/home", "internal/salvage", "internal/server/guard",
	"internal/server/witness", "service", "workers/agent", "workers/outbox",
}

// onFiles are the functions and types whose errors name the path that they were given.
var onFiles = map[string][]string{
	"os": {
		"Chdir", "Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "DirFS", "Lchown", "Link", "Lstat",
		"Mkdir", "MkdirAll", "MkdirTemp", "NewFile", "Open", "OpenFile", "OpenInRoot", "OpenRoot", "ReadDir",
		"ReadFile", "Remove", "RemoveAll", "Rename", "Root", "Stat", "Symlink", "Truncate", "WriteFile",
	},
	"filepath": {"Walk", "WalkDir"},
}

// Operations on files go through internal/disk: an error must never name a path through a descriptor of the process,
// and a test can make each of them fail.
func TestFilesAreUsedByWayOfDisk(t *testing.T) {
	looked := 0
	for _, pkg := range byDisk {
		paths, err := filepath.Glob(filepath.Join("..", "..", "..", pkg, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s has %d sources, %v", pkg, len(paths), err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			looked++
			ast.Inspect(file, func(node ast.Node) bool {
				selector, ok := node.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if of, ok := selector.X.(*ast.Ident); ok && slices.Contains(onFiles[of.Name], selector.Sel.Name) {
					t.Errorf("%s: use internal/disk, not %s.%s", files.Position(node.Pos()), of.Name, selector.Sel.Name)
				}
				return true
			})
		}
	}
	if looked < 100 {
		t.Errorf("the check read %d files", looked)
	}
}
