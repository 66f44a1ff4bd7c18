package sandbox

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// builtin judges a command of the shell itself, and returns what it prints.
func (c *call) builtin() (out string, ok bool) {
	switch c.name {
	case ":", "true", "false", "[", "test", "exit", "return", "break", "continue", "wait", "shopt", "umask", "ulimit",
		"sleep", "bg", "fg", "disown", "logout", "times", "suspend":
		return "", true
	case "cd", "chdir":
		c.cd(c.args)
	case "pushd":
		c.pushd()
	case "popd":
		if n := len(c.e.stack); n > 0 {
			dir := c.e.stack[n-1]
			c.e.stack = slices.Clone(c.e.stack[:n-1])
			c.e.goTo([]string{dir})
		}
	case "export", "declare", "typeset", "local", "readonly":
		c.declares()
	case "unset":
		c.unset()
	case "set":
		c.set()
	case "shift":
		c.shift()
	case "read":
		c.read()
	case "mapfile", "readarray":
		c.mapfile()
	case "getopts":
		if len(c.args) > 1 {
			c.j.setting(c.args[1], unknown)
			c.e.set(c.args[1], someName)
			c.e.forget("OPTARG")
		}
	case "let":
		for _, arg := range c.args {
			name, _, _ := strings.Cut(strings.Trim(arg, "+-"), "=")
			c.j.setting(strings.TrimRight(name, "+-*/%"), unknown)
			c.e.forget(strings.TrimRight(name, "+-*/%"))
		}
	case "eval":
		if len(c.args) > 0 && c.args[0] == "--" {
			c.args = c.args[1:]
		}
		return c.j.text(c.e, strings.Join(c.args, " "), c.in), true
	case "exec":
		p := parse(c.args, takes{short: "a"}, true)
		return c.exec(p.operands), true
	case "command", "builtin":
		p := parse(c.args, takes{}, true)
		if p.has("v", "V") || len(p.operands) == 0 {
			return unknown, true
		}
		e := c.e
		funcs, aliases := e.funcs, e.aliases
		e.funcs, e.aliases = map[string]function{}, map[string]string{}
		out = c.j.run(e, p.operands, c.in)
		e.funcs, e.aliases = funcs, aliases
		return out, true
	case "source", ".":
		return c.source(), true
	case "trap":
		c.trap()
	case "alias":
		c.aliased()
	case "unalias":
		for _, arg := range c.args {
			delete(c.e.aliases, arg)
		}
	case "hash":
		p := parse(c.args, takes{short: "p"}, false)
		if to, ok := p.last("p"); ok && len(p.operands) > 0 {
			c.e.aliases[p.operands[0]] = to
			c.j.run(c.e.clone(), []string{to}, c.in)
		}
	case "complete", "compgen":
		if text, ok := parse(c.args, takes{short: "CFAGPSWXo"}, false).last("C"); ok {
			c.j.text(c.e.clone(), text, c.in)
		}
		return unknown, true
	case "bind":
		if text, ok := parse(c.args, takes{short: "xfmqur"}, false).last("x"); ok {
			_, text, _ = strings.Cut(text, ":")
			c.j.text(c.e.clone(), strings.Trim(text, " \"'"), c.in)
		}
	case "history":
		p := parse(c.args, takes{short: "d"}, false)
		if p.has("w", "a") {
			c.all(p.operands, writes)
		}
		return unknown, true
	case "type", "help", "which", "whereis", "man", "apropos", "whatis", "info", "jobs", "kill", "caller", "dirs",
		"enable", "fc":
		if c.name == "man" || c.name == "fc" {
			if text, ok := parse(c.args, takes{short: "PHe", long: "pager html"}, false).last("P", "pager", "H",
				"e"); ok {
				c.j.text(c.e.clone(), text, c.in)
			}
		}
		return unknown, true
	default:
		return "", false
	}
	return "", true
}

