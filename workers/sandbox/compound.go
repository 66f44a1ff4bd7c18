package sandbox

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// branches judges each branch of an if.
func (j *judge) branches(e *env, clause *syntax.IfClause, in *input) string {
	if !j.enter() {
		return unknown
	}
	defer j.leave()
	j.statements(e, clause.Cond, in)
	then := e.clone()
	out := j.statements(then, clause.Then, in)
	if next := clause.Else; next != nil {
		other := ""
		if len(next.Cond) > 0 {
			other = j.branches(e, next, in)
		} else {
			other = j.statements(e, next.Then, in)
		}
		out += other
	}
	e.merge(then, e.clone())
	return out
}

// cases judges each branch of a case.
func (j *judge) cases(e *env, clause *syntax.CaseClause, in *input) (out string) {
	j.literal(e, clause.Word)
	ends := []*env{e.clone()}
	for _, item := range clause.Items {
		for _, pattern := range item.Patterns {
			j.patternOf(e, pattern)
		}
		branch := e.clone()
		out += j.statements(branch, item.Stmts, in)
		ends = append(ends, branch)
	}
	for _, end := range ends[1:] {
		e.merge(e.clone(), end)
	}
	return out
}

// loop judges a for: its body with each value.
func (j *judge) loop(e *env, clause *syntax.ForClause, in *input) string {
	iter, ok := clause.Loop.(*syntax.WordIter)
	if !ok {
		if c, ok := clause.Loop.(*syntax.CStyleLoop); ok {
			if c.Init != nil {
				j.arithmetic(e, c.Init)
			}
			return j.rounds(e, in, func() string {
				if c.Cond != nil {
					j.arithmetic(e, c.Cond)
				}
				out := j.statements(e, clause.Do, in)
				if c.Post != nil {
					j.arithmetic(e, c.Post)
				}
				return out
			})
		}
		return unknown
	}
	values := j.fields(e, iter.Items)
	if !iter.InPos.IsValid() {
		values = e.params
		if values == nil {
			values = []string{unknown}
		}
	}
	var out strings.Builder
	skipped := e.clone()
	perhaps := false
	for _, value := range values {
		perhaps = perhaps || vague(value) || patterned(value)
		j.setting(iter.Name.Value, value)
		e.set(iter.Name.Value, value)
		if clause.Select {
			e.set("REPLY", unknown)
		}
		out.WriteString(j.statements(e, clause.Do, in))
		if j.verdict != nil {
			return unknown
		}
	}
	if perhaps {
		e.merge(skipped, e.clone())
	}
	return out.String()
}

// while judges the condition and the body of a loop.
func (j *judge) while(e *env, body []*syntax.Stmt, in *input) string {
	return j.rounds(e, in, func() string { return j.statements(e, body, in) })
}

// mostRounds is how often a loop runs before what it changes counts as unknown.
const mostRounds = 6

// rounds runs a loop until it changes nothing more, or long enough.
func (j *judge) rounds(e *env, in *input, body func() string) string {
	var out strings.Builder
	start := e.clone()
	for round := range mostRounds {
		if j.verdict != nil {
			return unknown
		}
		before, read := e.clone(), in.text
		out.WriteString(body())
		if sameState(before, e) && read == in.text {
			break
		}
		if round == mostRounds-1 {
			widen(before, e)
			out.WriteString(body())
		}
	}
	e.merge(start, e.clone())
	return out.String()
}

func sameState(a, b *env) bool {
	return slices.Equal(a.dirs, b.dirs) && maps.EqualFunc(a.vars, b.vars, sameVariable)
}

// widen makes unknown what a round of a loop changed.
func widen(before, e *env) {
	for name, v := range e.vars {
		old := before.vars[name]
		if sameVariable(old, v) || name == "_" {
			continue
		}
		if len(v.values) == 1 && len(v.keys) == 0 && isCounter(v.values[0]) && (old == nil ||
			isCounter(old.values[0])) {
			e.vars[name] = &variable{values: []string{someName}, exported: v.exported}
		} else {
			e.forget(name)
		}
	}
	if !slices.Equal(before.dirs, e.dirs) {
		e.dirs = []string{unknown}
	}
}

func isCounter(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil || s == someName
}

// test judges the commands in a [[ … ]].
func (j *judge) test(e *env, x syntax.TestExpr) {
	if x == nil || !j.enter() {
		return
	}
	defer j.leave()
	switch x := x.(type) {
	case *syntax.Word:
		j.literal(e, x)
	case *syntax.UnaryTest:
		j.test(e, x.X)
	case *syntax.BinaryTest:
		j.test(e, x.X)
		j.test(e, x.Y)
	case *syntax.ParenTest:
		j.test(e, x.X)
	}
}

// declare judges a function's body as if it was called with anything. What cannot be evaluated without its arguments
// is judged when it is called.
func (j *judge) declare(e *env, decl *syntax.FuncDecl) {
	if decl.Name == nil {
		return
	}
	name := decl.Name.Value
	e.funcs[name] = function{body: decl.Body}
	inner := e.clone()
	inner.params, inner.within = nil, name
	if e.within == name {
		return
	}
	j.statement(inner, decl.Body, &input{text: unknown, inherited: true})
	if j.verdict != nil && j.verdict.Rule == RuleUnknown && j.steps <= maxSteps && j.bytes <= maxBytes {
		j.pending[name], j.verdict = j.verdict, nil
	}
}

// mostCalls is how deep functions may call functions.
const mostCalls = 12

// invoke runs a function.
func (j *judge) invoke(e *env, name string, f function, args []string, in *input) string {
	if e.within == name && e.params == nil {
		// the body that is being judged calls itself
		return unknown
	}
	if j.calls >= mostCalls {
		j.blocks(RuleUnknown, "The function %s calls functions too deeply to be evaluated. Use a loop.", shown(name))
		return unknown
	}
	delete(j.pending, name)
	j.calls++
	defer func() { j.calls-- }()
	params, within := e.params, e.within
	e.params, e.within = append([]string{}, args...), name
	out := j.statement(e, f.body, in)
	e.params, e.within = params, within
	return out
}
