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

// boundedLooks are the methods of a state whose work is bounded by a small documented limit.
var boundedLooks = []string{
	// One look-up, or two.
	"Accepted", "At", "Deliver", "EventID", "Finished", "Genesis", "Gone", "Head", "Holds", "Input",
	"InputStatus", "Item", "Made", "Project", "ProjectExisted", "Queue", "QueueView", "Root", "Session",
	"SessionEver", "SessionProject", "SpawnFor", "Steps", "Task", "TaskEver", "TaskProject", "Template", "Token", "Top",
	"Undelivered",
	// The dependencies of one task: `dependencies`.
	"ItemView", "UnmetDependencies",
	// A look-up for each of the few long texts of one project.
	"ProjectView",
}

// boundedUses are the functions to which a look may pass the state.
var boundedUses = []string{
	// The identity of the caller, and the permission table.
	"At", "Permit", "good", "actorNamed",
	// Look-ups of the objects that a command names.
	"denialOf", "TemplateIn", "over", "SessionActor",
}

// boundedQueries are the methods of a service.View that are bounded as well: permission checks, which search at most
// the lists of one task (`task-queues`) and of its session (`session-tasks`).
var boundedQueries = []string{
	"Permit", "PermitSession", "PermitTask", "SessionQueue", "Shown", "maySeeQuestion", "permitWatch", "permitWatchOf",
	// The dependencies of one task (`dependencies`), and some of their results.
	"workOf",
	// The newest sessions of one task.
	"earlierOn",
	// One look-up.
	"namedSession", "namedTask", "callerEnded", "callerIsDone", "AfterEnd", "mayLookAfterEnd",
	// A permission check, and one look-up.
	"mayUse",
	// A look-up and a permission check for each of at most namesMost ids.
	"names",
	// A few look-ups for the commands in one text, and a decision about each session that it names, which the limits
	// bound.
	"mayFollow", "mayNameSessions",
}

// viewsElsewhere are the looks that are bounded in another way.
var viewsElsewhere = map[string]string{
	"engine/leases.go":                   "an index of the sessions that live",
	"engine/redact.go":                   "one look-up; the list is read at the start",
	"service/eventhistogram.go":          "the head of the tape, which never changes what it has",
	"service/redact.go":                  "one look-up",
	"service/redactcopies.go":            "the digests of the long texts; only when an admin removes one",
	"service/tokenuse.go":                "one look-up, and 16 addresses",
	"internal/server/webhooks/follow.go": "one look-up",
	"internal/server/webhooks/sender.go": "the webhooks, of which server-webhooks allows few",
	"service/webhook.go":                 "the same",
}

// What happens inside Handler.View is bounded: it has no loop, and passes the state to nothing that may walk through
// it. Every other look at the state is a Read, which is counted and charged, and ends when its caller leaves.
func TestViewsAreBounded(t *testing.T) {
	views := 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../../")
		if viewsElsewhere[name] != "" || strings.HasPrefix(name, "internal/testing/") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		n, faults := unboundedViews(file)
		views += n
		for _, fault := range faults {
			t.Errorf("%s: %s: use Handler.Read, or say here what bounds it", name, fault)
		}
		return nil
	})
	if err != nil || views < 20 {
		t.Fatalf("%d views: %v", views, err)
	}
}

// unboundedViews checks the functions that a file passes to methods called View.
func unboundedViews(file *ast.File) (views int, faults []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 || calledName(call) != "View" {
			return true
		}
		views++
		look, ok := call.Args[0].(*ast.FuncLit)
		if !ok || len(look.Type.Params.List) != 1 || len(look.Type.Params.List[0].Names) != 1 {
			faults = append(faults, "a view of what is not written out")
			return true
		}
		faults = append(faults, unbounded(look, look.Type.Params.List[0].Names[0].Name)...)
		return true
	})
	return views, faults
}

func unbounded(look *ast.FuncLit, state string) (faults []string) {
	isState := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == state
	}
	ast.Inspect(look.Body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			faults = append(faults, "a loop")
		case *ast.CallExpr:
			name := calledName(x)
			if s, ok := x.Fun.(*ast.SelectorExpr); ok && isState(s.X) && !slices.Contains(boundedLooks, name) {
				faults = append(faults, fmt.Sprintf("%s.%s", state, name))
			}
			if s, ok := x.Fun.(*ast.SelectorExpr); ok && isQuery(s.X) && !slices.Contains(boundedQueries, name) {
				faults = append(faults, "At."+name)
			}
			if slices.ContainsFunc(x.Args, isState) && !slices.Contains(boundedUses, name) {
				faults = append(faults, fmt.Sprintf("%s(%s)", name, state))
			}
		}
		return true
	})
	return faults
}

// isQuery reports whether an expression is a service.View: s.At(state, c), or v.
func isQuery(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.CallExpr:
		return calledName(x) == "At"
	case *ast.Ident:
		return x.Name == "v"
	}
	return false
}

// calledName returns the last part of the name of a called function.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func TestUnboundedViewsAreFound(t *testing.T) {
	for look, want := range map[string]int{
		"func(s *State) { x = s.Task(id) }":                     0,
		"func(s *State) { err = a.At(s, c).Permit(row, p) }":    0,
		"func(s *State) { for range s.Projects() {} }":          2,
		"func(s *State) { x = s.Descendants(id) }":              1,
		"func(s *State) { x = a.At(s, c).PermitProjects(row) }": 1,
		"func(s *State) { v := a.At(s, c); v.ListTasks(in) }":   1,
		"func(s *State) { gather(s, id) }":                      1,
		"func(s *State) { for _, x := range list { f(x) } }":    1,
		"see": 1,
	} {
		source := "package p\n\nfunc f() { h.View(" + look + ") }\n"
		file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if n, faults := unboundedViews(file); n != 1 || len(faults) != want {
			t.Errorf("%s: %d views, %q", look, n, faults)
		}
	}
}