// exec judges words that replace, or are started by, a program: functions and aliases do not apply.
func (c *call) exec(words []string) string {
	if len(words) == 0 {
		return ""
	}
	e := c.e.clone()
	e.funcs, e.aliases = map[string]function{}, map[string]string{}
	return c.j.run(e, words, c.in)
}

// text judges a text that a shell started by a program runs.
func (c *call) text(text string) string { return c.j.text(c.e.child(), text, c.in) }

func (c *call) cd(args []string) {
	p := parse(args, takes{}, false)
	to, _ := c.e.value("HOME")
	if len(p.operands) > 0 {
		to = p.operands[0]
	} else if slices.Contains(args, "-") {
		to = "-"
	}
	if to == "-" {
		to, _ = c.e.value("OLDPWD")
	}
	if to != "" {
		c.e.goTo(c.e.absolutes(to))
	}
}

// goTo changes the working directory.
func (e *env) goTo(dirs []string) {
	for i, dir := range dirs {
		if vague(dir) {
			dirs[i] = unknown
		}
	}
	if v := e.vars["PWD"]; v != nil {
		e.vars["OLDPWD"] = v
	}
	e.dirs = dirs
	e.vars["PWD"] = &variable{values: []string{e.dir()}, exported: true}
}

func (c *call) pushd() {
	p := parse(c.args, takes{}, false)
	here := c.e.dir()
	if len(p.operands) > 0 && !strings.HasPrefix(p.operands[0], "+") {
		c.cd(c.args)
	} else if n := len(c.e.stack); n > 0 {
		to := c.e.stack[n-1]
		c.e.stack = slices.Clone(c.e.stack[:n-1])
		c.e.goTo([]string{to})
	} else {
		c.e.goTo([]string{unknown})
	}
	c.e.stack = append(slices.Clone(c.e.stack), here)
}

func (c *call) declares() {
	exports, refers := c.name == "export", false
	for _, arg := range c.args {
		if strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+") {
			exports = exports || strings.HasPrefix(arg, "-") && strings.Contains(arg, "x")
			refers = refers || strings.Contains(arg, "n")
			continue
		}
		if refers {
			if name, to, ok := strings.Cut(arg, "="); ok && c.name != "export" {
				c.j.setting(to, "")
				c.e.vars[name] = &variable{refersTo: to}
				continue
			}
		}
		c.j.assignText(c.e, arg, exports)
	}
}

func (c *call) unset() {
	p := parse(c.args, takes{}, false)
	for _, name := range p.operands {
		c.j.setting(name, "")
		if p.has("f") {
			delete(c.e.funcs, name)
			continue
		}
		base, _, _ := strings.Cut(name, "[")
		if _, ok := c.e.vars[base]; !ok {
			delete(c.e.funcs, name)
		}
		c.e.forget(base)
	}
}

func (c *call) set() {
	for i := 0; i < len(c.args); i++ {
		arg := c.args[i]
		switch {
		case arg == "--":
			c.e.params = append([]string{}, c.args[i+1:]...)
			return
		case len(arg) > 1 && (arg[0] == '-' || arg[0] == '+'):
			if strings.HasSuffix(arg, "o") {
				i++
			}
		default:
			c.e.params = append([]string{}, c.args[i:]...)
			return
		}
	}
}

func (c *call) shift() {
	n := 1
	if len(c.args) > 0 {
		var err error
		if n, err = strconv.Atoi(c.args[0]); err != nil {
			c.e.params = nil
		}
	}
	if c.e.params != nil {
		c.e.params = c.e.params[min(max(n, 0), len(c.e.params)):]
	}
}

// line takes the next line of the input.
func (in *input) line() (string, bool) {
	if vague(in.text) {
		return unknown, true
	}
	line, rest, more := strings.Cut(in.text, "\n")
	in.text = rest
	return line, more || line != ""
}

