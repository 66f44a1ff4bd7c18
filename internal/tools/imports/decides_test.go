package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decisions are the functions with which package commands decides. Anybody may use its bodies, its table and the list
// of what may wait.
var decisions = []string{"Permit", "PermitAt", "Decide", "DecideContext"}

// decides returns the places in a file that ask for a decision.
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

// orders are what a client needs in order to sort or filter a list, and the table that says who may do what.
var orders = map[string][]string{
	"slices":   {"SortFunc", "SortStableFunc", "DeleteFunc", "Sort", "Sorted", "SortedFunc", "SortedStableFunc"},
	"commands": {"CurrentRules", "Rules"},
	"sort":     {"Slice", "SliceStable", "Sort", "Strings"},
}

// ordered are the files that may use them, each with its reason.
var ordered = map[string]string{
	"commands.go":       "the layout of the specification, of the commands that this binary has",
	"completion.go":     "the ids of commands that the shell is offered while the server is away, too",
	"inbox.go":          "what was set aside in outboxes of this machine",
	"init.go":           "what a manifest allows is checked while the server is away",
	"session.go":        "the names of a session's variables, which JSON has as an object",
	"sessionexec.go":    "variables of a process of this machine",
	"supervise_unix.go": "signals of this machine",
	"syntax.go":         "the command line itself, in the order of the table",
	"why.go":            "the layout of chains that share their end",
}

// TestCommandLineDoesNotSort: the command line prints the items of an answer, in the order of the answer.
func TestCommandLineDoesNotSort(t *testing.T) {
	used := map[string]bool{}
	paths, err := filepath.Glob("../../cli/*.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range orderings(file) {
			name := filepath.Base(path)
			if used[name] = true; ordered[name] == "" {
				t.Errorf("%s uses %s: let the server answer in that order, or with those items", path, use)
			}
		}
	}
	for name := range ordered {
		if !used[name] {
			t.Errorf("%s needs no exception", name)
		}
	}
}

// orderings returns what a file uses of orders, under whatever names it imports the packages.
func orderings(file *ast.File) (uses []string) {
	packages := map[string]string{}
	for _, imported := range file.Imports {
		name := path.Base(strings.Trim(imported.Path.Value, `"`))
		local := name
		if imported.Name != nil {
			local = imported.Name.Name
		}
		packages[local] = name
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := selector.X.(*ast.Ident)
		if ok && slices.Contains(orders[packages[of.Name]], selector.Sel.Name) {
			uses = append(uses, packages[of.Name]+"."+selector.Sel.Name)
		}
		return true
	})
	return uses
}

func TestOrderingsAreFound(t *testing.T) {
	const source = `package p
import ("slices"; by "sort"; "maestro/commands")
func f(x []string) { slices.Sorted(nil); by.Strings(x); commands.CurrentRules(); slices.Contains(x, "") }`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	uses := orderings(file)
	if !slices.Equal(uses, []string{"slices.Sorted", "sort.Strings", "commands.CurrentRules"}) {
		t.Errorf("the check finds %v", uses)
	}
}

// TestCommandLineDoesNotDecide: only the server decides commands. Before a command is kept for an unreachable
// server, only the session's manifest can refuse it (commands.PermitListed).
func TestCommandLineDoesNotDecide(t *testing.T) {
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
		t.Errorf("of two decisions, the check finds %v", found)
	}
}
