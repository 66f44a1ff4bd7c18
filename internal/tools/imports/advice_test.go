package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// checkedNames are what advice may have in a command line as it is, by the last name of the expression.
var checkedNames = []string{
	// Ids, and names that the server has checked: they need no quotes.
	"About", "ID", "InputID", "Queue", "SessionID", "TaskID", "TaskIDs", "TemplateID", "dependency", "done", "first",
	"gone", "id", "input", "into", "like", "named", "parent", "project", "session", "some", "task", "waiting",
	// What this program names itself: its commands, flags and quotas.
	"CommandPath", "LineOf", "StreamName", "Command", "Role", "fieldWords", "flag", "more", "programName",
	"program", "spelled", "syntax",
	// Numbers and hashes.
	"Itoa", "head",
	// Lines whose parts are quoted where they are made.
	"LaunchLine", "RefusedNext", "SpawnLikeLine", "SpawnFor", "Successor", "answers", "asSession", "command",
	"continueEdit", "launchLine", "line", "meant", "next", "salvageFrom", "startCommand", "steps", "successor", "typed",
	"with",
}

// writesLines are files that make command lines of words: the place, and the prompts, which know each command's syntax.
var writesLines = []string{"internal/safetext/quoted.go", "workers/prompt/template.go"}

// quoting are the functions that make any text one word of a shell.
var quoting = []string{"Quoted", "Line"}

// TestAdviceIsQuoted: a reader copies the command lines in backquotes. A path or a text in them that an agent chose
// could contain a second command, so internal/safetext quotes what is not known to be harmless.
func TestAdviceIsQuoted(t *testing.T) {
	for path, content := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/testing/") ||
			strings.HasPrefix(path, "internal/tools/") || slices.Contains(writesLines, path) {
			continue
		}
		for _, bare := range unquoted(t, path, content) {
			t.Errorf("%s: quote it with safetext.Line or safetext.Quoted", bare)
		}
	}
	const wrong = "package p\nfunc f() {\n g(\"run `rm -r \" + dir + \"`\")\n" +
		" g(fmt.Sprintf(\"%d of %s: `rm \"+\n\"%[2]s`, %d\", n, x.path))\n" +
		" g(\"`rm \" + safetext.Quoted(dir) + \"`\" + dir, \"see `a` and \" + dir)\n}\n"
	if found := unquoted(t, "wrong.go", wrong); len(found) != 2 {
		t.Errorf("of two lines, the check finds %q", found)
	}
}

// formatVerb is a verb of package fmt, with the number of its argument if it has one.
var formatVerb = regexp.MustCompile(`%(?:%|[-+# 0.\d]*(?:\[(\d+)\])?([a-zA-Z]))`)

// unquoted returns the expressions of a file that become part of a command line in backquotes without being quoted.
func unquoted(t *testing.T, path, content string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, filepath.FromSlash(path), content, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	judge := func(x ast.Expr) {
		name, harmless := lastName(x)
		if !harmless && !slices.Contains(checkedNames, name) && !slices.Contains(quoting, name) {
			found = append(found, files.Position(x.Pos()).String()+": "+name)
		}
	}
	inner := map[ast.Expr]bool{} // parts of a concatenation that has been examined
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			for i, arg := range x.Args {
				if text, whole := literalText(arg); whole && strings.Contains(text, "%") {
					for _, given := range betweenBackquotes(text, x.Args[i+1:]) {
						judge(given)
					}
				}
			}
		case *ast.BinaryExpr:
			if x.Op != token.ADD || inner[x] {
				return true
			}
			inside := false
			for _, part := range parts(x, inner) {
				if text, whole := literalText(part); whole {
					inside = inside != (strings.Count(text, "`")%2 == 1)
				} else if inside {
					judge(part)
				}
			}
		}
		return true
	})
	return found
}

// betweenBackquotes returns the arguments that a format puts between backquotes, except numbers.
func betweenBackquotes(format string, args []ast.Expr) (given []ast.Expr) {
	next := 0
	for _, verb := range formatVerb.FindAllStringSubmatchIndex(format, -1) {
		if verb[4] < 0 {
			continue
		}
		if verb[2] >= 0 {
			next, _ = strconv.Atoi(format[verb[2]:verb[3]])
			next--
		}
		inside := strings.Count(format[:verb[0]], "`")%2 == 1
		if inside && format[verb[4]:verb[5]] != "d" && next < len(args) {
			given = append(given, args[next])
		}
		next++
	}
	return given
}

// parts returns the operands of a concatenation.
func parts(x ast.Expr, inner map[ast.Expr]bool) []ast.Expr {
	if both, ok := x.(*ast.BinaryExpr); ok && both.Op == token.ADD {
		inner[both] = true
		return append(parts(both.X, inner), parts(both.Y, inner)...)
	}
	return []ast.Expr{x}
}

// literalText returns the text of a literal, or of a concatenation of literals.
func literalText(x ast.Expr) (text string, whole bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, err == nil && x.Kind == token.STRING
	case *ast.BinaryExpr:
		left, leftWhole := literalText(x.X)
		right, rightWhole := literalText(x.Y)
		return left + right, leftWhole && rightWhole && x.Op == token.ADD
	}
	return "", false
}

// lastName returns the last name of an expression, "SessionID" of item.SessionID and "Quoted" of safetext.Quoted(path),
// and whether its value is harmless whatever its name is.
func lastName(x ast.Expr) (name string, harmless bool) {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name, false
	case *ast.SelectorExpr:
		return x.Sel.Name, false
	case *ast.IndexExpr:
		return lastName(x.X)
	case *ast.ParenExpr:
		return lastName(x.X)
	case *ast.CallExpr:
		called, _ := lastName(x.Fun)
		of, method := x.Fun.(*ast.SelectorExpr)
		switch {
		case called == "String" && method:
			return lastName(of.X)
		case slices.Contains([]string{"Join", "Replace", "TrimRight", "string"}, called) && len(x.Args) > 0:
			return lastName(x.Args[0])
		}
		return called, false
	case *ast.BasicLit:
		return x.Value, true
	}
	return "this", false
}