func (c *call) read() {
	p := parse(c.args, takes{short: "adinNptu"}, false)
	if fd, ok := p.last("u"); ok {
		c.in = &input{text: unknown}
		if text, ok := c.j.texts["/dev/fd/"+fd]; ok {
			c.in.text = text
		}
	}
	line, ok := c.in.line()
	names := p.operands
	if name, is := p.last("a"); is {
		x := expansion{j: c.j, e: c.e}
		x.add(line, false, true)
		x.end()
		c.j.setting(name, unknown)
		v := &variable{}
		for i, value := range x.out {
			v.put(itoa(i), literally(value))
		}
		if vague(line) {
			c.e.forget(name)
			return
		}
		c.e.assign(name, v)
		return
	}
	if len(names) == 0 {
		names = []string{"REPLY"}
	}
	if d, is := p.last("d"); is && d != "" || p.has("n", "N") || !ok {
		line = unknown
	}
	ifs, known := c.e.value("IFS")
	if !known || vague(ifs) {
		ifs = " \t\n"
	}
	rest := line
	for i, name := range names {
		c.j.setting(name, unknown)
		value := strings.Trim(rest, trimmable(ifs))
		if i < len(names)-1 && !vague(line) {
			if at := strings.IndexAny(value, ifs); at >= 0 && ifs != "" {
				value, rest = value[:at], value[at+1:]
			} else {
				rest = ""
			}
		}
		if vague(line) {
			value = unknown
		}
		c.e.set(name, value)
	}
}

func trimmable(ifs string) string {
	var b strings.Builder
	for _, c := range []byte(" \t\n") {
		if strings.IndexByte(ifs, c) >= 0 {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// literally keeps the characters of patterns as text: a variable's value is a pattern only when it is expanded.
func literally(s string) string {
	if vague(s) {
		return s
	}
	return plain(s)
}

func (c *call) mapfile() {
	p := parse(c.args, takes{short: "dnOsuCc"}, false)
	if text, ok := p.last("C"); ok {
		c.j.text(c.e.clone(), text, &input{text: unknown, inherited: true})
	}
	name := "MAPFILE"
	if len(p.operands) > 0 {
		name = p.operands[0]
	}
	c.j.setting(name, unknown)
	if vague(c.in.text) || p.has("d", "n", "O", "s", "u") {
		c.e.forget(name)
		return
	}
	v := &variable{}
	for line := range strings.Lines(c.in.text) {
		v.put(itoa(len(v.keys)), strings.TrimSuffix(line, "\n"))
		if len(v.keys) > maxFields {
			c.j.tooMany()
			return
		}
	}
	c.e.assign(name, v)
}

// source judges a file that the shell reads, if its text is known. Other files count as scripts.
func (c *call) source() string {
	if len(c.args) == 0 {
		return ""
	}
	file := c.args[0]
	if text, ok := c.fed(file); ok {
		return c.j.text(c.e, text, c.in)
	}
	return unknown
}

// fed returns the text of a file that stands for text of this line; false if it is a file of its own.
func (c *call) fed(file string) (string, bool) {
	if file == "-" || file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0" {
		return c.in.text, true
	}
	if text, ok := c.j.contentOf(c.e, file); ok {
		return text, true
	}
	if strings.HasPrefix(path.Clean(file), "/dev/fd/") {
		return unknown, true
	}
	return "", false
}

func (c *call) trap() {
	p := parse(c.args, takes{}, true)
	if p.has("l", "p") || len(p.operands) < 2 || p.operands[0] == "-" || p.operands[0] == "" {
		return
	}
	c.j.text(c.e.clone(), p.operands[0], &input{text: unknown, inherited: true})
}

func (c *call) aliased() {
	for _, arg := range c.args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok {
			continue
		}
		c.e.aliases[name] = text
		if _, err := c.j.parse(plain(text)); err == nil || vague(text) {
			inner := c.e.clone()
			delete(inner.aliases, name)
			c.j.text(inner, text, &input{text: unknown, inherited: true})
		}
	}
}
