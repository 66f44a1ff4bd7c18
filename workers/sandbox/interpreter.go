package sandbox

import (
	"slices"
	"strings"
)

// interpreter judges interpreters of other languages: the code that they are given inline.
func (c *call) interpreter() bool {
	lang := language(c.name)
	if lang == "" {
		return false
	}
	if lang == "awk" {
		c.awk()
		return true
	}
	code, rest, found := c.inline(lang)
	if lang == "perl" || lang == "ruby" {
		if c.inPlace() {
			if !found && len(rest) > 0 {
				rest = rest[1:]
			}
			c.all(rest, writes)
		}
	}
	if found {
		c.code(lang, code)
		return true
	}
	if len(rest) > 0 && rest[0] != "-" {
		if text, ok := c.fed(rest[0]); ok {
			c.code(lang, text)
		}
		return true
	}
	if !c.in.inherited && !c.in.isFile {
		c.code(lang, c.in.text)
	}
	return true
}

func language(name string) string {
	base := strings.TrimRight(name, "0123456789.-")
	switch base {
	case "python", "pypy", "ipython":
		return "python"
	case "perl", "ruby", "php", "lua", "julia", "tclsh", "groovy", "expect":
		return base
	case "luajit":
		return "lua"
	case "jruby", "irb", "pry":
		return "ruby"
	case "node", "nodejs", "deno", "bun", "ts-node", "tsx", "qjs":
		return "node"
	case "Rscript", "R":
		return "R"
	case "osascript", "ghc", "scala", "clojure", "elixir", "erl", "raku", "guile", "racket", "sbcl":
		return "other"
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return "awk"
	case "m":
		if name == "m4" {
			return "m4"
		}
	}
	return ""
}

// inline finds the code among the arguments, and what follows it.
func (c *call) inline(lang string) (code string, rest []string, found bool) {
	args := c.args
	var codes []string
	if c.name == "deno" || c.name == "bun" {
		if len(args) > 1 && args[0] == "eval" {
			return args[len(args)-1], nil, true
		}
		if len(args) > 0 && args[0] == "run" {
			args = args[1:]
		}
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if len(arg) < 2 || arg[0] != '-' || arg == "--" {
			if arg == "--" {
				i++
			}
			rest = args[min(i, len(args)):]
			break
		}
		takes, value, ends := codeOption(lang, arg)
		switch {
		case !takes:
			if lang == "python" && (arg == "-m" || arg == "-W" || arg == "-X") {
				if arg == "-m" && i+1 < len(args) {
					c.module(args[i+1], args[i+2:])
					return "", nil, true
				}
				i++
			}
			if (arg == "-r" || arg == "--require" || arg == "--loader" || arg == "--import" || arg == "-I") &&
				lang != "php" &&
				lang != "perl" {
				i++
			}
		case value != "":
			codes = append(codes, value)
		case i+1 < len(args):
			i++
			codes = append(codes, args[i])
		}
		if ends && takes {
			rest = args[min(i+1, len(args)):]
			break
		}
	}
	return strings.Join(codes, "\n"), rest, len(codes) > 0
}

// codeOption reports whether an option takes code, the code if it is attached, and whether the options end there.
func codeOption(lang, arg string) (takes bool, value string, ends bool) {
	if strings.HasPrefix(arg, "--") {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--eval", "--print", "--execute", "--run", "--expression":
			return true, value, false
		}
		return false, "", false
	}
	letters := map[string]string{
		"python": "c", "perl": "eE", "ruby": "e", "node": "ep", "php": "rRBE", "lua": "e", "R": "e", "julia": "eE",
		"groovy": "e", "expect": "c", "other": "e", "tclsh": "c",
	}[lang]
	at := strings.IndexAny(arg, letters)
	if at < 1 || letters == "" {
		return false, "", false
	}
	if lang == "perl" || lang == "ruby" {
		// -i, -I, -M, -l and the like take the rest of the letters
		for i := 1; i < at; i++ {
			if strings.IndexByte("IMmFxCD", arg[i]) >= 0 {
				return false, "", false
			}
			if arg[i] == 'i' && !strings.HasSuffix(arg, "e") && !strings.HasSuffix(arg, "E") {
				return false, "", false
			}
		}
		if strings.Contains(arg[:at], "i") {
			at = len(arg) - 1
		}
	}
	if lang == "node" && arg == "-pe" {
		return true, "", false
	}
	return true, arg[at+1:], lang == "python"
}

