package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// searches are the functions that search a list in each call.
var searches = []string{"Contains", "ContainsFunc", "Index", "IndexFunc", "SaidBy", "Message", "indexOf"}

// walked are the functions that call a function for each entry of a list.
var walked = []string{"ContainsFunc", "DeleteFunc", "IndexFunc", "WalkOn", "walk"}

// nestedSearches are the searches within a walk that are allowed, by file and function, and what bounds them.
var nestedSearches = map[string]string{
	"commands/alternatives.go Alternative Contains":  "the rows of the table",
	"commands/form.go textsOf Index":                 "the fields of a command",
	"commands/graph.go joins Contains":               "counted; `task-sessions` and `ids`",
	"commands/input.go validOptions Contains":        "`options`",
	"commands/notice.go forTask Contains":            "counted; `session-tasks`",
	"commands/notice.go haveAbove Contains":          "counted; `session-tasks`",
	"commands/notice.go noticeTo Message":            "counted; `mail` and 100 sessions",
	"commands/notice.go toldOf Contains":             "counted; it ends with the last that is told",
	"commands/taskopen.go nextOfOpen SaidBy":         "a few sessions, `report-words`",
	"commands/taskopen.go workersOn SaidBy":          "counted by Attends; a few sessions, `report-words`",
	"commands/spawn.go atMostOwn Contains":           "the rows of the table",
	"commands/spawn.go beyondLater Contains":         "the rows of the table",
	"commands/table.go Hidden Contains":              "the rows of the table",
	"projections/lineage.go Successors Contains":     "counted; `session-tasks`",
	"projections/message.go notified Message":        "counted; `mail` and 100 sessions",
	"projections/queue.go HeldOnce Contains":         "counted",
	"projections/says.go SaidBy indexOf":             "the parts of one list",
	"projections/says.go dropSaid indexOf":           "the parts of one list",
	"service/manifestgiven.go ownAtMost Contains":    "the rows of the table",
	"service/lastcommand.go onlyReadAbout Contains":  "counted; the tasks of one question",
	"service/sight.go frame Contains":                "the kinds of changes",
	"service/livereader.go liveAsked Contains":       "the kinds of views",
	"service/pageof.go afterCursor Index":            "the parts of one list",
	"service/skill.go ListSkills Contains":           "the few roles of a skill",
	"projections/inboxwork.go given Contains":        "counted; `session-tasks`",
	"service/advice.go followable ContainsFunc":      "the few steps of one item",
	"projections/leftopen.go LeftOpen SaidBy":        "counted; `session-tasks` and `report-words`",
	"service/leftopen.go nextOfLeft SaidBy":          "counted; of twenty tasks, `report-words`",
	"service/whoamitree.go firstOfTree ContainsFunc": "counted; `dependencies`",
	"service/whoamisession.go ownTasks SaidBy":       "counted; of ten tasks, `report-words`",
	"service/whoamitree.go leftBelow SaidBy":         "counted; of a thousand tasks",
}

// Decisions, folds and queries that walk through a list do not search another list for each entry, because that takes
// quadratic time. They use a set, or are listed here with what bounds the list or counts the search.
func TestWalksSearchNoLists(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range []string{"commands", "projections", "service"} {
		err := filepath.WalkDir("../../../"+dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../../")
			for _, found := range nested(file) {
				if key := name + " " + found; nestedSearches[key] == "" {
					t.Errorf("%s searches a list for each entry of another: keep a set, or say what bounds it", key)
				} else {
					used[key] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for key := range nestedSearches {
		if !used[key] {
			t.Errorf("%s no longer searches a list: remove the entry", key)
		}
	}
}

// nested returns the functions of a file that search a list within a walk, each with what it searches with.
func nested(file *ast.File) (found []string) {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		var visit func(n ast.Node, within bool)
		visit = func(n ast.Node, within bool) {
			ast.Inspect(n, func(inner ast.Node) bool {
				switch x := inner.(type) {
				case *ast.ForStmt:
					visit(x.Body, true)
					return false
				case *ast.RangeStmt:
					visit(x.X, within)
					visit(x.Body, true)
					return false
				case *ast.CallExpr:
					name := calledName(x)
					if within && slices.Contains(searches, name) && !searchesText(x) {
						found = append(found, fmt.Sprintf("%s %s", f.Name.Name, name))
					}
					if slices.Contains(walked, name) && !searchesText(x) {
						for _, arg := range x.Args {
							if look, ok := arg.(*ast.FuncLit); ok {
								visit(look.Body, true)
							} else {
								visit(arg, within)
							}
						}
						return false
					}
				}
				return true
			})
		}
		visit(f.Body, false)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// searchesText reports whether a call is of package strings or utf8, which search a text, not a list.
func searchesText(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && (id.Name == "strings" || id.Name == "bytes" || id.Name == "unicode")
}

func TestNestedSearchesAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"for range a { if slices.Contains(b, x) {} }":                                1,
		"slices.DeleteFunc(a, func(x string) bool { return slices.Contains(b, x) })": 1,
		"for slices.Contains(b, x) { }":                                              0,
		"if slices.Contains(b, x) { for range a { } }":                               0,
		"for range a { f(func() { x.Message(id) }) }":                                1,
		"for range a { strings.Contains(b, x) }":                                     0,
		"s.walk(func(id string) bool { return t.SaidBy(id) })":                       1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n\nfunc f() { "+body+" }\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := nested(file); len(found) != want {
			t.Errorf("%s: %q", body, found)
		}
	}
}
