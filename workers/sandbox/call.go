package sandbox

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is one command with its evaluated arguments.
type call struct {
	j    *judge
	e    *env
	name string // without its directory
	path string // as it is written
	args []string
	in   *input
	// printedText is what a shell printed, if hasText.
	printedText string
	hasText     bool
}

// simple judges a simple command: its assignments, and what its words run.
func (j *judge) simple(e *env, cmd *syntax.CallExpr, in *input) string {
	args := j.fields(e, cmd.Args)
	if j.verdict != nil {
		return unknown
	}
	if len(args) == 0 {
		for _, a := range cmd.Assigns {
			j.assign(e, a, false)
		}
		return ""
	}
	if len(cmd.Assigns) == 0 {
		return j.run(e, args, in)
	}
	saved := map[string]*variable{}
	for _, a := range cmd.Assigns {
		if a.Name != nil {
			saved[a.Name.Value] = e.vars[a.Name.Value]
			j.assign(e, a, true)
		}
	}
	out := j.run(e, args, in)
	for name, v := range saved {
		if v == nil {
			delete(e.vars, name)
		} else {
			e.vars[name] = v
		}
	}
	return out
}

// assign judges an assignment.
func (j *judge) assign(e *env, a *syntax.Assign, exported bool) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	old := e.find(name)
	if a.Array != nil {
		v := &variable{exported: exported}
		if a.Append && old != nil {
			v.values, v.keys = slices.Clone(old.values), slices.Clone(old.keys)
			if len(v.keys) < len(v.values) {
				v.keys = []string{"0"}
			}
		}
		next := len(v.values)
		for _, elem := range a.Array.Elems {
			if elem.Index != nil {
				v.put(j.index(e, elem.Index), j.literal(e, elem.Value))
				continue
			}
			if elem.Value == nil {
				continue
			}
			for _, value := range j.fields(e, []*syntax.Word{elem.Value}) {
				v.put(itoa(next), value)
				if next++; next > maxFields {
					j.tooMany()
					return
				}
			}
		}
		j.setting(name, unknown)
		e.assign(name, v)
		return
	}
	value := j.literal(e, a.Value)
	if a.Index != nil {
		v := &variable{exported: exported}
		if old != nil {
			v.values, v.keys = slices.Clone(old.values), slices.Clone(old.keys)
			if len(v.keys) < len(v.values) {
				v.keys = []string{"0"}
			}
		}
		key := j.index(e, a.Index)
		if a.Append {
			if i := slices.Index(v.keys, key); i >= 0 {
				value = v.values[i] + value
			}
		}
		v.put(key, value)
		j.setting(name, value)
		e.assign(name, v)
		return
	}
	if a.Append {
		before := unknown
		if old != nil {
			before = strings.Join(old.values[:min(1, len(old.values))], "")
		}
		value = j.kept(before + value)
	}
	j.setting(name, value)
	v := &variable{values: []string{value}, exported: exported}
	if old != nil && len(old.keys) > 0 {
		v.values, v.keys = slices.Clone(old.values), slices.Clone(old.keys)
		v.put("0", value)
	}
	e.assign(name, v)
}

// put sets one element.
func (v *variable) put(key, value string) {
	if i := slices.Index(v.keys, key); i >= 0 {
		v.values[i] = value
		return
	}
	v.keys, v.values = append(v.keys, key), append(v.values, value)
}

// run judges a command with its words, and returns what it prints.
func (j *judge) run(e *env, words []string, in *input) string {
	if len(words) == 0 || !j.enter() {
		return unknown
	}
	defer j.leave()
	if words[0] == "" {
		return ""
	}
	if marked(words[0]) {
		j.blocks(RuleUnknown, "The name of a command cannot be evaluated: %q. Write the command's name out.",
			shown(words[0]))
		return unknown
	}
	c := &call{
		j:    j,
		e:    e,
		name: path.Base(words[0]),
		path: words[0],
		args: words[1:],
		in:   in,
	}
	defer func() { e.set("_", words[len(words)-1]) }()
	if f, ok := e.funcs[words[0]]; ok {
		out := j.invoke(e, words[0], f, c.args, in)
		if !f.uncertain {
			return out
		}
	}
	if text, ok := e.aliases[words[0]]; ok {
		delete(e.aliases, words[0])
		out := c.alias(text)
		e.aliases[words[0]] = text
		return out
	}
	return c.judge()
}

// alias judges a command that is an alias.
func (c *call) alias(text string) string {
	file, err := c.j.parse(plain(text))
	if err != nil || len(file.Stmts) == 0 {
		return unknown
	}
	last := file.Stmts[len(file.Stmts)-1]
	if cmd, ok := last.Cmd.(*syntax.CallExpr); ok && len(cmd.Args) > 0 {
		c.j.statements(c.e, file.Stmts[:len(file.Stmts)-1], c.in)
		words := c.j.fields(c.e, cmd.Args)
		return c.j.run(c.e, append(words, c.args...), c.in)
	}
	return c.j.statements(c.e, file.Stmts, c.in)
}

// judge judges a command by its name.
func (c *call) judge() string {
	if !c.isTalk() {
		c.reads()
	}
	c.options()
	if out, ok := c.builtin(); ok {
		return out
	}
	if out, ok := c.printed(); ok {
		return out
	}
	switch {
	case c.banned(), c.writer(), c.archive(), c.transfer():
	case c.wrapped(), c.remote(), c.container():
	case c.shell(), c.git(), c.find(), c.interpreter(), c.editor(), c.builder():
	default:
		c.script()
		c.unlisted()
	}
	return c.output()
}

// isTalk reports whether the arguments are only text.
func (c *call) isTalk() bool {
	switch c.name {
	case "echo", "printf", ":", "true", "false", "type", "which", "help", "man", "whereis", "alias", "export",
		"declare", "local", "set", "shift", "trap", "eval":
		return true
	}
	return false
}

// reads judges the paths that the arguments may name for reading.
func (c *call) reads() {
	by := c.name
	if len(c.e.dirs) == 1 && len(c.args) == 0 && c.name != "cd" && c.name != "pwd" {
		c.j.read(c.e, by, ".")
	}
	for _, arg := range c.args {
		if vague(arg) && strings.HasPrefix(arg, unknown) {
			continue
		}
		c.j.read(c.e, by, arg)
		for _, cut := range []string{"=", "@", ":"} {
			if _, value, ok := strings.Cut(arg, cut); ok && value != "" {
				c.j.read(c.e, by, value)
			}
		}
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "/") {
			c.j.read(c.e, by, arg[2:])
		}
	}
}

// options judges options that make any program run a command.
func (c *call) options() {
	for _, arg := range c.args {
		arg = strings.TrimPrefix(arg, "-o")
		for _, name := range []string{"ProxyCommand", "LocalCommand", "KnownHostsCommand"} {
			if text, ok := strings.CutPrefix(arg, name); ok && text != "" && (text[0] == '=' || text[0] == ' ') {
				if text = strings.TrimSpace(text[1:]); text != "none" {
					c.text(text)
				}
			}
		}
	}
}
