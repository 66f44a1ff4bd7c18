package sandbox

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// input is what a command reads: commands that read it share it.
type input struct {
	text string
	// isFile says that it is a file that the line names; piped that it comes from another command.
	isFile, piped bool
	// inherited says that it is the line's own, which is the agent's.
	inherited bool
}

// bodyOf is the body of a function.
type bodyOf = syntax.Stmt

// statements judges statements one after another, and returns what they print.
func (j *judge) statements(e *env, list []*syntax.Stmt, in *input) string {
	var out strings.Builder
	for _, stmt := range list {
		if j.verdict != nil {
			break
		}
		out.WriteString(j.statement(e, stmt, in))
	}
	return j.kept(out.String())
}

// statement judges a statement, and returns what it prints.
func (j *judge) statement(e *env, s *syntax.Stmt, in *input) string {
	if !j.enter() {
		return unknown
	}
	defer j.leave()
	if s.Background || s.Coprocess {
		e = e.clone()
	}
	if e.branching {
		if name := undecided(e, s); name != "" {
			return j.each(e, name, s, in)
		}
	}
	if len(s.Redirs) == 0 {
		return j.command(e, s.Cmd, in)
	}
	local := in
	for _, r := range s.Redirs {
		if fd := descriptor(r); fd == "0" && r.Op != syntax.RdrInOut {
			local = &input{}
			break
		}
	}
	files := j.redirections(e, s, local)
	out := j.command(e, s.Cmd, local)
	if len(files) == 0 {
		return out
	}
	for _, file := range files {
		j.remember(e, file, out)
	}
	return ""
}

// each judges a statement with each value that a variable may have.
func (j *judge) each(e *env, name string, s *syntax.Stmt, in *input) (out string) {
	v := e.vars[name]
	values := append([]*variable{v}, v.or...)
	var merged *env
	for i, value := range values {
		one := *value
		one.or = nil
		with, own := e.clone(), *in
		with.vars[name] = &one
		printed := j.statement(with, s, &own)
		if i == 0 {
			merged, out = with, printed
			continue
		}
		if printed != out {
			out = unknown
		}
		both := &env{}
		both.merge(merged, with)
		both.within = e.within
		merged = both
	}
	*e = *merged
	return out
}

// undecided names a variable with alternatives that decides what a statement does.
func undecided(e *env, s *syntax.Stmt) (name string) {
	visit := func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
			if v := e.vars[p.Param.Value]; v != nil && len(v.or) > 0 {
				name = p.Param.Value
			}
		}
		return name == ""
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.ForClause:
		syntax.Walk(cmd, visit)
	}
	for _, r := range s.Redirs {
		syntax.Walk(r, visit)
	}
	return name
}

// remember keeps what is written to a file, in case that a shell runs it.
func (j *judge) remember(e *env, file, text string) {
	if vague(file) || patterned(file) {
		return
	}
	for _, abs := range e.absolutes(file) {
		if abs != "/dev/null" {
			j.texts[abs] = j.kept(j.texts[abs] + text)
		}
	}
}

// command judges a command, and returns what it prints.
func (j *judge) command(e *env, cmd syntax.Command, in *input) string {
	switch cmd := cmd.(type) {
	case nil:
		return ""
	case *syntax.CallExpr:
		return j.simple(e, cmd, in)
	case *syntax.BinaryCmd:
		return j.binaryCommand(e, cmd, in)
	case *syntax.Block:
		return j.statements(e, cmd.Stmts, in)
	case *syntax.Subshell:
		return j.statements(e.clone(), cmd.Stmts, in)
	case *syntax.IfClause:
		return j.branches(e, cmd, in)
	case *syntax.WhileClause:
		return j.while(e, slices.Concat(cmd.Cond, cmd.Do), in)
	case *syntax.ForClause:
		return j.loop(e, cmd, in)
	case *syntax.CaseClause:
		return j.cases(e, cmd, in)
	case *syntax.FuncDecl:
		j.declare(e, cmd)
	case *syntax.ArithmCmd:
		j.arithmetic(e, cmd.X)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			j.arithmetic(e, x)
		}
	case *syntax.TestClause:
		j.test(e, cmd.X)
	case *syntax.DeclClause:
		j.declaration(e, cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return j.statement(e, cmd.Stmt, in)
		}
	case *syntax.CoprocClause:
		if cmd.Name != nil {
			j.setting(j.literal(e, cmd.Name), unknown)
		}
		j.statement(e.clone(), cmd.Stmt, &input{text: unknown, piped: true})
	default:
		j.blocks(RuleUnknown, "The line has a construct that cannot be evaluated. Write it as simple commands.")
	}
	return ""
}

// binaryCommand judges a pipeline or a conditional list.
func (j *judge) binaryCommand(e *env, cmd *syntax.BinaryCmd, in *input) string {
	if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
		out := j.statement(e.clone(), cmd.X, in)
		return j.statement(e.clone(), cmd.Y, &input{text: out, piped: true})
	}
	// a && b || c nests to the left: its operands in order
	list := []*syntax.BinaryCmd{cmd}
	for first := cmd; len(first.X.Redirs) == 0 && !first.X.Background; {
		left, ok := first.X.Cmd.(*syntax.BinaryCmd)
		if !ok || left.Op != syntax.AndStmt && left.Op != syntax.OrStmt {
			break
		}
		list, first = append(list, left), left
	}
	if len(list) > maxFields {
		j.tooMany()
		return unknown
	}
	slices.Reverse(list)
	out := j.statement(e, list[0].X, in)
	var failed *env // the state in which an earlier operand may have failed
	for _, next := range list {
		if j.verdict != nil {
			return unknown
		}
		before := e.clone()
		if failed != nil {
			before.merge(failed, e)
		}
		if next.Op == syntax.AndStmt {
			failed = before
			out += j.statement(e, next.Y, in)
			continue
		}
		ran := before.clone()
		out += j.statement(ran, next.Y, in)
		e.merge(before, ran)
		failed = nil
	}
	if failed != nil {
		e.mergeFailed(failed)
	}
	return j.kept(out)
}