// inPlace reports whether perl or ruby edit their operands.
func (c *call) inPlace() bool {
	return slices.ContainsFunc(c.args, func(arg string) bool {
		if len(arg) < 2 || arg[0] != '-' || arg[1] == '-' {
			return false
		}
		at := strings.IndexByte(arg, 'i')
		return at > 0 && strings.Trim(arg[1:at], "pnlaswe0") == ""
	})
}

// module judges python -m.
func (c *call) module(name string, args []string) {
	switch name {
	case "pip", "pip3":
		c.exec(append([]string{"pip"}, args...))
	case "venv", "virtualenv":
		c.all(parse(args, takes{long: "prompt python"}, false).operands, writes)
	case "zipfile", "tarfile":
		for i, arg := range args {
			if (arg == "-e" || arg == "--extract") && i+2 < len(args) {
				c.all(args[i+2:i+3], writes)
			} else if (arg == "-c" || arg == "--create") && i+1 < len(args) {
				c.all(args[i+1:i+2], writes)
			}
		}
	}
}

// codeOf judges a script by its first line.
func (c *call) codeOf(first, text string) {
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	for _, word := range words {
		if lang := language(word[strings.LastIndexByte(word, '/')+1:]); lang != "" && lang != "awk" {
			c.code(lang, text)
			return
		}
	}
}

// awk judges what an awk program runs and writes.
func (c *call) awk() {
	p := parse(c.args, takes{short: "Ffvei", long: "field-separator file assign source include"}, true)
	codes := p.all("e", "source")
	operands := p.operands
	for _, file := range p.all("f", "file") {
		if text, ok := c.fed(file); ok {
			codes = append(codes, text)
		}
	}
	if !p.has("e", "source", "f", "file") && len(operands) > 0 {
		codes = append(codes, operands[0])
		operands = operands[1:]
	}
	if slices.Contains(p.all("i", "include"), "inplace") {
		c.all(operands, writes)
	}
	for _, code := range codes {
		c.awkCode(code)
	}
}

func (c *call) awkCode(code string) {
	if code == unknown {
		c.text(unknown)
		return
	}
	code = withoutMarks(code, "")
	found := literals(code, "awk")
	for _, l := range found {
		before := strings.TrimRight(code[:l.from], " \t\n(")
		after := strings.TrimLeft(code[l.to:], " \t\n)")
		piped := strings.HasSuffix(before, "|") && !strings.HasSuffix(before, "||") || strings.HasSuffix(before,
			"|&") ||
			strings.HasPrefix(after, "|") && !strings.HasPrefix(after, "||")
		switch {
		case piped:
			of := &call{
				j:    c.j,
				e:    c.e,
				name: c.name,
				in: &input{
					text:  unknown,
					piped: true,
				},
			}
			of.text(l.text)
		case strings.HasSuffix(before, ">") && !strings.HasSuffix(before, "->"):
			c.all([]string{l.text}, writes)
		}
	}
	rest := code
	for base := 0; ; {
		at := strings.Index(rest, "system(")
		if at < 0 {
			return
		}
		from := base + at + len("system(")
		c.awkSystem(code, from, found)
		base, rest = from, code[from:]
	}
}

// awkSystem judges the argument of system in awk, which is one text for a shell.
func (c *call) awkSystem(code string, from int, found []literalText) {
	var text strings.Builder
	depth := 1
	for i := from; i < len(code) && depth > 0; i++ {
		if n := slices.IndexFunc(found, func(l literalText) bool { return l.from == i }); n >= 0 {
			text.WriteString(found[n].text)
			i = found[n].to - 1
			continue
		}
		switch code[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ' ', '\t', '\n':
		default:
			if s := text.String(); !strings.HasSuffix(s, unknown) {
				text.WriteString(unknown)
			}
		}
	}
	c.text(text.String())
}
