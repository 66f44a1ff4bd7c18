package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named is a name of one of our packages in a comment.
var named = regexp.MustCompile(`\b(events|projections|commands|engine|service|api|bus|outbox|home)\.([A-Z]\w*)`)

// Comments name what exists: when a declaration moves to another package, the comments have to follow.
func TestCommentsNameWhatIsThere(t *testing.T) {
	declared := map[string]bool{}
	var comments []struct{ at, name string }
	files := token.NewFileSet()
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			for _, name := range namesOf(d) {
				declared[file.Name.Name+"."+name] = true
			}
		}
		for _, group := range file.Comments {
			for _, name := range named.FindAllString(group.Text(), -1) {
				comments = append(comments, struct{ at, name string }{files.Position(group.Pos()).String(), name})
			}
		}
		return nil
	})
	if err != nil || len(comments) == 0 {
		t.Fatalf("%d names in comments: %v", len(comments), err)
	}
	for _, c := range comments {
		if _, name, _ := strings.Cut(c.name, "."); !declared[c.name] && !strings.HasPrefix(name, "Test") {
			t.Errorf("%s: the comment names %s, which does not exist", c.at, c.name)
		}
	}
}

// namesOf returns what a declaration of a package declares.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
