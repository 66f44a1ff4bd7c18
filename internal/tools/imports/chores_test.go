package imports

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// walkers are the functions that process a list in portions.
var walkers = []string{"each", "eachOf"}

// choreSearches are the searches of lists that such work leads to, by function, and what bounds or counts them.
var choreSearches = map[string]string{
	"projections inbox.go task SaidBy":                      "counted; `task-sessions`",
	"projections inbox.go tellTask SaidBy":                  "counted; `task-sessions`",
	"projections dependencies.go Startable ContainsFunc":    "counted; `dependencies` and `task-sessions`",
	"projections dependencies.go Startable SaidBy":          "counted; `task-sessions`",
	"projections inboxexpensive.go Attends Contains":        "counted; `session-tasks`",
	"projections inboxexpensive.go Attends SaidBy":          "counted; `task-sessions`",
	"projections inboxexpensive.go worked ContainsFunc":     "counted; `task-sessions`",
	"projections inboxquestion.go movedOn SaidBy":           "counted; `task-sessions`",
	"projections inboxwork.go given Contains":               "counted; `session-tasks`",
	"projections lineage.go Succeeds ContainsFunc":          "counted; `session-tasks`, of 200 sessions",
	"projections inboxwork.go given ContainsFunc":           "`task-sessions`",
	"projections inboxwork.go takenUp Index":                "counted; `task-sessions`",
	"projections inboxwork.go quarantined ContainsFunc":     "counted; the queues of a task",
	"projections inboxwork.go doesNow ContainsFunc":         "counted; `session-tasks`",
	"projections inboxwork.go wentOn ContainsFunc":          "counted; the queues of a task",
	"projections queue.go HeldOnce Contains":                "counted",
	"projections says.go SaidBy indexOf":                    "counted by who asks",
	"projections says.go indexOf IndexFunc":                 "counted by who asks",
	"projections lastmessage.go gaveUp SaidBy":              "counted; `task-sessions`",
	"projections lastmessage.go MessagedSince ContainsFunc": "twenty messages of a session",
	"service session.go passes Contains":                    "counted",
}

// TestChoresSearchNoLists is TestWalksSearchNoLists for work in portions: no function that such work calls searches a
// list for each entry, unless the search is bounded or counted.
func TestChoresSearchNoLists(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range []string{"projections", "service"} {
		for _, found := range choresThatSearch(t, sourcesOf(t, dir)) {
			if key := dir + " " + found; choreSearches[key] == "" {
				t.Errorf("%s searches a list for each entry of another: keep a set, or say what bounds it", key)
			} else {
				used[key] = true
			}
		}
	}
	for key := range choreSearches {
		if !used[key] {
			t.Errorf("%s no longer searches a list: remove the entry", key)
		}
	}
}

// choresThatSearch names the functions of a package that work in portions calls and that search a list, each with the
// function that it searches with.
func choresThatSearch(t *testing.T, sources map[string]string) (found []string) {
	t.Helper()
	files, info, calls := callsOf(t, sources)
	var todo []types.Object
	for _, path := range sortedKeys(files) {
		ast.Inspect(files[path], func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(walkers, calledName(call)) {
				return true
			}
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && info.Uses[id] != nil {
						todo = append(todo, originOf(info.Uses[id]))
					}
					return true
				})
			}
			return true
		})
	}
	comes := map[types.Object]bool{}
	for len(todo) > 0 {
		to := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !comes[to] {
			comes[to] = true
			todo = append(todo, calls[to]...)
		}
	}
	for _, path := range sortedKeys(files) {
		for _, decl := range files[path].Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil || !comes[info.Defs[f.Name]] {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if ok && slices.Contains(searches, calledName(call)) && !searchesText(call) {
					found = append(found, filepath.Base(path)+" "+f.Name.Name+" "+calledName(call))
				}
				return true
			})
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func sortedKeys(files map[string]*ast.File) (paths []string) {
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

func TestChoresThatSearchAreFound(t *testing.T) {
	for source, want := range map[string]string{
		"func f() { each(l, g) }\nfunc g(x string) { h() }\nfunc h() { slices.Contains(a, b) }":  "p.go h Contains",
		"func f() { each(l, func(x string) { h() }) }\nfunc h() { slices.Contains(a, b) }":       "p.go h Contains",
		"func f() { each(l, g) }\nfunc g(x string) { strings.Contains(a, b) }":                   "",
		"func f() { each(l, g); h() }\nfunc g(x string) { }\nfunc h() { slices.Contains(a, b) }": "",
		"type t int\nfunc (x t) f() { each(l, x.g) }\nfunc (t) g(string) { slices.Index(a, b) }": "p.go g Index",
	} {
		found := strings.Join(choresThatSearch(t, map[string]string{"p.go": "package p\n\n" + source + "\n"}), ", ")
		if found != want {
			t.Errorf("%s: found %q, want %q", source, found, want)
		}
	}
}
